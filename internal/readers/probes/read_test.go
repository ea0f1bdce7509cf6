package probes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// recordings returns all tracer recordings by name.
func recordings(tb testing.TB) map[string][]byte {
	tb.Helper()
	all := map[string][]byte{}
	for _, f := range recording.In(tb, "probes") {
		if name, ok := strings.CutSuffix(path.Base(f.Name), ".probelines"); ok {
			all[name] = recording.Read(tb, f.Path)
		}
	}
	return all
}

// TestRecordingsAnyWay checks that the result does not depend on how recordings arrive, where they are sorted, or how their
// lines end.
func TestRecordingsAnyWay(t *testing.T) {
	for name, input := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			want := suite.Dump(t, bytes.NewReader(input), readers.Options{})
			for way, r := range map[string]io.Reader{
				"one byte": iotest.OneByteReader(bytes.NewReader(input)), "halves": iotest.HalfReader(bytes.NewReader(input)),
			} {
				if diff := cmp.Diff(want, suite.Dump(t, r, readers.Options{})); diff != "" {
					t.Errorf("%s: -want +got:\n%s", way, diff)
				}
			}
			for way, opts := range map[string]readers.Options{"tiny window": {Window: 16}, "on disk": {Spool: 1}, "small runs": {Spool: 5000}} {
				if diff := cmp.Diff(want, suite.Dump(t, bytes.NewReader(input), opts)); diff != "" {
					t.Errorf("%s: -want +got:\n%s", way, diff)
				}
			}
		})
	}
}

// TestLinesOfThreadsInAnyOrder checks that the order of the lines of different threads does not matter.
func TestLinesOfThreadsInAnyOrder(t *testing.T) {
	input := recordings(t)["bpftrace17-unsorted"]
	want, _, _ := strings.Cut(suite.Dump(t, bytes.NewReader(input), readers.Options{}), "end_without_start") // positions differ
	rng := rand.New(rand.NewPCG(1, 2))
	for range 5 {
		threads := map[string][]string{}
		var keys []string // the thread of each line
		for line := range strings.Lines(string(input)) {
			key := "header"
			if fields := strings.Split(line, "\t"); fields[0] == "P1" {
				key = fields[2] + "/" + fields[3]
			}
			threads[key] = append(threads[key], line)
			keys = append(keys, key)
		}
		if len(threads) < 4 {
			t.Fatalf("%d threads", len(threads))
		}
		rng.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
		var shuffled strings.Builder
		for _, key := range keys {
			shuffled.WriteString(threads[key][0])
			threads[key] = threads[key][1:]
		}
		got, _, _ := strings.Cut(suite.Dump(t, strings.NewReader(shuffled.String()), readers.Options{}), "end_without_start")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

// tally counts the lines of a file by kind.
type tally struct{ lines, records, headers, talk, counted int }

// tallyOf reads lines and counts them by kind, which it infers from their effects.
func tallyOf(tb testing.TB, input []byte) (n tally) {
	tb.Helper()
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: tb.TempDir()})
	defer b.Close()
	r := newReader(b, readers.Options{Problems: log, Memory: timeline.DefaultMemory})
	defer r.spool.Close()
	for len(input) > 0 {
		text, rest, _ := bytes.Cut(input, []byte("\n"))
		input = rest
		if text = bytes.TrimSuffix(text, []byte("\r")); len(text) == 0 {
			continue
		}
		n.lines++
		records, problems := r.spool.Held(), counts(log)
		if err := r.line(text, true); err != nil {
			tb.Fatal(err)
		}
		change := counts(log)
		switch {
		case change != problems:
			n.counted++
		case r.spool.Held() > records:
			n.records++
		case text[0] == '#' || afterColumns(text) != nil:
			n.headers++
		default:
			n.talk++
		}
	}
	return n
}

// counts returns the total number of problems with lines.
func counts(log *problem.Log) (n uint64) {
	for _, kind := range []problem.Kind{
		problem.UnknownLine, problem.BadLine, problem.UnknownHeader, problem.Drops, problem.TracerError, problem.ProbeLimit,
		problem.EventInvalidTimestamp,
	} {
		n += log.Count(kind)
	}
	return n
}

// TestEveryLineCounts checks that each nonempty line is a record, a header or a known message, or is counted.
func TestEveryLineCounts(t *testing.T) {
	got := tallyOf(t, recordings(t)["bpftrace17-text-raw"])
	// Four of the headers are pieces of texts that were not escaped.
	if want := (tally{lines: 111, records: 98, headers: 8, talk: 1, counted: 4}); got != want {
		t.Errorf("bpftrace17-text-raw: %+v, want %+v", got, want)
	}
	for name, input := range recordings(t) {
		if bytes.Contains(input, []byte("{\"type\"")) {
			continue // a JSON line may contain several
		}
		n := tallyOf(t, input)
		if n.records+n.headers+n.talk+n.counted != n.lines || n.records == 0 {
			t.Errorf("%s: %+v", name, n)
		}
		tl, log, err := suite.Load(t, bytes.NewReader(input), readers.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ends := 0 // number of slices that end
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			if it.Kind == timeline.ItemBegin {
				ends++
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		totals := tl.Totals()
		losses := 0
		for line := range strings.Lines(string(input)) {
			if strings.HasPrefix(line, "Lost ") || strings.HasPrefix(line, "dtrace: ") && strings.Contains(line, " drops on CPU") {
				losses++
			}
		}
		open := int(log.Count(problem.UnbalancedStart) + log.Count(problem.NeverEnded))
		if got := 2*ends - open + int(totals.Instants) - losses; got != n.records {
			t.Errorf("%s: the trace has %d records, want %d", name, got, n.records)
		}
	}
}

// TestCutAnywhere checks that a truncated file loses only the truncated line.
func TestCutAnywhere(t *testing.T) {
	for _, name := range []string{"bpftrace17-lost", "bpftrace17-json", "dtrace-default-output"} {
		input := recordings(t)[name]
		for at := len(input) - 700; at < len(input); at++ {
			_, log, err := suite.Load(t, bytes.NewReader(input[:at]), readers.Options{})
			if err != nil {
				t.Fatal(err)
			}
			last := input[bytes.LastIndexByte(input[:at], '\n')+1 : at]
			complete := len(last) == 0 || input[at] == '\n' && last[0] == '{'
			if bad := log.Count(problem.BadLine); bad != 1 && !complete || bad != 0 && complete {
				t.Errorf("%s: %d bad lines where it ends in %q", name, bad, last)
			}
			if n := log.Count(problem.UnknownLine); n > 0 {
				t.Errorf("%s: %d unknown lines where it ends in %q", name, n, last)
			}
		}
	}
}

// TestLongLines checks that a line of any length is read or counted, within the memory limit for lines.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", maxLine)
	input := "P1\t1\t7\t7\t0\tp:n\tend\n" + "P1\t2\t7\t7\t0\tp:n\t" + long + "\n" + long + "yy\n#comm 7 7 " + long + "\n{" + long + "\nP1\t3\t7\t7\t0\tp:n\t" +
		long[:maxLine-40] + "\n"
	for _, window := range []int{0, 16, 1 << 22} {
		tl, log, err := suite.Load(t, strings.NewReader(input), readers.Options{Window: window})
		if err != nil {
			t.Fatal(err)
		}
		readertest.Verify(t, tl)
		if n := tl.Totals().Instants; n != 2 || log.Count(problem.BadLine) != 2 || log.Count(problem.UnknownLine) != 1 || log.Count(problem.UnknownHeader) != 1 {
			t.Errorf("window %d: %d instants, %v", window, n, log.Totals())
		}
	}
}

// TestErrors checks that Read returns an error from the input with its position, and that no files remain.
func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	input := io.MultiReader(strings.NewReader("#probelines 1\nP1\t1\t7\t7\t0\tp:n\n"), iotest.ErrReader(broken))
	if _, _, err := suite.Load(t, input, readers.Options{}); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "byte ") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	log, dir := new(problem.Log), t.TempDir()
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: dir})
	defer b.Close()
	if err := Read(ctx, strings.NewReader("#probelines 1\n"), b, readers.Options{Problems: log, TempDir: dir}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	lines := strings.Repeat("P1\t1\t7\t7\t0\tp:n\n", 100)
	if err := Read(context.Background(), strings.NewReader(lines), b, readers.Options{Problems: log, TempDir: dir + "/none", Spool: 1}); err == nil {
		t.Error("no error without a folder for temporary files")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// TestManyOpen checks that starts beyond the limit also become slices and are counted.
func TestManyOpen(t *testing.T) {
	var input strings.Builder
	const n = 5000
	for i := range n {
		fmt.Fprintf(&input, "P1\t%d\t7\t7\t0\tp:x-start\t%d\n", i, i)
	}
	tl, log, err := suite.Load(t, strings.NewReader(input.String()), readers.Options{Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	readertest.Verify(t, tl)
	if got := tl.Totals().Slices; got != n || log.Count(problem.NeverEnded) != n || log.Count(problem.ProbeLimit) == 0 {
		t.Errorf("%d slices, %v", got, log.Totals())
	}
}

// firing is a record of the property test below.
type firing struct {
	ts       int
	name     string
	key      []string // "" at the end: missing in the record
	start    bool
	crossing bool
}

// pairsByHand pairs firings of one thread by the simplest algorithm: [start, end] with -1 for an end without start, and
// flags.
func pairsByHand(all []firing) (pairs []string) {
	open := map[bool][]int{}
	for i, f := range all {
		stack := open[f.crossing]
		if f.start {
			open[f.crossing] = append(stack, i)
			continue
		}
		at := -1
		for k := len(stack) - 1; k >= 0 && at < 0; k-- {
			s := all[stack[k]]
			agrees := s.name == f.name
			for n := range s.key {
				if n < len(f.key) && f.key[n] != s.key[n] {
					agrees = false
				}
			}
			if agrees {
				at = k
			}
		}
		switch {
		case at < 0:
			pairs = append(pairs, fmt.Sprintf("%d end_without_start", f.ts))
		case f.crossing:
			pairs = append(pairs, fmt.Sprintf("%d-%d", all[stack[at]].ts, f.ts))
			open[f.crossing] = slices.Delete(slices.Clone(stack), at, at+1)
		default:
			pairs = append(pairs, fmt.Sprintf("%d-%d", all[stack[at]].ts, f.ts))
			for _, s := range stack[at+1:] {
				pairs = append(pairs, fmt.Sprintf("%d-%d unbalanced", all[s].ts, f.ts))
			}
			open[f.crossing] = stack[:at]
		}
	}
	for _, stack := range open {
		for _, s := range stack {
			pairs = append(pairs, fmt.Sprintf("%d-%d never_ended", all[s].ts, all[len(all)-1].ts))
		}
	}
	slices.Sort(pairs)
	return pairs
}

// TestPairsByHand compares the pairs of random records with the results of the simplest algorithm: few and many open starts,
// incomplete keys, and tracks where pairs cross.
func TestPairsByHand(t *testing.T) {
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var input strings.Builder
		input.WriteString("#probelines 1\n#probe p:a-start k:int l:str key=k,l\n#probe p:c-start k:int l:str key=k,l track=own\n")
		var all []firing
		starts := 40 + rng.IntN(50) // of 100
		keys := 1 + rng.IntN(30)
		for i := range 600 {
			f := firing{ts: i + 1, name: []string{"a", "b", "c"}[rng.IntN(3)], start: rng.IntN(100) < starts}
			f.crossing = f.name == "c"
			suffix := "end"
			if f.start {
				suffix = "start"
			}
			fmt.Fprintf(&input, "P1\t%d\t7\t7\t0\tp:%s-%s", f.ts, f.name, suffix)
			if f.name != "b" {
				f.key = []string{fmt.Sprint(rng.IntN(keys)), []string{"x", "y"}[rng.IntN(2)]}
				if !f.start {
					f.key = f.key[:[]int{2, 2, 2, 2, 1, 0}[rng.IntN(6)]]
				}
				for _, k := range f.key {
					input.WriteString("\t" + k)
				}
			}
			input.WriteString("\n")
			all = append(all, f)
		}
		tl, _, err := suite.Load(t, strings.NewReader(input.String()), readers.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			flag := ""
			for a := range tl.ArgList(it.Args) {
				if string(a.Key) == timeline.OwnFlags {
					for m := range tl.Members(a) {
						flag = " " + string(m.Text())
					}
				}
			}
			switch it.Kind {
			case timeline.ItemBegin:
				got = append(got, fmt.Sprintf("%d-%d%s", it.TS, it.TS+it.Dur, flag))
			case timeline.ItemInstant:
				got = append(got, fmt.Sprintf("%d%s", it.TS, flag))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if diff := cmp.Diff(pairsByHand(all), got); diff != "" {
			t.Fatalf("seed %d: -want +got:\n%s", seed, diff)
		}
	}
}
