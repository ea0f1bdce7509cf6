package producers

// GeckoMain is the name of the main thread of each process of Firefox.
const GeckoMain = "GeckoMain"

// FirefoxRequest is the type of markers that are network requests, FirefoxAnswer the phase of one that starts with the first byte of the answer.
const (
	FirefoxRequest = "Network"
	FirefoxAnswer  = "response"
)

// Categories of Firefox's markers and samples.
const (
	FirefoxScript     = "JavaScript"
	FirefoxCollection = "GC / CC"
	FirefoxLayout     = "Layout"
	FirefoxGraphics   = "Graphics"
	FirefoxIdle       = "Idle"
)

// firefoxWork has the categories of Firefox's markers.
var firefoxWork = []categoryRule{
	{[]string{"GCMinor", "GCMajor", "GCSlice", "CC"}, CategoryGC},
	{[]string{"DOMEvent", FirefoxScript}, CategoryScript},
	{[]string{"Styles"}, CategoryStyle},
	{[]string{"Reflow"}, CategoryLayout},
	{[]string{"DisplayList"}, CategoryPaint},
	{[]string{"Composite"}, CategoryComposite},
	{[]string{"Rasterize"}, CategoryRaster},
	{[]string{"Network"}, CategoryLoad},
}

// FirefoxLayoutMarkers are the markers that are layout phases.
var FirefoxLayoutMarkers = []LayoutEvent{
	{"DisplayList", PhasePaint, ""},
	{"Rasterize", PhasePaint, "Rasterize"},
	{"RasterizeSingleBlob", PhasePaint, "Rasterize"},
	{"Composite", PhasePaint, "Composite"},
	{"Reflow", PhaseReflow, ""},
	{"Reflow (sync)", PhaseReflow, ""},
	{"Reflow (interruptible)", PhaseReflow, ""},
	{"Styles", PhaseFrameConstruction, ""},
}
