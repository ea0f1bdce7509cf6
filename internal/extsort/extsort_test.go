package extsort

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/recording"
)

// pair is a value with a key that often repeats and a number that states the order of addition.
type pair struct{ key, number uint32 }

func byKey(a, b *pair) int { return cmp.Compare(a.key, b.key) }

var pairOrder = Order[pair]{Compare: byKey}

func randomPairs(n int) []pair {
	r := rand.New(rand.NewPCG(uint64(n), 2))
	return pairs(n, func(int) int { return r.IntN(1 + n/3) })
}

func pairs(n int, key func(i int) int) []pair {
	all := make([]pair, n)
	for i := range all {
		all[i] = pair{uint32(key(i)), uint32(i)}
	}
	return all
}

// sequences maps names to functions that generate n pairs.
var sequences = map[string]func(n int) []pair{
	"random":             randomPairs,
	"in order":           func(n int) []pair { return pairs(n, func(i int) int { return i / 3 }) },
	"twice in order":     func(n int) []pair { return pairs(n, func(i int) int { return i % (n/2 + 1) / 3 }) },
	"in order but late":  func(n int) []pair { return pairs(n, func(i int) int { return i % max(2*n/3, 1) }) },
	"but for the last":   func(n int) []pair { return pairs(n, func(i int) int { return (i + 1) % n }) },
	"after the first":    func(n int) []pair { return pairs(n, func(i int) int { return (n - i) % n }) },
	"after a full run":   func(n int) []pair { return pairs(n, func(i int) int { return max(i-64, 64-i) }) },
	"one after the next": func(n int) []pair { return pairs(n, func(i int) int { return i ^ 1 }) },
}

// fill adds values to a sorter.
func fill(tb testing.TB, s *Sorter[pair], values ...pair) {
	tb.Helper()
	for _, v := range values {
		if err := s.Add(v); err != nil {
			tb.Fatal(err)
		}
	}
}

// drain returns the remaining values of a sorter.
func drain(t *testing.T, next func(*pair) (bool, error)) []pair {
	t.Helper()
	var all []pair
	for {
		var v pair
		ok, err := next(&v)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return all
		}
		all = append(all, v)
	}
}

// dirIsEmpty checks that dir has no files.
func dirIsEmpty(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was left behind", e.Name())
	}
}

// With any memory limit and key, values are returned as if sorted stably, and again after Rewind.
func TestSortsStably(t *testing.T) {
	for name, key := range map[string]func(v *pair) uint64{
		"no key":       nil,
		"the whole":    func(v *pair) uint64 { return uint64(v.key) },
		"a part":       func(v *pair) uint64 { return collections.RadixKey(int64(v.key/4) - 20) },
		"one for all":  func(*pair) uint64 { return 7 },
		"far apart":    func(v *pair) uint64 { return uint64(v.key) << 50 },
		"ends of them": func(v *pair) uint64 { return collections.RadixKey(min(int64(v.key), 1) * math.MaxInt64) },
	} {
		t.Run(name, func(t *testing.T) {
			by := Order[pair]{byKey, key}
			for name, sequence := range sequences {
				t.Run(name, func(t *testing.T) { testSortsStably(t, by, sequence) })
			}
		})
	}
}

func testSortsStably(t *testing.T, by Order[pair], sequence func(n int) []pair) {
	// With a limit of one byte, 64 values stay in memory, 65 are the first number to spill, and 128 fill two runs completely.
	for _, n := range []int{0, 1, 2, 63, 64, 65, 127, 128, 129, 1000, 20_000} {
		added := sequence(n)
		want := slices.Clone(added)
		slices.SortStableFunc(want, func(a, b pair) int { return byKey(&a, &b) })
		for _, memory := range []int64{-1, 1, 4096, 100_000, 1 << 30} {
			dir := t.TempDir()
			s := New(by, memory, dir)
			fill(t, s, added...)
			if memory <= 1 && n > 64 && len(s.runs) == 0 {
				t.Errorf("%d values within %d bytes were not spilled", n, memory)
			}
			for pass := range 3 {
				if got := drain(t, s.Next); !slices.Equal(got, want) {
					t.Errorf("%d values within %d bytes, pass %d: not the result of a stable sort", n, memory, pass)
				}
				var v pair
				if ok, err := s.Next(&v); ok || err != nil {
					t.Errorf("after the last value: %v, %v", ok, err)
				}
				if err := s.Rewind(); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			dirIsEmpty(t, dir)
		}
	}
}

// A Sorted returns the values of a stable sort, one by one or from any index, and finds indexes.
func TestSorted(t *testing.T) {
	for name, sequence := range sequences {
		t.Run(name, func(t *testing.T) { testSorted(t, sequence(1000)) })
	}
}

func testSorted(t *testing.T, added []pair) {
	want := slices.Clone(added)
	slices.SortStableFunc(want, func(a, b pair) int { return byKey(&a, &b) })
	for _, memory := range []int64{1, 1 << 20} {
		dir := t.TempDir()
		s := New(pairOrder, memory, dir)
		fill(t, s, added...)
		sorted, err := s.Sort()
		if err != nil || sorted.Len() != len(want) {
			t.Fatal(sorted.Len(), err)
		}
		for i, v := range want {
			var got pair
			if err := sorted.At(i, &got); err != nil || got != v {
				t.Fatalf("value %d is %v, want %v; %v", i, got, v, err)
			}
			first, err := sorted.Search(func(p *pair) bool { return p.key >= v.key })
			if err != nil || want[first].key != v.key || first > 0 && want[first-1].key == v.key {
				t.Fatalf("key %d is found at %d; %v", v.key, first, err)
			}
		}
		if got := drain(t, sorted.From(700).Next); !slices.Equal(got, want[700:]) {
			t.Error("other values from 700 on")
		}
		if err := sorted.Close(); err != nil {
			t.Error(err)
		}
		dirIsEmpty(t, dir)
	}
}

// Rewind in the middle restarts at the smallest value.
func TestRewindInTheMiddle(t *testing.T) {
	for _, memory := range []int64{1, 1 << 20} {
		s := New(pairOrder, memory, t.TempDir())
		defer s.Close()
		fill(t, s, pairs(200, func(i int) int { return 200 - i })...)
		var v pair
		for range 77 {
			if _, err := s.Next(&v); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Rewind(); err != nil {
			t.Fatal(err)
		}
		if got := drain(t, s.Next); len(got) != 200 || got[0].key != 1 {
			t.Errorf("after Rewind %d values are left, the first is %v", len(got), got[0])
		}
	}
}

// Close can be called twice, and leaves no values.
func TestClose(t *testing.T) {
	s := New(pairOrder, 1, t.TempDir())
	fill(t, s, randomPairs(500)...)
	file := s.file
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := file.ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the temporary file is still open: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
	var v pair
	if ok, err := s.Next(&v); ok || err != nil {
		t.Errorf("Next after Close: %v, %v", ok, err)
	}
}

// A missing directory leads to an error at the first value that does not fit into memory.
func TestNoFolder(t *testing.T) {
	s := New(pairOrder, 1, filepath.Join(t.TempDir(), "missing"))
	defer s.Close()
	fill(t, s, pairs(63, func(i int) int { return i })...)
	if err := s.Add(pair{63, 63}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that the folder is missing", err)
	}
}

// Add and Next return errors from the file.
func TestFileErrors(t *testing.T) {
	var v pair
	for name, test := range map[string]struct {
		values int
		call   func(s *Sorter[pair]) error
	}{
		"write": {64, func(s *Sorter[pair]) error { // more than the file's buffer
			for _, v := range randomPairs(200_000) {
				if err := s.Add(v); err != nil {
					return err
				}
			}
			return nil
		}},
		"flush": {64, func(s *Sorter[pair]) error { _, err := s.Next(&v); return err }},
		"read":  {6400, (*Sorter[pair]).Rewind},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(pairOrder, 1, t.TempDir())
			fill(t, s, randomPairs(test.values)...)
			if name == "read" {
				if err := s.Rewind(); err != nil {
					t.Fatal(err)
				}
			}
			s.file.f.Close()
			if err := test.call(s); !errors.Is(err, os.ErrClosed) {
				t.Errorf("error %v, want that the file is closed", err)
			}
		})
	}
}

// encode encodes pairs as a run.
func encode(all ...pair) io.Reader {
	var b bytes.Buffer
	for i := range all {
		b.Write(bytesOf(&all[i]))
	}
	return &b
}

// Among equal values, the value from the earlier sequence comes first; empty sequences are accepted.
func TestMerger(t *testing.T) {
	var sequences []Sequence[pair]
	for _, r := range []io.Reader{
		encode(),
		encode(pair{1, 10}, pair{1, 11}, pair{5, 12}),
		iotest.OneByteReader(encode(pair{0, 20}, pair{1, 21}, pair{9, 22})),
		encode(),
		encode(pair{1, 40}, pair{5, 41}),
	} {
		sequences = append(sequences, Values[pair](bufio.NewReader(r)))
	}
	m, err := NewMerger(sequences, byKey)
	if err != nil {
		t.Fatal(err)
	}
	want := []pair{{0, 20}, {1, 10}, {1, 11}, {1, 21}, {1, 40}, {5, 12}, {5, 41}, {9, 22}}
	if next := m.Peek(); next == nil || *next != want[0] {
		t.Errorf("the next is %v, want %v", next, want[0])
	}
	if got := drain(t, m.Next); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if next := m.Peek(); next != nil {
		t.Errorf("at the end the next is %v", *next)
	}

	m, err = NewMerger(nil, byKey)
	if err != nil {
		t.Fatal(err)
	}
	if got := drain(t, m.Next); len(got) > 0 {
		t.Errorf("no sequences give %v", got)
	}
}

// A sequence that ends inside a value, or that fails, leads to an error.
func TestMergerReadErrors(t *testing.T) {
	truncated := io.LimitReader(encode(pair{1, 1}, pair{2, 2}), 12)
	m, err := NewMerger([]Sequence[pair]{Values[pair](bufio.NewReader(truncated))}, byKey)
	if err != nil {
		t.Fatal(err)
	}
	var v pair
	if _, err := m.Next(&v); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a truncated sequence: %v", err)
	}
	broken := errors.New("broken")
	if _, err := NewMerger([]Sequence[pair]{Values[pair](bufio.NewReader(iotest.ErrReader(broken)))}, byKey); !errors.Is(err, broken) {
		t.Errorf("a failing reader: %v", err)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	f, err := NewFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"warp", "", "weft"} {
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
	}
	if f.Size() != 8 {
		t.Errorf("size %d, want 8", f.Size())
	}
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(f.Section(4, 4))
	if err != nil || string(got) != "weft" {
		t.Errorf("section: %q, %v", got, err)
	}
	buf := make([]byte, 2)
	if _, err := f.ReadAt(buf, 2); err != nil || string(buf) != "rp" {
		t.Errorf("ReadAt: %q, %v", buf, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	dirIsEmpty(t, dir)
}

func BenchmarkSorter(b *testing.B) {
	keyed := pairOrder
	keyed.Key = func(v *pair) uint64 { return uint64(v.key) }
	for _, bench := range []struct {
		name   string
		by     Order[pair]
		memory int64
	}{{"memory", pairOrder, 1 << 30}, {"keys", keyed, 1 << 30}, {"spilled", pairOrder, 1 << 20}} {
		b.Run(bench.name, func(b *testing.B) {
			values := randomPairs(1 << 18)
			dir := b.TempDir()
			b.SetBytes(int64(len(values) * sizeOf[pair]()))
			b.ReportAllocs()
			for b.Loop() {
				s := New(bench.by, bench.memory, dir)
				fill(b, s, values...)
				var v pair
				for ok := true; ok; {
					var err error
					if ok, err = s.Next(&v); err != nil {
						b.Fatal(err)
					}
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Values in order form one run, however many there are, and are written only once.
func TestInOrderIsOneRun(t *testing.T) {
	s := New(pairOrder, 1, t.TempDir())
	defer s.Close()
	fill(t, s, pairs(10_000, func(i int) int { return i / 2 })...)
	if len(s.runs) != 1 {
		t.Errorf("%d runs", len(s.runs))
	}
	file := s.file
	sorted, err := s.Sort()
	if err != nil {
		t.Fatal(err)
	}
	defer sorted.Close()
	if sorted.file != file || sorted.Len() != 10_000 {
		t.Errorf("%d values, in the same file: %v", sorted.Len(), sorted.file == file)
	}
}

// Adding values copies nothing: a Sorter allocates only the memory of its values.
func TestAddAllocatesOnlyValues(t *testing.T) {
	const n = 1 << 20
	s := New(pairOrder, 1<<30, t.TempDir())
	defer s.Close()
	got, _ := recording.Allocated(func() {
		for i := range uint32(n) {
			if err := s.Add(pair{i, i}); err != nil {
				t.Fatal(err)
			}
		}
	})
	if size := int64(n * sizeOf[pair]()); got > size+size/20 {
		t.Errorf("%d bytes were allocated for %d", got, size)
	}
}

// Sorting stays within the memory limit, even if the values in memory were in order before.
func TestSortingFitsMemory(t *testing.T) {
	const memory = 16 << 20
	keyed := pairOrder
	keyed.Key = func(v *pair) uint64 { return uint64(v.key) }
	for _, ascending := range []uint32{0, 1_500_000, memory/8 + 10} { // the last count does not fit into memory
		t.Run(fmt.Sprintf("%d in order before", ascending), func(t *testing.T) {
			s := New(keyed, memory, t.TempDir())
			defer s.Close()
			before := recording.Live()
			for i := range ascending {
				if err := s.Add(pair{1 << 20, i}); err != nil {
					t.Fatal(err)
				}
			}
			for i := 0; i < 2 || s.values.Len() > 0 && s.values.Len() < s.limit-1; i++ {
				if err := s.Add(pair{uint32(i * 7919 % (1 << 20)), 0}); err != nil {
					t.Fatal(err)
				}
			}
			s.sortMemory()
			if got := recording.Live() - before; got > memory+memory/10 || got < memory/2 {
				t.Errorf("%d bytes in memory, want about %d", got, memory)
			}
		})
	}
}

// hasPointers recognizes the types whose values cannot be written to a file.
func TestPointers(t *testing.T) {
	for _, value := range []any{"", []int{}, new(int), map[int]int{}, struct{ n, m any }{}, [1]func(){}, uintptr(0)} {
		if !hasPointers(reflect.TypeOf(value)) {
			t.Errorf("%T has pointers", value)
		}
	}
	if value := struct {
		n [2]int8
		f struct{ f float64 }
		b bool
	}{}; hasPointers(reflect.TypeOf(value)) {
		t.Errorf("%T has no pointers", value)
	}
}

// New, Values and FormOf panic for types with pointers.
func TestTypesWithPointers(t *testing.T) {
	for name, call := range map[string]func(){
		"New":    func() { New(Order[*int]{}, 1<<10, "") },
		"Values": func() { Values[string](nil) },
		"FormOf": func() { FormOf[struct{ s []byte }]() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s accepts a type with pointers", name)
				}
			}()
			call()
		}()
	}
}
