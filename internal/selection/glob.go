package selection

import (
	"strings"
	"unicode/utf8"
)

// pattern is a text that people give for a name: the name itself, or a glob in which * stands for any text and ? for one
// character. A name that is spelled like a glob counts as a name where there is one.
type pattern string

// isGlob reports whether the text may stand for several names.
func (p pattern) isGlob() bool { return strings.ContainsAny(string(p), "*?") }

// matches reports whether a text is what the pattern stands for. It takes at most as many steps as pattern and text have
// characters, multiplied.
func (p pattern) matches(text string) bool {
	if !p.isGlob() {
		return string(p) == text
	}
	rest, star, retry := string(p), -1, 0
	at := 0 // in p
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case at < len(rest) && rest[at] == '*':
			star, retry = at, i
			at++
			continue
		case at < len(rest) && rest[at] == '?':
			at, i = at+1, i+size
			continue
		case at < len(rest) && rest[at] == text[i]:
			at, i = at+1, i+1
			continue
		case star < 0:
			return false
		}
		_, size = utf8.DecodeRuneInString(text[retry:])
		retry += size
		at, i = star+1, retry
	}
	return strings.Trim(rest[at:], "*") == ""
}

// choose says what a list of patterns stands for among names: each its own name, or if there is none of this spelling, all
// names that it matches as a glob. The first pattern that stands for nothing is returned.
func choose(patterns []pattern, names func(yield func(string) bool)) (matches func(string) bool, missing pattern) {
	exact, globs := map[string]bool{}, []pattern{}
	for _, p := range patterns {
		found, globbed := false, false
		for name := range names {
			if found = name == string(p); found {
				break
			}
			globbed = globbed || p.isGlob() && p.matches(name)
		}
		switch {
		case found || !p.isGlob():
			exact[string(p)] = true
		default:
			globs = append(globs, p)
		}
		if !found && !globbed && missing == "" {
			missing = p
		}
	}
	return func(name string) bool {
		if exact[name] {
			return true
		}
		for _, p := range globs {
			if p.matches(name) {
				return true
			}
		}
		return false
	}, missing
}
