package evidence

import (
	"strings"

	"github.com/weft-trace/weft/internal/profilecalls"
	"github.com/weft-trace/weft/internal/timeline"
)

// nameInfo is what the name of an event says.
type nameInfo struct {
	name      string
	Category  Category // categoryNone: that of the enclosing slice
	collector bool     // a slice that collects garbage
	script    bool     // a slice whose url is that of the script that runs
	Runs      bool     // a slice that runs scripts
	event     eventName
}

// eventName tells the events apart that providers read, see eventNames.
type eventName uint8

const (
	otherEvent eventName = iota
	tracingStarted
	frameCommitted
	processReady
	commitLoad
	frameDeleted
	functionCall
	evaluateScript
	scriptCatchup
	sendRequest
	receiveData
	finishRequest
	eventTiming
	eventDispatch
	inputLatency
	eventLatency
	stagePresented
	stageTerminated
	parseHTML
	navigationStart
	domEvent
)

var eventNames = map[string]eventName{
	"TracingStartedInBrowser": tracingStarted,
	"FrameCommittedInBrowser": frameCommitted,
	"ProcessReadyInBrowser":   processReady,
	"CommitLoad":              commitLoad,
	"FrameDeletedInBrowser":   frameDeleted,
	"FunctionCall":            functionCall,
	"EvaluateScript":          evaluateScript,
	"ScriptCatchup":           scriptCatchup,
	"ResourceSendRequest":     sendRequest,
	"ResourceReceivedData":    receiveData,
	"ResourceFinish":          finishRequest,
	"EventTiming":             eventTiming,
	"EventDispatch":           eventDispatch,
	"EventLatency":            eventLatency,
	"ParseHTML":               parseHTML,
	"navigationStart":         navigationStart,
	"DOMEvent":                domEvent,
}

// inputLatencyPrefix and the type of an input event make the name of the slice that shows its latency.
const inputLatencyPrefix = "InputLatency::"

// stageSuffixes are the ends of the names of the last stages inside EventLatency: a frame with the answer was shown, or there
// is none.
var stageSuffixes = map[string]eventName{"ToPresentationCompositorFrame": stagePresented, "ToTermination": stageTerminated}

// scriptEvents are the slices whose argument data.url is the script that runs or is prepared to run.
var scriptEvents = map[string]bool{
	"FunctionCall": true, "EvaluateScript": true, "v8.compile": true, "v8.compileModule": true, "v8.run": true,
	"v8.evaluateModule": true, "v8.produceCache": true, "v8.produceModuleCache": true, "ScriptCatchup": true,
}

// pageCallCategory is the category of the calls that are made of the samples of self-profiles.
const pageCallCategory = "js"

// scriptCategories are other categories of slices that run scripts: Firefox says so.
var scriptCategories = map[string]bool{"JavaScript": true}

// categoryInfo is what the category of an event, as the input has it, says.
type categoryInfo struct {
	call   bool // a call of a function
	Script bool // it runs a script
}

// categoriesOf looks at all categories of a timeline; index 0 is for events without.
func categoriesOf(t *timeline.Timeline) []categoryInfo {
	infos := make([]categoryInfo, t.CategoryCount()+1)
	for id := range infos[1:] {
		name := t.Category(timeline.CategoryID(id + 1))
		main, _, _ := strings.Cut(string(name), ",") // Firefox's subcategory follows
		call := profilecalls.IsCall(name) || string(name) == pageCallCategory
		infos[id+1] = categoryInfo{call: call, Script: call || scriptCategories[main]}
	}
	return infos
}

// collectorNames and collectorPrefixes are the slices that collect garbage (attribution.md, rule 9).
var (
	collectorNames = map[string]bool{
		"MinorGC": true, "MajorGC": true, "GCMinor": true, "GCMajor": true, "GCSlice": true, "CC": true,
	}
	collectorPrefixes = []string{"V8.GC", "BlinkGC.", "CppGC."}
)

// infoOf looks at a name.
func infoOf(name string) nameInfo {
	info := nameInfo{name: name, event: eventNames[name], script: scriptEvents[name], collector: collectorNames[name]}
	if strings.HasPrefix(name, inputLatencyPrefix) {
		info.event = inputLatency
	}
	for suffix, event := range stageSuffixes {
		if strings.HasSuffix(name, suffix) {
			info.event = event
		}
	}
	for _, prefix := range collectorPrefixes {
		info.collector = info.collector || strings.HasPrefix(name, prefix)
	}
	info.Category = CategoryOf(name)
	info.Runs = info.Category == CategoryScript
	return info
}

// Knows reports whether the name of an event says something.
func Knows(name string) bool {
	info := infoOf(name)
	return info.event != otherEvent || info.Category != CategoryNone || info.collector || info.script
}

// infosOf looks at all names of a timeline; index 0 is for events without a name that is interned.
func infosOf(t *timeline.Timeline) []nameInfo {
	infos := make([]nameInfo, t.NameCount()+1)
	for id := range infos[1:] {
		infos[id+1] = infoOf(string(t.Name(timeline.NameID(id + 1))))
	}
	return infos
}

// markerInfo looks at the name of a marker of Firefox that the timeline has as an argument.
func (f *Found) markerInfo(name []byte) *nameInfo {
	info, ok := f.markers[string(name)]
	if !ok {
		made := infoOf(string(name))
		info = &made
		if len(f.markers) < maxMarkers {
			f.markers[info.name] = info
		}
	}
	return info
}

// maxMarkers bounds the names that are kept.
const maxMarkers = 1 << 16
