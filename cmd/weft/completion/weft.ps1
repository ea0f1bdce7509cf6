# Completion of weft for PowerShell: weft completion powershell | Out-String | Invoke-Expression

# A text as one word of a command.
function global:WeftWord($text) {
    if ($text -match "[^\w./\\:=+-]") { "'" + $text.Replace("'", "''") + "'" } else { $text }
}

# The names of files, or of folders only, that begin with a text. Get-ChildItem leaves out the folder in which they are.
function global:WeftPaths($begin, $kind) {
    $folder = if ($begin -match '^.*[\\/]') { $Matches[0] } else { '' }
    Get-ChildItem -Name -Directory:($kind -eq 'ProviderContainer') -Path "$begin*" -ErrorAction SilentlyContinue | ForEach-Object {
        $path = $folder + $_
        [System.Management.Automation.CompletionResult]::new((WeftWord $path), $_, $kind, $path)
    }
}

Register-ArgumentCompleter -Native -CommandName weft -ScriptBlock {
    param($current, $ast, $cursor)
    $before = @($ast.CommandElements | Select-Object -Skip 1 |
        Where-Object { $_.Extent.EndOffset -lt $cursor -or ($current -eq '' -and $_.Extent.EndOffset -le $cursor) } |
        ForEach-Object { $_.Extent.Text.Trim("'", '"') })
    foreach ($line in @(& weft __complete ":$current" @before 2>$null)) {
        $text, $about = $line -split "`t", 2
        if (-not $about) { $about = $text }
        switch ($text) {
            ':files' { WeftPaths $current 'ProviderItem' }
            ':dirs' { WeftPaths $current 'ProviderContainer' }
            default { [System.Management.Automation.CompletionResult]::new((WeftWord $text), $text, 'ParameterValue', $about) }
        }
    }
}
