package producers

// GeckoMain is the name of the main thread in each Firefox process.
const GeckoMain = "GeckoMain"

// FirefoxRequest is the type of network request markers; FirefoxAnswer is the request phase that starts with the first byte of
// the response.
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

// firefoxWork lists the categories of Firefox's markers.
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

// FirefoxLayoutMarkers lists the markers that are layout phases.
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
