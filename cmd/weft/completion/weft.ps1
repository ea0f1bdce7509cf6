# Completion of weft for PowerShell: weft completion powershell | Out-String | Invoke-Expression

Register-ArgumentCompleter -Native -CommandName weft -ScriptBlock {
    param($current, $ast, $cursor)
    $before = @($ast.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursor -or ($current -eq '' -and $_.Extent.EndOffset -le $cursor) } |
        ForEach-Object { $_.Extent.Text.Trim("'", '"') })
    foreach ($line in @(& weft __complete ":$current" @before 2>$null)) {
        $text, $about = $line -split "`t", 2
        if (-not $about) { $about = $text }
        switch ($text) {
            ':files' { Get-ChildItem -Name "$current*" | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ProviderItem', $_) } }
            ':dirs' { Get-ChildItem -Name -Directory "$current*" | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ProviderContainer', $_) } }
            default { [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $about) }
        }
    }
}
