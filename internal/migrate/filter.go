package migrate

import (
	"strings"

	"github.com/weft-trace/weft/internal/inputs"
)

// A Filter includes or excludes the inputs whose path below the root matches a pattern. A pattern without a slash matches
// names in any folder; ** matches any number of folders.
type Filter struct {
	Glob    string
	Exclude bool
}

// filters are the filters of a run.
type filters []filter

type filter struct {
	inputs.Glob
	exclude, nameOnly bool
}

func parseFilters(all []Filter) (list filters, err error) {
	for _, f := range all {
		g, err := inputs.ParseGlob(f.Glob)
		if err != nil {
			return nil, mistakef("%v", err)
		}
		list = append(list, filter{g, f.Exclude, !strings.Contains(f.Glob, "/")})
	}
	return list, nil
}

// take reports whether to include an input: the last filter that matches decides. An input without a match is included,
// unless the first filter is an include filter.
func (f filters) take(name string) bool {
	if len(f) == 0 {
		return true
	}
	parts := strings.Split(inputs.UnescapeName(name), "/")
	for i := len(f) - 1; i >= 0; i-- {
		compared := parts
		if f[i].nameOnly {
			compared = parts[len(parts)-1:]
		}
		if f[i].Match(compared) {
			return !f[i].exclude
		}
	}
	return f[0].exclude
}
