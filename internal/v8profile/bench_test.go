package v8profile

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/tracegen"
)

func generate(tb testing.TB, samples int) []byte {
	tb.Helper()
	var doc bytes.Buffer
	if err := tracegen.WriteCPUProfile(&doc, tracegen.CPUProfile{Seed: 1, Samples: samples, Depth: 20}); err != nil {
		tb.Fatal(err)
	}
	return doc.Bytes()
}

// BenchmarkRead measures the time per sample, which must not grow with the number of samples.
func BenchmarkRead(b *testing.B) {
	for _, samples := range []int{100_000, 300_000, 1_000_000} {
		b.Run(fmt.Sprintf("samples=%d", samples), func(b *testing.B) {
			data := generate(b, samples)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				if _, err := Read(bytes.NewReader(data), new(problem.Log)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(samples)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

// TestSampleSize checks that a sample needs less than 8 bytes in a spool, both in the draft and in the profile.
func TestSampleSize(t *testing.T) {
	const samples = 100_000
	var read, built spool
	d := newDraft(&read)
	dec := decoder{Document: readers.NewDocument(jsonscan.New(bytes.NewReader(generate(t, samples))), new(problem.Log)), d: d, room: new(collections.MemoryLimit)}
	if err := dec.document(); err != nil {
		t.Fatal(err)
	}
	p, err := d.build(0, &built)
	if err != nil || p.Len() != samples {
		t.Fatal(p.Len(), err)
	}
	for name, s := range map[string]*spool{"read": &read, "built": &built} {
		if s.inMemory > 8*samples {
			t.Errorf("%s: %d bytes for %d samples", name, s.inMemory, samples)
		}
	}
}

// TestReadAllocations checks that individual samples need no allocations.
func TestReadAllocations(t *testing.T) {
	count := func(samples int) float64 {
		data := generate(t, samples)
		return testing.AllocsPerRun(1, func() {
			if _, err := Read(bytes.NewReader(data), new(problem.Log)); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := count(100_000), count(200_000)
	// The trees differ slightly, and the lists grow a few more times.
	if many-few > 5_000 {
		t.Errorf("%v allocations for 100,000 samples, %v for 200,000", few, many)
	}
}

// FuzzRead checks that no input makes a reader panic or hang, that small reads change nothing, and that the result is a
// tree with sorted samples.
func FuzzRead(f *testing.F) {
	for _, c := range documentCases {
		f.Add([]byte(c.input))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var log, slowLog problem.Log
		p, err := Read(bytes.NewReader(data), &log)
		slow, slowErr := Read(smallReads{bytes.NewReader(data), rand.New(rand.NewPCG(1, 1))}, &slowLog)
		if fmt.Sprint(err) != fmt.Sprint(slowErr) || problems(&log) != problems(&slowLog) {
			t.Fatalf("%v, %s; with small reads %v, %s", err, problems(&log), slowErr, problems(&slowLog))
		}
		if err != nil {
			return
		}
		if dump(p) != dump(slow) {
			t.Fatal("small reads change the profile")
		}
		check(t, p)
		if len(data) > 0 && data[0] == '{' {
			collect(t, []piece{{"chunk", 1, 2, "3", 4, string(data[1:])}})
		}
	})
}

// smallReads returns its input in pieces.
type smallReads struct {
	r   io.Reader
	rnd *rand.Rand
}

func (s smallReads) Read(b []byte) (int, error) { return s.r.Read(b[:min(len(b), 1+s.rnd.IntN(7))]) }

// check checks the invariants of profiles.
func check(t *testing.T, p *Profile) {
	t.Helper()
	for i := range p.NodeCount() {
		n := NodeIndex(i)
		node := p.Node(n)
		if n == 0 {
			if node.Parent != NoNode || node.Depth != -1 || int(node.end) != p.NodeCount() {
				t.Fatalf("root %+v", node)
			}
			continue
		}
		if node.Parent >= n || node.Depth != p.Node(node.Parent).Depth+1 || !p.Contains(node.Parent, n) || node.end <= n {
			t.Fatalf("node %d: %+v below %+v", n, node, p.Node(node.Parent))
		}
	}
	samples := p.Samples()
	for i := range p.Len() {
		if i > 0 && (samples.Time(i) < samples.Time(i-1) || samples.Index(i) <= samples.Index(i-1)) || samples.At(i) < 0 || int(samples.At(i)) >= p.NodeCount() {
			t.Fatalf("sample %d at %d, index %d, node %d", i, samples.Time(i), samples.Index(i), samples.At(i))
		}
		if samples.Weight(i) < 0 {
			t.Fatalf("sample %d has weight %d", i, samples.Weight(i))
		}
	}
}
