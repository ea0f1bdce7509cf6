package report

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// Many sums up the same tables over many recordings, which it takes in one after the other. It holds its rows, of which there
// are at most 131,072 with 16 MiB of names; what has no row of its own is in one called OthersGroup. Lengths of slices that do not fit its
// memory are sorted on disk. It must be closed.
type Many struct {
	Recordings int // that were taken in; their shares are averaged over all of them

	Tasks           Worst[ManyTask]     // see AddTasks
	Blocking        timeline.Nanos      // of all long tasks
	UncountedTasks  int64               // long tasks of single recordings that are in no row, see Tasks.Uncounted
	Inputs          Worst[ManyInput]    // see AddInputs
	Omitted         map[InputKind]int64 // inputs of the kinds that were not asked for
	UncountedSlices int64               // slices of layout that are in no row of their recording, see Layout.Uncounted

	rows    map[manyKey]*ManyRow
	text    int
	current string     // the name of the recording that is taken in
	touched []*ManyRow // rows with something of the current table of the recording
	lengths *extsort.Sorter[sliceLength]
	byID    []*ManyRow // the groups of lengths
}

// NewMany returns sums without recordings. The lengths of slices may take so many bytes of memory, and the rest is sorted in a file in
// tempDir; "": that of the system.
func NewMany(memory int64, tempDir string) *Many {
	return &Many{rows: map[manyKey]*ManyRow{}, lengths: extsort.New(lengthOrder, memory, tempDir)}
}

// Close removes the temporary file.
func (m *Many) Close() error { return m.lengths.Close() }

type manyKey struct{ table, name, place, category string }

// ManyRow is one row of a table over all recordings. Times are nanoseconds.
type ManyRow struct {
	Table string `json:"table"`
	Name  string `json:"name"`
	Place string `json:"place,omitempty"` // what tells rows with one name apart: where a function is defined, the type of a context
	// Category is the kind of work, of what is in long tasks.
	Category string `json:"category,omitempty"`

	Recordings int            `json:"recordings"` // in which it is
	Count      int64          `json:"count"`      // of samples or slices
	Self       timeline.Nanos `json:"self_ns"`
	Total      timeline.Nanos `json:"total_ns"`
	// Blocking is the blocking time of the long tasks that it is in; nil for what is not in long tasks.
	Blocking *timeline.Nanos `json:"blocking_ns,omitempty"`
	// MeanShare is the average, over all recordings, of the share that Self has in the time of the table, in billionths:
	// each recording counts alike, however long it is. In recordings without the row the share is 0.
	MeanShare int64 `json:"mean_share_ppb"`
	// MaxShare is the largest of these shares, and MaxIn the recording that has it, the first of several.
	MaxShare int64  `json:"max_share_ppb"`
	MaxIn    string `json:"max_share_in"`

	// Lengths are those of the slices, or what else the table counts one by one, in all recordings together; nil for what is none.
	Lengths *ManyLengths `json:"lengths,omitempty"`

	id      int64          // index in byID
	shares  int64          // the sum of all shares, in billionths
	current timeline.Nanos // Self in the recording that is taken in
	touched bool
}

// ManyLengths are the percentiles of the lengths of slices that ended: the shortest length that so many percent are not above.
type ManyLengths struct {
	Count int64          `json:"count"`
	P50   timeline.Nanos `json:"p50_ns"`
	P75   timeline.Nanos `json:"p75_ns"`
	P95   timeline.Nanos `json:"p95_ns"`
	P99   timeline.Nanos `json:"p99_ns"`
	Max   timeline.Nanos `json:"max_ns"`
}

// shareUnit is the number of parts in which shares are counted.
const shareUnit = 1_000_000_000

// Begin starts a recording.
func (m *Many) Begin(recording string) {
	m.Recordings++
	m.current = recording
}

// Add takes in what a row of a table is in the recording. Several of one name and place are one row.
func (m *Many) Add(table, name, place string, count int64, self, total timeline.Nanos) {
	m.add(manyKey{table: table, name: name, place: place}, count, self, total)
}

// add is Add for any key. It returns the row.
func (m *Many) add(key manyKey, count int64, self, total timeline.Nanos) *ManyRow {
	r := m.row(key)
	if !r.touched {
		r.touched = true
		r.Recordings++
		m.touched = append(m.touched, r)
	}
	sumInt(&r.Count, count)
	sum(&r.Self, self)
	sum(&r.Total, total)
	sum(&r.current, self)
	return r
}

// row returns the row of a key, or that of all others if there are too many.
func (m *Many) row(key manyKey) *ManyRow {
	if r := m.rows[key]; r != nil {
		return r
	}
	if text := len(key.name) + len(key.place) + len(key.category); len(m.rows) >= maxRows || m.text+text > maxRowText {
		key.name, key.place, key.category = OthersGroup, "", ""
		if r := m.rows[key]; r != nil {
			return r
		}
	} else {
		m.text += text
	}
	r := &ManyRow{Table: key.table, Name: key.name, Place: key.place, Category: key.category, id: int64(len(m.byID))}
	m.rows[key] = r
	m.byID = append(m.byID, r)
	return r
}

// addLength takes in the length of a slice of a row.
func (m *Many) addLength(table, name string, length timeline.Nanos) error {
	return m.addLengthOf(m.row(manyKey{table: table, name: name}), length)
}

func (m *Many) addLengthOf(r *ManyRow, length timeline.Nanos) error {
	if r.Lengths == nil {
		r.Lengths = new(ManyLengths)
	}
	r.Lengths.Count++
	r.Lengths.Max = max(r.Lengths.Max, length)
	return m.lengths.Add(sliceLength{length, r.id})
}

// Finish finds the percentiles, when all recordings were taken in. The error is one of the temporary file, or ctx's.
func (m *Many) Finish(ctx context.Context) error {
	var l sliceLength
	for id, i := int64(-1), int64(0); ; i++ {
		ok, err := m.lengths.Next(&l)
		if err != nil || !ok {
			return err
		}
		if i&0xffff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		if l.group != id {
			id, i = l.group, 0
		}
		of := m.byID[id].Lengths
		atRank(i, of.Count, l.length, &of.P50, &of.P95, &of.P99)
		if i == rank(of.Count, 75) {
			of.P75 = l.length
		}
	}
}

// EndTable ends what Add has told of a table of the recording. The shares of its rows are parts of all.
func (m *Many) EndTable(all timeline.Nanos) {
	for _, r := range m.touched {
		share := shareOf(r.current, all)
		sumInt(&r.shares, share)
		if r.MaxIn == "" || share > r.MaxShare {
			r.MaxShare, r.MaxIn = share, m.current
		}
		r.touched, r.current = false, 0
	}
	m.touched = m.touched[:0]
}

func shareOf(part, all timeline.Nanos) int64 {
	if all <= 0 {
		return 0
	}
	return int64(float64(part)/float64(all)*shareUnit + 0.5)
}

// Rows returns the rows of a table, those with the most self time first.
func (m *Many) Rows(table string) (rows []ManyRow) {
	for key, r := range m.rows {
		if key.table == table {
			row := *r
			row.MeanShare = r.shares / int64(max(m.Recordings, 1))
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b ManyRow) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Category, b.Category))
	})
	return rows
}

// The tables that AddSamples and AddSlices make, and the kinds of slices.
const (
	ManyFunctions = "functions"
	ManyStates    = "states"
)

// AddSamples takes in where the sampled time of a recording went: its functions and states. The shares of functions are parts of
// the time in which threads were not idle, in all threads together; functions on the stacks of idle threads do not count.
func (m *Many) AddSamples(recording string, s *Samples) {
	m.Begin(recording)
	var busy, covered timeline.Nanos
	for i := range s.Threads {
		t := &s.Threads[i]
		sum(&covered, t.Covered)
		sum(&busy, t.Covered-t.Classes.Idle.Time)
		for k := range t.Functions {
			f := &t.Functions[k]
			self := f.Self.Sum()
			m.Add(ManyFunctions, f.Function, f.Location(), self.Samples-f.Self.Idle.Samples, self.Time-f.Self.Idle.Time, f.Total.Time)
		}
	}
	m.EndTable(busy)
	for i := range s.Threads {
		for _, state := range s.Threads[i].States {
			m.Add(ManyStates, state.State, state.Class, state.Samples, state.Time, state.Time)
		}
	}
	m.EndTable(covered)
}

// AddSlices takes in the groups of slices of a recording: a table for each kind, whose shares are parts of the self time of all
// slices of the kind.
func (m *Many) AddSlices(ctx context.Context, recording string, tl *timeline.Timeline, opts SliceOptions) error {
	opts.Length = func(kind SliceKind, group string, length timeline.Nanos) error {
		return m.addLength(kind.String(), group, length)
	}
	s, err := CollectSlices(ctx, tl, opts)
	if err != nil {
		return err
	}
	m.Begin(recording)
	for from := 0; from < len(s.Groups); {
		kind, all := s.Groups[from].Kind, timeline.Nanos(0)
		for from < len(s.Groups) && s.Groups[from].Kind == kind {
			g := &s.Groups[from]
			sum(&all, g.Self)
			m.Add(kind.String(), g.Name, "", g.Count, g.Self, g.Total)
			from++
		}
		m.EndTable(all)
	}
	return nil
}

// ManyUnforced is the name of the row of style and layout that no script forced.
const ManyUnforced = "(not forced)"

// AddGC takes in what the garbage collector interrupted in a recording: Self is the collector's time, Count the samples of it, and Total
// that of the functions with the collector. Shares are parts of the sampled time of all threads.
func (m *Many) AddGC(recording string, g *GC) {
	m.Begin(recording)
	var covered timeline.Nanos
	for i := range g.Threads {
		t := &g.Threads[i]
		sum(&covered, t.Covered)
		for k := range t.ByFunction {
			f := &t.ByFunction[k]
			m.Add(ManyFunctions, f.Function, f.Location(), f.GCSamples, f.GC, f.Total)
		}
	}
	m.EndTable(covered)
}

// AddForced takes in the style and layout that script forced in a recording, by the innermost functions of stacks, and in the row
// ManyUnforced what none forced. Shares are parts of all style and layout.
func (m *Many) AddForced(recording string, l *LayoutThrashing) {
	m.Begin(recording)
	var all timeline.Nanos
	for i := range l.Threads {
		t := &l.Threads[i]
		sum(&all, t.Total)
		sum(&all, t.Unforced.Total)
		for k := range t.ByStack {
			s := &t.ByStack[k]
			innermost := Frame{}
			if n := len(s.Frames); n > 0 {
				innermost = s.Frames[n-1]
			}
			m.Add(ManyFunctions, innermost.Function, innermost.Location(), s.Count, s.Total, s.Total)
		}
		if u := &t.Unforced; u.Count > 0 {
			m.Add(ManyFunctions, ManyUnforced, "", u.Count, u.Total, u.Total)
		}
	}
	m.EndTable(all)
}

// The tables that AddLayout makes.
const (
	ManyLayoutCounts = "counts"
	ManyLayoutTimes  = "times"
)

// AddLayout takes in the phases of layout of a recording, of all its contexts together, whose ids other recordings give anew: how often
// they began, by the functions in Place, and how long they took. Shares are parts of the time of all phases.
func (m *Many) AddLayout(recording string, l *Layout, mode TimeMode) {
	m.Begin(recording)
	for _, r := range l.Counts() {
		m.Add(ManyLayoutCounts, r.Phase, r.Function, r.Count, 0, 0)
	}
	m.EndTable(0)
	var all timeline.Nanos
	for _, r := range l.Times(mode) {
		time := timeline.Nanos(r.Micros) * 1000
		sum(&all, time)
		m.Add(ManyLayoutTimes, r.Phase, "", 0, time, time)
	}
	m.EndTable(all)
	sumInt(&m.UncountedSlices, l.Uncounted)
}
