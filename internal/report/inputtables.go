package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// Report renders inputs: a table with a row for each input, a table of the work done meanwhile, and details of the first few
// inputs. Limit is the maximum number of inputs; 0: all. Selected means that r covers only a part of the trace.
func (r *Inputs) Report(limit int, selected bool) *table.Report {
	shown := cut(r.Inputs, limit)
	out := &table.Report{Lines: true, Head: []table.Record{table.JSON(struct {
		Table string `json:"table"`
		*Inputs
		Count int `json:"inputs"`
	}{"summary", r, len(r.Inputs)})}}
	text := table.Count(len(r.Inputs), "input")
	if len(r.Omitted) > 0 {
		text += "; " + omittedText(r.Omitted) + " more"
	}
	s := table.Section{Lines: []string{text}, Tables: []*table.Table{r.Table(shown), inputPartsTable(shown, r.Start)}}
	for i := range shown[:min(len(shown), detailed)] {
		s.Details = append(s.Details, inputDetails(r, &shown[i], i+1))
	}
	out.Sections = []table.Section{s}
	switch {
	case len(r.Inputs) > 0:
	case len(r.Omitted) > 0:
		out.Nothing = onlyOmitted(r.Omitted)
	case selected:
		out.Nothing = "the selected part of the trace has no inputs"
	default:
		out.Nothing = "this trace has no input events; record a Chrome trace with the category devtools.timeline, or a Firefox profile, while you click or type"
	}
	return out
}

// Many renders the tables for many files: a table of latencies and their parts by kind, and a table of the inputs.
func (r *Inputs) Many() *table.Report {
	var parts []manyLatency
	all := timeline.Nanos(0)
	for i := range r.Inputs {
		in := &r.Inputs[i]
		sum(&all, in.Latency)
		for part, length := range []*timeline.Nanos{&in.Latency, in.Delay, in.Processing, in.Presentation} {
			if length != nil {
				parts = append(parts, manyLatency{in.Kind, part, *length})
			}
		}
	}
	inputs := r.Table(r.Inputs)
	inputs.Folding, inputs.Start, inputs.Worst, inputs.Summary = table.Listed, r.Start, "slowest", manyInputsText
	inputs.Totals.Omitted = map[string]int64{}
	for kind, n := range r.Omitted {
		inputs.Totals.Omitted[string(kind)] = n
	}
	for k := range inputs.Columns {
		inputs.Columns[k].IfAny = inputs.Columns[k].DropOrder > 1 // the work for inputs may not have been requested
	}
	form := table.Table{Name: "kinds", Title: "latency and its parts, by kind of input", Folding: table.Ranked, Total: int64(all)}
	return &table.Report{Sections: []table.Section{{Tables: []*table.Table{table.New(form, parts,
		table.Cells(table.Column{Key: "kind", Title: "input"}, func(l *manyLatency) table.Cell {
			return table.Cell{Text: string(l.kind), Number: int64(slices.Index(InputKinds(), l.kind))} // Number sets the order
		}).WithRole(table.Group),
		table.Cells(table.Column{Key: "time", Title: "time"}, func(l *manyLatency) table.Cell {
			return table.Cell{Text: [...]string{"latency", "delay", "processing", "presentation"}[l.part], Number: int64(l.part)}
		}).WithRole(table.Group),
		table.Counts("inputs", "inputs", func(*manyLatency) int { return 1 }).WithRole(table.Sum),
		table.Times("total_ns", "total ms", func(l *manyLatency) timeline.Nanos { return l.length }).DropOrder(1).WithRole(table.Main),
	), inputs}}}}
}

// manyLatency is the latency of an input in one of many files, or a part of that latency.
type manyLatency struct {
	kind   InputKind
	part   int
	length timeline.Nanos
}

// manyInputsText summarizes the inputs of many files in one line.
func manyInputsText(t *table.Totals) string {
	switch {
	case t.Count == 0 && len(t.Omitted) > 0:
		return onlyOmitted(t.Omitted)
	case t.Count == 0:
		return "no inputs"
	}
	text := fmt.Sprintf("%s in %s", table.Count(t.Count, "input"), table.Count(t.Recordings, "recording"))
	if len(t.Omitted) > 0 {
		text += "; " + omittedText(t.Omitted) + " more"
	}
	return text
}

// onlyOmitted returns the message for a trace whose inputs are all of kinds that were not requested.
func onlyOmitted[K ~string](omitted map[K]int64) string {
	return "no such inputs; there are others: " + omittedText(omitted)
}

// omittedText lists the kinds of inputs that were not requested.
func omittedText[K ~string](omitted map[K]int64) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(omitted)) {
		parts = append(parts, fmt.Sprintf("--kind %s shows %s", kind, table.Thousands(omitted[kind])))
	}
	return strings.Join(parts, ", ")
}

// Table returns a table with a row for each input.
func (r *Inputs) Table(shown []Interaction) *table.Table {
	return table.New(table.Table{Name: "inputs", Title: "inputs, the slowest first", Key: "latency_ns", RowNoun: "inputs", All: len(r.Inputs)}, shown, columns(
		[]table.TypedColumn[Interaction]{
			table.Moments("ts_ns", "at", r.Start, func(in *Interaction) timeline.Nanos { return in.Start }),
			table.Texts("kind", "input", func(in *Interaction) string { return string(in.Kind) }),
			table.Texts("type", "event", func(in *Interaction) string { return in.Type }).DropOrder(1),
			table.Times("latency_ns", "latency ms", func(in *Interaction) timeline.Nanos { return in.Latency }).Over(SlowInput + 1),
			table.OptionalTimes("delay_ns", "delay ms", func(in *Interaction) *timeline.Nanos { return in.Delay }),
			table.OptionalTimes("processing_ns", "processing ms", func(in *Interaction) *timeline.Nanos { return in.Processing }),
			table.OptionalTimes("presentation_ns", "presentation ms", func(in *Interaction) *timeline.Nanos { return in.Presentation }),
			table.Flags("dropped", "", func(in *Interaction) bool { return in.Dropped }),
			table.Texts("", "verdict", (*Interaction).verdict).OnlyPage(),
		},
		spare(2, threads("", "handled by", func(in *Interaction) *ThreadID { return in.Main }, placeCell)),
		[]table.TypedColumn[Interaction]{table.Texts("id", "", func(in *Interaction) string { return in.ID })},
		spareMost(mostParts("most self time for it", func(in *Interaction) *WorkPart { return firstPart(in.Work) })),
	)...)
}

// Latencies above which people notice a delay, and above which an input is slow.
const (
	FastInput = 100 * 1000 * timeline.Microsecond
	SlowInput = 200 * 1000 * timeline.Microsecond
)

// verdict rates the latency of an input.
func (in *Interaction) verdict() string {
	switch {
	case in.Dropped:
		return "no answer was shown"
	case in.Latency > SlowInput:
		return "slow"
	case in.Latency > FastInput:
		return "noticeable"
	}
	return "fast"
}

// spareMost marks the columns of mostParts as dispensable.
func spareMost[T any](list []table.TypedColumn[T]) []table.TypedColumn[T] {
	return []table.TypedColumn[T]{list[0].DropOrder(3), list[1].DropOrder(4)}
}

// inputPart is work on the main thread during a phase of an input.
type inputPart struct {
	Start timeline.Nanos `json:"ts_ns"` // of the input
	Kind  InputKind      `json:"kind"`
	Phase string         `json:"phase"`
	Own   bool           `json:"own"` // for the input
	*WorkPart
}

// inputPartsTable returns a table with a row for each function or other slice that ran on the main thread during a
// phase of an input.
func inputPartsTable(shown []Interaction, start timeline.Nanos) *table.Table {
	var parts []inputPart
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
					parts = append(parts, inputPart{in.Start, in.Kind, p.Phase, own, &work.Parts[n]})
				}
			}
		}
	}
	t := table.Table{Name: "parts", Title: "what the thread that handles the inputs did meanwhile, by self time", Key: "self_ns", Hidden: true, Nested: true, IgnoresLimit: true}
	return table.New(t, parts,
		table.Moments("ts_ns", "input at", start, func(p *inputPart) timeline.Nanos { return p.Start }),
		table.Texts("kind", "input", func(p *inputPart) string { return string(p.Kind) }),
		table.Texts("phase", "phase", func(p *inputPart) string { return p.Phase }),
		table.Flags("own", "for it", func(p *inputPart) bool { return p.Own }),
		table.Times("self_ns", "self ms", func(p *inputPart) timeline.Nanos { return p.Self }),
		table.Counts("count", "count", func(p *inputPart) int64 { return p.Count }),
		table.Texts("category", "category", func(p *inputPart) string { return p.Category }),
		sliceNames("name", "name", nameWidth, func(p *inputPart) string { return p.Name }),
		table.Texts("location", "location", func(p *inputPart) string { return p.Location }),
	)
}

// phaseTitles maps the phases of an input to their displayed names.
var phaseTitles = map[string]string{
	"delay": "input delay", "processing": "processing", "presentation": "presentation", "latency": "meanwhile",
}

// inputDetails explains in lines why an input took so long.
func inputDetails(r *Inputs, in *Interaction, n int) table.Detail {
	title := fmt.Sprintf("%d. %s (%s) at %s: %s ms", n, in.Kind, words.Printable(in.Type), table.MomentText(in.Start-r.Start), table.Millis(in.Latency))
	switch {
	case in.Dropped:
		title += ", and nothing was shown in answer"
	case in.Presentation != nil:
		title += " until the answer was shown"
	}
	out := table.Detail{Title: title, Width: 14}
	if len(in.Events) > 1 {
		out.Add("events", eventsText(in.Events), 0)
	}
	for i := range in.Phases {
		p := &in.Phases[i]
		out.Add(phaseTitles[p.Phase], phaseText(p, in.Main), 13)
		for _, line := range phaseParts(p) {
			out.Add("", line, 15)
		}
	}
	if in.Work == nil || in.Work.Self == 0 {
		return out
	}
	out.Add("for it", strings.TrimSuffix(table.Millis(in.Work.Self)+" ms on all threads: "+workText(in.Work), ": "), 0)
	out.AddList("self time", partLines(in.Work.Parts, 8), 13)
	for _, line := range contextLines(in.Contexts, in.Work.Self) {
		if !strings.HasPrefix(line, "InputEvent") {
			out.Add("in", line, 14)
		}
	}
	if in.Requests > 0 {
		out.Add("requests", fmt.Sprintf("%s, %s received", table.Count(in.Requests, "request"), table.Count(in.RequestBytes, "byte")), 0)
	}
	out.Add("received", receivedText(in), 0)
	out.AddList("its way", wayText(in), 15)
	return out
}

// phaseText describes how the main thread spent a phase.
func phaseText(p *InputPhase, main *ThreadID) string {
	return fmt.Sprintf("%8s ms  %s: %s ms for it, %s ms other work, %s ms idle", table.Millis(p.Duration), placeCell(main).Short, table.Millis(p.Own.Self),
		table.Millis(p.Others.Self), table.Millis(p.Idle))
}

// phaseParts lists the work in a phase, for the input and for others. It leaves out either if it took less than a twentieth of
// the phase or has no known parts.
func phaseParts(p *InputPhase) (lines []string) {
	for _, w := range []struct {
		what string
		work *Work
	}{{"for it", &p.Own}, {"other work", &p.Others}} {
		if w.work.Self < p.Duration/20 || len(w.work.Parts) == 0 {
			continue
		}
		var parts []string
		for i := range w.work.Parts[:min(len(w.work.Parts), 3)] {
			part := &w.work.Parts[i]
			parts = append(parts, table.Elide(part.Name, 36)+" "+table.Millis(part.Self))
		}
		lines = append(lines, fmt.Sprintf("             %s: %s", w.what, strings.Join(parts, ", ")))
		if w.work.ForcedCount > 0 {
			lines = append(lines, fmt.Sprintf("             style and layout forced ×%s, %s ms", table.Thousands(w.work.ForcedCount), table.Millis(w.work.Forced)))
		}
	}
	return lines
}

// eventsText counts the events of an input by type.
func eventsText(events []InputEvent) string {
	counts := map[string]int{}
	var types []string
	for i := range events {
		if typ := events[i].Type; counts[typ] == 0 {
			types = append(types, typ)
		}
		counts[events[i].Type]++
	}
	for i, typ := range types {
		if types[i] = words.Printable(typ); counts[typ] > 1 {
			types[i] += " ×" + table.Thousands(counts[typ])
		}
	}
	return strings.Join(types, ", ")
}

// receivedText explains why no thread worked for an input at first; "" if one did.
func receivedText(in *Interaction) string {
	first := in.Received
	if first == nil {
		return ""
	}
	wait := first.At - in.Start
	text := fmt.Sprintf("%s ms after it happened: %s of %s ", table.Millis(wait), placeCell(&first.ThreadID).Short, table.Elide(first.ProcessTitle(), 40))
	if first.Busy < wait/5 {
		return text + "was idle until then, so it was not delivered"
	}
	return text + "was busy with other work for " + table.Millis(first.Busy) + " ms of that"
}

// maxWayThreads is the maximum number of threads shown on the path of an input.
const maxWayThreads = 8

// wayText lists the threads that worked for an input, in the order in which the work reached them.
func wayText(in *Interaction) (lines []string) {
	for i := range in.Threads {
		t := &in.Threads[i]
		if i == maxWayThreads {
			lines = append(lines, fmt.Sprintf("… and %s more threads", table.Thousands(len(in.Threads)-i)))
			break
		}
		after := table.Millis(t.First - in.Start)
		if t.First >= in.Start {
			after = "+" + after
		}
		lines = append(lines, fmt.Sprintf("%10s ms  %s of %s, %s ms", after, placeCell(&t.ThreadID).Short,
			table.Elide(t.ProcessTitle(), 40), table.Millis(t.Self)))
	}
	return lines
}
