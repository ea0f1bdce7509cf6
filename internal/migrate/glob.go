package migrate

import (
	"path"
	"strings"
)

// A Filter takes or leaves out the inputs whose path below the root matches a pattern. A pattern without a slash matches the name
// in any folder; ** matches any number of folders.
type Filter struct {
	Glob    string
	Exclude bool
}

// A glob is a pattern, by components.
type glob []string

// parseGlob checks a pattern.
func parseGlob(pattern string) (glob, error) {
	if _, err := path.Match(pattern, ""); err != nil {
		return nil, mistakef("%s: a bracket of the pattern is not closed", pattern)
	}
	parts := glob{}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == "**" && len(parts) > 0 && parts[len(parts)-1] == "**" {
			continue // several in a row are one
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// match reports whether the components of a path match the whole pattern.
func (g glob) match(parts []string) bool { return g.step(parts, false) }

// matchFolder reports whether something below a folder can match.
func (g glob) matchFolder(parts []string) bool { return g.step(parts, true) }

// step follows the places in the pattern that can be reached, one component after the other: no pattern takes long.
func (g glob) step(parts []string, isFolder bool) bool {
	at := make([]bool, len(g)+1)
	at[0] = true
	for _, part := range parts {
		next := make([]bool, len(g)+1)
		for i, here := range at {
			switch {
			case !here || i == len(g):
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
		for _, here := range at[:len(g)] {
			if here {
				return true
			}
		}
		return false
	}
	return at[len(g)] || len(g) > 0 && g[len(g)-1] == "**" && at[len(g)-1]
}

// hasMeta reports whether a name may be a pattern.
func hasMeta(name string) bool { return strings.ContainsAny(name, "*?[") }

// filters are the filters of a run.
type filters []filter

type filter struct {
	glob
	exclude, nameOnly bool
}

func parseFilters(all []Filter) (list filters, err error) {
	for _, f := range all {
		g, err := parseGlob(f.Glob)
		if err != nil {
			return nil, err
		}
		list = append(list, filter{g, f.Exclude, !strings.Contains(f.Glob, "/")})
	}
	return list, nil
}

// take reports whether an input is to be taken: the last filter that matches decides. What matches none is taken, unless the
// first filter takes something.
func (f filters) take(name string) bool {
	if len(f) == 0 {
		return true
	}
	parts := strings.Split(unescapeName(name), "/")
	for i := len(f) - 1; i >= 0; i-- {
		compared := parts
		if f[i].nameOnly {
			compared = parts[len(parts)-1:]
		}
		if f[i].match(compared) {
			return !f[i].exclude
		}
	}
	return f[0].exclude
}
