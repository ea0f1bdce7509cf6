package pfwire

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/tracetext"
)

// reader turns packets back into the text of tracetext.Dump, with nothing but the generated structs.
type reader struct {
	names, categories, keys, functions map[uint64]string
	frames                             map[uint64]uint64 // to functions
	callstacks                         map[uint64][]uint64
	tasks                              map[uint64]*protos.StackSample_TaskContext
	tracks                             map[uint64]*protos.TrackDescriptor
	lines                              []string
}

func (r *reader) packet(p *protos.TracePacket) {
	if d := p.GetInternedData(); d != nil {
		r.interned(d)
	}
	if d := p.GetTrackDescriptor(); d != nil {
		r.tracks[d.GetUuid()] = d
	}
	if e := p.GetTrackEvent(); e != nil {
		r.event(p.GetTimestamp(), e)
	}
	if s := p.GetStackSample(); s != nil {
		task := r.tasks[s.GetTaskContextIid()]
		r.lines = append(r.lines, fmt.Sprintf("%d sample %d/%d %d stack=%s", p.GetTimestamp(), task.GetPid(), task.GetTid(),
			s.GetPrimaryWeight(), r.stack(s.GetCallstackIid())))
	}
}

func (r *reader) interned(d *protos.InternedData) {
	for _, e := range d.EventNames {
		r.names[e.GetIid()] = e.GetName()
	}
	for _, e := range d.EventCategories {
		r.categories[e.GetIid()] = e.GetName()
	}
	for _, e := range d.DebugAnnotationNames {
		r.keys[e.GetIid()] = e.GetName()
	}
	for _, e := range d.FunctionNames {
		r.functions[e.GetIid()] = string(e.GetStr())
	}
	for _, e := range d.Frames {
		r.frames[e.GetIid()] = e.GetFunctionNameId()
	}
	for _, e := range d.Callstacks {
		r.callstacks[e.GetIid()] = e.GetFrameIds()
	}
	for _, e := range d.StackSampleTaskContexts {
		r.tasks[e.GetIid()] = e
	}
}

func (r *reader) event(ts uint64, e *protos.TrackEvent) {
	track := r.tracks[e.GetTrackUuid()]
	if track == nil {
		r.lines = append(r.lines, fmt.Sprintf("%d: track %d has no descriptor", ts, e.GetTrackUuid()))
		return
	}
	kind := map[protos.TrackEvent_Type]string{
		protos.TrackEvent_TYPE_SLICE_BEGIN: "begin", protos.TrackEvent_TYPE_SLICE_END: "end",
		protos.TrackEvent_TYPE_INSTANT: "instant", protos.TrackEvent_TYPE_COUNTER: "counter",
	}[e.GetType()]
	line := fmt.Sprintf("%d %s %s", ts, kind, r.path(track))
	switch e.GetType() {
	case protos.TrackEvent_TYPE_COUNTER:
		if v, ok := e.CounterValueField.(*protos.TrackEvent_DoubleCounterValue); ok {
			line += " " + strconv.FormatFloat(v.DoubleCounterValue, 'g', -1, 64) + "f"
		} else {
			line += fmt.Sprintf(" %d", e.GetCounterValue())
		}
	case protos.TrackEvent_TYPE_SLICE_BEGIN, protos.TrackEvent_TYPE_INSTANT:
		name := e.GetName() + r.names[e.GetNameIid()]
		if name == "" {
			name = "-"
		}
		line += " " + name
	}
	r.lines = append(r.lines, line+r.fields(e))
}

// fields writes what comes after the name.
func (r *reader) fields(e *protos.TrackEvent) string {
	var line strings.Builder
	categories := append([]string(nil), e.Categories...)
	for _, iid := range e.CategoryIids {
		categories = append(categories, r.categories[iid])
	}
	if len(categories) > 0 {
		line.WriteString(" cat=" + strings.Join(categories, ","))
	}
	for i, v := range e.ExtraCounterValues {
		if c := r.tracks[e.ExtraCounterTrackUuids[i]]; c.GetCounter().GetType() == protos.CounterDescriptor_COUNTER_THREAD_TIME_NS {
			fmt.Fprintf(&line, " tts=%d", v)
		}
	}
	args, id := r.args(e.DebugAnnotations)
	if len(args) > 0 {
		line.WriteString(" args={" + strings.Join(args, " ") + "}")
	}
	if e.GetCallstackIid() != 0 {
		line.WriteString(" stack=" + r.stack(e.GetCallstackIid()))
	}
	line.WriteString(id)
	for _, flow := range e.FlowIds {
		fmt.Fprintf(&line, " flow=%d", flow)
	}
	for _, flow := range e.TerminatingFlowIds {
		fmt.Fprintf(&line, " end=%d", flow)
	}
	return line.String()
}

// args writes arguments; the annotation weft is the id of an asynchronous track.
func (r *reader) args(list []*protos.DebugAnnotation) (args []string, id string) {
	for _, a := range list {
		key := a.GetName() + r.keys[a.GetNameIid()]
		if key == "weft" {
			id = " id=" + a.DictEntries[0].GetStringValue()
			continue
		}
		if v, ok := a.Value.(*protos.DebugAnnotation_IntValue); ok {
			args = append(args, fmt.Sprintf("%s=%d", key, v.IntValue))
		} else {
			args = append(args, fmt.Sprintf("%s=%q", key, a.GetStringValue()))
		}
	}
	return args, id
}

func (r *reader) stack(iid uint64) string {
	var names []string
	for _, f := range r.callstacks[iid] {
		names = append(names, r.functions[r.frames[f]])
	}
	return strings.Join(names, ";")
}

// path is the path of tracetext without the kind of the track; a lane has the path of its track.
func (r *reader) path(d *protos.TrackDescriptor) string {
	switch {
	case d.Process != nil:
		return strconv.Itoa(int(d.Process.GetPid()))
	case d.Thread != nil:
		return fmt.Sprintf("%d/%d", d.Thread.GetPid(), d.Thread.GetTid())
	}
	parent := "root"
	if p := r.tracks[d.GetParentUuid()]; p != nil {
		parent = r.path(p)
	}
	if d.GetName() == "Overlapping slices" {
		return parent
	}
	return parent + "/" + strings.ReplaceAll(d.GetName(), " ", "_")
}

var (
	notWritten = regexp.MustCompile(`~\d+|#\d+| dur=\d+| open$`)
	trackKinds = regexp.MustCompile(`/(async|track|counter):`)
)

// TestReadBack reads what was written with the generated structs and gets the items of Walk.
func TestReadBack(t *testing.T) {
	tl := build(t, busyText(3000), nil)
	walk, err := tracetext.Dump(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for line := range strings.Lines(walk) {
		line = notWritten.ReplaceAllString(strings.TrimSuffix(line, "\n"), "")
		want = append(want, trackKinds.ReplaceAllString(line, "/"))
	}
	for _, codec := range []Codec{NoCodec, Zlib, Zstd} {
		r := reader{
			names: map[uint64]string{}, categories: map[uint64]string{}, keys: map[uint64]string{}, functions: map[uint64]string{},
			frames: map[uint64]uint64{}, callstacks: map[uint64][]uint64{}, tracks: map[uint64]*protos.TrackDescriptor{}, tasks: map[uint64]*protos.StackSample_TaskContext{},
		}
		for _, p := range decode(t, write(t, tl, Options{Compression: codec})).Packet {
			r.packet(p)
		}
		if diff := cmp.Diff(want, r.lines); diff != "" {
			t.Errorf("%v: -want +got\n%.4000s", codec, diff)
		}
	}
}
