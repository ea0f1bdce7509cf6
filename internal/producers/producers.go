// Package producers knows what the programs that make traces mean by the names in them: which slices are tasks, what kind of work a
// slice is, which events run script, which category is work of a GPU. There is one file for each producer, with tables from names to
// meanings. Where a program renames an event, its file changes and nothing else.
//
// What does not live here: what follows from a meaning (attribution, reports, calls made of samples), the layout of formats (the
// readers), and the names that weft gives (package timeline).
package producers

import "strings"

// Category is the kind of work that a slice is.
type Category uint8

// The categories (attribution.md, Cost).
const (
	CategoryNone Category = iota // the category of the slice around it
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

	// CategoryCount is the number of categories, CategoryNone included.
	CategoryCount
)

var categoryTexts = [CategoryCount]string{
	"", "gc", "compile", "script", "style", "layout", "paint", "composite", "raster", "load", "other",
}

// String returns "gc", "compile", "script", "style", "layout", "paint", "composite", "raster", "load" or "other".
func (c Category) String() string {
	if c < CategoryCount {
		return categoryTexts[c]
	}
	return ""
}

// categoryRule gives the slices of some names their category.
type categoryRule struct {
	names    []string // "V8.GC…" is every name that starts with V8.GC, "v8.produce…Cache" one that also ends with Cache
	category Category
}

// CategoryOf returns the category that a name has of its own.
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

// matchesAny reports whether a name is among the names of a categoryRule.
func matchesAny(name string, names []string) bool {
	for _, n := range names {
		start, end, isPattern := strings.Cut(n, "…")
		if n == name || isPattern && strings.HasPrefix(name, start) && strings.HasSuffix(name[len(start):], end) {
			return true
		}
	}
	return false
}

// The phases of layout, in the words of the browsers' probes.
const (
	PhasePaint             = "paint"
	PhaseReflow            = "reflow"
	PhaseFrameConstruction = "frameCon" // frame construction: style
)

// LayoutEvent is a name of slices that are a phase of layout (reports.md).
type LayoutEvent struct {
	Name   string
	Phase  string
	Option string // the option of reports with which it counts as paint; "": it always counts
}
