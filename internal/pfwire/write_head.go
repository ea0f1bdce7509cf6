package pfwire

import (
	"bytes"
	"cmp"
	"iter"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

const (
	sampleSource       = "trace_event"
	maxInternedPacket  = 64 << 10
	maxAttributePacket = 128 << 10
)

// head writes everything before the events: the start of the sequences, the facts about the whole trace, and the tracks.
func (w *writer) head() error {
	if err := w.clockSnapshot(); err != nil {
		return err
	}
	if err := w.startSequences(); err != nil {
		return err
	}
	if err := w.attributes(); err != nil {
		return err
	}
	if err := w.pages(); err != nil {
		return err
	}
	return w.tracks()
}

// begin writes the start of a sequence: its state, its interned texts, and the order of processes and threads.
func (w *writer) begin() error {
	if err := w.sequenceStart(); err != nil {
		return err
	}
	if err := w.startClock(); err != nil {
		return err
	}
	for _, intern := range []func(*internWriter) error{w.internTexts, w.internStacks, w.internTasks} {
		in := &internWriter{w: w}
		if err := intern(in); err != nil {
			return err
		}
		if err := in.flush(); err != nil {
			return err
		}
	}
	return w.rootOrder()
}

// sequenceStart writes the packet that enables interning, and the sample defaults if there can be samples.
func (w *writer) sequenceStart() error {
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	b = append(b, w.plain...)
	b = wire.AppendUint(b, schema.TracePacket_SequenceFlags, schema.TracePacket_SeqIncrementalStateCleared)
	start := len(b)
	b, defaults := wire.BeginMessage(b, schema.TracePacket_TracePacketDefaults)
	empty := len(b)
	if w.compact.on {
		b = w.compact.appendDefaults(b)
	}
	if w.samples == StackSamples && (w.t.CallstackCount() > 0 || w.t.Totals().Samples > 0) {
		b = appendSampleDefaults(b, w.t.SampleDescription())
	}
	if len(b) > empty {
		b = wire.EndMessage(b, defaults)
	} else {
		b = b[:start]
	}
	w.out.buf = wire.EndMessage(b, packet)
	return w.out.packetDone()
}

// appendSampleDefaults appends the common data of all samples.
func appendSampleDefaults(b []byte, d timeline.SampleDescription) []byte {
	b, sample := wire.BeginMessage(b, schema.TracePacketDefaults_StackSampleDefaults)
	b = wire.AppendString(b, schema.StackSampleDefaults_Source, cmp.Or(d.Source, sampleSource))
	b, counter := wire.BeginMessage(b, schema.StackSampleDefaults_PrimaryDescriptor)
	b = wire.AppendString(b, schema.StackSampleCounterDescriptor_Name, cmp.Or(d.Counter, "samples"))
	switch {
	case d.UnitName != "":
		b = wire.AppendString(b, schema.StackSampleCounterDescriptor_UnitStr, d.UnitName)
	case d.Unit != 0:
		b = wire.AppendUint(b, schema.StackSampleCounterDescriptor_Unit, uint64(d.Unit))
	case d.Counter == "":
		b = wire.AppendUint(b, schema.StackSampleCounterDescriptor_Unit, schema.StackSample_UnitCount)
	}
	return wire.EndMessage(wire.EndMessage(b, counter), sample)
}

// internWriter collects interned entries into packets of moderate size.
type internWriter struct {
	w      *writer
	buf    []byte
	packet int
	data   int
	open   bool
}

// begin returns the buffer to append one entry to; done must follow.
func (in *internWriter) begin() []byte {
	if !in.open {
		in.buf, in.packet = wire.BeginMessage(in.w.out.buf, schema.Trace_Packet)
		in.buf = append(in.buf, in.w.needsState...)
		in.buf, in.data = wire.BeginMessage(in.buf, schema.TracePacket_InternedData)
		in.open = true
	}
	return in.buf
}

func (in *internWriter) done(b []byte) error {
	in.buf = b
	if len(in.buf)-in.packet < maxInternedPacket {
		return nil
	}
	return in.flush()
}

func (in *internWriter) flush() error {
	if !in.open {
		return nil
	}
	in.open = false
	in.w.out.buf = wire.EndMessage(wire.EndMessage(in.buf, in.data), in.packet)
	return in.w.out.packetDone()
}

func (in *internWriter) text(field int, iid uint64, text []byte) error {
	b, mark := wire.BeginMessage(in.begin(), field)
	b = wire.AppendUint(b, schema.InternedString_IID, iid)
	b = wire.AppendBytes(b, schema.InternedString_Str, text)
	return in.done(wire.EndMessage(b, mark))
}

// internTexts defines names, argument names, values and categories. A category text in the input is a list of categories.
func (w *writer) internTexts(in *internWriter) error {
	for _, table := range []struct {
		field, count int
		text         func(id int) []byte
	}{
		{schema.InternedData_EventNames, w.t.NameCount(), func(id int) []byte { return w.t.Name(timeline.NameID(id)) }},
		{schema.InternedData_DebugAnnotationNames, w.t.KeyCount(), func(id int) []byte { return w.t.Key(timeline.KeyID(id)) }},
		{schema.InternedData_DebugAnnotationStringValues, w.t.ValueCount(), func(id int) []byte { return w.t.Value(uint32(id)) }},
		{schema.InternedData_CorrelationIDStr, w.t.CorrelationCount(), func(id int) []byte { return w.t.Correlation(uint32(id)) }},
		{schema.InternedData_EventCategories, len(w.iids), func(id int) []byte { return []byte(w.iids[id-1]) }},
	} {
		for id := 1; id <= table.count; id++ {
			if err := in.text(table.field, uint64(id), table.text(id)); err != nil {
				return err
			}
		}
	}
	return nil
}

// internCategories assigns an iid to every element of the category lists, and encodes the fields for each list.
func (w *writer) internCategories() {
	iids := map[string]uint64{}
	w.categories = make([][]byte, w.t.CategoryCount()+1)
	for id := 1; id <= w.t.CategoryCount(); id++ {
		for category := range splitCategories(w.t.Category(timeline.CategoryID(id))) {
			iid, ok := iids[string(category)]
			if !ok {
				w.iids = append(w.iids, string(category))
				iid = uint64(len(w.iids))
				iids[string(category)] = iid
			}
			w.categories[id] = wire.AppendUint(w.categories[id], eventCategoryIIDs, iid)
		}
	}
}

const eventCategoryIIDs = 3

// splitCategories returns the nonempty elements of a category list, without surrounding spaces.
func splitCategories(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(list) > 0 {
			element := list
			if i := bytes.IndexByte(list, ','); i >= 0 {
				element, list = list[:i], list[i+1:]
			} else {
				list = nil
			}
			if element = bytes.Trim(element, " "); len(element) > 0 && !yield(element) {
				return
			}
		}
	}
}

// internStacks defines frames and call stacks. Perfetto distinguishes frames by name, file and line, but native frames by name
// and address, and ignores columns, which only weft reads (perfetto.md 10).
func (w *writer) internStacks(in *internWriter) error {
	functions, paths := map[string]uint64{}, map[string]uint64{}
	define := func(field int, ids map[string]uint64, text string) (uint64, error) {
		if id, ok := ids[text]; ok || text == "" {
			return id, nil
		}
		id := uint64(len(ids) + 1)
		ids[text] = id
		return id, in.text(field, id, []byte(text))
	}
	used := w.usedFrames()
	if err := w.internMappings(in, used); err != nil {
		return err
	}
	for id := 1; id <= w.t.FrameCount(); id++ {
		if !used[id] {
			continue
		}
		f := w.t.Frame(timeline.FrameID(id))
		function, err := define(schema.InternedData_FunctionNames, functions, f.Function)
		if err != nil {
			return err
		}
		path, err := define(schema.InternedData_SourcePaths, paths, w.frameSource(&f))
		if err != nil {
			return err
		}
		b, mark := wire.BeginMessage(in.begin(), schema.InternedData_Frames)
		b = wire.AppendUint(b, schema.Frame_IID, uint64(id))
		if function != 0 {
			b = wire.AppendUint(b, schema.Frame_FunctionNameID, function)
		}
		b = w.appendPlace(b, &f)
		if path != 0 {
			b = wire.AppendUint(b, schema.Frame_SourcePathIID, path)
		}
		b = appendPosition(b, &f)
		if err := in.done(wire.EndMessage(b, mark)); err != nil {
			return err
		}
	}
	var frames []timeline.FrameID
	for id := range w.t.Callstacks() {
		if w.stacks[id] == 0 {
			continue
		}
		frames = w.t.AppendCallstack(frames[:0], id)
		b, mark := wire.BeginMessage(in.begin(), schema.InternedData_Callstacks)
		b = wire.AppendUint(b, schema.Callstack_IID, uint64(w.stacks[id]))
		for _, f := range frames {
			b = wire.AppendUint(b, schema.Callstack_FrameIDs, uint64(f))
		}
		if err := in.done(wire.EndMessage(b, mark)); err != nil {
			return err
		}
	}
	return nil
}

// usedFrames reports, by FrameID, which frames are in call stacks of the main sequence.
func (w *writer) usedFrames() []bool {
	used := make([]bool, w.t.FrameCount()+1)
	var frames []timeline.FrameID
	for id := range w.t.Callstacks() {
		if w.stacks[id] == 0 {
			continue
		}
		frames = w.t.AppendCallstack(frames[:0], id)
		for _, f := range frames {
			used[f] = true
		}
	}
	return used
}

// appendPosition appends the line and column of a frame.
func appendPosition(b []byte, f *timeline.Frame) []byte {
	if f.Line > 0 {
		b = wire.AppendUint(b, schema.Frame_LineNumber, uint64(f.Line))
	}
	if f.Column > 0 {
		b = wire.AppendUint(b, schema.Frame_WeftColumn, uint64(f.Column))
	}
	return b
}

// rootOrder requests the explicit order of processes and threads if the input has sort indexes.
func (w *writer) rootOrder() error {
	var processes, threads bool
	for id := range w.t.TrackCount() {
		if tr := w.t.Track(timeline.TrackID(id)); tr.Used && tr.HasRank {
			processes = processes || tr.Kind == timeline.ProcessTrack
			threads = threads || tr.Kind == timeline.ThreadTrack
		}
	}
	if !processes && !threads {
		return nil
	}
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	b = append(b, w.plain...)
	b, d := wire.BeginMessage(b, schema.TracePacket_TrackDescriptor)
	b = wire.AppendUint(b, schema.TrackDescriptor_UUID, 0)
	if processes {
		b = wire.AppendUint(b, schema.TrackDescriptor_ProcessOrdering, schema.TrackDescriptor_ProcessOrderingExplicit)
	}
	if threads {
		b = wire.AppendUint(b, schema.TrackDescriptor_ThreadOrdering, schema.TrackDescriptor_ThreadOrderingExplicit)
	}
	w.out.buf = wire.EndMessage(wire.EndMessage(b, d), packet)
	return w.out.packetDone()
}

// attributes writes the facts about the trace as attributes, which Perfetto v55 and later read.
func (w *writer) attributes() error {
	all := []timeline.Attribute{{Key: AttributeVersion, Text: Version}}
	for _, a := range w.t.Attributes() {
		switch {
		case a.Key == AttributeVersion: // the version that wrote the input
		case a.Key == AttributeStarted && a.IsInt && a.Int >= 0:
			if err := w.started(a.Int); err != nil {
				return err
			}
		default:
			all = append(all, a)
		}
	}
	for len(all) > 0 {
		n, size := 0, 0
		for n < len(all) && (n == 0 || size+len(all[n].Key)+len(all[n].Text) < maxAttributePacket) {
			size += len(all[n].Key) + len(all[n].Text)
			n++
		}
		b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
		w.out.buf = wire.EndMessage(appendAttributes(append(b, w.plain...), all[:n]), packet)
		if err := w.out.packetDone(); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// started writes the time at which the tracing service started tracing. Perfetto assumes BOOTTIME unless the packet names another
// clock.
func (w *writer) started(ts int64) error {
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	b = wire.AppendUint(b, schema.TracePacket_Timestamp, uint64(ts))
	if _, primary := w.snapshot(); primary != 0 {
		b = wire.AppendUint(b, schema.TracePacket_TimestampClockID, uint64(primary))
	}
	b, event := wire.BeginMessage(b, schema.TracePacket_ServiceEvent)
	b = wire.AppendBool(b, schema.TracingServiceEvent_TracingStarted, true)
	w.out.buf = wire.EndMessage(wire.EndMessage(b, event), packet)
	return w.out.packetDone()
}

// appendAttributes appends facts about the trace to a packet.
func appendAttributes(b []byte, list []timeline.Attribute) []byte {
	b, m := wire.BeginMessage(b, schema.TracePacket_TraceAttributes)
	for i := range list {
		var a int
		b, a = wire.BeginMessage(b, schema.TraceAttributes_Attribute)
		b = wire.AppendString(b, schema.TraceAttributesAttribute_Key, list[i].Key)
		if list[i].IsInt {
			b = wire.AppendInt(b, schema.TraceAttributesAttribute_LongValue, list[i].Int)
		} else {
			b = wire.AppendString(b, schema.TraceAttributesAttribute_StringValue, list[i].Text)
		}
		b = wire.EndMessage(b, a)
	}
	return wire.EndMessage(b, m)
}

// pages writes the trace's pages, which only weft reads (perfetto.md 5.8).
func (w *writer) pages() error {
	for all := w.t.Pages(); len(all) > 0; {
		b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
		start := len(b)
		b, m := wire.BeginMessage(append(b, w.plain...), schema.TracePacket_TraceAttributes)
		for len(all) > 0 && len(b)-start < maxAttributePacket {
			b = appendPage(b, &all[0])
			all = all[1:]
		}
		w.out.buf = wire.EndMessage(wire.EndMessage(b, m), packet)
		if err := w.out.packetDone(); err != nil {
			return err
		}
	}
	return nil
}

func appendPage(b []byte, p *timeline.Page) []byte {
	b, m := wire.BeginMessage(b, schema.TraceAttributes_WeftPages)
	b = wire.AppendInt(b, schema.WeftPage_Window, p.Window)
	if p.Tab != 0 {
		b = wire.AppendInt(b, schema.WeftPage_Tab, p.Tab)
	}
	if p.Embedder != 0 {
		b = wire.AppendInt(b, schema.WeftPage_Embedder, p.Embedder)
	}
	if p.URL != "" {
		b = wire.AppendString(b, schema.WeftPage_URL, p.URL)
	}
	if p.Private {
		b = wire.AppendBool(b, schema.WeftPage_IsPrivate, true)
	}
	if p.IDSpace != "" {
		b = wire.AppendString(b, schema.WeftPage_IDSpace, p.IDSpace)
	}
	return wire.EndMessage(b, m)
}
