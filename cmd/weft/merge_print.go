package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// mergeReport is the output of weft merge --json.
type mergeReport struct {
	Output        string        `json:"output,omitempty"`
	Clock         string        `json:"clock"`
	Reference     string        `json:"reference"`
	Inputs        []mergedInput `json:"inputs"`
	SameProcesses []sameProcess `json:"same_processes"`
	Checked       []checked     `json:"checked"`
	CheckedMore   int           `json:"checked_more,omitempty"`
	Notes         []string      `json:"notes,omitempty"`
	*convert.Report
	Problems  []mergedProblem `json:"problems"`
	Durations *durations      `json:"durations,omitempty"`
}

// mergedProblem is a data problem in one input or, if Input is empty, a problem found after all inputs were on one timeline.
type mergedProblem struct {
	Input string `json:"input,omitempty"`
	trace.Problem
}

// problemsByInput splits problems by the inputs whose readers found them. The rest has no input.
func problemsByInput(j *mergeJob, all []trace.Problem) []mergedProblem {
	list := []mergedProblem{}
	for _, p := range all {
		left := p.Count
		for i := range j.Problems {
			for _, total := range j.ProblemsOf(i) {
				if total.Kind.Name() != p.Name {
					continue
				}
				of := p
				of.Count, of.Cases = total.Count, nil
				for _, c := range total.Cases {
					of.Cases = append(of.Cases, problemCase(c))
				}
				list = append(list, mergedProblem{j.Inputs[i].Name, of})
				left -= min(left, total.Count)
			}
		}
		if left > 0 {
			p.Count, p.Cases = left, nil // their positions refer to the events of all inputs
			list = append(list, mergedProblem{"", p})
		}
	}
	return list
}

// problemCase converts a case to its form in reports.
func problemCase(c problem.Case) (out trace.ProblemCase) {
	if at := c.Position.Event; at >= 0 {
		out.Event = &at
	}
	if at := c.Position.Offset; at >= 0 {
		out.Byte = &at
	}
	out.Detail = c.Detail
	return out
}

// mergedInput is an input in the report.
type mergedInput struct {
	Name     string     `json:"name"`
	File     string     `json:"file"`
	Format   string     `json:"format"`
	Host     string     `json:"host,omitempty"`
	Machine  uint32     `json:"machine,omitempty"` // the machine_id of its packets, with --machines
	Clock    string     `json:"clock,omitempty"`
	Offset   int64      `json:"offset_ns"`
	Low      int64      `json:"low_ns"`
	High     int64      `json:"high_ns"`
	AtLeast  bool       `json:"at_least,omitempty"`
	By       string     `json:"by,omitempty"`
	Evidence string     `json:"evidence,omitempty"`
	Thread   *thread    `json:"thread,omitempty"`
	Span     *mergeSpan `json:"span,omitempty"`
	LeftOut  string     `json:"left_out,omitempty"`
}

type thread struct {
	PID int64 `json:"pid"`
	TID int64 `json:"tid"`
}

type mergeSpan struct {
	Start int64 `json:"start_ns"`
	End   int64 `json:"end_ns"`
}

// sameProcess is a pid that occurs in several inputs.
type sameProcess struct {
	PID    string   `json:"pid"`
	Inputs []string `json:"inputs"`
	By     string   `json:"by,omitempty"` // "": not known to be one process
}

// checked is a relation that was not needed to place the inputs.
type checked struct {
	A        string `json:"a"`
	B        string `json:"b"`
	By       string `json:"by"`
	Evidence string `json:"evidence,omitempty"`
	Low      *int64 `json:"low_ns,omitempty"` // missing if only the other side is bounded
	High     *int64 `json:"high_ns,omitempty"`
	Residual *int64 `json:"residual_ns,omitempty"` // only with both bounds
}

// newMergeReport makes the report of a job.
func newMergeReport(j *mergeJob, report *convert.Report) *mergeReport {
	plan := j.Plan
	if j.Machines && len(plan.Machines) == 0 {
		plan.Notes = append(plan.Notes, "--machines: no input is known to be of another host than "+j.Sources[plan.Reference].Name+"; --host NAME=HOST says so")
	}
	r := &mergeReport{
		Clock: plan.Clock, Reference: j.Sources[plan.Reference].Name, Notes: plan.Notes, CheckedMore: plan.Unchecked, Report: report,
		Inputs: []mergedInput{}, SameProcesses: []sameProcess{}, Checked: []checked{}, Problems: []mergedProblem{},
	}
	if report != nil {
		d := newDurations(report.Durations)
		r.Output, r.Durations = outputName(j.output), &d
		r.Problems = problemsByInput(j, report.Problems)
	}
	failed := map[int]error{}
	for _, f := range j.Failed {
		failed[f.Input] = f.Err
	}
	for i := range j.Inputs {
		r.Inputs = append(r.Inputs, newMergedInput(j, i, failed[i]))
	}
	for _, p := range plan.Processes {
		same := sameProcess{PID: p.PID, By: p.By}
		for _, i := range p.Inputs {
			same.Inputs = append(same.Inputs, j.Inputs[i].Name)
		}
		r.SameProcesses = append(r.SameProcesses, same)
	}
	for i := range plan.Checked {
		r.Checked = append(r.Checked, newChecked(j, &plan.Checked[i]))
	}
	return r
}

// newMergedInput returns the report's entry for an input; the parameter failed is the reason why the input was left out, nil if
// it was not left out.
func newMergedInput(j *mergeJob, i int, failed error) mergedInput {
	p := &j.Plan.Inputs[i]
	in := mergedInput{Name: j.Inputs[i].Name, File: j.Inputs[i].File, Format: j.Inputs[i].Format}
	if failed != nil {
		in.LeftOut = load.ErrorText(failed)
		return in
	}
	in.Host, in.Clock, in.Offset, in.Low, in.High, in.AtLeast = p.Host, p.Clock, int64(p.Offset), int64(p.Low), int64(p.High), p.AtLeast
	if j.Machines {
		in.Machine = p.Machine
	}
	if i != j.Plan.Reference {
		in.By, in.Evidence = p.Rule.String(), p.Evidence
	}
	if p.Thread != nil {
		in.Thread = &thread{p.Thread.PID, p.Thread.TID}
	}
	if p.Span.To > p.Span.From {
		in.Span = &mergeSpan{int64(p.Span.From), int64(p.Span.To)}
	}
	return in
}

// newChecked returns the report's entry for a relation.
func newChecked(j *mergeJob, c *merge.Check) checked {
	low, high := c.HasLow(), c.HasHigh()
	return checked{
		A: j.Inputs[c.A].Name, B: j.Inputs[c.B].Name, By: c.Rule.String(), Evidence: c.Evidence,
		Low: known(c.Low, low), High: known(c.High, high), Residual: known(c.Residual, low && high),
	}
}

// known returns a time for JSON; nil if it is unknown.
func known(t timeline.Nanos, ok bool) *int64 {
	if !ok {
		return nil
	}
	n := int64(t)
	return &n
}

// writeMerged writes the report of a job.
func (j *mergeJob) writeMerged(report *convert.Report) error {
	w := j.reportWriter(nil)
	if w == nil {
		return nil
	}
	r := newMergeReport(j, report)
	if j.reportJSON {
		return writeJSON(w, r)
	}
	return r.writeText(w, j.Plan)
}

// placed returns how many inputs were not left out.
func (r *mergeReport) placed() (n int) {
	for i := range r.Inputs {
		if r.Inputs[i].LeftOut == "" {
			n++
		}
	}
	return n
}

// maxInputLines is the maximum number of inputs in the text report.
const maxInputLines = 40

// writeText lists each input's offset and how it was found, and the contents of the output.
func (r *mergeReport) writeText(w io.Writer, plan *merge.Plan) error {
	var b strings.Builder
	name := r.Output
	if name == "" {
		name = "(dry run)"
	}
	inputs := table.Count(len(r.Inputs), "input")
	if placed := r.placed(); placed < len(r.Inputs) {
		inputs = table.Thousands(int64(placed)) + " of " + inputs
	}
	fmt.Fprintf(&b, "%s: %s on the clock of %s", printable(name), inputs, printable(r.Reference))
	if r.Clock != merge.ClockUnknown.String() {
		fmt.Fprintf(&b, " (%s)", r.Clock)
	}
	b.WriteByte('\n')
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "  input\toffset\t±\tby")
	for i := range r.Inputs {
		if i == maxInputLines {
			fmt.Fprintf(columns, "  … and %s more (--json lists them)\n", table.Thousands(int64(len(r.Inputs)-i)))
			break
		}
		fmt.Fprintf(columns, "  %s\n", strings.Join(r.inputLine(i, plan), "\t"))
	}
	columns.Flush()
	for _, line := range r.remarks(plan) {
		fmt.Fprintf(&b, "  %s\n", printable(line))
	}
	if r.Report != nil {
		in := &inputReport{Input: r.Reference, Output: r.Output, Report: r.Report}
		fmt.Fprintf(&b, "  %s\n", summary(r.Report))
		r.writeProblems(&b)
		if in.Output != outputName("-") {
			fmt.Fprintf(&b, "  %s\n", viewHint(in.Output))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// isUsual reports whether most recordings in the input's format have a problem.
func (r *mergeReport) isUsual(p *mergedProblem) bool {
	format := string(r.Report.Format)
	for i := range r.Inputs {
		if r.Inputs[i].Name == p.Input {
			format = r.Inputs[i].Format
		}
	}
	return problem.Usual(p.Name, format) != ""
}

// losses counts data in the inputs that is missing from the output.
func (r *mergeReport) losses() (l losses) {
	for i := range r.Problems {
		p := &r.Problems[i]
		if !r.IsLost(&p.Problem) {
			continue
		}
		if l.all = problem.Sum(l.all, p.Count); !r.isUsual(p) {
			l.unusual = problem.Sum(l.unusual, p.Count)
		}
	}
	return l
}

// writeProblems lists the inputs' problems that are unusual for their formats.
func (r *mergeReport) writeProblems(b *strings.Builder) {
	var problems []trace.Problem
	for i := range r.Problems {
		p := &r.Problems[i]
		if r.isUsual(p) {
			continue
		}
		if word := wordFor(r.Report, &p.Problem); len(problems) < maxProblemLines && p.Severity == problem.Lost.String() {
			if p.Input != "" {
				word += " of " + p.Input
			}
			fmt.Fprintf(b, "  %s\n", printable(word+": "+problemLine(&p.Problem)))
		}
		problems = append(problems, p.Problem)
	}
	if counts := countProblems(r.Report, problems); counts != "" {
		fmt.Fprintf(b, "  problems: %s (details: --json)\n", counts)
	}
}

// inputLine returns the cells of an input's line.
func (r *mergeReport) inputLine(i int, plan *merge.Plan) []string {
	in, p := &r.Inputs[i], &plan.Inputs[i]
	if in.LeftOut != "" {
		return []string{printable(in.Name), "left out", "", ""}
	}
	by := in.By
	switch {
	case i == plan.Reference && p.Evidence != "":
		by = "reference; " + p.Evidence
	case i == plan.Reference:
		by = "reference"
	case in.Evidence != "":
		by += ": " + in.Evidence
	}
	if p.Thread != nil {
		by += fmt.Sprintf("; thread %d/%d", p.Thread.PID, p.Thread.TID)
	}
	uncertainty := shortTime(p.Uncertainty())
	switch {
	case i == plan.Reference && p.Uncertainty() == 0:
		uncertainty = ""
	case p.AtLeast && p.Uncertainty() == 0:
		uncertainty = "unknown"
	case p.AtLeast:
		uncertainty = "at least " + uncertainty
	}
	return []string{printable(in.Name), offsetText(p.Offset), uncertainty, printable(by)}
}

// remarks returns lines about facts other than the offsets.
func (r *mergeReport) remarks(plan *merge.Plan) (lines []string) {
	lines = append(lines, r.Notes[:min(len(r.Notes), maxNotes)]...)
	if n := len(r.Notes) - maxNotes; n > 0 {
		lines = append(lines, fmt.Sprintf("… and %s (--json has them)", table.Count(n, "more note")))
	}
	lines = append(lines, r.clockRemarks(plan)...)
	for _, p := range r.Problems {
		if p.Name == problem.FlowAcrossMachines.Name() {
			lines = append(lines, fmt.Sprintf("%s between hosts left out, because viewers draw none from one machine to another; without --machines they are drawn", table.Count(int(p.Count), "arrow")))
		}
	}
	apart := map[string]int{}
	for _, p := range r.SameProcesses {
		if p.By == "" {
			apart[strings.Join(p.Inputs, ", ")]++
		}
	}
	shown := map[string]bool{}
	for _, p := range r.SameProcesses {
		key := strings.Join(p.Inputs, ", ")
		if p.By != "" || shown[key] || len(shown) == 3 {
			continue
		}
		shown[key] = true
		which := "pid " + p.PID
		if n := apart[key]; n > 1 {
			which = fmt.Sprintf("%d pids", n)
		}
		if len(p.Inputs) > 4 {
			key = table.Count(len(p.Inputs), "input")
		}
		lines = append(lines, fmt.Sprintf("%s in %s: nothing shows that they are one process, so they are kept apart; --same %s if they are one", which, key, strings.Join(p.Inputs[:2], ",")))
	}
	for i := range r.Inputs {
		in, ref := &plan.Inputs[i], &plan.Inputs[plan.Reference]
		if r.Inputs[i].LeftOut != "" || i == plan.Reference || in.Span.To <= in.Span.From || ref.Span.To <= ref.Span.From || len(lines) > 6 {
			continue
		}
		switch {
		case in.Span.From > ref.Span.To:
			lines = append(lines, fmt.Sprintf("%s begins %s after the end of %s", r.Inputs[i].Name, secondsText(in.Span.From-ref.Span.To), r.Reference))
		case in.Span.To < ref.Span.From:
			lines = append(lines, fmt.Sprintf("%s ends %s before %s begins", r.Inputs[i].Name, secondsText(ref.Span.From-in.Span.To), r.Reference))
		}
	}
	return lines
}

// maxNotes is the maximum number of notes in the text report.
const maxNotes = 8

// clockRemarks names inputs whose places depend on wall clocks that may be wrong, because their hosts differ or are unknown.
func (r *mergeReport) clockRemarks(plan *merge.Plan) (lines []string) {
	var unknown, other []string
	for i := range r.Inputs {
		switch p := &plan.Inputs[i]; {
		case r.Inputs[i].LeftOut != "" || !p.AtLeast:
		case p.Machine != 0:
			other = append(other, r.Inputs[i].Name)
		default:
			unknown = append(unknown, r.Inputs[i].Name)
		}
	}
	if len(unknown) > 0 {
		lines = append(lines, fmt.Sprintf("%s: not known to be on the host of %s, so the error of the wall clocks is unknown; --host NAME=HOST if it is", inputNamesText(unknown), r.Reference))
	}
	if len(other) > 0 {
		lines = append(lines, fmt.Sprintf("%s: not on the host of %s, and the error of the wall clocks is unknown", inputNamesText(other), r.Reference))
	}
	return lines
}

// inputNamesText lists a few names, or counts many.
func inputNamesText(names []string) string {
	if len(names) > 4 {
		return table.Count(len(names), "input")
	}
	return strings.Join(names, ", ")
}

// offsetText formats an offset in full.
func offsetText(t timeline.Nanos) string {
	if t == 0 {
		return "0"
	}
	sign := "+"
	if t < 0 {
		sign, t = "−", -t
	}
	return sign + secondsText(t)
}

// secondsText formats a time in seconds, without trailing zeros.
func secondsText(t timeline.Nanos) string {
	whole, part := int64(t)/1e9, fmt.Sprintf("%09d", int64(t)%1e9)
	text := strconv.FormatInt(whole, 10)
	if part = strings.TrimRight(part, "0"); part != "" {
		text += "." + part
	}
	return text + " s"
}

// shortTime formats an uncertainty.
func shortTime(t timeline.Nanos) string {
	switch {
	case t == 0:
		return "0"
	case t < 1000:
		return fmt.Sprintf("%d ns", t)
	case t < 1e6:
		return trimmed(float64(t)/1e3) + " µs"
	case t < 1e9:
		return trimmed(float64(t)/1e6) + " ms"
	}
	return trimmed(float64(t)/1e9) + " s"
}

// trimmed formats a number with up to three decimals.
func trimmed(v float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 3, 64), "0"), ".")
}
