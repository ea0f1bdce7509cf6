package timeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
)

// noMemory is the smallest budget: as much as possible is on disk.
const noMemory = 1

func testBuilder(t testing.TB, memory int64) *Builder {
	t.Helper()
	b := NewBuilder(Options{Memory: memory, TempDir: t.TempDir(), Problems: new(problem.Log)})
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func finishAndNest(t testing.TB, b *Builder) *Timeline {
	t.Helper()
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tl.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tl
}

func add(t testing.TB, b *Builder, ev Event) {
	t.Helper()
	if err := b.Add(&ev); err != nil {
		t.Fatal(err)
	}
}

func walk(t testing.TB, tl *Timeline, fn func(it *Item)) {
	t.Helper()
	err := tl.Walk(context.Background(), func(it *Item) error {
		fn(it)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPayload(t *testing.T) {
	long := bytes.Repeat([]byte("n"), 300)
	for flags := range recordFlags(1 << 4) {
		p := payload{name: long, category: []byte("c"), callstack: 1 << 20, args: Args("args")}
		got := decodePayload(appendPayload(nil, flags, &p), flags)
		want := p
		if flags&flagInlineName == 0 {
			want.name = nil
		}
		if flags&flagInlineCategory == 0 {
			want.category = nil
		}
		if flags&flagCallstack == 0 {
			want.callstack = 0
		}
		if !bytes.Equal(got.name, want.name) || !bytes.Equal(got.category, want.category) || got.callstack != want.callstack ||
			!bytes.Equal(got.args, want.args) {
			t.Errorf("flags %b: got %+v", flags, got)
		}
	}
}

// The radix sort is stable, for timestamps of any width.
func TestSort(t *testing.T) {
	for _, width := range []int{0, 1, 10, 11, 12, 22, 36, 62, 63} {
		r := rand.New(rand.NewPCG(uint64(width), 4))
		var m memory
		const n = 12_000
		var want []record
		for i := range n {
			rec := record{ts: Nanos(r.Uint64N(1 << width)), event: uint32(i)}
			want = append(want, rec)
			m.add(&rec)
		}
		slices.SortStableFunc(want, func(a, b record) int { return int(min(max(a.ts-b.ts, -1), 1)) })
		m.sort()
		for i, place := range m.order {
			if *m.at(place) != want[i] {
				t.Errorf("width %d: place %d holds %+v, want %+v", width, i, *m.at(place), want[i])
				break
			}
		}
	}
}

// A run has many records however small the budget, even if all records have payloads: every run needs memory when runs are
// merged.
func TestRunsAreNotTooMany(t *testing.T) {
	b := testBuilder(t, noMemory)
	track := b.GlobalInstants()
	const records, size = 20_000, 50
	for i := range records {
		b.Args().Reset()
		b.Args().Key([]byte("k"))
		b.Args().String(make([]byte, size))
		add(t, b, Event{Kind: Instant, Track: track, TS: Nanos(i), Args: b.Args().Args()})
	}
	if runs, most := int64(len(b.runs.starts)), records*(bytesPerRecord+2*size)/minRunMemory; runs < 2 || runs > most {
		t.Errorf("%d runs, want 2 to %d", runs, most)
	}
	tl := finishAndNest(t, b)
	n := 0
	walk(t, tl, func(it *Item) { n++ })
	if n != records {
		t.Errorf("the walk has %d events", n)
	}
}

// Payloads of all sizes are read from disk: those that fit into the reader's windows, larger ones, and those across the end of a
// window.
func TestPayloadsOnDisk(t *testing.T) {
	const records = 600
	for _, order := range []string{"by time", "backwards", "random"} {
		t.Run(order, func(t *testing.T) {
			b := testBuilder(t, noMemory)
			track := b.GlobalInstants()
			r := rand.New(rand.NewPCG(5, 6))
			sizes := make([]int, records)
			places := r.Perm(records)
			for i := range records {
				ts := i
				switch order {
				case "backwards":
					ts = records - 1 - i
				case "random":
					ts = places[i]
				}
				sizes[ts] = r.IntN(1 << r.IntN(14))
				if i%50 == 0 {
					sizes[ts] = windowSize - 20 + i/50*4
				}
				if i%200 == 0 {
					sizes[ts] = 5*windowSize + i
				}
				b.Args().Reset()
				b.Args().Key([]byte("k"))
				b.Args().String(bytes.Repeat([]byte{'a' + byte(ts%26)}, sizes[ts]))
				add(t, b, Event{Kind: Instant, Track: track, TS: Nanos(ts), Args: b.Args().Args()})
			}
			tl := finishAndNest(t, b)
			if _, ok := tl.store.(*disk); !ok {
				t.Fatal("nothing was spilled")
			}
			next := 0
			walk(t, tl, func(it *Item) {
				for a := range tl.ArgList(it.Args) {
					want := bytes.Repeat([]byte{'a' + byte(it.TS%26)}, sizes[it.TS])
					if !bytes.Equal(a.Text(), want) {
						t.Errorf("payload %d of %d bytes is read with %d", it.TS, sizes[it.TS], len(a.Text()))
					}
					next++
				}
			})
			if next != records {
				t.Errorf("read %d payloads, want %d", next, records)
			}
		})
	}
}

// Texts that are not interned, because they are too long or the table is full, are stored with their records, are matched by
// content and name their tracks.
func TestTextsThatAreNotInterned(t *testing.T) {
	long := func(c string) []byte { return bytes.Repeat([]byte(c), maxInternedLength+1) }
	for _, memory := range []int64{DefaultMemory, noMemory} {
		b := testBuilder(t, memory)
		b.names.full, b.categories.full = true, true
		process := b.Process(ProcessKey{Num: 1})
		thread := b.Thread(process, ThreadKey{Num: 1})
		async := b.Async(&AsyncKey{ID: []byte("1"), Category: []byte("c"), Process: process})
		if async != b.Async(&AsyncKey{ID: []byte("1"), Category: []byte("c"), Process: process}) ||
			async == b.Async(&AsyncKey{ID: []byte("1"), Category: []byte("d"), Process: process}) {
			t.Error("asynchronous ids with different categories, not interned, have one track")
		}
		add(t, b, Event{Kind: Begin, Track: thread, TS: 0, Event: 0, Name: long("a"), Category: long("x")})
		add(t, b, Event{Kind: Begin, Track: thread, TS: 1, Event: 1, Name: long("b"), Category: []byte("y")})
		add(t, b, Event{Kind: End, Track: thread, TS: 5, Event: 2, Name: long("a"), Category: long("x")})
		add(t, b, Event{Kind: End, Track: thread, TS: 6, Event: 3, Name: long("c")})
		add(t, b, Event{Kind: End, Track: thread, TS: 7, Event: 4, Category: []byte("y")})
		add(t, b, Event{Kind: Instant, Track: async, TS: 8, Event: 5, Name: []byte("first")})
		b.names.full = false // an interned name after that does not change the track's name
		add(t, b, Event{Kind: Instant, Track: async, TS: 9, Event: 6, Name: []byte("second")})
		if err := b.spillForTest(memory); err != nil {
			t.Fatal(err)
		}
		tl := finishAndNest(t, b)
		var got []string
		walk(t, tl, func(it *Item) {
			if it.Kind == ItemEnd {
				return
			}
			if it.NameID == 0 && len(it.Name) == 0 || it.CategoryID != 0 {
				t.Errorf("event %d: name %d, category %d", it.Event, it.NameID, it.CategoryID)
			}
			got = append(got, fmt.Sprintf("%.3s[%.2s] %d", it.Name, it.Category, max(it.Dur, -1)))
		})
		if want := "aaa[xx] 5,bbb[y] 6,fir[] -1,sec[] -1"; strings.Join(got, ",") != want {
			t.Errorf("got %s, want %s", strings.Join(got, ","), want)
		}
		if n := tl.Problems().Count(problem.EndWithoutBegin); n != 1 {
			t.Errorf("%d ends without begin, want 1", n)
		}
		if name := tl.Track(async).Name; name != "first" {
			t.Errorf("the asynchronous track is named %q", name)
		}
	}
}

// spillForTest writes a run, even a short one, if memory is the smallest budget.
func (b *Builder) spillForTest(memory int64) error {
	if memory != noMemory {
		return nil
	}
	return b.spill()
}

// A table accepts texts up to its limits; which texts it contains depends only on their order.
func TestStringTable(t *testing.T) {
	table := newStringTable()
	if id, ok := table.intern(nil); id != 0 || !ok {
		t.Errorf("the empty text has id %d, %v", id, ok)
	}
	text := func(i int) []byte { return fmt.Appendf(nil, "text %d", i) }
	const n = 10_000
	for range 2 {
		for i := range n {
			id, ok := table.intern(text(i))
			if id != uint32(i+1) || !ok {
				t.Fatalf("text %d has id %d, %v", i, id, ok)
			}
		}
	}
	for i := range n {
		if got := table.get(uint32(i + 1)); !bytes.Equal(got, text(i)) {
			t.Fatalf("text %d is read as %q", i, got)
		}
	}
	if table.len() != n || table.get(0) != nil || table.get(n+1) != nil {
		t.Error("ids beyond the table have texts")
	}
	if _, ok := table.intern(make([]byte, maxInternedLength+1)); ok {
		t.Error("a text that is too long was interned")
	}
	if table.full {
		t.Error("a text that is too long filled the table")
	}
	filler := make([]byte, maxInternedLength)
	for i := byte(0); !table.full; i++ {
		filler[0], filler[1] = i, 1
		table.intern(filler)
	}
	if len(table.text) > maxInternedBytes || len(table.text) < maxInternedBytes-maxInternedLength {
		t.Errorf("a full table has %d bytes", len(table.text))
	}
	if _, ok := table.intern([]byte("small, but late")); ok {
		t.Error("a full table interned a text")
	}
	if id, ok := table.intern(text(5)); id != 6 || !ok {
		t.Errorf("a full table returns id %d, %v for a text that it contains", id, ok)
	}
}

// Many short texts also fill a table.
func TestStringTableOfManyTexts(t *testing.T) {
	table := newStringTable()
	interned := 0
	for i := range maxInterned + 10 {
		if _, ok := table.intern(fmt.Appendf(nil, "%d", i)); ok {
			interned++
		}
	}
	if interned != maxInterned-1 || table.len() != interned {
		t.Errorf("%d texts were interned, the table has %d", interned, table.len())
	}
}

// With more simultaneous records than are ordered together, all slices have their ends. Data from ends in a different group than
// their slice is lost and counted.
func TestMoreThanOneGroupAtOneTime(t *testing.T) {
	for _, memory := range []int64{DefaultMemory, noMemory} {
		b := testBuilder(t, memory)
		thread := b.Thread(b.Process(ProcessKey{Num: 1}), ThreadKey{Num: 1})
		const many = maxGroup + 10
		b.Args().Reset()
		b.Args().Key([]byte("end"))
		b.Args().Bool(true)
		args := b.Args().Args()
		add(t, b, Event{Kind: Begin, Track: thread, TS: 0, Event: 0, Name: []byte("long")})
		add(t, b, Event{Kind: Begin, Track: thread, TS: 5, Event: 1, Name: []byte("zero")})
		for i := range many {
			add(t, b, Event{Kind: Instant, Track: thread, TS: 5, Event: uint32(2 + i)})
		}
		add(t, b, Event{Kind: End, Track: thread, TS: 5, Event: many + 2, Args: args})
		add(t, b, Event{Kind: End, Track: thread, TS: 5, Event: many + 3, Args: args})
		add(t, b, Event{Kind: Begin, Track: thread, TS: 5, Event: many + 4, Name: []byte("late")})
		add(t, b, Event{Kind: End, Track: thread, TS: 5, Event: many + 5, Args: args})
		tl := finishAndNest(t, b)
		for range 2 { // a second walk is the same and counts nothing again
			counts := map[ItemKind]int{}
			withArgs := 0
			walk(t, tl, func(it *Item) {
				counts[it.Kind]++
				if len(it.Args) > 0 {
					withArgs++
				}
			})
			if counts[ItemBegin] != 3 || counts[ItemEnd] != 3 || counts[ItemInstant] != many {
				t.Errorf("%d begins, %d ends, %d instants", counts[ItemBegin], counts[ItemEnd], counts[ItemInstant])
			}
			if lost := tl.Problems().Count(problem.EndWithoutBegin); withArgs != 1 || lost != 2 {
				t.Errorf("%d ends have arguments, %d are counted as lost", withArgs, lost)
			}
		}
	}
}

// Errors from temporary files are returned, and no file stays open or on disk.
func TestTemporaryFilesThatFail(t *testing.T) {
	fill := func(b *Builder, n int) error {
		track := b.GlobalInstants()
		for i := range n {
			if err := b.Add(&Event{Kind: Instant, Track: track, TS: Nanos(i), Callstack: b.Callstack([]FrameID{b.Frame(Frame{Function: "f"})})}); err != nil {
				return err
			}
		}
		return nil
	}
	t.Run("no folder", func(t *testing.T) {
		b := NewBuilder(Options{Memory: noMemory, TempDir: filepath.Join(t.TempDir(), "missing"), Problems: new(problem.Log)})
		if err := fill(b, 5000); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Add: %v", err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("no folder for the passes", func(t *testing.T) {
		b := testBuilder(t, noMemory)
		if err := fill(b, 5000); err != nil {
			t.Fatal(err)
		}
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		tl.store.(*disk).dir = filepath.Join(t.TempDir(), "missing")
		if err := tl.Nest(context.Background()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("Nest: %v", err)
		}
		if err := tl.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("broken payloads", func(t *testing.T) {
		b := testBuilder(t, noMemory)
		if err := fill(b, 5000); err != nil {
			t.Fatal(err)
		}
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := tl.Nest(context.Background()); err != nil {
			t.Fatal(err)
		}
		tl.store.(*disk).payloads.file.Close()
		if err := tl.Walk(context.Background(), func(*Item) error { return nil }); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Walk: %v", err)
		}
		tl.store.(*disk).records.close()
		if err := tl.Walk(context.Background(), func(*Item) error { return nil }); !errors.Is(err, os.ErrClosed) {
			t.Errorf("Walk: %v", err)
		}
	})
}

// openFiles returns the number of files that this process has open, or -1 if the system does not report it.
func openFiles() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return -1
	}
	return len(entries)
}

// A closed Builder or Timeline leaves no file open: temporary files are unlinked, so only closing frees them.
func TestCloseFreesFiles(t *testing.T) {
	before := openFiles()
	for _, step := range []string{"builder", "finished", "canceled"} {
		b := NewBuilder(Options{Memory: noMemory, TempDir: t.TempDir(), Problems: new(problem.Log)})
		track := b.GlobalInstants()
		for i := range 5000 {
			add(t, b, Event{Kind: Instant, Track: track, TS: Nanos(i), Callstack: b.Callstack([]FrameID{b.Frame(Frame{Function: "f"})})})
		}
		ctx, cancel := context.WithCancel(context.Background())
		switch step {
		case "canceled":
			cancel()
			if _, err := b.Finish(ctx); err == nil {
				t.Error("no error from Finish with a canceled context")
			}
		case "finished":
			tl, err := b.Finish(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := tl.Close(); err != nil {
				t.Error(err)
			}
		}
		cancel()
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	if after := openFiles(); after > before {
		t.Errorf("%d files are open, %d were before", after, before)
	}
}
