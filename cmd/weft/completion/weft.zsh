#compdef weft
# Completion of weft for zsh: source <(weft completion zsh), after compinit; or as the file _weft in a folder of $fpath.

_weft() {
    local -a described lines
    local line files dirs
    lines=("${(@f)$("${words[1]}" __complete ":${(Q)words[CURRENT]}" "${(@Q)words[2,CURRENT-1]}" 2>/dev/null)}")
    for line in $lines; do
        case $line in
            :files) files=1 ;;
            :dirs) dirs=1 ;;
            *$'\t'*) described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
            ?*) described+=("${line//:/\\:}") ;;
        esac
    done
    (( $#described )) && _describe -t weft weft described
    [[ -n $files ]] && _files
    [[ -n $dirs ]] && _files -/
}

if [[ $funcstack[1] == _weft ]]; then
    _weft "$@"
else
    compdef _weft weft
fi
