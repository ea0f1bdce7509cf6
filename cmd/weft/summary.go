package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/trace"
)

// callsLine states the number of calls made from samples, and the share of the sampled time that they do not cover; for
// comparison, also the share by the DevTools rules.
func callsLine(c *convert.ThreadCalls) string {
	line := fmt.Sprintf("%s made from %s of JavaScript; they lack ", table.Count(c.Calls, "call"), table.Count(c.Samples, "sample"))
	if c.RefinedLost != nil {
		return line + fmt.Sprintf("%s of the sampled time (by the rules of DevTools: %s)", share(c.RefinedLost.Time, c.Time), share(c.LostTime, c.Time))
	}
	return line + share(c.LostTime, c.Time) + " of the sampled time"
}

// share formats a part of a time as a percentage.
func share(part, whole trace.Nanos) string {
	if whole == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(whole))
}

// callSummary describes the calls made from JavaScript samples; "" if there are none.
func callSummary(r *convert.Report) string {
	if len(r.JSCalls) == 0 {
		return ""
	}
	var calls, samples int64
	var time, missing trace.Nanos
	for i := range r.JSCalls {
		c := &r.JSCalls[i]
		lost := c.LostTime
		if c.RefinedLost != nil {
			lost = c.RefinedLost.Time
		}
		calls, samples, time, missing = calls+c.Calls, samples+c.Samples, time+c.Time, missing+lost
	}
	line := fmt.Sprintf("JavaScript: %s made from %s on %s", table.Count(calls, "call"), table.Count(samples, "sample"), table.Count(len(r.JSCalls), "thread"))
	if missing > time/1000 { // less would show as 0.0 %
		line += fmt.Sprintf("; they lack %s of the sampled time", share(missing, time))
	}
	return line
}

// profileLine describes a profile in one line.
func profileLine(p *convert.Profile) string {
	line := fmt.Sprintf("%s of %s: %s", p.ID, threadTitle(p),
		table.Plural(int64(p.Samples), "sample", "samples"))
	if p.Source != "" {
		line += ", source " + p.Source
	}
	if !p.Chosen {
		line += ", not chosen"
	}
	return line
}

// threadTitle returns the name of the thread with its ids in the input: "main [pid 1, tid 2]".
func threadTitle(p *convert.Profile) string {
	var ids []string
	if p.PID.Kind() != trace.NoValue {
		ids = append(ids, "pid "+p.PID.String())
	}
	if p.TID.Kind() != trace.NoValue {
		ids = append(ids, "tid "+p.TID.String())
	}
	if len(ids) == 0 {
		return p.Thread
	}
	return strings.TrimLeft(p.Thread+" ["+strings.Join(ids, ", ")+"]", " ")
}

// clockLine describes a clock: "boottime; 0 is 2026-11-22T12:00:00.000000001Z; the recording ended at 12 ns".
func clockLine(c *convert.RecordedClock) string {
	parts := []string{cmp.Or(c.Name, "not named")}
	if epoch, ok := clockEpoch(c); ok {
		parts = append(parts, "0 is "+time.Unix(0, epoch).UTC().Format(time.RFC3339Nano))
	}
	if c.End != nil {
		parts = append(parts, fmt.Sprintf("the recording ended at %d ns", *c.End))
	}
	return strings.Join(parts, "; ")
}

// clockEpoch returns the Unix time at which the clock was 0, if it is known.
func clockEpoch(c *convert.RecordedClock) (ns int64, ok bool) {
	switch {
	case c.Epoch != nil:
		return *c.Epoch, true
	case c.Sync != nil && c.SyncUnix != nil:
		ns = *c.SyncUnix - *c.Sync
		return ns, (ns < *c.SyncUnix) == (*c.Sync > 0)
	}
	return 0, false
}

// threadsText counts threads and processes.
func threadsText(t convert.TrackCounts) string {
	return table.Plural(int64(t.Threads), "thread", "threads") + " of " + table.Plural(int64(t.Processes), "process", "processes")
}

// summary describes the contents of the input in one line: events, tracks and length.
func summary(r *convert.Report) string {
	e, t := r.Events, r.Tracks
	var events []string
	for _, kind := range []struct {
		n         int64
		one, many string
	}{
		{e.Slices, "slice", "slices"}, {e.Instants, "instant", "instants"},
		{e.CounterValues, "counter value", "counter values"}, {e.Samples, "sample", "samples"},
		{e.Flows, "flow", "flows"},
	} {
		if kind.n > 0 {
			events = append(events, table.Plural(kind.n, kind.one, kind.many))
		}
	}
	if len(events) == 0 {
		return "no events"
	}
	if e.Screenshots > 0 {
		events = append(events, fmt.Sprintf("%s (%s)", table.Plural(e.Screenshots, "screenshot", "screenshots"), table.Plural(e.ScreenshotBytes, "byte", "bytes")))
	}
	line := strings.Join(events, ", ")
	if t.Processes > 0 { // HTTP archives have none
		line += " on " + threadsText(t)
	}
	if own := addedText(&e); own != "" {
		line += ", and " + own
	}
	if r.Span != nil {
		line += fmt.Sprintf("; %s", time.Duration(r.Span.End-r.Span.Start))
	}
	return line
}

// addedText counts the slices and instants that weft added; "" if there are none.
func addedText(e *convert.EventCounts) string {
	var parts []string
	if e.AddedSlices > 0 {
		parts = append(parts, table.Plural(e.AddedSlices, "slice", "slices"))
	}
	if e.AddedInstants > 0 {
		parts = append(parts, table.Plural(e.AddedInstants, "instant", "instants"))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, " and ") + " added by weft"
}

// problemSummary counts all problems by severity: "2 lost, 1 repaired, 7 info". It is empty if there are none.
func problemSummary(r *convert.Report) string { return countProblems(r, r.Problems) }

// unusual returns the problems that are not usual for the format.
func unusual(r *convert.Report) []trace.Problem {
	return slices.DeleteFunc(slices.Clone(r.Problems), func(p trace.Problem) bool { return slices.Contains(r.Usual, p.Name) })
}

// usualLine lists the problems that are usual for the format in one sentence: "as usual: flows without their other end (9),
// samples out of order (682)". It is empty if there are none.
func usualLine(r *convert.Report) string {
	var order []string
	counts := map[string]uint64{}
	for i := range r.Problems {
		p := &r.Problems[i]
		if !slices.Contains(r.Usual, p.Name) {
			continue
		}
		what := problem.Usual(p.Name, string(r.Format))
		if _, ok := counts[what]; !ok {
			order = append(order, what)
		}
		counts[what] = problem.Sum(counts[what], p.Count)
	}
	if len(order) == 0 {
		return ""
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	for i, what := range order {
		order[i] = fmt.Sprintf("%s (%s)", what, table.Thousands(counts[what]))
	}
	return "as usual: " + strings.Join(order, ", ")
}

// countProblems counts problems by severity.
func countProblems(r *convert.Report, problems []trace.Problem) string {
	words := []string{problem.Lost.String(), notAttributed, problem.Repaired.String(), problem.Info.String()}
	counts := make([]uint64, len(words))
	for i := range problems {
		p := &problems[i]
		count := &counts[slices.Index(words, wordFor(r, p))]
		*count = problem.Sum(*count, p.Count)
	}
	var parts []string
	for i, n := range counts {
		if n > 0 {
			parts = append(parts, table.Thousands(n)+" "+words[i])
		}
	}
	return strings.Join(parts, ", ")
}

// notAttributed replaces "lost" for data that is copied anyway.
const notAttributed = "not attributed"

// wordFor returns the displayed severity of a problem: "lost", "repaired" or "info", or "not attributed" for data that is in
// the output but was not attributed.
func wordFor(r *convert.Report, p *trace.Problem) string {
	if p.Severity == problem.Lost.String() && !r.IsLost(p) {
		return notAttributed
	}
	return p.Severity
}

// problemLine describes a problem in one line, with its count and first position: "end_without_begin ×3, first at event 12
// (byte 3456): An end matches no open slice; weft dropped it."
func problemLine(p *trace.Problem) string {
	line := fmt.Sprintf("%s ×%s", p.Name, table.Thousands(p.Count))
	if len(p.Cases) > 0 {
		if at := position(&p.Cases[0]); at != problem.NoPosition {
			line += ", first at " + at.String()
		}
		if detail := p.Cases[0].Detail; detail != "" {
			line += fmt.Sprintf(" (%s)", detail)
		}
	}
	return line + ": " + p.Sentence
}

// position returns the position of a case.
func position(c *trace.ProblemCase) problem.Position {
	at := problem.NoPosition
	if c.Event != nil {
		at.Event = *c.Event
	}
	if c.Byte != nil {
		at.Offset = *c.Byte
	}
	return at
}

// caseText returns the position and detail of a case.
func caseText(c *trace.ProblemCase) string {
	at := position(c)
	switch {
	case at == problem.NoPosition:
		return c.Detail
	case c.Detail == "":
		return at.String()
	}
	return at.String() + ": " + c.Detail
}

// durations is the JSON form of the durations of a conversion's steps.
type durations struct {
	Read      seconds `json:"read_s"`
	Resolve   seconds `json:"resolve_s"`
	Attribute seconds `json:"attribute_s,omitempty"`
	Write     seconds `json:"write_s"`
	Total     seconds `json:"total_s"`
}

func newDurations(d convert.Durations) durations {
	return durations{seconds(d.Read), seconds(d.Resolve), seconds(d.Attribute), seconds(d.Write), seconds(d.Total)}
}

// seconds is a duration that JSON represents as seconds, rounded to milliseconds.
type seconds time.Duration

// MarshalJSON returns the seconds with three decimals.
func (s seconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(s).Seconds()), nil
}

// withNumber appends a number from the input to a name, if there is one: "main [tid 7]".
func withNumber(name, kind string, id trace.Value) string {
	if id.Kind() == trace.NoValue {
		return name
	}
	number := kind + " " + id.String()
	switch name = strings.TrimSuffix(name, " ("+number+")"); name { // a full name may contain it
	case "", number:
		return "[" + number + "]"
	}
	return name + " [" + number + "]"
}

// maxConstants is the maximum number of values of one kind in a summary.
const maxConstants = 4

// factLines lists values that are the same in all samples of a thread, with a line for each kind of value: "eventDelay: 0 ms
// on 157 threads".
func factLines(facts []convert.Fact) (lines []string) {
	type kind struct{ name, unit string }
	var kinds []kind
	threads := map[kind]map[string]int64{} // by value
	for _, f := range facts {
		if f.Samples == 0 {
			continue
		}
		k := kind{f.Name, f.Unit}
		if threads[k] == nil {
			kinds, threads[k] = append(kinds, k), map[string]int64{}
		}
		threads[k][fmt.Sprint(f.Value)]++
	}
	for _, k := range kinds {
		values := slices.SortedFunc(maps.Keys(threads[k]), func(a, b string) int {
			return cmp.Or(cmp.Compare(threads[k][b], threads[k][a]), strings.Compare(a, b))
		})
		var parts []string
		for _, v := range values[:min(len(values), maxConstants)] {
			text := v
			if k.unit != "" {
				text += " " + k.unit
			}
			parts = append(parts, text+" on "+table.Plural(threads[k][v], "thread", "threads"))
		}
		if more := len(values) - len(parts); more > 0 {
			parts = append(parts, table.Plural(int64(more), "other value", "other values"))
		}
		lines = append(lines, k.name+": "+strings.Join(parts, ", "))
	}
	return lines
}
