package attribution

import (
	"strings"

	"github.com/weft-trace/weft/timeline"
)

// nameInfo is what the name of an event says.
type nameInfo struct {
	name      string
	category  Category // categoryNone: that of the enclosing slice
	collector bool     // a slice that collects garbage
	script    bool     // a slice whose url is that of the script that runs
	runs      bool     // a slice that runs scripts
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
	scriptCatchup
	sendRequest
	receiveData
	finishRequest
	eventTiming
	eventDispatch
	inputLatency
	eventLatency
)

var eventNames = map[string]eventName{
	"TracingStartedInBrowser": tracingStarted,
	"FrameCommittedInBrowser": frameCommitted,
	"ProcessReadyInBrowser":   processReady,
	"CommitLoad":              commitLoad,
	"FrameDeletedInBrowser":   frameDeleted,
	"FunctionCall":            functionCall,
	"ScriptCatchup":           scriptCatchup,
	"ResourceSendRequest":     sendRequest,
	"ResourceReceivedData":    receiveData,
	"ResourceFinish":          finishRequest,
	"EventTiming":             eventTiming,
	"EventDispatch":           eventDispatch,
	"EventLatency":            eventLatency,
}

// inputLatencyPrefix stands before the type of an input event in the name of the slice that shows its latency.
const inputLatencyPrefix = "InputLatency::"

// scriptEvents are the slices whose argument data.url is the script that runs or is prepared to run.
var scriptEvents = map[string]bool{
	"FunctionCall": true, "EvaluateScript": true, "v8.compile": true, "v8.compileModule": true, "v8.run": true,
	"v8.evaluateModule": true, "v8.produceCache": true, "v8.produceModuleCache": true, "ScriptCatchup": true,
}

// collectorNames and collectorPrefixes are the slices that collect garbage (spec contexts.md S12).
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
	for _, prefix := range collectorPrefixes {
		info.collector = info.collector || strings.HasPrefix(name, prefix)
	}
	info.category = categoryOf(name)
	info.runs = info.category == CategoryScript
	return info
}

// infosOf looks at all names of a timeline; index 0 is for events without a name that is interned.
func infosOf(t *timeline.Timeline) []nameInfo {
	infos := make([]nameInfo, t.NameCount()+1)
	for id := range infos[1:] {
		infos[id+1] = infoOf(string(t.Name(timeline.NameID(id + 1))))
	}
	return infos
}
