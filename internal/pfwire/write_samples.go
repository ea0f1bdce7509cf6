package pfwire

import (
	"math"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// SampleForm is the form of call-stack samples (perfetto.md 10).
type SampleForm uint8

const (
	// StackSamples writes a StackSample packet for each sample, with its exact time, weight, counter and processor. Perfetto v58
	// and later read them; earlier versions skip them silently.
	StackSamples SampleForm = iota
	// NoSamples omits samples.
	NoSamples
)

// internTasks defines the threads of samples, under their numbers in w.tasks.
func (w *writer) internTasks(in *internWriter) error {
	for id, iid := range w.tasks {
		if iid == 0 || w.onMachine != nil && w.onMachine[id] != w.current {
			continue
		}
		tr := w.t.Track(timeline.TrackID(id))
		b, task := wire.BeginMessage(in.begin(), schema.InternedData_StackSampleTaskContexts)
		b = wire.AppendUint(b, schema.StackSampleTaskContext_IID, uint64(iid))
		b = wire.AppendUint(b, schema.StackSampleTaskContext_PID, uint64(tr.PID))
		b = wire.AppendUint(b, schema.StackSampleTaskContext_TID, uint64(tr.TID))
		if err := in.done(wire.EndMessage(b, task)); err != nil {
			return err
		}
	}
	return nil
}

// numberTasks numbers the threads that can have samples. Sample messages have 32 bits each for process and thread ids.
func numberTasks(t *timeline.Timeline) []uint32 {
	tasks := make([]uint32, t.TrackCount())
	next := uint32(0)
	for id := range tasks {
		tr := t.Track(timeline.TrackID(id))
		if tr.Kind == timeline.ThreadTrack && tr.Used && tr.PID >= 0 && tr.TID >= 0 && tr.TID <= math.MaxUint32 {
			next++
			tasks[id] = next
		}
	}
	return tasks
}

// sample writes a StackSample packet or, for a thread whose ids do not fit in such a packet, an instant with the call stack.
func (w *writer) sample(it *timeline.Item) error {
	if w.samples == NoSamples {
		return nil
	}
	if w.tasks[it.Track] == 0 {
		instant := *it
		instant.Kind, instant.Idle = timeline.ItemInstant, false
		return w.item(&instant)
	}
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	field := schema.TracePacket_StackSample
	if it.Idle || it.Callstack == 0 || w.t.IsIdle(it.Callstack) {
		field = schema.TracePacket_WeftIdleSample
	}
	b, sample := wire.BeginMessage(append(b, w.needsState...), field)
	b = wire.AppendUint(b, schema.StackSample_TaskContextIID, uint64(w.tasks[it.Track]))
	if cpu, ok := it.CPU.Number(); ok {
		var context int
		b, context = wire.BeginMessage(b, schema.StackSample_ExecutionContext)
		b = wire.EndMessage(wire.AppendUint(b, schema.StackSampleExecutionContext_CPU, uint64(cpu)), context)
	}
	if it.Callstack != 0 {
		b = wire.AppendUint(b, schema.StackSample_CallstackIID, uint64(w.stacks[it.Callstack]))
	}
	if len(it.Name) > 0 {
		b = appendSampleCounter(b, schema.StackSample_PrimaryDescriptor, it.Name)
	}
	weight, exact := sampleWeight(it.Value)
	if !exact {
		w.count(problem.SampleWeightChanged, it)
	}
	b = wire.AppendUint(b, schema.StackSample_PrimaryWeight, weight)
	w.out.buf = wire.EndMessage(w.appendTime(wire.EndMessage(b, sample), it.TS), packet)
	return w.out.packetDone()
}

// sampleWeight returns the nonnegative integer nearest to a weight; the result exact is false if the integer differs from the
// weight.
func sampleWeight(n timeline.Number) (weight uint64, exact bool) {
	if n.IsInt() {
		return uint64(max(n.Int(), 0)), n.Int() >= 0
	}
	f := n.Float()
	switch {
	case !(f > 0): // including NaN
		return 0, f == 0
	case f >= math.MaxInt64:
		return math.MaxInt64, false
	}
	return uint64(math.Round(f)), f == math.Trunc(f)
}

// appendSampleCounter appends the descriptor of the counter whose value is a sample's weight.
func appendSampleCounter(b []byte, field int, name []byte) []byte {
	b, counter := wire.BeginMessage(b, field)
	b = wire.AppendBytes(b, schema.StackSampleCounterDescriptor_Name, name)
	return wire.EndMessage(wire.AppendUint(b, schema.StackSampleCounterDescriptor_Unit, schema.StackSample_UnitCount), counter)
}

// count counts a problem at an item of the current segment.
func (w *writer) count(k problem.Kind, it *timeline.Item) {
	w.problems.Add(k, problem.Position{Event: int64(it.Event), Offset: it.Offset}, "")
}
