package writeback

import (
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/timeline"
)

// DescribeTask returns arguments for the mark of a long task that name whom it ran for: by type the context with the most self time in it. For a
// task that lies within another slice it returns nothing, because costs know the outermost slices of threads. It must not be called
// after Attach.
func (a *Additions) DescribeTask() func(timeline.LongTask, *timeline.ArgsEncoder) {
	if a.parts.NoNotes {
		return nil
	}
	known := map[timeline.LongTask]*attribution.LongTask{}
	for i := range a.result.Costs.Tasks {
		t := &a.result.Costs.Tasks[i]
		known[timeline.LongTask{Thread: t.Thread, TS: t.Start, Dur: t.Length}] = t
	}
	return func(task timeline.LongTask, enc *timeline.ArgsEncoder) {
		t := known[task]
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
