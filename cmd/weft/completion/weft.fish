# Completion of weft for fish: weft completion fish > ~/.config/fish/completions/weft.fish

function __weft_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    for line in ($before[1] __complete ":$current" $before[2..] 2>/dev/null)
        switch $line
            case ':files'
                __fish_complete_path $current
            case ':dirs'
                __fish_complete_directories $current
            case '*'
                echo $line
        end
    end
end

complete -c weft -f -a '(__weft_complete)'
