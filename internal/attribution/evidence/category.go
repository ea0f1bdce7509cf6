package evidence

import "strings"

// Category says what kind of work a slice is.
type Category uint8

// The categories (attribution.md, Cost).
const (
	CategoryNone Category = iota // that of the slice around it
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

// categoryRule gives the slices of a name, or whose names begin and end with something, their category.
type categoryRule struct {
	category Category
	names    []string // one that ends with … is a prefix
	between  [2]string
}

// categoryRules are tried in their order. Chrome's names come first, then those of Firefox. Slices of probes have their
// category from an argument, see phaseCategory.
var categoryRules = []categoryRule{
	{category: CategoryGC, names: []string{"MinorGC", "MajorGC", "V8.GC…", "BlinkGC.…", "CppGC.…", "GCMinor", "GCMajor", "GCSlice", "CC"}},
	{category: CategoryCompile, between: [2]string{"v8.produce", "Cache"}, names: []string{
		"v8.compile…", "v8.parse…", "V8.Compile…", "V8.Parse…", "V8.Optimize…", "v8.wasm…",
	}},
	{category: CategoryScript, names: []string{
		"EvaluateScript", "FunctionCall", "EventDispatch", "TimerFire", "FireAnimationFrame", "FireIdleCallback", "RunMicrotasks",
		"v8.run", "v8.evaluateModule", "V8.Execute", "XHRReadyStateChange", "XHRLoad", "WebSocketReceive…", "DOMEvent", "JavaScript",
	}},
	{category: CategoryStyle, names: []string{"UpdateLayoutTree", "RecalculateStyles", "ParseAuthorStyleSheet", "Styles"}},
	{category: CategoryLayout, names: []string{"Layout", "IntersectionObserverController::computeIntersections", "Reflow"}},
	{category: CategoryPaint, names: []string{"PrePaint", "Paint", "PaintImage", "DisplayList"}},
	{category: CategoryComposite, names: []string{"Layerize", "Commit", "CompositeLayers", "UpdateLayer", "Composite"}},
	{category: CategoryRaster, names: []string{
		"RasterTask", "ImageDecodeTask", "Decode Image", "Draw LazyPixelRef", "GPUTask", "Rasterize",
	}},
	{category: CategoryLoad, names: []string{"ParseHTML", "Resource…", "Network"}},
}

// CategoryOf returns the category that a name has of its own.
func CategoryOf(name string) Category {
	if strings.HasPrefix(name, "v8.parseOnBackground") {
		return CategoryLoad // the parsing of what has just arrived, on a thread beside
	}
	for i := range categoryRules {
		r := &categoryRules[i]
		for _, n := range r.names {
			prefix, isPrefix := strings.CutSuffix(n, "…")
			if n == name || isPrefix && strings.HasPrefix(name, prefix) {
				return r.category
			}
		}
		if r.between[0] != "" && strings.HasPrefix(name, r.between[0]) && strings.HasSuffix(name, r.between[1]) {
			return r.category
		}
	}
	return CategoryNone
}
