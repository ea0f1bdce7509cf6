package verdict

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// webFacts holds the numbers about a page that headings, tiles and issues share.
type webFacts struct {
	page    Text // its name, for a sentence
	load    *report.Load
	slowest *report.Interaction // the slowest answered input; nil: none
	key     *report.Interaction // the slowest click, key or tap
	tasks   int                 // long tasks of the reader's pages
	blocked timeline.Nanos      // the time of these tasks after their first 50 ms
	forced  report.ForcedTime
}

// web judges a browser recording.
func (j *judge) web() {
	f := webFacts{page: text("The page")}
	switch page := j.pageURL(); {
	case j.main != nil && report.IsPage(j.main.Shows):
		f.page = text("%s", name(pageName(j.main.Shows)))
	case page != "":
		f.page = text("%s", name(ShortURL(page)))
	}
	if j.Loads != nil {
		for i := range j.Loads.Pages {
			if l := &j.Loads.Pages[i]; f.load == nil || painted(l) > painted(f.load) {
				f.load = l
			}
		}
	}
	if j.Inputs != nil {
		f.slowest = slowest(j.Inputs.List, func(k report.InputKind) bool { return k.Usual() })
		f.key = slowest(j.Inputs.List, report.InputKind.Discrete)
	}
	for i := range j.tasks {
		if t := &j.tasks[i]; j.classOf(&t.ThreadID) == Yours {
			f.tasks, f.blocked = f.tasks+1, f.blocked+t.Blocking
		}
	}
	j.webIssues(&f)
	j.webHeading(&f)
	j.webTiles(&f)
}

// pageName returns the name of a page for its url. For the url of a script, which may be all that is known about a thread, it
// returns the host.
func pageName(url string) string {
	short := ShortURL(url)
	host, path, _ := strings.Cut(short, "/")
	if strings.HasSuffix(path, ".js") || strings.HasSuffix(path, ".mjs") {
		return host
	}
	return short
}

// pageURL returns the url of the reader's page with the highest cost; "" if there is none.
func (j *judge) pageURL() string {
	for _, t := range j.Costs {
		if !strings.HasPrefix(t.Type, "Page") {
			continue
		}
		for i := range t.Rows {
			if r := &t.Rows[i]; !r.None && r.HasURL && report.IsPage(r.Name) {
				return r.Name
			}
		}
	}
	return ""
}

// painted returns when a page showed its largest content, otherwise its first, otherwise when it was loaded; 0: unknown.
func painted(l *report.Load) timeline.Nanos {
	for _, t := range []*timeline.Nanos{l.LargestPaint, l.FirstPaint, l.Loaded} {
		if t != nil {
			return *t
		}
	}
	return 0
}

// slowest returns the slowest input that got a response, among the kinds that the function of accepts. If no such input got a
// response, it returns nil. list must be sorted, slowest first.
func slowest(list []report.Interaction, of func(report.InputKind) bool) *report.Interaction {
	if i := slices.IndexFunc(list, func(in report.Interaction) bool { return of(in.Kind) && !in.Dropped }); i >= 0 {
		return &list[i]
	}
	return nil
}

// InputName returns a noun with its article for a kind of input.
func InputName(kind report.InputKind) string {
	switch kind {
	case report.KeyInput:
		return "a key press"
	case report.WheelInput:
		return "a turn of the wheel"
	case report.MoveInput:
		return "a move of the pointer"
	case report.OtherInput:
		return "an input event"
	}
	return "a " + string(kind)
}

// webHeading states the worst finding for a user of the page.
func (j *judge) webHeading(f *webFacts) {
	u := j.Utilisation
	if cpu, of, ok := onCPU(j.main); ok && waits(cpu, of) && (f.tasks > 0 || latency(f.slowest) > interaction.good) {
		j.waitingHeading(f, cpu, of)
		return
	}
	switch {
	case f.slowest != nil && f.slowest.Latency > interaction.good:
		if f.tasks > 0 {
			j.heading(interaction.rate(f.slowest.Latency), "%s was slow to respond: %s, and the slowest input took %s", f.page, count(f.tasks, "long task"), length(f.slowest.Latency))
			return
		}
		j.heading(interaction.rate(f.slowest.Latency), "%s was slow to answer: %s was answered after %s", f.page, InputName(f.slowest.Kind), length(f.slowest.Latency))
	case f.load != nil && f.load.LargestPaint != nil && *f.load.LargestPaint > largestPaint.good:
		j.heading(largestPaint.rate(*f.load.LargestPaint), "%s was slow to load: its largest content came after %s", name(ShortURL(f.load.URL)), length(*f.load.LargestPaint))
	case f.tasks > 0 && blocking.rate(f.blocked) == Good && f.slowest != nil:
		j.heading(Good, "%s answered every input within %s, despite %s of up to %s", f.page, length(f.slowest.Latency), count(f.tasks, "long task"), length(j.longestYours()))
	case f.tasks > 0 && blocking.rate(f.blocked) == Good:
		j.heading(Good, "%s had %s, the longest of %s", f.page, count(f.tasks, "long task"), length(j.longestYours()))
	case f.tasks > 0:
		j.heading(blocking.rate(f.blocked), "%s was blocked by %s, the longest for %s", f.page, count(f.tasks, "long task"), length(j.longestYours()))
	case j.Loads != nil && j.Loads.Shift != nil && j.Loads.Shift.Score > goodShift:
		j.heading(rateShift(j.Loads.Shift.Score), "%s moved while it was shown: a layout shift of %s", j.shifted(f), number(shift(j.Loads.Shift.Score)))
	case j.main == nil:
		j.heading("", "%s responded to every input within %s", f.page, length(latency(f.slowest)))
	case j.main.Busy > (u.End-u.Start)/2:
		j.heading("", "%s kept its thread busy for %s of %s, without a long task", f.page, percent(j.main.Busy, u.End-u.Start), length(u.End-u.Start))
	case f.slowest != nil:
		j.heading(Good, "%s responded fast: no long task, and the slowest input took %s", f.page, length(f.slowest.Latency))
	default:
		j.heading("", "%s had no long task: its thread was busy for %s of %s", f.page, length(j.main.Busy), length(u.End-u.Start))
	}
}

// waitingHeading states that the machine, not the page, was slow.
func (j *judge) waitingHeading(f *webFacts, cpu, of timeline.Nanos) {
	j.out.Why[0] = text("Other programs used the CPU, or the thread slept. All lengths here include this waiting.") // replaces what is now in the heading
	rating := blocking.rate(f.blocked)
	if slow := latency(f.slowest); slow > interaction.good {
		rating = interaction.rate(slow)
		j.heading(rating, "%s was kept waiting: its thread ran for only %s of %s, and the slowest input took %s", f.page, percent(cpu, of), length(of), length(slow))
		return
	}
	j.heading(rating, "%s was kept waiting: its thread ran for only %s of %s, with %s", f.page, percent(cpu, of), length(of), count(f.tasks, "long task"))
}

// latency returns the latency of an input; 0 if it is nil.
func latency(in *report.Interaction) timeline.Nanos {
	if in == nil {
		return 0
	}
	return in.Latency
}

// longestYours returns the length of the longest task of the reader's pages.
func (j *judge) longestYours() timeline.Nanos {
	for i := range j.tasks {
		if t := &j.tasks[i]; j.classOf(&t.ThreadID) == Yours {
			return t.Duration
		}
	}
	return 0
}

// shifted names the page whose layout shifted most, which need not be the busiest.
func (j *judge) shifted(f *webFacts) Text {
	if url := j.shows[j.Loads.Shift.ThreadID]; report.IsPage(url) {
		return text("%s", name(pageName(url)))
	}
	return f.page
}

// shift formats a layout shift score, which has no unit.
func shift(score float64) string { return strconv.FormatFloat(score, 'f', 2, 64) }

// webTiles adds the known Core Web Vitals, and the numbers that explain them.
func (j *judge) webTiles(f *webFacts) {
	if l := f.load; l != nil {
		switch {
		case l.LargestPaint != nil:
			j.tile(Tile{Label: "Largest content", Value: table.Length(*l.LargestPaint), Note: "LCP of " + place(l.URL).Text, Rating: largestPaint.rate(*l.LargestPaint)})
		case l.FirstPaint != nil:
			j.tile(Tile{Label: "First content", Value: table.Length(*l.FirstPaint), Note: "FCP of " + place(l.URL).Text, Rating: firstPaint.rate(*l.FirstPaint)})
		case l.Loaded != nil:
			j.tile(Tile{Label: "Load", Value: table.Length(*l.Loaded), Note: place(l.URL).Text})
		}
	}
	if in := f.slowest; in != nil {
		note := string(in.Kind) + " at " + j.moment(in.Start).Text
		if f.key != nil && f.key != in {
			note += "; of clicks, keys and taps " + table.Length(f.key.Latency)
		}
		j.tile(Tile{Label: "Slowest input", Value: table.Length(in.Latency), Note: note, Rating: interaction.rate(in.Latency), Section: "inputs"})
	}
	if j.Utilisation != nil {
		note := "none of 50 ms or longer"
		if f.tasks > 0 {
			note = table.Length(f.blocked) + " in all beyond the first 50 ms of each"
		}
		if more := len(j.tasks) - f.tasks; more > 0 {
			note += "; " + table.Thousands(more) + " more in the browser itself"
		}
		j.tile(Tile{Label: "Long tasks", Value: table.Thousands(f.tasks), Note: note, Rating: blocking.rate(f.blocked), Section: "tasks"})
	}
	if j.Loads != nil && j.Loads.Shift != nil {
		s := j.Loads.Shift
		j.tile(Tile{Label: "Layout shift", Value: shift(s.Score), Note: "CLS: " + table.Count(s.Shifts, "shift") + " at " + j.moment(s.Start).Text, Rating: rateShift(s.Score)})
	}
	if cpu, of, ok := onCPU(j.main); ok {
		t := Tile{Label: "On a CPU", Value: table.Percent(cpu, of), Note: "of the time in which the main thread had work", Section: "busy"}
		if waits(cpu, of) {
			t.Rating = Poor
		}
		j.tile(t)
	}
	if f.forced.Count > 0 {
		j.tile(Tile{Label: "Forced layout", Value: table.Length(f.forced.Total), Note: times(f.forced.Count).Text, Section: "layout"})
	}
	if time, of, _ := j.GCTime(); time > 0 {
		j.tile(Tile{Label: "Garbage collection", Value: table.Length(time), Note: table.Percent(time, of) + " of the busy time", Section: "gc"})
	}
}

// webIssues adds the issues of the page, the browser, the machine and the profiler.
func (j *judge) webIssues(f *webFacts) {
	j.cpuIssue()
	j.taskIssues()
	f.forced = j.forcedIssue()
	j.gcIssue()
	j.functionIssues(2)
	j.inputIssue(f)
	if l := f.load; l != nil && l.LargestPaint != nil && *l.LargestPaint > largestPaint.good {
		j.issue(Issue{
			Title:  text("%s shows its largest content after %s", name(ShortURL(l.URL)), length(*l.LargestPaint)),
			Proof:  text("Good is %s or less.%s", length(largestPaint.good), j.beforePaint(l)),
			Action: text("Send what it needs first, and run scripts after it."), Class: Yours, Gain: *l.LargestPaint - largestPaint.good, Show: &Moment{l.Start, *l.LargestPaint, nil},
		}, 70)
	}
	if j.Loads != nil && j.Loads.Shift != nil && j.Loads.Shift.Score > goodShift {
		s := j.Loads.Shift
		j.issue(Issue{
			Title:  text("The layout of %s shifts by %s", inside(j.shifted(f)), number(shift(s.Score))),
			Proof:  text("%s within %s; good is %s or less.", count(s.Shifts, "shift"), length(s.End-s.Start), number("0.1")),
			Action: text("Reserve space for what comes later: images, frames and inserted elements."), Class: Yours, Gain: timeline.Nanos(s.Score * 1e9), Show: &Moment{s.Start, s.End - s.Start, &s.ThreadID},
		}, 10)
	}
	j.browserIssue()
	if len(j.noise) > 0 {
		t := &j.noise[0]
		j.issue(Issue{
			Title:  text("The recorder itself runs for %s in %s", length(total(j.noise)), count(len(j.noise), "long task")),
			Proof:  text("The longest at %s: %s.", j.moment(t.Start), mainly(t)),
			Action: text("Ignore it: it is there only while you record."), Class: Recorder, Gain: total(j.noise), Show: &Moment{t.Start, t.Duration, &t.ThreadID}, Section: "tasks",
		}, 5)
	}
}

// total returns the sum of the lengths of tasks.
func total(tasks []report.Task) (t timeline.Nanos) {
	for i := range tasks {
		t += tasks[i].Duration
	}
	return t
}

// beforePaint states when the first content was shown, if that was before the largest content was shown.
func (j *judge) beforePaint(l *report.Load) Text {
	if l.FirstPaint == nil || *l.FirstPaint == *l.LargestPaint {
		return nil
	}
	return text(" The first came after %s.", length(*l.FirstPaint))
}

// inputIssue adds an issue about the slowest input if it is slow.
func (j *judge) inputIssue(f *webFacts) {
	in := f.slowest
	if in == nil || in.Latency <= report.FastInput {
		return
	}
	proof, action := text("At %s.", j.moment(in.Start)), text("weft report input shows what ran until the response.")
	if in.Delay != nil && in.Processing != nil && in.Presentation != nil {
		proof = text("At %s: %s until its listeners ran, %s in them, %s until the answer was shown.", j.moment(in.Start), length(*in.Delay), length(*in.Processing), length(*in.Presentation))
		switch max(*in.Delay, *in.Processing, *in.Presentation) {
		case *in.Delay:
			action = text("Split the work that ran before its listeners did.")
		case *in.Processing:
			action = text("Do less in the listeners, or do it after the next frame.")
		default:
			action = text("Change less of the page: style, layout and paint follow the listeners.")
		}
	}
	class := Yours
	if in.Main != nil {
		class = j.classOf(in.Main)
	}
	what := InputName(in.Kind)
	j.issue(Issue{
		Title: text("%s took %s to get a response", strings.ToUpper(what[:1])+what[1:], length(in.Latency)), Proof: proof, Action: action, Class: class, Gain: in.Latency - report.FastInput,
		Show: &Moment{in.Start, in.Latency, in.Main}, Section: "inputs",
	}, 80)
}

// browserIssue adds an issue about the browser's own pages.
func (j *judge) browserIssue() {
	for _, t := range j.Costs {
		if !strings.HasPrefix(t.Type, "Page") {
			continue
		}
		for i := range t.Rows {
			r := &t.Rows[i]
			if r.None || !report.IsOwnPage(r.Name) || r.Self < t.Busy/20 {
				continue
			}
			j.issue(Issue{
				Title: text("The browser's own %s runs for %s", name(ShortURL(r.Name)), length(r.Self)), Proof: text("%s of the busy time of all threads added up.", percent(r.Self, t.Busy)),
				Action: text("Record in a fresh window without extensions to get rid of it."), Class: Browser, Gain: r.Self, Section: "costs",
			}, 5)
			return
		}
	}
}
