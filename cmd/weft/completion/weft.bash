# Completion of weft for bash: source <(weft completion bash)

_weft() {
    local IFS=$'\n' current=${COMP_WORDS[COMP_CWORD]} line
    [[ $current == = ]] && current=
    COMPREPLY=()
    while read -r line; do
        line=${line%%$'\t'*}
        case $line in
            :files) COMPREPLY+=($(compgen -f -- "$current")); compopt -o filenames 2>/dev/null ;;
            :dirs) COMPREPLY+=($(compgen -d -- "$current")); compopt -o filenames 2>/dev/null ;;
            # bash takes --flag=value apart, so only the value is completed
            --*=*) COMPREPLY+=("${line#*=}") ;;
            *=) COMPREPLY+=("$line"); compopt -o nospace 2>/dev/null ;;
            *) COMPREPLY+=("$line") ;;
        esac
    done < <("${COMP_WORDS[0]}" __complete ":${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)
}

complete -F _weft weft
