//go:build !js

package convert_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
)

// ranks returns a job that merges generated ranks of the given size.
func ranks(tb testing.TB, files, bytesEach int) *merge.Job {
	tb.Helper()
	job := &merge.Job{}
	job.Reference = -1
	for i := range files {
		text := pytorch(tb, uint64(i+1), bytesEach)
		job.Sources = append(job.Sources, merge.Source{Name: fmt.Sprint("rank", i), Open: func() (io.ReadCloser, error) {
			return io.NopCloser(struct{ io.Reader }{bytes.NewReader(text)}), nil // hides other methods, so that the text is read like a file
		}})
	}
	return job
}

func pytorch(tb testing.TB, seed uint64, size int) []byte {
	var text bytes.Buffer
	if err := tracegen.WritePyTorch(&text, tracegen.PyTorch{Seed: seed, Bytes: int64(size)}); err != nil {
		tb.Fatal(err)
	}
	return text.Bytes()
}

// merged merges the inputs of a job and discards the result.
func merged(tb testing.TB, job *merge.Job, opts convert.Options) {
	tb.Helper()
	run := *job
	_, err := convertMerged(context.Background(), io.Discard, &run, opts)
	if err != nil && !errors.Is(err, merge.ErrDryRun) {
		tb.Fatal(err)
	}
}

// BenchmarkMergeRanks merges ranks: a few large ones, and many small ones. Each benchmark reports the time relative to converting
// one file of the same size (x-convert), and the share spent on clues (x-clues).
func BenchmarkMergeRanks(b *testing.B) {
	const size = 32 << 20
	one := pytorch(b, 1, size)
	for _, files := range []int{4, 16, 256} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			job := ranks(b, files, size/files)
			dry := *job
			dry.DryRun = true
			var clues, whole, alone time.Duration
			b.SetBytes(size)
			for b.Loop() {
				whole += timed(func() { merged(b, job, convert.Options{}) })
				b.StopTimer()
				clues += timed(func() { merged(b, &dry, convert.Options{}) })
				alone += timed(func() {
					if _, err := convert.Convert(b.Context(), io.Discard, struct{ io.Reader }{bytes.NewReader(one)}, convert.Options{}); err != nil {
						b.Fatal(err)
					}
				})
				b.StartTimer()
			}
			b.ReportMetric(float64(whole)/float64(alone), "x-convert")
			b.ReportMetric(float64(clues)/float64(alone), "x-clues")
		})
	}
}

func timed(f func()) time.Duration {
	began := time.Now()
	f()
	return time.Since(began)
}

// TestMemoryOfManyInputs checks that inputs reuse each other's memory. With separate blocks and windows, each input would
// allocate 9 MB.
func TestMemoryOfManyInputs(t *testing.T) {
	recording.NeedAll(t, "measures memory")
	few, many := ranks(t, 2, 2<<20), ranks(t, 12, 2<<20)
	few.DryRun, many.DryRun = true, true
	for _, workers := range []int{1, 4} {
		allocated := func(job *merge.Job) int64 {
			bytes, _ := recording.Allocated(func() { merged(t, job, convert.Options{Workers: workers}) })
			return bytes
		}
		allocated(few)
		perInput := (allocated(many) - allocated(few)) / 10
		t.Logf("%d workers: %d bytes for each input", workers, perInput)
		if perInput > 6<<20 { // the race detector makes pools drop some entries
			t.Errorf("%d workers: %d bytes are allocated for the clues of each input", workers, perInput)
		}
	}
}
