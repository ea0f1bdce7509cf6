// Package compare says what changed between two groups of recordings: of each function, slice name, context, category or thread
// how much time it took before and after, and whether the difference is more than recordings of the same thing differ among
// themselves.
//
// A Comparison takes in one recording after the other, which can be closed then: SumUp reduces each to Sums, a time and a count for
// each Key. Keys are names, never ids, since another recording has other ids; docs/reports.md says what is compared with what.
// Comparison.Result makes the rows.
//
// What is compared is the median of each group. Whether a difference is noise says the Mann–Whitney U test (ranktest.go), and,
// because it is asked of many rows at once, the procedure of Benjamini and Hochberg: of the rows that are called slower or faster at most
// the share Alpha is expected to be so by chance. The answers have a bound that depends on how many recordings there are: with up
// to three in each group no difference is significant at Alpha, and then Result says so (Result.Testable) rather than anything about noise.
//
// What does not live here: reading recordings and printing (cmd/weft), and summing up itself (packages report and attribution).
package compare

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"unique"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// Alpha bounds two chances. Above this p-value a row is noise. Of the rows that are called slower or faster, it is the share that
// is expected to be so by chance (the false discovery rate).
const Alpha = 0.05

// Side is one of the two groups of recordings.
type Side uint8

// The sides of a comparison.
const (
	Base Side = iota
	New
	sides
)

// Key is what rows of two recordings have in common.
type Key struct {
	Kind     string // the kind of slices, or the type of contexts; "" for functions, categories and threads
	Name     string
	Location string             // of functions: the file
	Depth    int                // of calls: the number of those around
	Caller   unique.Handle[Key] // zero: nothing calls it
}

// Value is what one recording has of a key.
type Value struct {
	Time  timeline.Nanos // without what is inside and counts itself; of calls with what they call
	Count int64          // of slices or samples
	Own   timeline.Nanos // of calls: time without what they call

	Line, Column int64 // of calls: where the function is in its file; 0: not known
}

// add adds as far as numbers go.
func (v *Value) add(more Value) {
	v.Time += min(max(more.Time, 0), math.MaxInt64-v.Time)
	v.Count += min(max(more.Count, 0), math.MaxInt64-v.Count)
	v.Own += min(max(more.Own, 0), math.MaxInt64-v.Own)
	if v.Line == 0 {
		v.Line, v.Column = more.Line, more.Column
	}
}

// Sums are the values of one recording.
type Sums struct {
	Length timeline.Nanos // of the recording, or of what is selected of it
	Values map[Key]Value
	// Others is the number of slices, samples or contexts that are in no key of their own, because there are too many.
	Others int64
	// Lost is how many times data of the recording is missing; see verdict.Lost. The caller sets it.
	Lost uint64
}

// Others is the name of a key of what has none of its own, because there are too many.
const Others = "(others)"

// The limits of what a Comparison keeps.
const (
	maxKeys   = 1 << 17
	maxValues = 1 << 22 // keys multiplied by recordings
	maxText   = 32 << 20
)

// Recording is a recording of a Result.
type Recording struct {
	Name   string         `json:"input"`
	Length timeline.Nanos `json:"length_ns"`
	Lost   uint64         `json:"lost,omitempty"` // how many times data is missing
}

// Comparison is a comparison to which recordings are added.
type Comparison struct {
	recordings [sides][]Recording
	expected   int
	rows       map[Key]*[sides][]Value
	text       int
	others     int64
}

// NewComparison returns a comparison of so many recordings, of both sides.
func NewComparison(recordings int) *Comparison {
	return &Comparison{expected: max(recordings, 1), rows: map[Key]*[sides][]Value{}}
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
	slices.SortFunc(keys, func(a, b Key) int { // the most time first: those have rows of their own
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

// row returns the values of a key, or of all others if there are too many; nil: it is a call whose time counts for its caller alone.
func (c *Comparison) row(k Key) *[sides][]Value {
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
	row := &[sides][]Value{}
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

// Verdict says what became of a key.
type Verdict uint8

// The verdicts, in the order of rows.
const (
	Slower    Verdict = iota // significantly, among all rows that were tested
	Faster                   // likewise
	Undecided                // too few recordings to tell a change from noise, or from what chance makes of so many rows
	Noise                    // recordings of one side differ as much
	Equal                    // all recordings have the same values
)

var verdicts = [...]string{Slower: "slower", Faster: "faster", Undecided: "undecided", Noise: "noise", Equal: "equal"}

// String returns "slower", "faster", "undecided", "noise" or "equal".
func (v Verdict) String() string { return verdicts[v] }

// MarshalText returns String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Row is the comparison of one key. Times are per recording, or what Options.PerSecond says.
type Row struct {
	Kind     string `json:"kind,omitempty"`
	Name     string `json:"name"`
	Location string `json:"location,omitempty"`
	Depth    int    `json:"depth,omitempty"` // of calls: the number of functions around
	key      Key

	// Of calls: the median times without what they call, by Side, and where the function is, in the last recording that says so.
	Own          [sides]timeline.Nanos `json:"-"`
	Line, Column int64                 `json:"-"`

	// The times and counts of all recordings, in their order; 0 where a recording has nothing of the key.
	Base       []timeline.Nanos `json:"base_ns"`
	New        []timeline.Nanos `json:"new_ns"`
	BaseCounts []int64          `json:"base_counts"`
	NewCounts  []int64          `json:"new_counts"`

	BaseMedian timeline.Nanos `json:"base_median_ns"` // of two in the middle the mean, rounded down
	NewMedian  timeline.Nanos `json:"new_median_ns"`
	Change     timeline.Nanos `json:"change_ns"` // of the medians
	Ratio      *float64       `json:"ratio"`     // of the change to the base's median: 0.1 is 10 % more; nil if that is 0
	P          *float64       `json:"p"`         // nil if there are too few recordings, or all values are equal
	Q          *float64       `json:"q"`         // P adjusted for the number of rows, as Benjamini and Hochberg do; nil with P
	Verdict    Verdict        `json:"verdict"`
	Only       string         `json:"only,omitempty"` // "base" or "new" if the other side has nothing of the key
}

// Options say how a Result is made.
type Options struct {
	// PerSecond divides times and counts by the length of their recording: they are per second of it. Counts are rounded down.
	PerSecond bool
}

// Result is what changed.
type Result struct {
	Base, New []Recording
	Rows      []Row // significant ones first, the largest change first
	// Smallest is the smallest p-value that so many recordings allow. Testable is whether it is below Alpha: otherwise no
	// difference can be called significant.
	Smallest float64
	Testable bool
	// Tested is the number of rows with a p-value.
	Tested int
	// Enough is the number of recordings of each side from which on a row can be slower or faster that is the only one to change of so
	// many. Few is set if there are too few for any difference.
	Enough int
	Few    bool
	Counts [Equal + 1]int // rows by verdict
	Others int64          // slices, samples and names that are in rows called Others
}

// Result compares what was added. Both sides have at least one recording.
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

// Advice says how many recordings it takes to show a change; "" where there are as many.
func (r *Result) Advice() string {
	if !r.Few {
		return ""
	}
	return fmt.Sprintf("Record each version at least %d times: fewer cannot show that one of %d rows changed.", r.Enough, r.compared())
}

// compared is the number of rows among which a change is to be found: of so few recordings that there is no test, all rows, since those
// that are equal may differ in the next recording.
func (r *Result) compared() int {
	if r.Testable {
		return r.Tested
	}
	return len(r.Rows)
}

// adjust finds the adjusted p-values of all rows, and leaves undecided what is significant alone but not among so many rows.
//
// The rule is Benjamini and Hochberg's (1995): of m p-values in ascending order, the i-th is multiplied by m/i, and then none is
// larger than those after it. It needs no independence beyond what times of one recording have (Benjamini and Yekutieli 2001: positive
// dependence).
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

// maxEnough bounds the search for Result.Enough. No comparison has as many rows as need more recordings.
const maxEnough = 25

// enough returns the number of recordings of each side from which on one of so many rows can be significant.
func enough(rows int) int {
	n := 1
	for n < maxEnough && newRankTester(n, n).Smallest()*float64(rows) >= Alpha {
		n++
	}
	return n
}

// compareRows orders rows: those that changed, those that may have, noise, and those that are equal; in each the largest change
// first, and last what is not work of its own: asynchronous slices, which overlap, and what has no context.
func compareRows(a, b Row) int {
	last := func(r *Row) int {
		if r.Async() || r.Name == Unattributed {
			return 1
		}
		return 0
	}
	group := func(r *Row) Verdict { return max(r.Verdict, Faster) }
	return cmp.Or(cmp.Compare(group(&a), group(&b)), cmp.Compare(last(&a), last(&b)), cmp.Compare(b.Size(), a.Size()), cmp.Compare(b.Longest(), a.Longest()),
		compareKeys(a.key, b.key))
}

// values returns the values of all recordings of a side, of own times the median.
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

// perSecond divides a number that is not negative by a length, rounded down, up to the largest there is. Nothing happens in no time.
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

// judge compares both sides of a row.
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
	p := test.P(nanosToInts(r.Base), nanosToInts(r.New))
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

// Size is how much a row changed, up or down.
func (r *Row) Size() timeline.Nanos { return max(r.Change, -r.Change) }

// Longest is the median of the side that takes longer.
func (r *Row) Longest() timeline.Nanos { return max(r.BaseMedian, r.NewMedian) }

// limits returns the smallest and the largest time of any recording.
func (r *Row) limits() (smallest, largest timeline.Nanos) {
	return min(slices.Min(r.Base), slices.Min(r.New)), max(slices.Max(r.Base), slices.Max(r.New))
}

func nanosToInts(times []timeline.Nanos) []int64 {
	out := make([]int64, len(times))
	for i, t := range times {
		out[i] = int64(t)
	}
	return out
}

// median returns the value in the middle, of two the mean, rounded down. No value is negative.
func median[T ~int64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	low, high := sorted[(n-1)/2], sorted[n/2]
	return low + (high-low)/2
}

// Limit is how much slower something may become.
type Limit struct {
	Millionths int64          // of the base's median
	Least      timeline.Nanos // what takes less on both sides may change as it likes
}

// Over reports whether a row is slower than a limit allows: its medians are, and that is significant. Where the test cannot
// decide, all recordings of the new side have to be slower than all of the base.
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

// Async reports whether a row is of slices on tracks of their own, which overlap.
func (r *Row) Async() bool { return r.Kind == report.AsyncSlices.String() }

// BaseCount returns the median count of the base.
func (r *Row) BaseCount() int64 { return median(r.BaseCounts) }

// NewCount returns the median count of the new side.
func (r *Row) NewCount() int64 { return median(r.NewCounts) }
