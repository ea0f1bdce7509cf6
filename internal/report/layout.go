package report

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// The phases of layout, by the names that the probes of Mozilla's browsers gave them. What the tables call a phase may be
// any other text too: a number that a probe fired with, or a name of LayoutOptions.Phases.
const ()

// LayoutOptions choose the slices that are phases of layout, beside the slices of the probes layout-start and layout-end.
type LayoutOptions struct {
	// Phases are the phases of slices by the names of the slices, for traces of any origin. Nil means the events of Chrome
	// and the markers of Firefox, which docs/reports.md lists.
	Phases map[string]string
	// Paint are names of events of Chrome and Firefox that count as paint too: any of PaintOptions.
	Paint []string
	// Selected is the part of the trace whose slices count; nil: all of it. Those that are partly in the window count whole.
	Selected *selection.Selection
}

// PaintOptions returns the names that LayoutOptions.Paint may hold.
func PaintOptions() []string { return []string{"PrePaint", "Rasterize", "Composite"} }

// Layout is the data of a trace about phases of layout.
type Layout struct {
	// Probes means that there are layout probes, so that ByDTrace is the way to count time that their script has.
	Probes bool
	// UnbalancedStarts counts the slices whose own end is missing, UnmatchedEnds the ends of probes without a start.
	UnbalancedStarts, UnmatchedEnds int64
	// Uncounted is the number of slices that are in no row, because there are too many different ones.
	Uncounted int64
	// UncountedNesting is the number of slices directly within another that are in no row of Nesting, because there are too
	// many different pairs of phases.
	UncountedNesting int64

	cells   map[layoutKey]*layoutCell
	counts  map[layoutCountKey]int64
	nesting map[[2]string]int64
	text    int // bytes of the texts in the keys of counts
}

// LayoutKey is the key of rows about layout. Context is the presentation context, frame or window for which
// the work was done: a signed decimal number if the trace has a number, and "" if it says nothing.
type LayoutKey struct {
	Context string `json:"context"`
	Phase   string `json:"phase"`
}

// LayoutCount is the number of times that a phase started.
type LayoutCount struct {
	LayoutKey
	Function string `json:"function"` // that fired the probe; the name of an event or marker
	Count    int64  `json:"count"`
}

// LayoutTime is the time in a phase, in microseconds.
type LayoutTime struct {
	LayoutKey
	Micros int64 `json:"time_us"`
}

// LayoutPhase is about the slices of a phase that have an end of their own.
type LayoutPhase struct {
	LayoutKey
	Count int64          `json:"count"`
	Total timeline.Nanos `json:"total_ns"`
	Max   timeline.Nanos `json:"max_ns"`
	Mean  timeline.Nanos `json:"mean_ns"` // rounded down
}

// LayoutNesting counts the slices of a phase directly within a slice of a phase, on one thread.
type LayoutNesting struct {
	Outer string `json:"outer"`
	Inner string `json:"inner"`
	Count int64  `json:"count"`
}

// TimeMode chooses how Layout.Times sums slices inside slices.
type TimeMode uint8

const (
	// ByDTrace counts as the script layout_time.d does, which remembers one start for each thread, context and phase: a
	// start within one of the same replaces it, the first end uses it up, and each interval is rounded down to
	// microseconds. Of what lacks an end nothing counts.
	ByDTrace TimeMode = iota
	// Exclusive counts the time in which a slice is the innermost one of layout on its thread.
	Exclusive
	// Inclusive counts the whole time of slices; slices of one context and phase within each other count once.
	Inclusive
)

// Limits of memory for a trace: different rows, and bytes of text in them.
const (
	maxRows     = 1 << 17
	maxRowText  = 16 << 20
	maxNestings = 1 << 12
)

// layoutContext is a context: a number or a text.
type layoutContext struct {
	number uint64
	text   string
	isText bool
}

// String returns the number as DTrace prints it, signed.
func (c layoutContext) String() string {
	if c.isText {
		return c.text
	}
	return strconv.FormatInt(int64(c.number), 10)
}

// compare orders numbers as DTrace does, unsigned, and texts after them.
func (c layoutContext) compare(d layoutContext) int {
	if c.isText != d.isText {
		return table.FalseFirst(c.isText, d.isText)
	}
	return cmp.Or(cmp.Compare(c.number, d.number), cmp.Compare(c.text, d.text))
}

type layoutKey struct {
	context layoutContext
	phase   string
}

func (k layoutKey) public() LayoutKey { return LayoutKey{k.context.String(), k.phase} }

type layoutCountKey struct {
	layoutKey
	function string
}

// layoutCell has the sums for a context and phase.
type layoutCell struct {
	intervals            int64 // of ByDTrace
	micros               int64 // of these
	exclusive, inclusive timeline.Nanos
	ended                int64 // slices with an end of their own
	total, max           timeline.Nanos
}

// CollectLayout goes through a timeline, which is nested, and counts the phases of layout in it. The error is one of the
// timeline's temporary files, or ctx's.
func CollectLayout(ctx context.Context, tl *timeline.Timeline, opts LayoutOptions) (*Layout, error) {
	c := newLayoutReader(tl, opts)
	if err := opts.Selected.Walk(ctx, tl, c.item); err != nil {
		return nil, err
	}
	c.finish()
	return c.out, nil
}

// Counts returns how often each phase began: a row for each context, phase and function, in the order of their counts.
func (l *Layout) Counts() []LayoutCount {
	keys := make([]layoutCountKey, 0, len(l.counts))
	for key := range l.counts {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b layoutCountKey) int {
		return cmp.Or(cmp.Compare(l.counts[a], l.counts[b]), a.context.compare(b.context), cmp.Compare(a.phase, b.phase),
			cmp.Compare(a.function, b.function))
	})
	rows := make([]LayoutCount, len(keys))
	for i, key := range keys {
		rows[i] = LayoutCount{key.public(), key.function, l.counts[key]}
	}
	return rows
}

// DefaultMode returns the mode that fits the trace: ByDTrace if there are probes, otherwise Exclusive.
func (l *Layout) DefaultMode() TimeMode {
	if l.Probes {
		return ByDTrace
	}
	return Exclusive
}

// Times returns how long each phase took: a row for each context and phase, in the order of their times.
func (l *Layout) Times(mode TimeMode) []LayoutTime {
	micros := func(key layoutKey) int64 { return l.cells[key].in(mode) }
	keys := make([]layoutKey, 0, len(l.cells))
	for key, cell := range l.cells {
		if mode != ByDTrace || cell.intervals > 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b layoutKey) int {
		return cmp.Or(cmp.Compare(micros(a), micros(b)), a.context.compare(b.context), cmp.Compare(a.phase, b.phase))
	})
	rows := make([]LayoutTime, len(keys))
	for i, key := range keys {
		rows[i] = LayoutTime{key.public(), micros(key)}
	}
	return rows
}

// in returns the time that a mode counts, in microseconds.
func (c *layoutCell) in(mode TimeMode) int64 {
	switch mode {
	case ByDTrace:
		return c.micros
	case Exclusive:
		return int64(c.exclusive / timeline.Microsecond)
	}
	return int64(c.inclusive / timeline.Microsecond)
}

// Phases returns how long the slices of each phase took: a row for each context and phase, by context and then in the
// order of the phases.
func (l *Layout) Phases() []LayoutPhase {
	var keys []layoutKey
	for key, cell := range l.cells {
		if cell.ended > 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b layoutKey) int {
		return cmp.Or(a.context.compare(b.context), comparePhases(a.phase, b.phase))
	})
	rows := make([]LayoutPhase, len(keys))
	for i, key := range keys {
		c := l.cells[key]
		rows[i] = LayoutPhase{key.public(), c.ended, c.total, c.max, c.total / timeline.Nanos(c.ended)}
	}
	return rows
}

// Nesting returns which phases are directly within which, in the order of the phases.
func (l *Layout) Nesting() []LayoutNesting {
	rows := make([]LayoutNesting, 0, len(l.nesting))
	for pair, n := range l.nesting {
		rows = append(rows, LayoutNesting{pair[0], pair[1], n})
	}
	slices.SortFunc(rows, func(a, b LayoutNesting) int {
		return cmp.Or(comparePhases(a.Outer, b.Outer), comparePhases(a.Inner, b.Inner))
	})
	return rows
}

// comparePhases orders phases: paint, reflow, frameCon, then numbers, then other texts.
func comparePhases(a, b string) int {
	x, m := phaseRank(a)
	y, n := phaseRank(b)
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(m, n), strings.Compare(a, b))
}

func phaseRank(phase string) (rank int, number int64) {
	if i := slices.Index([]string{producers.PhasePaint, producers.PhaseReflow, producers.PhaseFrameConstruction}, phase); i >= 0 {
		return i, 0
	}
	if n, err := strconv.ParseInt(phase, 10, 64); err == nil {
		return 3, n
	}
	return 4, 0
}

// count counts a slice and returns where its time goes; nil if there are too many rows.
func (l *Layout) count(s *layoutStart) *layoutCell {
	key := layoutCountKey{s.key, s.function}
	cell := l.cells[s.key]
	if _, known := l.counts[key]; !known {
		text := len(s.key.context.text) + len(s.key.phase) + len(s.function)
		if len(l.counts) >= maxRows || l.text+text > maxRowText {
			l.Uncounted++
			return nil
		}
		l.text += text
		if cell == nil {
			cell = &layoutCell{}
			l.cells[s.key] = cell
		}
	}
	l.counts[key]++
	return cell
}

// addNesting counts a slice directly within another.
func (l *Layout) addNesting(outer, inner string) {
	pair := [2]string{outer, inner}
	if _, known := l.nesting[pair]; !known && len(l.nesting) >= maxNestings {
		l.UncountedNesting++
		return
	}
	l.nesting[pair]++
}
