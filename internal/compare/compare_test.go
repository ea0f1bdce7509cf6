package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// sumsOf returns the sums of a recording of one second with a time for each name.
func sumsOf(times map[string]timeline.Nanos) *Sums {
	s := &Sums{Length: 1e9, Values: map[Key]Value{}}
	for name, t := range times {
		s.Values[Key{Name: name}] = Value{Time: t, Count: 1}
	}
	return s
}

// compared compares recordings with one time for each name.
func compared(base, fresh map[string][]timeline.Nanos, opts Options) *Result {
	c := NewComparison(8)
	for side, all := range []map[string][]timeline.Nanos{base, fresh} {
		recordings := 0
		for _, times := range all {
			recordings = max(recordings, len(times))
		}
		for i := range recordings {
			times := map[string]timeline.Nanos{}
			for name, list := range all {
				times[name] = list[i]
			}
			c.Add(Side(side), fmt.Sprint(i), sumsOf(times))
		}
	}
	return c.Result(opts)
}

func find(t *testing.T, r *Result, name string) *Row {
	t.Helper()
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Name == name })
	if i < 0 {
		t.Fatalf("no row %s", name)
	}
	return &r.Rows[i]
}

// Four recordings on each side, with p-values computed by hand from the 70 ways to divide eight recordings: a p-value is the
// share of divisions whose U is at least as far from 8 as the observed U.
func TestRows(t *testing.T) {
	r := compared(map[string][]timeline.Nanos{
		"slower": {10, 12, 11, 13}, "faster": {20, 22, 21, 23}, "noise": {30, 40, 35, 45}, "equal": {5, 5, 5, 5}, "gone": {7, 7, 7, 7},
	}, map[string][]timeline.Nanos{
		"slower": {14, 17, 15, 16}, "faster": {10, 9, 12, 11}, "noise": {33, 42, 36, 46}, "equal": {5, 5, 5, 5}, "new": {8, 8, 9, 9},
	}, Options{})
	if !r.Testable || r.Tested != 5 || math.Abs(r.Smallest-2.0/70) > 1e-12 {
		t.Errorf("testable: %v, tested: %d, smallest p: %v", r.Testable, r.Tested, r.Smallest)
	}
	order := []string{}
	for _, row := range r.Rows {
		order = append(order, row.Name)
	}
	if want := []string{"faster", "new", "gone", "slower", "noise", "equal"}; !slices.Equal(order, want) {
		t.Errorf("order %q, want %q", order, want)
	}
	for _, test := range []struct {
		name             string
		base, new        timeline.Nanos // means of the middle two
		change           timeline.Nanos
		ratio, p         float64 // -1: none
		verdict          Verdict
		only             string
		overTen, overAll bool
	}{
		{"slower", 11, 15, 4, 4.0 / 11, 2.0 / 70, Slower, "", true, false},
		{"faster", 21, 10, -11, -11.0 / 21, 2.0 / 70, Faster, "", false, false},
		// U of {33, 36, 42, 46} against {30, 35, 40, 45} is 1+2+3+4 = 10, so 2 from its mean. The numbers of divisions with U =
		// 0…16 are 1 1 2 3 5 5 7 7 8 7 7 5 5 3 2 1 1. 22 divisions have a U from 7 to 9, so 48 of 70 are at least as far from the
		// mean.
		{"noise", 37, 39, 2, 2.0 / 37, 48.0 / 70, Noise, "", false, false},
		{"equal", 5, 5, 0, 0, -1, Equal, "", false, false},
		{"gone", 7, 0, -7, -1, 2.0 / 70, Faster, "base", false, false},
		{"new", 0, 8, 8, -1, 2.0 / 70, Slower, "new", true, true},
	} {
		row := find(t, r, test.name)
		if row.BaseMedian != test.base || row.NewMedian != test.new || row.Change != test.change || row.Verdict != test.verdict || row.Only != test.only {
			t.Errorf("%s: %+v", test.name, row)
		}
		if test.name != "gone" && !near(row.Ratio, test.ratio) || test.name == "gone" && *row.Ratio != -1 {
			t.Errorf("%s: ratio %v, want %v", test.name, row.Ratio, test.ratio)
		}
		if !near(row.P, test.p) {
			t.Errorf("%s: p = %v, want %v", test.name, *row.P, test.p)
		}
		q := test.p * 5 / 4 // of five rows four have the smallest p-value; the fifth is the last, with its own
		if test.name == "noise" || test.p < 0 {
			q = test.p
		}
		if !near(row.Q, q) {
			t.Errorf("%s: q = %v, want %v", test.name, *row.Q, q)
		}
		if got := row.Over(Limit{Millionths: 100_000}); got != test.overTen {
			t.Errorf("%s over 10 %%: %v", test.name, got)
		}
		if got := row.Over(Limit{Millionths: 1_000_000}); got != test.overAll {
			t.Errorf("%s over 100 %%: %v", test.name, got)
		}
		if row.Over(Limit{Least: 16}) && test.name != "slower" {
			t.Errorf("%s takes less than 16 ns and fails", test.name)
		}
	}
}

// Among many rows, a row that is significant only by itself is undecided, because chance can have the same effect. In that case,
// a limit requires that the values of the two sides do not overlap. With more recordings, the row is decided.
func TestManyRows(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, test := range []struct {
		recordings, enough int
		verdict            Verdict
	}{{1, 7, Undecided}, {3, 7, Undecided}, {4, 7, Undecided}, {6, 7, Undecided}, {7, 7, Slower}, {8, 7, Slower}} {
		base, fresh := map[string][]timeline.Nanos{}, map[string][]timeline.Nanos{}
		for i := range test.recordings {
			base["slow"] = append(base["slow"], timeline.Nanos(100+i))
			fresh["slow"] = append(fresh["slow"], timeline.Nanos(200+i))
		}
		for row := range 50 { // the same times on both sides, in any order: p is 1
			name := fmt.Sprint(row)
			for range test.recordings {
				base[name] = append(base[name], timeline.Nanos(random.IntN(1000)))
			}
			fresh[name] = slices.Clone(base[name])
			random.Shuffle(len(fresh[name]), func(i, k int) { fresh[name][i], fresh[name][k] = fresh[name][k], fresh[name][i] })
		}
		r := compared(base, fresh, Options{})
		slow := find(t, r, "slow")
		if r.Testable && r.Tested != 51 || r.Enough != test.enough || slow.Verdict != test.verdict || r.Testable && !near(slow.Q, *slow.P*51) && *slow.Q != 1 || !slow.Over(Limit{Millionths: 900_000}) {
			t.Errorf("%d recordings: %d tested, %d enough, %+v", test.recordings, r.Tested, r.Enough, slow)
		}
		if met := test.recordings >= test.enough; (r.Advice() == "") != met || !met && !strings.Contains(r.Advice(), fmt.Sprintf("at least %d times", test.enough)) {
			t.Errorf("%d recordings: %q", test.recordings, r.Advice())
		}
		if others := r.Counts[Noise] + r.Counts[Equal]; r.Testable && others != 50 {
			t.Errorf("%d recordings: verdicts %v", test.recordings, r.Counts)
		}
	}
}

// The adjusted p-values of ten rows, computed by hand: each multiplied by m/i, and none larger than the following ones.
func TestAdjust(t *testing.T) {
	ps := []float64{0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.9}
	want := []float64{0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.74 / 7, 2.12 / 9, 2.12 / 9, 0.9}
	r := Result{Rows: []Row{{Verdict: Equal}}}
	for _, i := range []int{9, 0, 8, 1, 7, 2, 6, 3, 5, 4} { // in no particular order
		r.Rows = append(r.Rows, Row{P: &ps[i], Name: fmt.Sprint(i), Verdict: Slower})
	}
	r.adjust()
	for i := range r.Rows[1:] {
		row := &r.Rows[1+i]
		at, _ := strconv.Atoi(row.Name)
		if !near(row.Q, want[at]) || (row.Verdict == Slower) != (want[at] < Alpha) {
			t.Errorf("p %v: q %v, want %v, %v", *row.P, *row.Q, want[at], row.Verdict)
		}
	}
	if r.Tested != 10 || r.Rows[0].Q != nil || enough(0) != 1 || enough(1<<30) != 20 {
		t.Errorf("%d tested; enough of none %d, of many %d", r.Tested, enough(0), enough(1<<30))
	}
}

func near(got *float64, want float64) bool {
	if got == nil {
		return want == -1
	}
	return math.Abs(*got-want) < 1e-12
}

// With too few recordings, nothing is significant. In that case, a limit requires that the values of the two sides do not
// overlap.
func TestTooFewRecordings(t *testing.T) {
	one := compared(map[string][]timeline.Nanos{"a": {100}, "b": {100}, "c": {100}, "d": {100}},
		map[string][]timeline.Nanos{"a": {110}, "b": {111}, "c": {100}, "d": {90}}, Options{})
	if one.Testable || one.Smallest != 1 || one.Tested != 0 {
		t.Errorf("one recording each: %+v", one)
	}
	for name, want := range map[string]struct {
		verdict Verdict
		over    bool
	}{"a": {Undecided, false}, "b": {Undecided, true}, "c": {Equal, false}, "d": {Undecided, false}} {
		row := find(t, one, name)
		if row.Verdict != want.verdict || row.P != nil || row.Over(Limit{Millionths: 100_000}) != want.over {
			t.Errorf("%s: %v, p %v, over 10 %%: %v", name, row.Verdict, row.P, row.Over(Limit{Millionths: 100_000}))
		}
	}
	three := compared(map[string][]timeline.Nanos{"apart": {10, 11, 12}, "mixed": {10, 11, 20}},
		map[string][]timeline.Nanos{"apart": {20, 21, 22}, "mixed": {15, 16, 25}}, Options{})
	if three.Testable || math.Abs(three.Smallest-0.1) > 1e-12 {
		t.Errorf("three recordings each: smallest p %v", three.Smallest)
	}
	if !find(t, three, "apart").Over(Limit{Millionths: 100_000}) || find(t, three, "mixed").Over(Limit{Millionths: 100_000}) {
		t.Error("of three recordings each, only those that are all apart are over the limit")
	}
}

// With PerSecond, a recording that is twice as long and has twice the times has equal values.
func TestPerSecond(t *testing.T) {
	c := NewComparison(2)
	c.Add(Base, "short", &Sums{Length: 2e9, Values: map[Key]Value{{Name: "a"}: {Time: 300, Count: 4, Own: 100}}})
	c.Add(New, "long", &Sums{Length: 4e9, Values: map[Key]Value{{Name: "a"}: {Time: 600, Count: 8, Own: 200}}})
	if row := c.Result(Options{PerSecond: true}).Rows[0]; row.Verdict != Equal || row.BaseMedian != 150 || row.BaseCount() != 2 || row.NewCount() != 2 || row.Own != [2]timeline.Nanos{50, 50} {
		t.Errorf("per second: %+v", row)
	}
	if row := c.Result(Options{}).Rows[0]; row.Change != 300 || row.BaseCount() != 4 || row.NewCount() != 8 {
		t.Errorf("per recording: %+v", row)
	}
	for _, test := range []struct {
		n      int64
		length timeline.Nanos
		want   int64
	}{{5, 0, 0}, {0, 5, 0}, {math.MaxInt64, 1, math.MaxInt64}, {math.MaxInt64, 1e9, math.MaxInt64}, {1, 3e9, 0}, {math.MaxInt64, math.MaxInt64, 1e9}} {
		if got := perSecond(test.n, test.length); got != test.want {
			t.Errorf("%d in %d ns: %d per second, want %d", test.n, test.length, got, test.want)
		}
	}
}

// Sums saturate, and limits are compared exactly.
func TestLargeNumbers(t *testing.T) {
	c := NewComparison(2)
	c.Add(Base, "a", &Sums{Values: map[Key]Value{{Name: "x"}: {Time: math.MaxInt64 - 1, Count: math.MaxInt64}}})
	c.Add(New, "b", &Sums{Values: map[Key]Value{{Name: "x"}: {Time: math.MaxInt64, Count: -5}}})
	row := c.Result(Options{}).Rows[0]
	if row.BaseMedian != math.MaxInt64-1 || row.NewMedian != math.MaxInt64 || row.NewCount() != 0 {
		t.Errorf("%+v", row)
	}
	if !row.Over(Limit{}) || row.Over(Limit{Millionths: 1}) {
		t.Error("one nanosecond more is over 0, and not over a millionth")
	}
}

// Names beyond the limit share a row, and the result reports that.
func TestManyNames(t *testing.T) {
	c := NewComparison(maxValues / 10) // 10 rows
	s := &Sums{Values: map[Key]Value{}}
	for i := range 100 {
		s.Values[Key{Name: fmt.Sprint(i)}] = Value{Time: timeline.Nanos(i + 1), Count: 1}
	}
	c.Add(Base, "a", s)
	c.Add(New, "b", s)
	r := c.Result(Options{})
	if len(r.Rows) != 11 || r.Others != 180 {
		t.Errorf("%d rows, %d others", len(r.Rows), r.Others)
	}
	// The ten largest have their own rows, 91 to 100; the others are 1 + … + 90.
	if row := find(t, r, Others); row.BaseMedian != 90*91/2 || row.Verdict != Equal {
		t.Errorf("others: %+v", row)
	}
	find(t, r, "99")
	find(t, r, "90")
}
