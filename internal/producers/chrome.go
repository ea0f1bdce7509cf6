package producers

import "strings"

// Names of Chrome's processes and threads.
const (
	ChromeBrowser      = "Browser"        // the main process
	ChromeBrowserMain  = "CrBrowserMain"  // its main thread
	ChromeRendererMain = "CrRendererMain" // the main thread of a renderer
)

// DevToolsCategory is the category, or its suffix, of Chrome's events for the performance panel.
const DevToolsCategory = "devtools.timeline"

// chromeWork lists the categories of Chrome and V8 slices.
var chromeWork = []categoryRule{
	{[]string{"v8.parseOnBackground…"}, CategoryLoad}, // parsing during download, on a separate thread
	{[]string{"MinorGC", "MajorGC", "V8.GC…", "BlinkGC.…", "CppGC.…"}, CategoryGC},
	{[]string{"v8.produce…Cache", "v8.compile…", "v8.parse…", "V8.Compile…", "V8.Parse…", "V8.Optimize…", "v8.wasm…"}, CategoryCompile},
	{[]string{
		"EvaluateScript", "FunctionCall", "EventDispatch", "TimerFire", "FireAnimationFrame", "FireIdleCallback", "RunMicrotasks",
		"v8.run", "v8.evaluateModule", "V8.Execute", "XHRReadyStateChange", "XHRLoad", "WebSocketReceive…",
	}, CategoryScript},
	{[]string{"UpdateLayoutTree", "RecalculateStyles", "ParseAuthorStyleSheet"}, CategoryStyle},
	{[]string{"Layout", "IntersectionObserverController::computeIntersections"}, CategoryLayout},
	{[]string{"PrePaint", "Paint", "PaintImage"}, CategoryPaint},
	{[]string{"Layerize", "Commit", "CompositeLayers", "UpdateLayer"}, CategoryComposite},
	{[]string{"RasterTask", "ImageDecodeTask", "Decode Image", "Draw LazyPixelRef", "GPUTask"}, CategoryRaster},
	{[]string{"ParseHTML", "Resource…"}, CategoryLoad},
}

// ChromeLayout lists the slices that are layout phases.
var ChromeLayout = []LayoutEvent{
	{"Paint", PhasePaint, ""},
	{"PrePaint", PhasePaint, "PrePaint"},
	{"Layout", PhaseReflow, ""},
	{"UpdateLayoutTree", PhaseFrameConstruction, ""},
	{"RecalculateStyles", PhaseFrameConstruction, ""},
}

const (
	runTask     = "RunTask" // an event loop task
	longRunTask = "ThreadControllerImpl::RunTask"

	maxTaskName = len(longRunTask) // length of the longest name below; a switch would copy longer ones
)

// IsTask reports whether a slice of a thread is a task of its message loop. Tasks nest only if a task runs a nested loop.
func IsTask(name []byte) bool {
	if len(name) > maxTaskName {
		return false
	}
	switch string(name) {
	case runTask, longRunTask, "ThreadPool_RunTask", // a task
		"ThreadController active", "WorkerThread active", // a period with tasks
		"EpollEvent": // not a task, but keeps the loop busy too
		return true
	}
	return false
}

// IsLoopTask reports whether a slice of a thread is a single task of its event loop. Thread pool tasks, for which no event loop
// waits, and periods with several tasks are not loop tasks.
func IsLoopTask(name []byte) bool {
	if len(name) > maxTaskName {
		return false
	}
	switch string(name) {
	case runTask, longRunTask:
		return true
	}
	return false
}

// Event is an event that names a context: a frame, a script, a request, or an input event.
type Event uint8

// The events. Comments give the names in traces where they differ.
const (
	OtherEvent Event = iota
	TracingStartedInBrowser
	FrameCommittedInBrowser
	ProcessReadyInBrowser
	CommitLoad
	FrameDeletedInBrowser
	FunctionCall
	EvaluateScript
	ScriptCatchup
	ResourceSendRequest
	ResourceReceivedData
	ResourceFinish
	EventTiming
	EventDispatch
	InputLatency // InputLatency::TYPE: the latency of an input event
	EventLatency
	StagePresented  // …ToPresentationCompositorFrame: the last stage inside EventLatency, ending with the resulting frame
	StageTerminated // …ToTermination: the last stage without a frame
	ParseHTML
	NavigationStart
	PipelineReporter // a frame, from its start until it is presented or dropped
	DOMEvent         // Firefox only
	ContentFrame     // Firefox only: a frame, from its paint until it is presented
)

var eventNames = map[Event]string{
	TracingStartedInBrowser: "TracingStartedInBrowser",
	FrameCommittedInBrowser: "FrameCommittedInBrowser",
	ProcessReadyInBrowser:   "ProcessReadyInBrowser",
	CommitLoad:              "CommitLoad",
	FrameDeletedInBrowser:   "FrameDeletedInBrowser",
	FunctionCall:            "FunctionCall",
	EvaluateScript:          "EvaluateScript",
	ScriptCatchup:           "ScriptCatchup",
	ResourceSendRequest:     "ResourceSendRequest",
	ResourceReceivedData:    "ResourceReceivedData",
	ResourceFinish:          "ResourceFinish",
	EventTiming:             "EventTiming",
	EventDispatch:           "EventDispatch",
	EventLatency:            "EventLatency",
	ParseHTML:               "ParseHTML",
	NavigationStart:         "navigationStart",
	PipelineReporter:        "PipelineReporter",
	DOMEvent:                "DOMEvent",
	ContentFrame:            "CONTENT_FRAME_TIME",
}

var events = func() map[string]Event {
	byName := map[string]Event{}
	for e, name := range eventNames {
		byName[name] = e
	}
	return byName
}()

// Is reports whether the event has the given name.
func (e Event) Is(name []byte) bool { return string(name) == eventNames[e] }

// InputLatencyPrefix precedes the type of an input event in the name of its latency slice.
const InputLatencyPrefix = "InputLatency::"

// EventOf returns the event with the given name.
func EventOf(name string) Event {
	switch {
	case strings.HasPrefix(name, InputLatencyPrefix):
		return InputLatency
	case strings.HasSuffix(name, "ToPresentationCompositorFrame"):
		return StagePresented
	case strings.HasSuffix(name, "ToTermination"):
		return StageTerminated
	}
	return events[name]
}

// NamesScript reports whether the data.url argument of slices with the given name is the script that is run or compiled.
func NamesScript(name string) bool {
	switch name {
	case "FunctionCall", "EvaluateScript", "ScriptCatchup", "v8.compile", "v8.compileModule", "v8.run", "v8.evaluateModule",
		"v8.produceCache", "v8.produceModuleCache":
		return true
	}
	return false
}
