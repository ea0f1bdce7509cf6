package verdict

import (
	"path"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// isRecorders reports whether at least half of a task is the profiler's own work.
func isRecorders(t *report.Task) bool {
	for i := range t.Path {
		if s := &t.Path[i]; producers.IsRecorderWork(s.Name) {
			return s.Duration >= t.Duration-t.Duration/2
		}
	}
	own := timeline.Nanos(0)
	for i := range t.Parts {
		if p := &t.Parts[i]; producers.IsRecorderWork(p.Name) {
			own += p.Self
		}
	}
	return own > 0 && own >= t.Duration-t.Duration/2
}

// largestPart returns the part of a task with the most self time; nil if nothing is recorded inside the task.
func largestPart(t *report.Task) *report.WorkPart {
	if len(t.Parts) == 0 || t.Parts[0].Self == 0 || len(t.Parts) == 1 && t.Basis != report.SampledTasks && t.Parts[0].Name == t.Name {
		return nil
	}
	return &t.Parts[0]
}

// partName names a function or slice. A function known only by its address is named after its library.
func partName(function, location string) Part {
	switch {
	case strings.HasPrefix(function, "0x") && location != "":
		return Part{Plain, "a function of " + path.Base(location)}
	case strings.HasPrefix(function, "0x"), function == "":
		return Part{Plain, "something without a name"}
	case function == "program" && location == "": // a V8 state
		return Part{Plain, "native code"}
	case function == "(anonymous)":
		return Part{Plain, "a function without a name"}
	default:
		return name(function)
	}
}

// mainly summarizes a task: by its largest part if this part takes at least half of the task, otherwise by kinds of work.
func mainly(t *report.Task) Text {
	part := largestPart(t)
	switch kinds := largestKinds(&t.Work); {
	case part == nil:
		return text("nothing is recorded inside it")
	case part.Self >= t.Duration-t.Duration/2:
		return text("mostly %s%s, %s", partName(part.Name, part.Location), in(part.Location), length(part.Self))
	case kinds != nil:
		return text("spread over %s", kinds)
	}
	return text("%s%s %s of it", partName(part.Name, part.Location), in(part.Location), length(part.Self))
}

// largestKinds lists the three largest kinds of work; nil if there is only one.
func largestKinds(w *report.Work) (kinds Text) {
	n := 0
	for _, c := range w.ByCategory[:min(len(w.ByCategory), 3)] {
		if c.Time <= 0 {
			continue
		}
		if n++; n > 1 {
			kinds = append(kinds, Part{Plain, ", "})
		}
		kinds = append(kinds, text("%s %s", c.Category, length(c.Time))...)
	}
	if n < 2 {
		return nil
	}
	return kinds
}

// onCPU returns how long a thread was on a CPU, and the length of the slices for which this is known; ok is false unless these
// slices cover more than half of the thread's busy time.
func onCPU(t *report.ThreadUse) (cpu, of timeline.Nanos, ok bool) {
	if t == nil || t.CPU == nil || t.CPUOf <= t.Busy/2 {
		return 0, 0, false
	}
	return *t.CPU, t.CPUOf, true
}

// waits reports whether a thread was on a CPU for less than three fifths of the time of its slices.
func waits(cpu, of timeline.Nanos) bool { return cpu < of/5*3 }

// trust adds the sentences about the limits of the numbers.
func (j *judge) trust() {
	say := func(t Text) { j.out.Trust = append(j.out.Trust, t) }
	if cpu, of, ok := onCPU(j.main); ok && !waits(cpu, of) { // otherwise Why contains it
		say(text("%s was on a CPU for %s of the time of its slices, so lengths here are work, not waiting.", j.threadName(j.main), percent(cpu, of)))
	}
	if len(j.noise) > 0 {
		are := "are"
		if len(j.noise) == 1 {
			are = "is"
		}
		say(text("%s of %s %s the recorder's own work and left out here.", number(table.Thousands(len(j.noise))), count(len(j.noise)+len(j.tasks), "long task"), are))
	}
	switch {
	case j.lost > 0:
		say(text("Data was lost in %s, so totals are too low.", count(j.lost, "case")))
	case len(j.NotCounted) > 0:
		say(text("Some threads were recorded twice, and count once."))
	default:
		say(text("No data was lost."))
	}
}

// threadName names a thread for a sentence: by its page, if known.
func (j *judge) threadName(t *report.ThreadUse) Text {
	if report.IsPage(t.Shows) {
		return text("The main thread of %s", name(ShortURL(t.Shows)))
	}
	return text("Thread %s", name(t.ThreadTitle()))
}

// moment formats a time since the start of the recording.
func (j *judge) moment(at timeline.Nanos) Part {
	if at == j.Start {
		return number("the start")
	}
	return length(at - j.Start)
}

// cpuIssue adds an issue if the main thread waited for a CPU much of the time.
func (j *judge) cpuIssue() {
	cpu, of, ok := onCPU(j.main)
	if !ok || !waits(cpu, of) {
		return
	}
	thread := text("its main thread")
	if !report.IsPage(j.main.Shows) {
		thread = inside(j.threadName(j.main))
	}
	j.out.Why = append(j.out.Why, text("%s of this time is waiting: %s was on a CPU for %s of it.", mostOrMuch(of-cpu, of), thread, percent(cpu, of)))
	j.issue(Issue{
		Title:  text("The thread was waiting, not running, for %s of %s", length(of-cpu), length(of)),
		Proof:  text("On a CPU for %s, %s of it: the machine was busy with something else, or the thread slept.", length(cpu), percent(cpu, of)),
		Action: text("Record again on an idle machine, or compare CPU times."),
		Class:  Machine, Gain: of - cpu, Section: "busy",
	}, 50)
}

// mostOrMuch returns the word for the share of a part in a whole.
func mostOrMuch(part, whole timeline.Nanos) string {
	if part >= whole-whole/2 {
		return "Most"
	}
	return "Much"
}

// taskIssues adds an issue about the longest task.
func (j *judge) taskIssues() {
	var worst *report.Task
	n, blocked := 0, timeline.Nanos(0)
	for i := range j.tasks {
		if t := &j.tasks[i]; j.classOf(&t.ThreadID) == Yours {
			n, blocked = n+1, blocked+t.Blocking
			if worst == nil {
				worst = t
			}
		}
	}
	if worst == nil {
		return
	}
	action := text("Split it, so that the thread returns to its event loop within %s.", number("50 ms"))
	if s := worst.Split; s != nil && s.Name != "" && s.Name != worst.Name {
		action = text("Split %s%s, which takes %s of it.", partName(s.Name, s.Location), in(s.Location), length(s.Duration))
	}
	title := text("The thread is busy for %s at a stretch", length(worst.Duration))
	if what := taskName(worst); what != nil {
		title = text("%s blocks its thread for %s", what, length(worst.Duration))
	}
	proof := text("At %s: %s.", j.moment(worst.Start), mainly(worst))
	if n > 1 {
		proof = append(proof, text(" It is the longest of %s that together block for %s beyond %s each.", count(n, "long task"), length(blocked), number("50 ms"))...)
	}
	j.issue(Issue{
		Title: title, Proof: proof,
		Action: action, Class: Yours, Gain: blocked, Show: &Moment{worst.Start, worst.Duration, &worst.ThreadID}, Section: "tasks",
	}, 60)
}

// taskName names a task after a part that takes at least half of it; nil if no part does, or if the part is only a state of the
// thread.
func taskName(t *report.Task) Text {
	if p := largestPart(t); p != nil && p.Self >= t.Duration-t.Duration/2 && (p.Location != "" || t.Basis != report.SampledTasks) {
		return text("%s", partName(p.Name, p.Location))
	}
	var named *report.PathStep // the innermost step with a place in code, otherwise the outermost with an informative name
	for i := range t.Path {
		if s := &t.Path[i]; i > 0 && s.Name != "" && !isWrapper(s.Name) && s.Duration >= t.Duration-t.Duration/2 && (named == nil || s.Location != "") {
			named = s
		}
	}
	if named != nil {
		return text("A task with %s%s", partName(named.Name, named.Location), in(named.Location))
	}
	return nil
}

// isWrapper reports whether a slice merely wraps the work of a task.
func isWrapper(name string) bool {
	return producers.IsTask([]byte(name)) || strings.HasPrefix(name, "v8.") || name == "FunctionCall" || strings.HasPrefix(name, "SimpleWatcher") ||
		strings.HasPrefix(name, "Receive mojo") || name == "(program)" || name == "(root)"
}

// forcedIssue adds an issue about style and layout that script forces, and returns the total.
func (j *judge) forcedIssue() (all report.ForcedTime) {
	var worst *report.StackForced
	if j.Forced == nil {
		return all
	}
	for i := range j.Forced.Threads {
		t := &j.Forced.Threads[i]
		if j.classOf(&t.ThreadID) != Yours {
			continue
		}
		all.Count += t.Count
		all.Total += t.Total
		if len(t.ByStack) > 0 && (worst == nil || t.ByStack[0].Total > worst.Total) {
			worst = &t.ByStack[0]
		}
	}
	if worst == nil || len(worst.Frames) == 0 || worst.Total < millisecond {
		return all
	}
	f := worst.Frames[len(worst.Frames)-1]
	part := text("")
	if worst.Count < all.Count {
		part = text(", of %s by all functions", length(all.Total))
	}
	j.issue(Issue{
		Title:  text("%s forces layout %s", partName(f.Function, f.URL), times(worst.Count)),
		Proof:  text("Style and layout for %s%s%s.", length(worst.Total), in(f.Location()), part),
		Action: text("Read sizes and positions before you change styles, or in the next frame."),
		Class:  Yours, Gain: worst.Total, Section: "layout",
	}, 90)
	return all
}

// collectedOf names the whole time that report.All.GCTime returns with the time of collections.
func collectedOf(bySlices bool) string {
	if bySlices {
		return "the busy time of all threads"
	}
	return "the sampled time of threads with collections"
}

// gcIssue adds an issue if garbage collection takes at least 5 ms, and at least 2 % of the busy or sampled time.
func (j *judge) gcIssue() {
	time, of, bySlices := j.GCTime()
	if time < 5*millisecond || time < of/50 {
		return
	}
	action, class, sure := text("Allocate less: reuse objects and arrays in loops."), Yours, timeline.Nanos(50)
	if j.GC != nil && len(j.GC.Threads) > 0 {
		t := &j.GC.Threads[0]
		if yours := slices.IndexFunc(j.GC.Threads, func(t report.ThreadGC) bool { return j.classOf(&t.ThreadID) == Yours }); yours >= 0 {
			t = &j.GC.Threads[yours]
		}
		if len(t.ByFunction) > 0 && t.ByFunction[0].GC > 0 && t.ByFunction[0].Function != "" {
			f := &t.ByFunction[0]
			action = text("Allocate less in %s%s, which it interrupts most.", partName(f.Function, f.URL), in(f.Location()))
			if j.isBrowsers(f.URL) {
				class, sure = Browser, 5
			}
		}
		if j.classOf(&t.ThreadID) == Browser {
			class, sure = Browser, 5
		}
	}
	j.issue(Issue{
		Title: text("Garbage collection uses %s of %s", percent(time, of), collectedOf(bySlices)), Proof: text("%s of %s.", length(time), length(of)),
		Action: action, Class: class, Gain: time, Section: "gc",
	}, sure)
}

// isBrowsers reports whether code at a url is the browser's own. In Firefox, functions without a url are native.
func (j *judge) isBrowsers(url string) bool {
	native := url == "" && j.main != nil && strings.HasPrefix(j.main.Thread, producers.GeckoMain)
	return j.out.Kind == WebPage && (native || report.IsOwnPage(url) || url != "" && !strings.Contains(url, "://"))
}

// functionIssues adds issues about the functions with the most self time on the main thread, or on the first thread with samples.
func (j *judge) functionIssues(most int) {
	i := -1
	if j.main != nil {
		i = slices.IndexFunc(j.Functions, func(f report.ThreadFunctions) bool { return f.ThreadID == j.main.ThreadID })
	}
	if i = max(i, 0); i < len(j.Functions) {
		total := j.treeTotal(&j.Functions[i].ThreadID)
		for k := range j.Functions[i].Functions[:min(len(j.Functions[i].Functions), most)] {
			f := &j.Functions[i].Functions[k]
			self := f.Self.Sum().Time
			if self < total/20 || self <= 0 {
				break
			}
			class, sure := Yours, timeline.Nanos(50)
			if j.out.Kind == WebPage && strings.HasPrefix(f.Function, "0x") || j.isBrowsers(f.URL) {
				class, sure = Browser, 5
			}
			j.issue(Issue{
				Title:  text("%s itself uses %s of the time in functions", partName(f.Function, f.URL), percent(self, total)),
				Proof:  text("%s of %s%s; with what it calls %s.", length(self), length(total), in(f.Location()), length(f.Total.Time)),
				Action: text("Look at its own code, and at how often it is called."),
				Class:  class, Gain: self, Section: "code",
			}, sure)
		}
	}
}

// treeTotal returns a thread's time in functions.
func (j *judge) treeTotal(t *report.ThreadID) timeline.Nanos {
	for i := range j.StackTrees {
		if j.StackTrees[i].ThreadID == *t && j.StackTrees[i].From == report.TreeOfSamples {
			return j.StackTrees[i].Total
		}
	}
	return 0
}
