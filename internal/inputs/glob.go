package inputs

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Glob is a path pattern, split into components. In each component, *, ? and [ work as in path.Match; ** matches any number of
// folders.
type Glob []string

// ParseGlob checks and splits a pattern.
func ParseGlob(pattern string) (Glob, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, fmt.Errorf("%s: a bracket of the pattern is not closed", pattern)
	}
	parts := Glob{}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == "**" && len(parts) > 0 && parts[len(parts)-1] == "**" {
			continue // several in a row are equivalent to one
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// Match reports whether the components of a path match the whole pattern.
func (g Glob) Match(parts []string) bool { return g.step(parts, false) }

// matchFolder reports whether a path below the folder can match.
func (g Glob) matchFolder(parts []string) bool { return g.step(parts, true) }

// step tracks all positions in the pattern that the components can reach, so its running time is bounded for every pattern.
func (g Glob) step(parts []string, isFolder bool) bool {
	at := make([]bool, len(g)+1)
	at[0] = true
	for _, part := range parts {
		next := make([]bool, len(g)+1)
		for i, reached := range at {
			switch {
			case !reached || i == len(g):
			case g[i] == "**":
				next[i] = true
				if i+1 < len(g) {
					if ok, _ := path.Match(g[i+1], part); ok {
						next[i+2] = true
					}
				}
			default:
				if ok, _ := path.Match(g[i], part); ok {
					next[i+1] = true
				}
			}
		}
		at = next
	}
	if isFolder {
		return slices.Contains(at[:len(g)], true)
	}
	return at[len(g)] || len(g) > 0 && g[len(g)-1] == "**" && at[len(g)-1]
}

// IsPattern reports whether a name could be a pattern.
func IsPattern(name string) bool { return strings.ContainsAny(name, "*?[") }

// SplitPattern splits a pattern into the folder before the first wildcard and the rest.
func SplitPattern(pattern string) (folder, glob string) {
	i := strings.IndexAny(pattern, "*?[")
	if i < 0 {
		return pattern, ""
	}
	k := strings.LastIndexByte(pattern[:i], '/')
	if k < 0 {
		return ".", pattern
	}
	return pattern[:k+1], pattern[k+1:]
}

// Expand replaces patterns with the sorted names of the files and folders that they match, because some shells do not expand
// patterns, and no shell does in quotes. Names of existing files and patterns without a match stay unchanged.
func Expand(names []string) (expanded []string) {
	for _, name := range names {
		if _, err := os.Lstat(name); !IsPattern(name) || err == nil { // systems return different errors for invalid names
			expanded = append(expanded, name)
			continue
		}
		matches := matching(name)
		if len(matches) == 0 {
			matches = []string{name}
		}
		expanded = append(expanded, matches...)
	}
	return expanded
}

// matching returns the files and folders that a pattern matches.
func matching(pattern string) (names []string) {
	folder, rest := SplitPattern(filepath.ToSlash(pattern))
	glob, err := ParseGlob(rest)
	if err != nil {
		return nil
	}
	w, err := NewWalker(folder, glob, nil)
	if err != nil {
		return nil
	}
	w.folders = true
	for e := (Entry{}); w.Next(&e); {
		if e.Err == nil {
			names = append(names, filepath.Join(folder, filepath.FromSlash(UnescapeName(e.Path))))
		}
	}
	return names
}
