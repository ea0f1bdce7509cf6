package timeline

import (
	"regexp"
	"strings"
)

// numberAfter matches the number after the name in a process title: "Renderer 12", "node [pid 12 of web]", "node (pid 12)".
var numberAfter = regexp.MustCompile(` (?:[0-9]+|\[pid [^\]]*\]|\(pid [^)]*\))$`)

// Program shortens a process name that is a command line. It keeps the program without its folder and, for a browser's process,
// its role: "/usr/lib/chromium/chromium --type=renderer --lang=en …" becomes "chromium --type=renderer". Other programs keep
// their options. It keeps a number after the name and leaves other names unchanged.
func Program(name string) string {
	options := strings.Index(name, " -")
	path := strings.TrimLeft(name, `"'`)
	isPath := strings.HasPrefix(path, "/") || strings.HasPrefix(path, "./") || len(path) > 3 && path[1] == ':' && path[2] == '\\'
	if options < 0 || !isPath && !strings.Contains(name, " --type=") {
		return name
	}
	words := strings.Split(name[:options], " /") // "/usr/bin/python3 /srv/train.py": either can contain blanks
	for i, word := range words {
		words[i] = strings.Trim(word[strings.LastIndexAny(word, `/\`)+1:], `"'`)
	}
	program, rest := strings.Join(words, " "), name[options:]
	_, role, browser := strings.Cut(rest, " --type=")
	if !browser {
		return program + rest
	}
	number := numberAfter.FindString(rest)
	role, _, _ = strings.Cut(strings.TrimSuffix(role, number), " ")
	program += " --type=" + role
	if _, kind, ok := strings.Cut(rest, " --utility-sub-type="); ok {
		kind, _, _ = strings.Cut(kind, " ")
		program += " --utility-sub-type=" + kind
	}
	return program + number
}
