// Package producers holds the meanings of names that trace producers use: which slices are tasks, which category a slice has,
// which events run scripts, and which categories are GPU work. There is one file for each producer, with tables from names to
// meanings. If a producer renames an event, only that producer's file changes.
//
// What does not live here: the consequences of a meaning (attribution, reports, calls made from samples), formats (the readers),
// and names that weft defines (package timeline).
package producers

import "strings"

// Category is the kind of work that a slice does.
type Category uint8

// The categories (attribution.md, Cost).
const (
	CategoryNone Category = iota // the category of the enclosing slice
	CategoryGC
	CategoryCompile
	CategoryScript
	CategoryStyle
	CategoryLayout
	CategoryPaint
	CategoryComposite
	CategoryRaster
	CategoryLoad
	CategoryOther

	// CategoryCount is the number of categories, including CategoryNone.
	CategoryCount
)

var categoryTexts = [CategoryCount]string{
	"", "gc", "compile", "script", "style", "layout", "paint", "composite", "raster", "load", "other",
}

// String returns "gc", "compile", "script", "style", "layout", "paint", "composite", "raster", "load" or "other"; "" for CategoryNone.
func (c Category) String() string {
	if c < CategoryCount {
		return categoryTexts[c]
	}
	return ""
}

// categoryRule assigns a category to slices with certain names.
type categoryRule struct {
	names    []string // "V8.GC…" matches names that start with V8.GC; "v8.produce…Cache" also requires Cache at the end
	category Category
}

// CategoryOf returns the category of slices with the given name, or CategoryNone if the name is unknown.
func CategoryOf(name string) Category {
	for _, rules := range [...][]categoryRule{chromeWork, firefoxWork} {
		for i := range rules {
			if matchesAny(name, rules[i].names) {
				return rules[i].category
			}
		}
	}
	return CategoryNone
}

// matchesAny reports whether a name matches one of the names of a categoryRule.
func matchesAny(name string, names []string) bool {
	for _, n := range names {
		start, end, isPattern := strings.Cut(n, "…")
		if n == name || isPattern && strings.HasPrefix(name, start) && strings.HasSuffix(name[len(start):], end) {
			return true
		}
	}
	return false
}

// The layout phases, as named by the browsers' probes.
const (
	PhasePaint             = "paint"
	PhaseReflow            = "reflow"
	PhaseFrameConstruction = "frameCon" // frame construction, which counts as style
)

// LayoutEvent assigns a layout phase to the slices with a certain name (reports.md).
type LayoutEvent struct {
	Name   string
	Phase  string
	Option string // the report option that makes the slices count as paint; "": they always count
}
