package reportpage

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// keyNumber is a number that says how the recording is.
type keyNumber struct {
	label, value, note string
	section            Section // that says more; "": none
	bad                bool
}

// keyNumbers writes the numbers at the top.
func (p *document) keyNumbers(keys []keyNumber, sections []section) {
	p.p("<dl class=keys>\n")
	for _, k := range keys {
		class := markup("")
		if k.bad {
			class = " class=bad"
		}
		label := p.text(k.label)
		if has(sections, k.section) {
			label = "<a href=\"#" + markup(k.section) + "\">" + label + "</a>"
		}
		p.p("<div%s><dt>%s</dt><dd><b>%s</b> <small>%s</small></dd></div>\n", class, label, k.value, k.note)
	}
	p.p("</dl>\n")
}

func has(sections []section, id Section) bool {
	return slices.ContainsFunc(sections, func(s section) bool { return s.id == id })
}

// keys returns the key numbers for which there is data.
func (p *page) keys() (keys []keyNumber) {
	a := p.all
	add := func(k keyNumber) { keys = append(keys, k) }
	add(keyNumber{label: "Recorded", value: length(a.End - a.Start), note: recordedNote(a)})
	if u := a.Utilisation; u != nil {
		top := &u.Threads[0]
		add(keyNumber{label: "Busiest thread", value: share(top.Busy, u.End-u.Start), note: cut(top.ThreadID.ThreadTitle(), 40) + p.ofWhat(), section: Busy})
		if t := onCPU(u); t != nil {
			add(keyNumber{label: "On a CPU", value: share(*t.CPU, t.CPUOf), note: "of the slices of " + cut(t.ThreadID.ThreadTitle(), 40), section: Busy, bad: waits(t)})
		}
	}
	switch t := a.Tasks; {
	case t != nil:
		add(keyNumber{label: "Long tasks", value: table.Thousands(t.Count), note: "blocking " + length(t.Blocking), section: Tasks, bad: t.Blocking > 300*millisecond})
	case a.Utilisation != nil:
		add(keyNumber{label: "Long tasks", value: "0", note: "none of 50 ms or longer"})
	}
	if in := a.Inputs; in != nil && len(interactions(in.List)) > 0 {
		worst := &interactions(in.List)[0]
		add(keyNumber{label: "Slowest input", value: length(worst.Latency), note: string(worst.Kind) + " at " + p.moment(worst.Start-a.Start), section: Inputs, bad: worst.Latency > report.SlowInput})
	}
	if f := a.Forced; f != nil {
		var all report.ForcedTime
		for i := range f.Threads {
			addForced(&all, &f.Threads[i].ForcedTime)
		}
		if all.Count > 0 {
			add(keyNumber{label: "Forced layout", value: length(all.Total), note: times(all.Count), section: Layout, bad: all.Total > 100*millisecond})
		}
	}
	if t, of := p.gcTime(); t > 0 {
		add(keyNumber{label: "Garbage collection", value: length(t), note: of.text, section: GC})
	}
	if lost := p.lost(); lost > 0 {
		add(keyNumber{label: "Data lost", value: table.Thousands(lost), note: table.Plural(len(p.problems()), "kind of problem", "kinds of problems"), section: Missing, bad: true})
	} else {
		note := "nothing is missing"
		switch {
		case len(p.all.NotCounted) > 0:
			note = "but not all is counted"
		case len(p.usual()) > 0:
			note = "but the usual"
		}
		add(keyNumber{label: "Data lost", value: "none", note: note, section: Missing})
	}
	return keys
}

// ofWhat says of what the share of a busy thread is a part, unless that is the time recorded.
func (p *page) ofWhat() string {
	u, recorded := p.all.Utilisation, p.all.End-p.all.Start
	if used := u.End - u.Start; used < recorded-recorded/100 {
		return ", of " + length(used) + " with slices"
	}
	return ""
}

// onCPU returns the busiest thread of which it is known how long it was on a CPU; nil: none.
func onCPU(u *report.Utilisation) *report.ThreadUse {
	for i := range u.Threads {
		if t := &u.Threads[i]; t.CPU != nil && t.CPUOf > t.Busy/2 {
			return t
		}
	}
	return nil
}

// waits reports whether a thread was on a CPU for less than three fifths of the time of its slices.
func waits(t *report.ThreadUse) bool { return *t.CPU < t.CPUOf/5*3 }

// recordedNote says how many threads were recorded.
func recordedNote(a *report.All) string {
	return table.Plural(a.Counts.Processes, "process", "processes") + ", " + table.Count(a.Counts.Threads, "thread")
}

// gcTime returns how long the collector ran: by slices, else by samples.
func (p *page) gcTime() (time timeline.Nanos, of gcShare) {
	if u := p.all.Utilisation; u != nil {
		if kind := slices.Index(u.Kinds, "gc"); kind >= 0 && u.By == report.KindsOfWork {
			busy := timeline.Nanos(0)
			for i := range u.Threads {
				time += u.Threads[i].ByKind[kind]
				busy += u.Threads[i].Busy
			}
			return time, gcShare{share(time, busy) + " of the busy time", true}
		}
	}
	covered := timeline.Nanos(0)
	if p.all.GC != nil {
		for i := range p.all.GC.Threads {
			time += p.all.GC.Threads[i].Time
			covered += p.all.GC.Threads[i].Covered
		}
	}
	return time, gcShare{share(time, covered) + " of the sampled time", false}
}

// gcShare says of what the time of the collector is a part.
type gcShare struct {
	text   string
	slices bool // the time is that of slices
}

// finding is a sentence about what stands out, and the time that it is about.
type finding struct {
	time     timeline.Nanos
	section  Section
	sentence markup
}

// maxFindings bounds what stands out.
const maxFindings = 7

// findings returns what a reader should know first, by fixed rules, the largest time first.
func (p *page) findings(sections []section) []finding {
	list := slices.Concat(p.busyFindings(), p.codeFindings(), p.waitFindings())
	slices.SortStableFunc(list, func(a, b finding) int { return cmp.Compare(b.time, a.time) })
	list = slices.DeleteFunc(list, func(f finding) bool { return !has(sections, f.section) })
	if lost := p.lost(); lost > 0 {
		list = append(list[:min(len(list), maxFindings-1)], p.finding(0, Missing, "Some of the data is <b>lost</b>: %s. So the totals are too low.", table.Plural(lost, "case", "cases")))
	}
	return list[:min(len(list), maxFindings)]
}

// standsOut writes the findings.
func (p *page) standsOut(sections []section) {
	list := p.findings(sections)
	if len(list) == 0 {
		return
	}
	p.p("<section id=stands-out aria-labelledby=stands-out-title>\n<h2 id=stands-out-title>What stands out</h2>\n<ol class=findings>\n")
	for _, f := range list {
		p.p("<li>%s <a href=\"#%s\">%s</a></li>\n", f.sentence, markup(f.section), linkText(f.section))
	}
	p.p("</ol>\n</section>\n")
}

// linkText is the text of a link to a section.
func linkText(id Section) string {
	return map[Section]string{Busy: "When", Costs: "What costs most", Code: "Where in the code", Inputs: "The inputs", Tasks: "The tasks", Layout: "Who forces it", GC: "What it interrupts",
		Slices: "The slices", Flows: "The pairs", Missing: "What is missing"}[id]
}

// finding makes a finding; arguments are as those of writer.p.
func (p *page) finding(time timeline.Nanos, section Section, format string, args ...any) finding {
	return finding{time, section, p.phrase(format, args...)}
}

// busyFindings are about threads, tasks and what work was for.
func (p *page) busyFindings() (list []finding) {
	a := p.all
	if u := a.Utilisation; u != nil {
		if t := onCPU(u); t != nil && waits(t) { // what comes first, because it is about all other times
			list = append(list, p.finding(math.MaxInt64, Busy, "<b>%s</b> was on a CPU for %s of the %s that its slices took, %s: it waited, or the machine was busy with something else.", t.ThreadID.ThreadTitle(),
				length(*t.CPU), length(t.CPUOf), share(*t.CPU, t.CPUOf)))
		}
		if t := &u.Threads[0]; t.Busy > (u.End-u.Start)/2 {
			name, shows := t.ThreadID.Title(), markup("")
			if t.Shows != "" {
				name, shows = t.ThreadID.ThreadTitle(), " ("+p.text(t.Shows)+")"
			}
			list = append(list, p.finding(t.Busy, Busy, "<b>%s</b>%s was busy for %s of the time.", name, shows, share(t.Busy, u.End-u.Start)))
		}
	}
	if len(a.Costs) > 0 && len(a.Costs[0].Rows) > 0 {
		t := a.Costs[0]
		for i := range t.Rows {
			if r := &t.Rows[i]; !r.None && t.Type != "Thread" && r.Self > t.Busy/10 {
				list = append(list, p.finding(r.Self, Costs, "%s<b>%s</b> accounts for %s, %s of the busy time of all %s.", typePrefix(t.Type), report.ContextName(t, r), length(r.Self), share(r.Self, t.Busy),
					p.busyTracks("threads added up", "tracks added up, which overlap")))
			}
			if !t.Rows[i].None {
				break
			}
		}
	}
	if t := a.Tasks; t != nil && t.Blocking > 0 {
		list = append(list, p.finding(t.Blocking, Tasks, "<b>%s</b> of 50 ms or longer blocked for %s beyond that; the longest took %s%s.", table.Count(t.Count, "task"), length(t.Blocking),
			length(t.List[0].Duration), mainly(&t.List[0])))
	}
	if a.Slices != nil {
		if f, ok := p.deviceFinding(); ok {
			list = append(list, f)
		}
	}
	return list
}

// codeFindings are about functions, forced layout and the collector.
func (p *page) codeFindings() (list []finding) {
	a := p.all
	for i := range a.Functions[:min(len(a.Functions), 1)] {
		total := a.StackTrees[i].Total
		if len(a.Functions[i].Functions) == 0 {
			continue
		}
		f := &a.Functions[i].Functions[0]
		if self := f.Self.Sum().Time; self > total/20 {
			list = append(list, p.finding(self, Code, "<b>%s</b> used %s itself, %s of the sampled time of its thread in functions.", partName(f.Function, f.URL), length(self), share(self, total)))
		}
	}
	if a.Forced != nil {
		var all report.ForcedTime
		worst := (*report.StackForced)(nil)
		for i := range a.Forced.Threads {
			t := &a.Forced.Threads[i]
			addForced(&all, &t.ForcedTime)
			if len(t.ByStack) > 0 && (worst == nil || t.ByStack[0].Total > worst.Total) {
				worst = &t.ByStack[0]
			}
		}
		if all.Total > 10*millisecond && worst != nil {
			by := "a function that is not known"
			if n := len(worst.Frames); n > 0 {
				by = worst.Frames[n-1].Function
			}
			list = append(list, p.finding(all.Total, Layout, "Script <b>forced style and layout</b> %s, for %s; %s in %s.", times(all.Count), length(all.Total), mostOrPart(worst.Total, all.Total), by))
		}
	}
	if t, of := p.gcTime(); t > 20*millisecond {
		list = append(list, p.finding(t, GC, "<b>The garbage collector</b> ran for %s, %s.", length(t), of.text))
	}
	return list
}

// mostOrPart says how much a part is: most, if it is half or more.
func mostOrPart(part, all timeline.Nanos) string {
	if part >= all-all/2 {
		return "most of it"
	}
	return "the largest part, " + length(part) + ","
}

// waitFindings are about inputs, and threads that wait for others.
func (p *page) waitFindings() (list []finding) {
	a := p.all
	if a.Inputs != nil {
		main := interactions(a.Inputs.List)
		slow := slices.IndexFunc(main, func(in report.Interaction) bool { return in.Latency <= report.SlowInput })
		if slow < 0 {
			slow = len(main)
		}
		if slow > 0 {
			worst := &main[0]
			list = append(list, p.finding(worst.Latency, Inputs, "<b>%s</b> %s answered after more than 200 ms; the slowest, %s at %s, after %s.", table.Count(slow, "input"), plural(slow, "was", "were"), inputName(worst.Kind),
				p.moment(worst.Start-a.Start), length(worst.Latency)))
		}
	}
	if a.FlowPairs != nil {
		for i := range a.FlowPairs.Pairs {
			if f := &a.FlowPairs.Pairs[i]; f.P95 > 50*millisecond && f.Arrows >= 10 {
				list = append(list, p.finding(f.P95, Flows, "Work from <b>%s</b> waits for <b>%s</b>: 5 %% of %s arrive after %s or more.", f.From.ThreadTitle(), f.To.ThreadTitle(), table.Count(f.Arrows, "arrow"), length(f.P95)))
				break
			}
		}
	}
	return list
}
