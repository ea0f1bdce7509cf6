// Package compare finds the changes between two groups of recordings: the time of each function, slice name, context, category or
// thread before and after, and whether the difference is larger than the variation within the groups.
//
// SumUp reduces a recording, which can then be closed, to Sums: a time and a count for each Key. Keys are names, never ids,
// because ids differ between recordings; docs/reports.md defines the keys. A Comparison collects the Sums, and Comparison.Result
// computes the rows.
//
// A row compares the medians of both groups. The Mann–Whitney U test (ranktest.go) decides whether a difference is noise. Because
// there are many rows, the procedure of Benjamini and Hochberg limits the expected share of rows that are reported as slower or
// faster by chance to Alpha. The smallest possible p-value depends on the number of recordings: with up to three in each group,
// no difference is significant at Alpha, which Result.Testable reports.
//
// What does not live here: reading recordings and printing (cmd/weft), and computing sums (packages report and attribution).
package compare

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unique"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Alpha is the significance level for the p-value of a row, and the false discovery rate among the rows that are called slower or
// faster.
const Alpha = 0.05

// Side is one of the two groups of recordings.
type Side uint8

const (
	Base Side = iota
	New
	sideCount
)

// Key identifies a row in all recordings.
type Key struct {
	Kind     string // the kind of slices, or the type of contexts; "" for functions, categories and threads
	Name     string
	Location string             // for functions: the file
	Depth    int                // for calls: the number of callers
	Caller   unique.Handle[Key] // for calls; zero: none
}

// Value is the time and count of a key in one recording.
type Value struct {
	Time  timeline.Nanos // self time; for calls, including callees
	Count int64          // number of slices or samples
	Own   timeline.Nanos // for calls: time without callees

	Line, Column int64 // for calls: position of the function in its file; 0: unknown
}

// add adds and saturates; negative numbers count as 0.
func (v *Value) add(more Value) {
	v.Time += min(max(more.Time, 0), math.MaxInt64-v.Time)
	v.Count += min(max(more.Count, 0), math.MaxInt64-v.Count)
	v.Own += min(max(more.Own, 0), math.MaxInt64-v.Own)
	if v.Line == 0 {
		v.Line, v.Column = more.Line, more.Column
	}
}

// Sums holds the values of one recording.
type Sums struct {
	Length timeline.Nanos // of the recording, or of the selected part
	Values map[Key]Value
	// Others is the number of slices, samples or contexts without a key of their own, because there were too many.
	Others int64
	// Lost is the number of times that data is missing from the recording; see verdict.Lost. The caller sets it.
	Lost uint64
}

// Others is the key name for the rest if there are too many keys.
const Others = "(others)"

// Limits of a Comparison.
const (
	maxKeys   = 1 << 17
	maxValues = 1 << 22 // keys multiplied by recordings
	maxText   = 32 << 20
)

// Recording describes a recording in a Result.
type Recording struct {
	Name   string         `json:"input"`
	Length timeline.Nanos `json:"length_ns"`
	Lost   uint64         `json:"lost,omitempty"` // number of times that data is missing
}

// Comparison collects the recordings of a comparison.
type Comparison struct {
	recordings [sideCount][]Recording
	expected   int
	rows       map[Key]*[sideCount][]Value
	text       int
	others     int64
}

// NewComparison returns a comparison of the given number of recordings, on both sides together.
func NewComparison(recordings int) *Comparison {
	return &Comparison{expected: max(recordings, 1), rows: map[Key]*[sideCount][]Value{}}
}

// Add adds a recording.
func (c *Comparison) Add(side Side, name string, s *Sums) {
	at := len(c.recordings[side])
	c.recordings[side] = append(c.recordings[side], Recording{name, s.Length, s.Lost})
	c.others += s.Others
	keys := make([]Key, 0, len(s.Values))
	for k := range s.Values {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b Key) int { // the longest first, so that they get their own rows
		return cmp.Or(cmp.Compare(s.Values[b].Time, s.Values[a].Time), compareKeys(a, b))
	})
	for _, k := range keys {
		row := c.row(k)
		if row == nil {
			continue
		}
		for len(row[side]) <= at {
			row[side] = append(row[side], Value{})
		}
		row[side][at].add(s.Values[k])
	}
}

// row returns the values of a key, or of Others if there are too many keys. It returns nil for a call if there are too many keys,
// or if its caller has no row; the time of such a call counts only for its callers.
func (c *Comparison) row(k Key) *[sideCount][]Value {
	if row := c.rows[k]; row != nil {
		return row
	}
	full := len(c.rows) >= min(maxKeys, max(maxValues/c.expected, 1)) || c.text+k.size() > maxText
	if k.Depth > 0 && (full || c.rows[k.Caller.Value()] == nil) {
		c.others++
		return nil
	}
	if full {
		k = Key{Kind: k.Kind, Name: Others}
		c.others++
		if row := c.rows[k]; row != nil {
			return row
		}
	}
	c.text += k.size()
	row := &[sideCount][]Value{}
	c.rows[k] = row
	return row
}

func (k *Key) size() int { return len(k.Name) + len(k.Location) }

func compareKeys(a, b Key) int {
	order := cmp.Or(cmp.Compare(a.Depth, b.Depth), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Location, b.Location))
	if order != 0 || a.Caller == b.Caller {
		return order
	}
	return compareKeys(a.Caller.Value(), b.Caller.Value())
}

// Verdict is the result for a row.
type Verdict uint8

// The verdicts, in the order of rows.
const (
	Slower    Verdict = iota // significant among all tested rows
	Faster                   // significant among all tested rows
	Undecided                // too few recordings to distinguish a change from chance among so many rows
	Noise                    // recordings on the same side differ as much
	Equal                    // all recordings have the same values
)

var verdicts = [...]string{Slower: "slower", Faster: "faster", Undecided: "undecided", Noise: "noise", Equal: "equal"}

// String returns "slower", "faster", "undecided", "noise" or "equal".
func (v Verdict) String() string { return verdicts[v] }

// MarshalText returns String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Row is the comparison of one key. Times are per recording, or per second with Options.PerSecond.
type Row struct {
	Kind     string `json:"kind,omitempty"`
	Name     string `json:"name"`
	Location string `json:"location,omitempty"`
	Depth    int    `json:"depth,omitempty"` // for calls: the number of callers
	key      Key

	// For calls: the median times without callees, by Side, and the position of the function in the last recording that contains
	// it.
	Own          [sideCount]timeline.Nanos `json:"-"`
	Line, Column int64                     `json:"-"`

	// The times and counts of all recordings, in order; 0 if a recording does not have the key.
	Base       []timeline.Nanos `json:"base_ns"`
	New        []timeline.Nanos `json:"new_ns"`
	BaseCounts []int64          `json:"base_counts"`
	NewCounts  []int64          `json:"new_counts"`

	BaseMedian timeline.Nanos `json:"base_median_ns"` // for an even number, the mean of the middle two, rounded down
	NewMedian  timeline.Nanos `json:"new_median_ns"`
	Change     timeline.Nanos `json:"change_ns"` // of the medians
	Ratio      *float64       `json:"ratio"`     // Change / BaseMedian: 0.1 is 10 % more; nil if BaseMedian is 0
	P          *float64       `json:"p"`         // nil if there are too few recordings, or all values are equal
	Q          *float64       `json:"q"`         // P adjusted for the number of rows by Benjamini and Hochberg; nil if P is nil
	Verdict    Verdict        `json:"verdict"`
	Only       string         `json:"only,omitempty"` // "base" or "new" if the other side does not have the key
}

// Options are the options of Comparison.Result.
type Options struct {
	// PerSecond divides times and counts by the length of their recording in seconds. Counts are rounded down.
	PerSecond bool
}

// Result is the result of a comparison.
type Result struct {
	Base, New []Recording
	Rows      []Row // see compareRows
	// Smallest is the smallest p-value that is possible with this number of recordings. Testable is set if Smallest is below
	// Alpha; otherwise no difference can be significant.
	Smallest float64
	Testable bool
	// Tested is the number of rows with a p-value.
	Tested int
	// Enough is the number of recordings on each side that is sufficient to detect a change in one of the rows. Few is set if
	// there are fewer.
	Enough int
	Few    bool
	Counts [Equal + 1]int // number of rows by verdict
	Others int64          // number of slices, samples and names in rows called Others
}

// Result compares the recordings. Both sides must have at least one.
func (c *Comparison) Result(opts Options) *Result {
	r := &Result{Base: c.recordings[Base], New: c.recordings[New], Others: c.others, Rows: make([]Row, 0, len(c.rows))}
	test := newRankTester(len(r.Base), len(r.New))
	r.Smallest = test.Smallest()
	r.Testable = r.Smallest < Alpha
	for k, values := range c.rows {
		row := Row{Kind: k.Kind, Name: k.Name, Location: k.Location, Depth: k.Depth, key: k}
		row.Base, row.BaseCounts, row.Own[Base] = opts.values(values[Base], r.Base)
		row.New, row.NewCounts, row.Own[New] = opts.values(values[New], r.New)
		for _, v := range slices.Concat(values[:]...) {
			if v.Line > 0 {
				row.Line, row.Column = v.Line, v.Column
			}
		}
		row.judge(r.Testable, test)
		r.Rows = append(r.Rows, row)
	}
	r.adjust()
	for i := range r.Rows {
		r.Counts[r.Rows[i].Verdict]++
	}
	r.Enough, r.Few = enough(r.compared()), r.Smallest*float64(r.compared()) >= Alpha
	slices.SortFunc(r.Rows, compareRows)
	return r
}

// Advice returns a sentence that states the number of recordings that is sufficient; "" if there are enough.
func (r *Result) Advice() string {
	if !r.Few {
		return ""
	}
	return fmt.Sprintf("Record each version at least %d times: fewer cannot show that one of %d rows changed.", r.Enough, r.compared())
}

// compared returns the number of rows that are compared: if no test is possible, all rows, because equal rows may differ in the
// next recording.
func (r *Result) compared() int {
	if r.Testable {
		return r.Tested
	}
	return len(r.Rows)
}

// adjust computes the adjusted p-values of all rows. Rows that are significant alone, but not among so many rows, become Undecided.
//
// The rule is Benjamini and Hochberg's (1995): of m p-values in ascending order, the i-th is multiplied by m/i, and then
// limited to the smallest of the following products. The rule does not require independence; the positive dependence of times in
// one recording is sufficient (Benjamini and Yekutieli 2001).
func (r *Result) adjust() {
	var tested []*Row
	for i := range r.Rows {
		if r.Rows[i].P != nil {
			tested = append(tested, &r.Rows[i])
		}
	}
	r.Tested = len(tested)
	slices.SortFunc(tested, func(a, b *Row) int { return cmp.Compare(*b.P, *a.P) })
	least := 1.0
	for i, row := range tested {
		least = min(least, *row.P*float64(len(tested))/float64(len(tested)-i))
		q := least
		row.Q = &q
		if row.Verdict < Undecided && q >= Alpha {
			row.Verdict = Undecided
		}
	}
}

// maxEnough bounds the search for Result.Enough. It is sufficient for any number of rows.
const maxEnough = 25

// enough returns the number of recordings on each side with which one of the rows can be significant.
func enough(rows int) int {
	n := 1
	for n < maxEnough && newRankTester(n, n).Smallest()*float64(rows) >= Alpha {
		n++
	}
	return n
}

// compareRows sorts rows by verdict, slower and faster together, then by size of the change, largest first. Asynchronous slices,
// which overlap, and unattributed work come last within each verdict.
func compareRows(a, b Row) int {
	last := func(r *Row) bool { return r.Async() || r.Name == Unattributed }
	group := func(r *Row) Verdict { return max(r.Verdict, Faster) }
	return cmp.Or(cmp.Compare(group(&a), group(&b)), table.FalseFirst(last(&a), last(&b)), cmp.Compare(b.Size(), a.Size()), cmp.Compare(b.Longest(), a.Longest()),
		compareKeys(a.key, b.key))
}

// values returns the times and counts of all recordings on a side, and the median of own times.
func (o *Options) values(values []Value, recordings []Recording) (times []timeline.Nanos, counts []int64, own timeline.Nanos) {
	times, counts = make([]timeline.Nanos, len(recordings)), make([]int64, len(recordings))
	owns := make([]timeline.Nanos, len(recordings))
	for i, v := range values {
		times[i], counts[i], owns[i] = v.Time, v.Count, v.Own
		if o.PerSecond {
			times[i] = perSecond(v.Time, recordings[i].Length)
			counts[i] = perSecond(v.Count, recordings[i].Length)
			owns[i] = perSecond(v.Own, recordings[i].Length)
		}
	}
	return times, counts, median(owns)
}

// perSecond divides a nonnegative number by a length, rounded down; it saturates, and returns 0 if the length is 0.
func perSecond[T ~int64](n T, length timeline.Nanos) T {
	if length <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(n), 1e9)
	if high >= uint64(length) {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, uint64(length))
	return T(min(quotient, math.MaxInt64))
}

// judge compares the two sides of a row.
func (r *Row) judge(testable bool, test *rankTester) {
	r.BaseMedian, r.NewMedian = median(r.Base), median(r.New)
	r.Change = r.NewMedian - r.BaseMedian
	if r.BaseMedian > 0 {
		ratio := float64(r.Change) / float64(r.BaseMedian)
		r.Ratio = &ratio
	}
	switch absent := func(counts []int64) bool { return slices.Max(counts) == 0 }; {
	case absent(r.BaseCounts) && slices.Max(r.Base) == 0:
		r.Only = "new"
	case absent(r.NewCounts) && slices.Max(r.New) == 0:
		r.Only = "base"
	}
	smallest, largest := r.limits()
	switch {
	case smallest == largest:
		r.Verdict = Equal
		return
	case !testable:
		r.Verdict = Undecided
		return
	}
	p := test.P(r.Base, r.New)
	r.P = &p
	switch {
	case p >= Alpha, r.Change == 0:
		r.Verdict = Noise
	case r.Change > 0:
		r.Verdict = Slower
	default:
		r.Verdict = Faster
	}
}

// Size returns the absolute change.
func (r *Row) Size() timeline.Nanos { return max(r.Change, -r.Change) }

// Longest returns the larger median.
func (r *Row) Longest() timeline.Nanos { return max(r.BaseMedian, r.NewMedian) }

// limits returns the smallest and the largest time of any recording.
func (r *Row) limits() (smallest, largest timeline.Nanos) {
	return min(slices.Min(r.Base), slices.Min(r.New)), max(slices.Max(r.Base), slices.Max(r.New))
}

// median returns the median of nonnegative values; for an even number the mean of the middle two, rounded down.
func median[T ~int64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	return low + (high-low)/2
}

// Limit bounds the increase of a row.
type Limit struct {
	Millionths int64          // of the base's median
	Least      timeline.Nanos // rows whose medians are below this are ignored
}

// Over reports whether the increase of a row's median exceeds a limit and is significant. If the test cannot decide, all
// recordings of the new side must be slower than all recordings of the base.
func (r *Row) Over(l Limit) bool {
	if r.Verdict == Undecided && slices.Min(r.New) <= slices.Max(r.Base) || r.Verdict != Undecided && r.Verdict != Slower {
		return false
	}
	if r.Change <= 0 || r.Longest() < l.Least {
		return false
	}
	changeHigh, changeLow := bits.Mul64(uint64(r.Change), 1e6)
	limitHigh, limitLow := bits.Mul64(uint64(r.BaseMedian), uint64(max(l.Millionths, 0)))
	return changeHigh > limitHigh || changeHigh == limitHigh && changeLow > limitLow
}

// Async reports whether a row is for asynchronous slices, which overlap.
func (r *Row) Async() bool { return r.Kind == report.AsyncSlices.String() }

// BaseCount returns the median count of the base.
func (r *Row) BaseCount() int64 { return median(r.BaseCounts) }

// NewCount returns the median count of the new side.
func (r *Row) NewCount() int64 { return median(r.NewCounts) }
