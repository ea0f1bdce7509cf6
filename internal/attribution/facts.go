package attribution

import (
	"bytes"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/timeline"
)

// arguments holds the arguments of an event that providers use. They are read in one pass because most events have none
// of them. Texts remain valid while the event's arguments do.
type arguments struct {
	any bool // the event has arguments

	frame      []byte // the frame that the event names (attribution.md, The types)
	frameFrom  frameSource
	isolate    []byte
	requestID  []byte
	url        []byte
	eventType  []byte
	traceID    []byte // id of an input event in its latency slices
	stagesType []byte // type of the input event in EventLatency

	interaction int64 // interactionId
	happened    int64 // time of a dispatched event in nanoseconds; 0: unknown
	layerTree   int64
	sequence    int64 // number of a graphics frame
	bytes       int64 // encodedDataLength
	timeStamp   float64
	processing  float64 // processingStart
	cpu         timeline.Nanos
	ownURL      []byte  // url as an argument of the event, not as a member of data
	window      int64   // Firefox: innerWindowID; 0: none
	tab         int64   // Firefox: tab of the window
	domType     []byte  // Firefox: eventType
	caller      []byte  // url of the script in the innermost frame of the event's stack
	marker      []byte  // Firefox: name of a marker whose slice is named after its label
	asyncID     []byte  // id of an asynchronous slice in a Perfetto trace that weft wrote
	latency     float64 // in milliseconds

	id      timeline.Arg // Firefox: request id
	channel timeline.Arg // Firefox: id of the request that an event belongs to
	status  []byte       // Firefox: request status
	count   float64      // Firefox: request size in bytes

	probe   []byte // the probe, for slices made from probe lines
	request []byte // OpenTelemetry: the request that starts with the span

	notes [len(NoteKeys)]timeline.Arg // arguments with note names; Kind 0: none

	heapBefore int64 // usedHeapSizeBefore of a garbage collection
	heapAfter  int64 // usedHeapSizeAfter

	hasLatency, hasBefore, hasAfter bool

	hasID, hasChannel, hasCount bool

	hasLayerTree, hasSequence, hasBytes, hasTimes, hasCPU, hasStack bool

	number [24]byte // buffer for traceID
}

// frameSource is the argument in which a frame was found, in order of precedence.
type frameSource uint8

const (
	fromData frameSource = iota + 1
	fromBeginData
	fromArgs
	fromFrameID
)

// text returns the text of an argument, or nil if it is empty or not text.
func text(a *timeline.Arg) []byte {
	if a.Kind == timeline.ArgString && len(a.Text()) > 0 {
		return a.Text()
	}
	return nil
}

// integer returns the value of an integer argument.
func integer(a *timeline.Arg) (int64, bool) {
	switch a.Kind {
	case timeline.ArgInt:
		return a.Int(), true
	case timeline.ArgUint:
		return int64(a.Uint()), a.Uint() < 1<<63
	}
	return 0, false
}

func double(a *timeline.Arg) (float64, bool) {
	if a.Kind == timeline.ArgDouble {
		return a.Double(), true
	}
	v, ok := integer(a)
	return float64(v), ok
}

// appendNumber appends an id: an integer or a text. It appends no floats, because they are not ids.
func appendNumber(b []byte, a *timeline.Arg) []byte {
	switch a.Kind {
	case timeline.ArgInt:
		return strconv.AppendInt(b, a.Int(), 10)
	case timeline.ArgUint:
		return strconv.AppendUint(b, a.Uint(), 10)
	case timeline.ArgString:
		return append(b, a.Text()...)
	}
	return b
}

// factNames holds the names of the arguments and dictionary members that read needs.
var factNames = map[string]bool{
	"data": true, "beginData": true, "frame": true, "frameId": true, "frameSeqId": true, "layerTreeId": true,
	"chrome_latency_info": true, "event_latency": true, "stackTrace": true, "url": true, "innerWindowID": true, "eventType": true,
	"latency": true, timeline.OwnArgs: true, "usedHeapSizeBefore": true, "usedHeapSizeAfter": true, NoteKey: true, OtherNoteKey: true,
	"isolate": true, "requestId": true, "documentLoaderURL": true, "type": true, "encodedDataLength": true, "processingStart": true,
	"frame_reporter": true, "chrome_frame_reporter": true, "frame_sequence": true, "layer_tree_host_id": true,
	"interactionId": true, "timestamp": true, "event_type": true, "channelId": true, "status": true, "count": true,
	"timeStamp": true, "trace_id": true, "event_latency_id": true, "tdur": true, "id": true, "tab": true, "marker": true,
	timeline.OwnProbe: true, "request": true,
}

// read extracts the arguments that providers use.
func (f *arguments) read(t *timeline.ArgSelection, args timeline.Args) {
	for a := range t.List(args) {
		switch string(a.Key) {
		case "data":
			f.readData(t, a, fromData)
		case "beginData":
			f.readData(t, a, fromBeginData)
		case "frame":
			f.setFrame(text(&a), fromArgs)
		case "frameId", "frameSeqId":
			f.setSequence(&a)
		case "frame_reporter", "chrome_frame_reporter":
			f.readReporter(t, a)
		case "layerTreeId":
			f.layerTree, f.hasLayerTree = integer(&a)
		case "chrome_latency_info":
			f.readTraceID(t, a, "trace_id")
		case "event_latency":
			f.readTraceID(t, a, "event_latency_id")
		case "stackTrace":
			f.readStack(t, a)
		case "url":
			f.ownURL = text(&a)
		case "innerWindowID":
			f.window, _ = integer(&a)
		case "eventType":
			f.domType = text(&a)
		case "latency":
			f.latency, f.hasLatency = double(&a)
		case "id":
			f.id, f.hasID = a, true
		case "channelId":
			f.channel, f.hasChannel = a, true
		case "status":
			f.status = text(&a)
		case "count":
			f.count, f.hasCount = double(&a)
		case timeline.OwnArgs:
			f.readWeft(t, a)
		case "usedHeapSizeBefore":
			f.heapBefore, f.hasBefore = integer(&a)
		case "usedHeapSizeAfter":
			f.heapAfter, f.hasAfter = integer(&a)
		case timeline.OwnProbe:
			f.probe = text(&a)
		case NoteKey:
			f.notes[0] = a
		case OtherNoteKey:
			f.notes[1] = a
		}
	}
}

// setFrame sets the frame unless an argument with higher precedence has set it.
func (f *arguments) setFrame(frame []byte, from frameSource) {
	if frame != nil && (f.frame == nil || from < f.frameFrom) {
		f.frame, f.frameFrom = frame, from
	}
}

func (f *arguments) setSequence(a *timeline.Arg) {
	if v, ok := integer(a); ok {
		f.sequence, f.hasSequence = v, true
	}
}

// readData reads the data and beginData dictionaries.
func (f *arguments) readData(t *timeline.ArgSelection, data timeline.Arg, from frameSource) {
	if data.Kind != timeline.ArgDict {
		return
	}
	var start, stamp bool
	for a := range t.Members(data) {
		switch string(a.Key) {
		case "frame":
			f.setFrame(text(&a), from)
		case "frameId":
			if from == fromData {
				f.setFrame(text(&a), fromFrameID)
			}
			f.setSequence(&a)
		case "isolate":
			f.isolate = text(&a)
		case "requestId":
			f.requestID = text(&a)
		case "url", "documentLoaderURL":
			f.url = text(&a)
		case "type":
			f.eventType = text(&a)
		case "encodedDataLength":
			f.bytes, f.hasBytes = integer(&a)
		case "processingStart":
			f.processing, start = double(&a)
		case "timeStamp":
			f.timeStamp, stamp = double(&a)
		case "interactionId":
			f.interaction, _ = integer(&a)
		case "timestamp":
			if us, ok := integer(&a); ok && us > 0 && us < 1<<53 {
				f.happened = us * int64(timeline.Microsecond)
			}
		case "stackTrace":
			f.readStack(t, a)
		}
	}
	f.hasTimes = f.hasTimes || start && stamp
}

// readStack reads the url of the innermost function of a stack.
func (f *arguments) readStack(t *timeline.ArgSelection, stack timeline.Arg) {
	f.hasStack = true
	if stack.Kind != timeline.ArgArray {
		return
	}
	for function := range t.Members(stack) {
		if function.Kind == timeline.ArgDict {
			for a := range t.Members(function) {
				if string(a.Key) == "url" {
					f.caller = text(&a)
				}
			}
		}
		return
	}
}

// readReporter reads the animation frame that a slice reports on.
func (f *arguments) readReporter(t *timeline.ArgSelection, dict timeline.Arg) {
	if dict.Kind != timeline.ArgDict {
		return
	}
	for a := range t.Members(dict) {
		switch string(a.Key) {
		case "frame_sequence":
			f.setSequence(&a)
		case "layer_tree_host_id":
			f.layerTree, f.hasLayerTree = integer(&a)
		}
	}
}

// readTraceID reads the id of an input event and, if present, its type.
func (f *arguments) readTraceID(t *timeline.ArgSelection, dict timeline.Arg, name string) {
	if dict.Kind != timeline.ArgDict || f.traceID != nil {
		return
	}
	for a := range t.Members(dict) {
		if string(a.Key) == "event_type" {
			f.stagesType = text(&a)
		}
		if string(a.Key) == name {
			if _, ok := integer(&a); ok || a.Kind == timeline.ArgUint {
				f.traceID = appendNumber(f.number[:0], &a)
			}
		}
	}
}

// readWeft reads the argument in which weft stores further facts about an event.
func (f *arguments) readWeft(t *timeline.ArgSelection, dict timeline.Arg) {
	if dict.Kind != timeline.ArgDict {
		return
	}
	for a := range t.Members(dict) {
		switch string(a.Key) {
		case "tdur":
			if v, ok := integer(&a); ok && v >= 0 {
				f.cpu, f.hasCPU = timeline.Nanos(v), true
			}
		case "id":
			f.asyncID = text(&a)
		case "tab":
			f.tab, _ = integer(&a)
		case "marker":
			f.marker = text(&a)
		case "request":
			f.request = text(&a)
		}
	}
}

// isPointer reports whether a frame id is an address, as in old Chrome versions.
func isPointer(frame []byte) bool { return bytes.HasPrefix(frame, []byte("0x")) }

// parsePID reads a pid in a reference: decimal, or hexadecimal after 0x.
func parsePID(text []byte) (int64, bool) {
	if len(text) > 2 && text[0] == '0' && text[1]|0x20 == 'x' {
		v, err := strconv.ParseInt(string(text[2:]), 16, 64)
		return v, err == nil
	}
	return jsonscan.Int64(text)
}
