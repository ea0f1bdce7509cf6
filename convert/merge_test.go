//go:build !js

package convert_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// errBroken is the error that failing inputs return.
var errBroken = errors.New("broken")

// rankSource returns a recording with one event on the wall clock. Opening it fails the failAt-th time; 0: never.
func rankSource(name string, pid, failAt int) merge.Source {
	opened := 0
	text := fmt.Sprintf(`[{"ph":"X","name":"step","pid":%d,"tid":1,"ts":1000000000000000,"dur":5,"args":{"k":%d}}]`, pid, pid)
	return merge.Source{Name: name, File: name + ".json", Open: func() (io.ReadCloser, error) {
		if opened++; opened == failAt {
			return nil, errBroken
		}
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

// convertMerged merges the inputs of a job.
func convertMerged(ctx context.Context, dst io.Writer, job *merge.Job, opts convert.Options) (*convert.Report, error) {
	t, err := load.Many(ctx, job, opts)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := t.Write(ctx, dst, new(pfwire.Buffers)); err != nil {
		return nil, err
	}
	return t.Report, nil
}

// openMerged returns the merged trace of a job's inputs.
func openMerged(t *testing.T, job *merge.Job) *trace.Trace {
	t.Helper()
	loaded, err := load.Many(t.Context(), job, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tr := new(trace.Trace)
	timeline.Hold(t.Context(), tr, loaded.Timeline)
	t.Cleanup(func() { tr.Close() })
	return tr
}

func mergeSources(keepGoing bool, sources ...merge.Source) (*merge.Job, []byte, error) {
	job := &merge.Job{Sources: sources, Options: merge.Options{KeepGoing: keepGoing, Reference: -1}}
	var out bytes.Buffer
	_, err := convertMerged(context.Background(), &out, job, convert.Options{})
	return job, out.Bytes(), err
}

// An input that fails when its events are read (its third opening) is skipped like one that fails earlier: none of its data is in
// the output.
func TestMergeKeepsGoing(t *testing.T) {
	a, c := rankSource("a", 1, 0), rankSource("c", 3, 0)
	_, want, err := mergeSources(true, a, c)
	if err != nil {
		t.Fatal(err)
	}
	for failAt := 1; failAt <= 3; failAt++ {
		job, got, err := mergeSources(true, a, rankSource("b", 2, failAt), c)
		if err != nil {
			t.Errorf("%d: %v", failAt, err)
			continue
		}
		if len(job.Failed) != 1 || job.Failed[0].Input != 1 || !errors.Is(job.Failed[0].Err, errBroken) {
			t.Errorf("%d: failed: %v", failAt, job.Failed)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%d: the output differs from the one of the other inputs alone", failAt)
		}
	}
	if _, _, err := mergeSources(false, a, rankSource("b", 2, 3), c); !errors.Is(err, errBroken) {
		t.Errorf("without KeepGoing: %v", err)
	}
	if _, _, err := mergeSources(true, rankSource("b", 2, 3), a, c); !errors.Is(err, errBroken) || !strings.Contains(err.Error(), "on its clock") {
		t.Errorf("the reference: %v", err)
	}
}
