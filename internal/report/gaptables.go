package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// GapTables returns the names of the gap tables.
func GapTables() []string { return []string{"gaps", "idle", "launches", "arrivals"} }

// gapTables returns the gap tables, which are hidden unless requested.
func (r *Slices) gapTables() []*table.Table {
	g := r.Gaps
	if g == nil {
		g = &Gaps{}
	}
	return []*table.Table{r.gapsTable(g), r.idleTable(g), r.launchesTable(g), r.arrivalsTable(g)}
}

// gapNotes returns notes on what the gap tables leave out.
func (g *Gaps) gapNotes() (notes []string) {
	if g.More > 0 {
		notes = append(notes, fmt.Sprintf("%s gaps: only the longest %s are in the table", table.Thousands(g.More+int64(len(g.Gaps))), table.Thousands(len(g.Gaps))))
	}
	if g.collectives > 0 {
		notes = append(notes, fmt.Sprintf("too many collectives: %s are not counted", table.Thousands(g.collectives)))
	}
	return notes
}

// gapWords maps causes of gaps to words for readers.
var gapWords = map[GapCause]string{
	GapHost: "the host", GapCollective: "a collective", GapKernel: "a kernel", GapCopy: "a copy", GapThread: "a thread", GapOther: "nothing known", GapUnknown: "(unknown)",
}

func (r *Slices) gapsTable(g *Gaps) *table.Table {
	t := table.Table{Name: "gaps", Title: "gaps: nothing ran, the longest first", Key: "dur_ns", RowNoun: "gaps", Hidden: true}
	if g.Quiet > 0 {
		t.Notes = append(t.Notes, table.Plural(g.Quiet, "thread works", "threads work")+" for less than a tenth of the time of the busiest: --thread shows gaps of any")
	}
	if len(g.Gaps) == 0 {
		t.Notes = append(t.Notes, "no thread has two slices with a time between them")
	}
	meanwhile := func(gap *Gap) *WorkPart { return cmp.Or(firstPart(gap.Meanwhile), &WorkPart{}) }
	return table.New(t, g.Gaps, columns(
		[]table.TypedColumn[Gap]{ranks(r, func(g *Gap) *int64 { return g.Rank })},
		[]table.TypedColumn[Gap]{
			table.Moments("ts_ns", "at", r.Start, func(g *Gap) timeline.Nanos { return g.Start }),
			table.Times("dur_ns", "ms", func(g *Gap) timeline.Nanos { return g.Duration }),
		},
		[]table.TypedColumn[Gap]{table.Cells(table.Column{Key: "device", Title: "device", Kind: table.CountKind, IfAny: true}, func(g *Gap) table.Cell { return table.Optional(g.Device) })},
		threads("", "idle", func(g *Gap) *ThreadID { return &g.ThreadID }, r.place()),
		[]table.TypedColumn[Gap]{
			table.Cells(table.Column{Key: "cause", Title: "waits for"}, func(g *Gap) table.Cell {
				return table.Cell{Text: string(g.Cause), Short: gapWords[g.Cause]}
			}).Words().Only(slices.ContainsFunc(g.Gaps, func(g Gap) bool { return g.Cause != GapUnknown })),
			sliceNames("ended_by", "until", placeWidth, func(g *Gap) string { return g.EndedBy }),
			table.MomentCells("launch_ts_ns", "launched at", func(g *Gap) table.Cell { return r.moment(g.LaunchedAt) }).DropOrder(2).IfAny(),
		},
		optionalThreads(1, threads("launch_", "launched by", func(g *Gap) *ThreadID { return g.LaunchedBy }, r.place())),
		[]table.TypedColumn[Gap]{
			table.Cells(table.Column{Key: "meanwhile", Title: "meanwhile there"}, func(g *Gap) table.Cell {
				switch p := meanwhile(g); {
				case g.Meanwhile == nil:
					return table.Cell{}
				case p.Self < g.Duration-g.Meanwhile.Self:
					return table.Text("(idle)")
				default:
					return table.Name(p.Name, placeWidth)
				}
			}).Noted(producers.RecorderNote).IfAny(),
			table.OptionalTimes("meanwhile_ns", "ms", func(g *Gap) *timeline.Nanos {
				if g.Meanwhile == nil {
					return nil
				}
				longest := max(meanwhile(g).Self, g.Duration-g.Meanwhile.Self)
				return &longest
			}).DropOrder(3).IfAny(),
		},
	)...)
}

func (r *Slices) idleTable(g *Gaps) *table.Table {
	t := table.Table{Name: "idle", Title: "what streams wait for while they are idle", Hidden: true}
	titles := map[GapCause]string{GapHost: "host ms", GapCollective: "collective ms", GapKernel: "kernel ms", GapCopy: "copy ms", GapOther: "nothing known ms", GapUnknown: "no launch ms"}
	list := columns(
		[]table.TypedColumn[Idle]{ranks(r, func(i *Idle) *int64 { return i.Rank })},
		threads("", "stream", func(i *Idle) *ThreadID { return &i.ThreadID }, r.place()),
		[]table.TypedColumn[Idle]{
			table.Counts("device", "device", func(i *Idle) int64 { return i.Device }),
			table.Counts("gaps", "gaps", func(i *Idle) int64 { return i.Gaps }),
			table.Times("idle_ns", "idle ms", func(i *Idle) timeline.Nanos { return i.Time }),
		})
	for _, cause := range gapCauses {
		list = append(list, table.Times(string(cause)+"_ns", titles[cause], func(i *Idle) timeline.Nanos { return i.By[cause] }).
			Only(slices.ContainsFunc(g.Idle, func(i Idle) bool { return i.By[cause] > 0 })))
	}
	return table.New(t, g.Idle, list...)
}

func (r *Slices) launchesTable(g *Gaps) *table.Table {
	t := table.Table{Name: "launches", Title: "launches: how long work waits after the host launched it, and how much is before it", Hidden: true}
	return table.New(t, g.Launches, columns(
		[]table.TypedColumn[Launch]{ranks(r, func(l *Launch) *int64 { return l.Rank })},
		threads("", "stream", func(l *Launch) *ThreadID { return &l.ThreadID }, r.place()),
		[]table.TypedColumn[Launch]{
			table.Counts("device", "device", func(l *Launch) int64 { return l.Device }).DropOrder(2),
			table.Counts("launches", "launches", func(l *Launch) int64 { return l.Launches }),
			table.Times("delay_p50_ns", "delay p50 ms", func(l *Launch) timeline.Nanos { return l.DelayP50 }),
			table.Times("delay_p95_ns", "p95 ms", func(l *Launch) timeline.Nanos { return l.DelayP95 }).DropOrder(1),
			table.Times("delay_max_ns", "max ms", func(l *Launch) timeline.Nanos { return l.DelayMax }),
			table.MomentCells("delay_max_ts_ns", "at", func(l *Launch) table.Cell { return r.moment(l.MaxAt) }).DropOrder(3),
			table.Counts("queue_p50", "queue p50", func(l *Launch) int64 { return l.QueueP50 }),
			table.Counts("queue_p95", "p95", func(l *Launch) int64 { return l.QueueP95 }).DropOrder(1),
			table.Counts("queue_max", "max", func(l *Launch) int64 { return l.QueueMax }),
		})...)
}

func (r *Slices) arrivalsTable(g *Gaps) *table.Table {
	t := table.Table{Name: "arrivals", Title: "arrivals at collectives: who comes last, by rank", Hidden: true}
	if len(g.Arrivals) == 0 {
		t.Notes = []string{"no two devices have collectives in common: kernels whose names begin with nccl or rccl"}
	}
	return table.New(t, g.Arrivals,
		ranks(r, func(a *Arrival) *int64 { return a.Rank }),
		table.Counts("device", "device", func(a *Arrival) int64 { return a.Device }),
		table.Counts("collectives", "collectives", func(a *Arrival) int64 { return a.Collectives }),
		table.Counts("last", "last at", func(a *Arrival) int64 { return a.Last }),
		table.Times("held_ns", "held up others ms", func(a *Arrival) timeline.Nanos { return a.HeldUp }),
		table.Times("waited_ns", "waited for others ms", func(a *Arrival) timeline.Nanos { return a.Waited }),
		table.Texts("process", "", func(a *Arrival) string { return a.Process }),
		table.Texts("pid", "", func(a *Arrival) string { return a.PID.Number() }),
	)
}
