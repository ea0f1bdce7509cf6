package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// inputsReport is the report on input events.
func inputsReport() answerReport {
	return answerReport{
		name: "input", usage: "why a click or key press was slow: its delay and phases, and what ran meanwhile",
		example: "weft report input --kind click trace.json",
		flags:   []string{"table", "kind"},
		forms:   []table{inputsTable(&report.Inputs{}, nil), inputPartsTable(nil, 0)},
		main:    "inputs",
		make:    makeInputReport,
		check:   checkInputFlags,
	}
}

// checkInputFlags refuses flags that say nothing of inputs.
func checkInputFlags(c *cli.Context) error {
	for _, name := range []string{"name", "category", "context"} {
		if c.IsSet(name) {
			return usagef("--%s: the report input does not have this flag; select inputs with --kind, --process, --thread, --from and --to", name)
		}
	}
	_, err := inputKinds(c)
	return err
}

// inputFlags are the flags of "report input".
func inputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "kind", Usage: "only inputs of these `KINDS`: " + kindList() + ", or all", DefaultText: "all but move and other"},
	}
}

func kindList() string {
	var names []string
	for _, k := range report.InputKinds() {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// inputKinds reads --kind; nil if it is not set.
func inputKinds(c *cli.Context) (kinds []report.InputKind, err error) {
	if !c.IsSet("kind") {
		return nil, nil
	}
	for text := range strings.SplitSeq(c.String("kind"), ",") {
		kind := report.InputKind(strings.ToLower(strings.TrimSpace(text)))
		switch {
		case kind == "all":
			kinds = append(kinds, report.InputKinds()...)
		case slices.Contains(report.InputKinds(), kind):
			kinds = append(kinds, kind)
		default:
			return nil, unknownValue("kind", "kind of input", text, append(strings.Split(kindList(), ", "), "all")...)
		}
	}
	return kinds, nil
}

func makeInputReport(c *cli.Context, in *reportInput) (*answer, error) {
	opts := inputOptionsOf(in)
	var err error
	if opts.Kinds, err = inputKinds(c); err != nil {
		return nil, err
	}
	var r *report.Inputs
	err = attributed(c, in, func(result *attribution.Result) (err error) {
		r, err = report.CollectInputs(c.Context, in.timeline, result, opts)
		return err
	})
	if err != nil {
		return nil, err
	}
	shown := r.Inputs
	if limit := rowLimit(c); limit > 0 {
		shown = shown[:min(limit, len(shown))]
	}
	inputs := inputsTable(r, shown)
	inputs.note = more(len(shown), len(r.Inputs), "inputs")
	a := &answer{
		summary: []string{inputsSummary(r)}, tables: []table{inputs, inputPartsTable(shown, r.Start)}, hidden: []string{"parts"}, json: inputsJSON(r, shown),
	}
	if c.String("table") == "" {
		for i := range shown[:min(len(shown), detailed)] {
			a.details = append(a.details, inputDetails(r, &shown[i], i+1))
		}
	}
	if len(r.Inputs) == 0 {
		a.nothing = noInputs(r, in.selected != nil)
	}
	return a, nil
}

// inputOptionsOf returns which inputs count of the part of a trace that was asked for.
func inputOptionsOf(in *reportInput) (opts report.InputOptions) {
	if in.selected != nil {
		opts.Include, opts.Thread = in.selected.Overlaps, in.selected.Track
	}
	return opts
}

// noInputs says why there are no rows.
func noInputs(r *report.Inputs, selected bool) string {
	switch {
	case len(r.Omitted) > 0:
		return "no such inputs; there are others: " + omittedText(r)
	case selected:
		return "the selected part of the trace has no inputs"
	}
	return "this trace has no input events; record a Chrome trace with the category devtools.timeline, or a Firefox profile, while you click or type"
}

// omittedText lists the kinds of inputs that were not asked for.
func omittedText(r *report.Inputs) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(r.Omitted)) {
		parts = append(parts, fmt.Sprintf("--kind %s shows %s", kind, thousands(r.Omitted[kind])))
	}
	return strings.Join(parts, ", ")
}

func inputsSummary(r *report.Inputs) string {
	text := count(len(r.Inputs), "input")
	if len(r.Omitted) > 0 {
		text += "; " + omittedText(r) + " more"
	}
	return text
}

// inputsJSON returns the lines of the JSON form.
func inputsJSON(r *report.Inputs, shown []report.Interaction) []any {
	lines := []any{struct {
		Table string `json:"table"`
		*report.Inputs
		Count int `json:"inputs"`
	}{"summary", r, len(r.Inputs)}}
	for i := range shown {
		lines = append(lines, struct {
			Table string `json:"table"`
			*report.Interaction
		}{"inputs", &shown[i]})
	}
	return lines
}

// inputsTable has a row for each input.
func inputsTable(r *report.Inputs, shown []report.Interaction) table {
	out := table{name: "inputs", title: "inputs, the slowest first", key: "latency_ns", columns: []column{
		moments("ts_ns", "at"), texts("kind", "input"), spare(1, texts("type", "event")), times("latency_ns", "latency ms"), times("delay_ns", "delay ms"),
		times("processing_ns", "processing ms"), times("presentation_ns", "presentation ms"), flags("dropped", ""), texts("process", ""), texts("pid", ""),
		spare(2, texts("thread", "handled by")), texts("tid", ""), texts("id", ""), spare(3, texts("most", "most self time for it")), spare(4, times("most_self_ns", "ms")),
	}}
	for i := range shown {
		in := &shown[i]
		main, place, most := report.ThreadID{}, cell{}, report.WorkPart{}
		if in.Main != nil {
			main, place = *in.Main, placeCell(in.Main)
		}
		if in.Work != nil && len(in.Work.Parts) > 0 {
			most = in.Work.Parts[0]
		}
		out.rows = append(out.rows, []cell{
			momentCell(in.Start, r.Start), textCell(string(in.Kind)), textCell(in.Type), timeCell(in.Latency), optionalTime(in.Delay), optionalTime(in.Processing),
			optionalTime(in.Presentation), flagCell(in.Dropped), textCell(main.Process), textCell(main.PID.Number()), place, textCell(main.TID.Number()),
			textCell(in.ID), {text: partText(&most), short: elideTo(most.Name, nameWidth)}, timeCell(most.Self),
		})
	}
	return out
}

// optionalTime is a time that may be unknown.
func optionalTime(t *timeline.Nanos) cell {
	if t == nil {
		return cell{absent: true}
	}
	return timeCell(*t)
}

// inputPartsTable has a row for each function or other slice that ran in a phase of an input on its main thread.
func inputPartsTable(shown []report.Interaction, start timeline.Nanos) table {
	out := table{name: "parts", title: "what the thread that handles the inputs did meanwhile, by self time", key: "self_ns", columns: []column{
		moments("ts_ns", "input at"), texts("kind", "input"), texts("phase", "phase"), flags("own", "for it"), times("self_ns", "self ms"),
		counts("count", "count"), texts("category", "category"), texts("name", "name"), texts("location", "location"),
	}}
	for i := range shown {
		in := &shown[i]
		for k := range in.Phases {
			p := &in.Phases[k]
			for _, own := range []bool{true, false} {
				work := &p.Others
				if own {
					work = &p.Own
				}
				for n := range work.Parts {
					part := &work.Parts[n]
					out.rows = append(out.rows, []cell{
						momentCell(in.Start, start), textCell(string(in.Kind)), textCell(p.Phase), flagCell(own), timeCell(part.Self), countCell(part.Count),
						textCell(part.Category), nameCell(part.Name, nameWidth), textCell(part.Location),
					})
				}
			}
		}
	}
	return out
}

// phaseTitles are the phases of an input as people call them.
var phaseTitles = map[string]string{
	"delay": "input delay", "processing": "processing", "presentation": "presentation", "latency": "meanwhile",
}

// inputDetails says of an input in lines why it took its time.
func inputDetails(r *report.Inputs, in *report.Interaction, n int) detail {
	title := fmt.Sprintf("%d. %s (%s) at %s: %s ms", n, in.Kind, printable(in.Type), momentText(in.Start-r.Start), millis(in.Latency))
	switch {
	case in.Dropped:
		title += ", and nothing was shown in answer"
	case in.Presentation != nil:
		title += " until the answer was shown"
	}
	out := detail{title: title, width: 14}
	for i := range in.Phases {
		p := &in.Phases[i]
		out.add(phaseTitles[p.Phase], phaseText(p, in.Main), 13)
		for _, line := range phaseParts(p) {
			out.add("", line, 15)
		}
	}
	if in.Work == nil || in.Work.Self == 0 {
		return out
	}
	out.add("for it", strings.TrimSuffix(millis(in.Work.Self)+" ms on all threads: "+workText(in.Work), ": "), 0)
	for i := range in.Work.Parts[:min(len(in.Work.Parts), 5)] {
		p := &in.Work.Parts[i]
		what := ""
		if i == 0 {
			what = "self time"
		}
		out.add(what, fmt.Sprintf("%8s ms  %s", millis(p.Self), partLine(p)), 13)
	}
	for _, line := range contextLines(in.Contexts, in.Work.Self) {
		if !strings.HasPrefix(line, "InputEvent") {
			out.add("in", line, 14)
		}
	}
	if in.Requests > 0 {
		out.add("requests", fmt.Sprintf("%s, %s received", count(in.Requests, "request"), count(in.RequestBytes, "byte")), 0)
	}
	for i, line := range wayText(in) {
		what := ""
		if i == 0 {
			what = "its way"
		}
		out.add(what, line, 15)
	}
	return out
}

// phaseText says how the main thread spent a phase.
func phaseText(p *report.InputPhase, main *report.ThreadID) string {
	return fmt.Sprintf("%8s ms  %s: %s ms for it, %s ms other work, %s ms idle", millis(p.Duration), placeCell(main).short, millis(p.Own.Self),
		millis(p.Others.Self), millis(p.Idle))
}

// phaseParts names what was done in a phase: for the input, and for others, where that took much of it.
func phaseParts(p *report.InputPhase) (lines []string) {
	for _, w := range []struct {
		what string
		work *report.Work
	}{{"for it", &p.Own}, {"other work", &p.Others}} {
		if w.work.Self < p.Duration/20 || len(w.work.Parts) == 0 {
			continue
		}
		var parts []string
		for i := range w.work.Parts[:min(len(w.work.Parts), 3)] {
			part := &w.work.Parts[i]
			parts = append(parts, elideTo(part.Name, 36)+" "+millis(part.Self))
		}
		lines = append(lines, fmt.Sprintf("             %s: %s", w.what, strings.Join(parts, ", ")))
		if w.work.ForcedCount > 0 {
			lines = append(lines, fmt.Sprintf("             style and layout forced ×%s, %s ms", thousands(w.work.ForcedCount), millis(w.work.Forced)))
		}
	}
	return lines
}

// maxWayThreads is the number of threads on the way of an input that people get to see.
const maxWayThreads = 8

// wayText lists the threads that worked for an input, in the order in which the work came to them.
func wayText(in *report.Interaction) (lines []string) {
	for i := range in.Threads {
		t := &in.Threads[i]
		if i == maxWayThreads {
			lines = append(lines, fmt.Sprintf("… and %s more threads", thousands(len(in.Threads)-i)))
			break
		}
		after := millis(t.First - in.Start)
		if t.First >= in.Start {
			after = "+" + after
		}
		lines = append(lines, fmt.Sprintf("%10s ms  %s of %s, %s ms", after, placeCell(&t.ThreadID).short,
			elideTo(t.ProcessTitle(), 40), millis(t.Self)))
	}
	return lines
}
