package verdict

import (
	"slices"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// profile judges sampled call stacks.
func (j *judge) profile() {
	thread := &j.Functions[0]
	if j.main != nil {
		if i := slices.IndexFunc(j.Functions, func(f report.ThreadFunctions) bool { return f.ThreadID == j.main.ThreadID }); i >= 0 {
			thread = &j.Functions[i]
		}
	}
	total := j.treeTotal(&thread.ThreadID)
	top := (*report.Function)(nil)
	if len(thread.Functions) > 0 {
		top = &thread.Functions[0]
	}
	j.functionIssues(3)
	j.gcIssue()
	j.taskIssues()
	self := timeline.Nanos(0)
	if top != nil {
		self = top.Self.Sum().Time
	}
	j.profileHeading(&thread.ThreadID, top, self, total)
	if t := j.main; t != nil && t.Sampled {
		span := j.Utilisation.End - j.Utilisation.Start
		j.tile(Tile{Label: "Busy", Value: table.Percent(t.Busy, span), Note: "of the " + table.Length(span) + " that were sampled", Section: "busy"})
		j.out.Why = append(j.out.Why, text("The thread was busy for %s of %s%s.", length(t.Busy), length(span), j.outsideFunctions(t, total)))
	}
	if top != nil {
		j.tile(Tile{Label: "Top function", Value: table.Length(self), Note: partName(top.Function, top.URL).Text + ", itself", Section: "code"})
	}
	j.tile(Tile{Label: "Functions", Value: table.Thousands(thread.Count), Note: "seen in " + table.Count(j.Counts.Samples, "sample"), Section: "code"})
	if time, of, _ := j.GCTime(); time > 0 {
		j.tile(Tile{Label: "Garbage collection", Value: table.Length(time), Note: table.Percent(time, of), Section: "gc"})
	}
	if n := len(j.tasks); n > 0 {
		j.tile(Tile{Label: "Busy for 50 ms", Value: table.Thousands(n), Note: "times at a stretch, up to " + table.Length(j.tasks[0].Duration), Section: "tasks"})
	}
	if n := j.Counts.Samples; n > 1 {
		j.out.Trust = append(j.out.Trust, text("Times come from %s: a function seen only a few times may be chance.", count(n, "sample")))
	}
}

// profileHeading names the worst finding: a function that takes at least a quarter of the time in functions, otherwise garbage
// collection or unbroken busy stretches if these took longer than the largest function, otherwise that function.
func (j *judge) profileHeading(thread *report.ThreadID, top *report.Function, self, total timeline.Nanos) {
	tasks, blocked := slices.DeleteFunc(slices.Clone(j.tasks), func(t report.Task) bool { return t.ThreadID != *thread }), timeline.Nanos(0)
	for i := range tasks {
		blocked += tasks[i].Blocking
	}
	gc, of, bySlices := j.GCTime()
	collects, blocks := gc >= of/5 && gc > max(self, blocked), blocked > self
	switch {
	case top == nil || total <= 0:
		j.heading("", "No function was running in any sample")
		return
	case self >= total/4 || self >= total/10 && !collects && !blocks:
		j.heading("", "%s%s uses %s of the time in functions: %s", partName(top.Function, top.URL), in(top.Location()), percent(self, total), length(self))
		return
	case collects:
		j.heading("", "Garbage collection uses %s of %s: %s", percent(gc, of), collectedOf(bySlices), length(gc))
	case blocks && len(tasks) == 1:
		j.heading("", "The thread was busy without a break for %s", length(tasks[0].Duration))
	case blocks:
		j.heading("", "The thread was busy without a break for up to %s, and %s for more than %s", length(tasks[0].Duration), times(len(tasks)), number("50 ms"))
	default:
		j.heading("", "No function dominates: the largest, %s%s, uses %s of the time in functions", partName(top.Function, top.URL), in(top.Location()), percent(self, total))
		return
	}
	j.out.Why = append(j.out.Why, text("The largest function, %s%s, uses %s of the time in functions: %s.", partName(top.Function, top.URL), in(top.Location()), percent(self, total), length(self)))
}

// outsideFunctions returns the end of a sentence about the time in which a thread was busy outside the functions of the
// profile, if that is at least a fifth of its busy time. total is the time in functions.
func (j *judge) outsideFunctions(t *report.ThreadUse, total timeline.Nanos) Text {
	native := t.Busy - total
	if i := slices.Index(j.Utilisation.Kinds, producers.CategoryGC.String()); i >= 0 {
		native -= t.ByKind[i]
	}
	if total <= 0 || native < t.Busy/5 || j.treeTotal(&t.ThreadID) != total {
		return nil
	}
	return text("; %s of it was native code, such as layout, paint or system calls, which this profile does not divide", length(native))
}
