package selection

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// pattern is a name, or a glob in which * matches any text and ? matches one character. If a name with exactly this spelling
// exists, the pattern means only that name.
type pattern string

func (p pattern) isGlob() bool { return strings.ContainsAny(string(p), "*?") }

// matches reports whether a text matches the pattern. The time is at most proportional to the product of both lengths.
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

// matchAny returns a function that reports whether a name matches any of the patterns: a pattern is a name if that name
// exists, otherwise a glob. missing is the first pattern without a match.
func matchAny(patterns []pattern, names func(yield func(string) bool)) (matches func(string) bool, missing pattern) {
	exact, globs := map[string]bool{}, []pattern{}
	for _, p := range patterns {
		found, globbed := false, false
		for name := range names {
			if found = name == string(p); found {
				break
			}
			globbed = globbed || p.isGlob() && p.matches(name)
		}
		if found || !p.isGlob() {
			exact[string(p)] = true
		} else {
			globs = append(globs, p)
		}
		if !found && !globbed && missing == "" {
			missing = p
		}
	}
	return func(name string) bool {
		return exact[name] || slices.ContainsFunc(globs, func(p pattern) bool { return p.matches(name) })
	}, missing
}
