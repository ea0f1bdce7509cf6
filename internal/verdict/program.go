package verdict

import (
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// probes judges probe recordings.
func (j *judge) probes() {
	p, all, busy := j.All.Probes, timeline.Nanos(0), timeline.Nanos(0)
	for i := range p.Values {
		all += p.Values[i].Total
	}
	if j.Utilisation != nil {
		busy = j.worked()
	}
	if len(p.Values) == 0 || all < busy/2 {
		j.program()
		return
	}
	top := &p.Values[0]
	what, label, action := p.Argument, "Most time", "Do it less often, or keep its result."
	if what == "query" || what == "sql" || what == "statement" {
		what, action = "statement", "Ask the database for its plan (EXPLAIN), or run it less often."
	}
	if top.Max >= top.Total-top.Total/10 { // one run; slices inside it have the same text
		label = "Slowest"
		j.heading("", "The slowest %s took %s: “%s”", what, length(top.Total), quote(top.Name))
	} else {
		j.heading("", "The %s with the most time took %s in all, the longest run %s: “%s”", what, length(top.Total), length(top.Max), quote(top.Name))
	}
	j.out.Why = append(j.out.Why, text("That is %s of the %s that %s took.", percent(top.Total, all), length(all), count(p.Count, "different "+what)))
	for i := range p.Values[:min(len(p.Values), 3)] {
		v := &p.Values[i]
		proof := text("%s of the time of all.", percent(v.Total, all))
		if v.Max < v.Total-v.Total/10 {
			proof = text("%s of the time of all, in %s, the longest %s.", percent(v.Total, all), count(v.Count, "slice"), length(v.Max))
		}
		j.issue(Issue{
			Title: text("“%s” takes %s", quote(v.Name), length(v.Total)), Proof: proof, Action: text("%s", action), Class: Yours, Gain: v.Total, Show: momentOf(v), Section: "slices",
		}, 50)
	}
	j.tile(Tile{Label: label, Value: table.Length(top.Total), Note: quote(top.Name).Text, Section: "slices"})
	j.tile(Tile{Label: "Different " + what + "s", Value: table.Thousands(p.Count), Note: "in the argument " + p.Argument})
	j.sliceTiles()
}

// momentOf returns the longest slice of a group; nil if none of its slices has an end.
func momentOf(g *report.SliceGroup) *Moment {
	if g.MaxAt == nil {
		return nil
	}
	return &Moment{*g.MaxAt, g.Max, g.MaxOn}
}

// program judges slices for which weft has no special rules.
func (j *judge) program() {
	if j.Utilisation == nil || j.main == nil {
		j.other()
		return
	}
	u, t := j.Utilisation, j.main
	window := u.End - u.Start
	top, code := j.topGroup(report.ThreadSlices), j.topCode()
	switch {
	case j.out.Kind == Probes && j.slept() > t.Busy:
		j.heading("", "The threads slept more than they worked: for %s of %s in all, in system calls that wait", length(j.slept()), length(j.slept()+j.worked()))
	case top != nil && top.Self >= j.kindTime(report.ThreadSlices)/20:
		added := ""
		if top.Self > window {
			added = ", threads added up"
		}
		j.heading("", "%s takes %s of the time of all slices: %s in %s%s", name(top.Name), percent(top.Self, j.kindTime(report.ThreadSlices)), length(top.Self), count(top.Count, "slice"), added)
	case code != nil:
		j.heading("", "%s takes the most time by itself: %s", partName(code.Function, code.URL), length(code.Self))
	default:
		j.heading("", "Thread %s was busy for %s of %s", name(t.ThreadTitle()), percent(t.Busy, window), length(window))
	}
	j.out.Why = append(j.out.Why, text("The busiest thread, %s, was busy for %s of %s.", name(t.ThreadTitle()), percent(t.Busy, window), length(window)))
	j.cpuIssue()
	if len(j.tasks) > 0 && j.tasks[0].Basis == report.LoopTasks {
		j.taskIssues()
	}
	j.gcIssue()
	j.groupIssues()
	if code != nil && j.Slices == nil {
		j.tile(Tile{Label: "Largest", Value: table.Length(code.Self), Note: partName(code.Function, code.URL).Text + ", by itself", Section: "code"})
		j.issue(Issue{
			Title: text("%s takes %s by itself", partName(code.Function, code.URL), length(code.Self)), Proof: text("%s of the busy time of all threads, in one place; with what it calls %s.", percent(code.Self, j.worked()), length(code.Total)),
			Action: text("Look at what it does, and at how often it is called."), Class: Yours, Gain: code.Self, Section: "code",
		}, 30)
	}
	if slept := j.slept(); slept > 0 && j.out.Kind == Probes {
		j.tile(Tile{Label: "Asleep", Value: table.Length(slept), Note: "in system calls that wait", Section: "slices"})
	}
	j.sliceTiles()
}

// slept returns the time in system calls that wait.
func (j *judge) slept() (t timeline.Nanos) {
	if j.Slices == nil {
		return 0
	}
	for i := range j.Slices.Slices.Groups {
		if g := &j.Slices.Slices.Groups[i]; g.Kind == report.ThreadSlices && report.Sleeps(g.Name) {
			t += g.Self
		}
	}
	return t
}

// worked returns the sum of the busy times of threads.
func (j *judge) worked() (t timeline.Nanos) {
	for i := range j.Utilisation.Threads {
		t += j.Utilisation.Threads[i].Busy
	}
	return t
}

// topCode returns the callsite with the most self time; nil if no callsites are known.
func (j *judge) topCode() (top *report.TreeNode) {
	for i := range j.StackTrees {
		for k := range j.StackTrees[i].Nodes {
			if n := &j.StackTrees[i].Nodes[k]; n.Function != "" && (top == nil || n.Self > top.Self) {
				top = n
			}
		}
	}
	return top
}

// groupIssues adds issues about the two slice names with the most self time.
func (j *judge) groupIssues() {
	if j.Slices == nil {
		return
	}
	n := 0
	for i := range j.Slices.Groups {
		g := &j.Slices.Groups[i]
		if g.Kind != report.ThreadSlices || g.Self <= 0 || g.Name == "" || n == 2 || g.Self < j.kindTime(report.ThreadSlices)/50 || report.Sleeps(g.Name) && j.out.Kind == Probes {
			continue
		}
		n++
		proof := text("%s, the longest %s.", count(g.Count, "slice"), length(g.Max))
		if g.Count >= 20 {
			proof = text("%s: half within %s, 95 % within %s, the longest %s.", count(g.Count, "slice"), length(g.P50), length(g.P95), length(g.Max))
		}
		j.issue(Issue{
			Title: text("%s takes %s by itself", name(g.Name), length(g.Self)), Proof: proof,
			Action: text("Do it less often, or look at the longest."), Class: Yours, Gain: g.Self, Show: momentOf(g), Section: "slices",
		}, 30)
	}
}

// sliceTiles adds the tiles that every recording with slices can have.
func (j *judge) sliceTiles() {
	if n := len(j.tasks); n > 0 {
		j.tile(Tile{Label: "Longer than 50 ms", Value: table.Thousands(n), Note: "slices outermost on their thread, up to " + table.Length(j.tasks[0].Duration), Section: "tasks"})
	}
	if time, of, _ := j.GCTime(); time > 0 {
		j.tile(Tile{Label: "Garbage collection", Value: table.Length(time), Note: table.Percent(time, of) + " of the busy time", Section: "gc"})
	}
}

// other judges a recording in which nothing has a length. It states what the recording contains.
func (j *judge) other() {
	c := &j.Counts
	switch {
	case c.Slices+c.Instants+c.Counters+c.Samples == 0:
		j.heading("", "The recording has no events")
	case c.Slices+c.Samples == 0:
		j.heading("", "The recording has no slices and no samples, so there are no times to judge")
	default:
		j.heading("", "%s have no known length", count(c.Slices, "slice"))
	}
	if c.Instants > 0 {
		j.tile(Tile{Label: "Instants", Value: table.Thousands(c.Instants)})
	}
	if c.Counters > 0 {
		j.tile(Tile{Label: "Counter values", Value: table.Thousands(c.Counters)})
	}
}
