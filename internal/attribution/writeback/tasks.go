package writeback

import (
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/timeline"
)

// DescribeTask returns a function that encodes, for the mark of a long task, the context of each type with the most self time
// in the task. It encodes nothing for tasks inside another slice, because costs records only outermost slices as tasks.
// DescribeTask must not be called after Attach.
func (a *Additions) DescribeTask() func(timeline.LongTask, *timeline.ArgsEncoder) {
	if a.parts.NoNotes {
		return nil
	}
	tasks := map[timeline.LongTask]*attribution.LongTask{}
	for i := range a.result.Costs.Tasks {
		t := &a.result.Costs.Tasks[i]
		tasks[timeline.LongTask{Thread: t.Thread, TS: t.Start, Dur: t.Length}] = t
	}
	return func(task timeline.LongTask, enc *timeline.ArgsEncoder) {
		t := tasks[task]
		if t == nil {
			return
		}
		contexts := a.result.ContextsOfTask(t)
		if len(contexts) == 0 {
			return
		}
		enc.Key([]byte("ran_for"))
		enc.BeginDict()
		for _, c := range contexts {
			enc.Key([]byte(c.Type))
			enc.BeginDict()
			enc.Key([]byte("name"))
			enc.InternedString(c.Name)
			enc.Duration("self", c.Self)
			enc.EndDict()
		}
		enc.EndDict()
	}
}
