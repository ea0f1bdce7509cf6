package chromejson

import (
	"bytes"
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// metadata collects values from M events. Of several values for the same property, only the latest or the largest counts.
type metadata struct {
	labels map[timeline.TrackID]timedText
	times  map[string]timeline.Nanos // latest times of attributes and sort indexes
	cpus   int64
}

type timedText struct {
	ts   timeline.Nanos
	text string
}

// maxMetadataTimes limits the number of attributes that are ordered by time; beyond it, file order decides.
const maxMetadataTimes = 100_000

// latest reports whether ts is the latest time of key so far, and if so records it.
func (m *metadata) latest(key string, ts timeline.Nanos) bool {
	last, ok := m.times[key]
	if ok && ts < last {
		return false
	}
	if ok || len(m.times) < maxMetadataTimes {
		m.times[key] = ts
	}
	return true
}

// metadataEvent reads an M event (section 14). Its time decides only which of several values counts: a missing time is 0, and a
// negative time is valid. An M alone does not make a thread appear, because viewers do not show tracks without events.
func (rd *reader) metadataEvent() error {
	ev := &rd.ev
	ev.ts = 0
	if ts, ok := ev.get(fieldTs).nanos(); ok {
		if ts, ok = addNanos(ts, rd.opts.Offset); ok {
			ev.ts = ts
		}
	}
	if ev.get(fieldBindID).isID() {
		rd.problem(problem.FlowWithoutDirection, "")
	}
	switch name := ev.get(fieldName).name(); string(name) {
	case "":
		rd.problem(problem.MetadataInvalid, "no name")
	case "process_name":
		if text, ok := rd.metadataText("name"); ok {
			text = bytes.TrimSpace(text)
			rd.b.SetProcessName(rd.process(), ev.ts, text)
			producers.FindMain(rd.b, rd.process(), text, nil)
		}
	case "thread_name":
		if text, ok := rd.metadataText("name"); ok {
			text = producers.ThreadName(text, rd.ev.get(fieldTid).text)
			rd.b.SetThreadName(rd.thread(), ev.ts, text)
			producers.FindMain(rd.b, rd.process(), nil, text)
		}
	case "process_sort_index":
		rd.sortIndex(rd.process())
	case "thread_sort_index":
		rd.sortIndex(rd.thread())
	case "process_labels":
		if text, ok := rd.metadataText("labels"); ok {
			process := rd.process()
			if last, ok := rd.meta.labels[process]; !ok || ev.ts >= last.ts {
				rd.meta.labels[process] = timedText{ev.ts, string(text)}
			}
		}
	case "num_cpus":
		n, ok := wholeNumber(rd.metadataMember("number"), math.MinInt64, math.MaxInt64)
		if !ok || n < 1 {
			rd.invalidMetadata("number")
		} else if n > rd.meta.cpus { // processes disagree
			rd.meta.cpus = n
			rd.b.SetIntAttribute("num_cpus", n)
		}
	case "trace_buffer_overflowed":
		return rd.bufferOverflowed()
	case "stackFrames":
		rd.processFrames()
	default:
		rd.metadataAttribute(string(name))
	}
	return nil
}

// metadataMember returns the last member of args with the given name.
func (rd *reader) metadataMember(name string) (v value) {
	args := rd.ev.get(fieldArgs)
	if args.kind != jsonscan.Object {
		return value{}
	}
	s := &rd.sub
	s.Reset(args.text)
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		kind, text := s.Scalar()
		if string(key) == name {
			v = value{kind, text}
		}
	}
	return v
}

// metadataText returns a member that is a string, number or bool. For any other value, it counts a problem and returns
// false.
func (rd *reader) metadataText(name string) ([]byte, bool) {
	v := rd.metadataMember(name)
	text := v.name()
	if text == nil {
		rd.invalidMetadata(name)
		return nil, false
	}
	return text, true
}

// wholeNumber returns a number or numeric string, rounded and clamped to the given bounds. It returns false for other values.
func wholeNumber(v value, low, high int64) (int64, bool) {
	switch v.kind {
	case jsonscan.Integer, jsonscan.Number, jsonscan.String:
	default:
		return 0, false
	}
	n, ok := jsonscan.Decimal(v.text, 0)
	switch {
	case ok:
		return max(low, min(n, high)), true
	case !jsonscan.IsNumber(v.text):
		return 0, false
	case v.text[0] == '-':
		return low, true
	}
	return high, true
}

func (rd *reader) invalidMetadata(member string) {
	rd.problem(problem.MetadataInvalid, string(clip(rd.ev.get(fieldName).name()))+": "+member)
}

// sortIndex sets the position of a process or thread among its siblings, clamped to Perfetto's range.
func (rd *reader) sortIndex(track timeline.TrackID) {
	n, ok := wholeNumber(rd.metadataMember("sort_index"), math.MinInt32, math.MaxInt32)
	if !ok {
		rd.invalidMetadata("sort_index")
		return
	}
	if !rd.meta.latest("sort "+strconv.FormatUint(uint64(track), 10), rd.ev.ts) {
		return
	}
	rd.b.SetSortIndex(track, int32(n))
}

// metadataAttribute turns any other M event into an attribute of the trace.
func (rd *reader) metadataAttribute(name string) {
	v, member := rd.ev.get(fieldArgs), "args"
	pid, pidText := rd.ev.get(fieldPid).identifier()
	if pidText == "" {
		pidText = strconv.FormatInt(pid, 10)
	}
	key := "process." + pidText + "." + name
	usable := len(v.text) > 0 && v.kind != jsonscan.Null
	switch name {
	case "typeNames":
		member, key = name, name
		v = rd.metadataMember(member)
		usable = v.kind == jsonscan.Object || v.kind == jsonscan.Array
	case "process_uptime_seconds":
		member, key = "uptime", "process."+pidText+".uptime_seconds"
		v = rd.metadataMember(member)
		usable = v.kind != jsonscan.Object && v.kind != jsonscan.Array && jsonscan.IsNumber(v.text)
	}
	if !usable {
		rd.invalidMetadata(member)
		return
	}
	text := v.text
	if len(text) > readers.MaxAttribute {
		rd.problem(problem.MetadataValueOmitted, key)
		return
	}
	if !rd.meta.latest(key, rd.ev.ts) {
		return
	}
	if v, ok := jsonscan.Int64(text); ok {
		rd.b.SetIntAttribute(key, v)
		return
	}
	rd.b.SetAttribute(key, string(rd.S.ValidText(text)))
	if !rd.args.KeepsAll() {
		rd.notes() // kept arguments were counted when they were scanned
	}
}

// bufferOverflowed marks the time at which a process started to lose events.
func (rd *reader) bufferOverflowed() error {
	rd.problem(problem.ProducerDataLoss, "trace_buffer_overflowed")
	ts, ok := rd.metadataMember("overflowed_at_ts").nanos()
	if ok {
		ts, ok = addNanos(ts, rd.opts.Offset)
	}
	if !ok || ts < 0 {
		rd.invalidMetadata("overflowed_at_ts")
		return nil
	}
	rd.ev.ts = ts
	out := rd.prepare(timeline.Instant, rd.b.ProcessInstants(rd.process()))
	out.Name = []byte("Trace buffer overflowed")
	return rd.send()
}

// flushMetadata adds the collected labels.
func (rd *reader) flushMetadata() {
	for process, labels := range rd.meta.labels {
		for label := range bytes.SplitSeq([]byte(labels.text), []byte(",")) {
			if label = bytes.TrimSpace(label); len(label) > 0 {
				rd.b.AddLabel(process, string(label))
			}
		}
	}
}
