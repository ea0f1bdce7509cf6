# Completion of weft for bash: source <(weft completion bash)

_weft() {
    local IFS=$'\n' current=${COMP_WORDS[COMP_CWORD]} line
    local words=("${COMP_WORDS[@]//[\\\'\"]/}") # without the quotes that the shell takes away
    [[ $current == = ]] && current=
    COMPREPLY=()
    while read -r line; do
        line=${line%%$'\t'*}
        case $line in
            :files) COMPREPLY+=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null ;;
            :dirs) COMPREPLY+=($(compgen -d -- "$current")); compopt -o filenames 2>/dev/null ;;
            *=) COMPREPLY+=("$line"); compopt -o nospace 2>/dev/null ;;
            *)
                # bash takes --flag=value apart, so only the value is completed
                [[ $line == --*=* ]] && line=${line#*=}
                [[ $current == [\'\"]* ]] || printf -v line %q "$line"
                COMPREPLY+=("$line") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete ":${words[COMP_CWORD]}" "${words[@]:1:COMP_CWORD-1}" 2>/dev/null)
}

complete -F _weft weft
