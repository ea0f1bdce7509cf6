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

// LayoutOptions selects the slices that are layout phases, in addition to those from the probes layout-start and
// layout-end.
type LayoutOptions struct {
	// Phases maps the names of slices to phases, for traces of any origin. Nil means the Chrome events and Firefox markers
	// that docs/reports.md lists.
	Phases map[string]string
	// Paint lists names of Chrome and Firefox events that also count as paint: any of PaintOptions.
	Paint []string
	// Selected is the part of the trace whose slices count; nil: all of it. Slices that are partly in the window count in
	// full.
	Selected *selection.Selection
}

// PaintOptions returns the names that LayoutOptions.Paint may contain.
func PaintOptions() []string { return []string{"PrePaint", "Rasterize", "Composite"} }

// Layout holds a trace's data about layout phases.
type Layout struct {
	// Probes means that there are layout probes, so that ByDTrace counts time like their script.
	Probes bool
	// UnbalancedStarts counts the slices whose own end is missing; UnmatchedEnds counts the probe ends without a start.
	UnbalancedStarts, UnmatchedEnds int64
	// Uncounted is the number of slices that are in no row because there would be too many rows.
	Uncounted int64
	// UncountedNesting is the number of slices that are directly inside another slice, but in no row of Nesting because there are
	// too many different pairs of phases.
	UncountedNesting int64

	cells   map[layoutKey]*layoutCell
	counts  map[layoutCountKey]int64
	nesting map[[2]string]int64
	text    int // bytes of the texts in the keys of counts
}

// LayoutKey is the key of rows about layout. Context is the presentation context, frame or window for which the work
// was done: a signed decimal number if the trace has a number; "" if unknown.
type LayoutKey struct {
	Context string `json:"context"`
	Phase   string `json:"phase"`
}

// LayoutCount is the number of times that a phase started.
type LayoutCount struct {
	LayoutKey
	Function string `json:"function"` // that fired the probe, or the name of the event or marker
	Count    int64  `json:"count"`
}

// LayoutTime is the time in a phase, in microseconds.
type LayoutTime struct {
	LayoutKey
	Micros int64 `json:"time_us"`
}

// LayoutPhase summarizes the slices of a phase that have an end of their own.
type LayoutPhase struct {
	LayoutKey
	Count int64          `json:"count"`
	Total timeline.Nanos `json:"total_ns"`
	Max   timeline.Nanos `json:"max_ns"`
	Mean  timeline.Nanos `json:"mean_ns"` // rounded down
}

// LayoutNesting counts the slices of the phase Inner directly inside slices of the phase Outer, on the same thread.
type LayoutNesting struct {
	Outer string `json:"outer"`
	Inner string `json:"inner"`
	Count int64  `json:"count"`
}

// TimeMode chooses how Layout.Times sums nested slices.
type TimeMode uint8

const (
	// ByDTrace counts like the script layout_time.d, which remembers one start for each thread, context and phase: a later start
	// with the same three values replaces the remembered start, and the first end uses it up. Each interval is rounded down to
	// microseconds. Slices without an end do not count.
	ByDTrace TimeMode = iota
	// Exclusive counts the time in which a slice is the innermost layout slice on its thread.
	Exclusive
	// Inclusive counts the whole time of slices; nested slices of the same context and phase count once.
	Inclusive
)

// Memory limits for a trace: the number of different rows, and the bytes of text in them.
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

// compare orders numbers as DTrace does, as unsigned numbers. Texts come after numbers.
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

// layoutCell holds the sums for a context and phase.
type layoutCell struct {
	intervals            int64 // of ByDTrace
	micros               int64 // total of these
	exclusive, inclusive timeline.Nanos
	ended                int64 // slices with an end of their own
	total, max           timeline.Nanos
}

// CollectLayout counts the layout phases in a nested timeline. It fails only if temporary files cannot be used or ctx is
// done.
func CollectLayout(ctx context.Context, tl *timeline.Timeline, opts LayoutOptions) (*Layout, error) {
	c := newLayoutReader(tl, opts)
	if err := opts.Selected.Walk(ctx, tl, c.item); err != nil {
		return nil, err
	}
	c.finish()
	return c.out, nil
}

// Counts returns how often each phase began: a row for each context, phase and function, lowest count first.
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

// Times returns how long each phase took: a row for each context and phase, shortest time first.
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

// Phases returns how long the slices of each phase took: a row for each context and phase, sorted by context, then
// phase.
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

// Nesting returns which phases are directly inside which, sorted by phase.
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

// count counts a slice and returns the cell for its time; nil if there are too many rows.
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

// addNesting counts a slice directly inside another.
func (l *Layout) addNesting(outer, inner string) {
	pair := [2]string{outer, inner}
	if _, known := l.nesting[pair]; !known && len(l.nesting) >= maxNestings {
		l.UncountedNesting++
		return
	}
	l.nesting[pair]++
}
