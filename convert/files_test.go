package convert_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"runtime/debug"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/timeline"
)

// openFiles returns the number of files that this process has open.
func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("the system does not say which files are open: %v", err)
	}
	return len(entries)
}

// TestLoadedTracesFreeFiles repeatedly loads and attributes a Perfetto trace, keeping its packets. Temporary files have no names
// and, without the garbage collector, only Close frees them.
func TestLoadedTracesFreeFiles(t *testing.T) {
	var trace bytes.Buffer
	events := `[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"a"}]`
	if _, err := convert.Convert(context.Background(), &trace, bytes.NewReader([]byte(events)), convert.Options{}); err != nil {
		t.Fatal(err)
	}
	load := func(src []byte) error {
		opts := convert.Options{KeepPackets: true, Attribute: new(attribution.Options), TempDir: t.TempDir()}
		tl, _, err := convert.Load(context.Background(), bytes.NewReader(src), opts)
		return closed(tl, err)
	}
	attribute := func(src []byte) error {
		tr, err := convert.Open(context.Background(), bytes.NewReader(src), convert.Options{TempDir: t.TempDir()})
		if err != nil {
			return err
		}
		result, err := attribution.Run(context.Background(), tr, attribution.Options{})
		if err == nil {
			err = result.Close()
		}
		return errors.Join(err, tr.Close())
	}
	// The trace is damaged after the first packets.
	broken := append(bytes.Clone(trace.Bytes()[:trace.Len()-1]), bytes.Repeat([]byte{0xFF}, 64)...)
	for _, c := range []struct {
		name string
		call func([]byte) error
	}{{"Load", load}, {"Attribute", attribute}} {
		t.Run(c.name, func(t *testing.T) {
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			before := openFiles(t)
			for range 50 {
				if err := c.call(trace.Bytes()); err != nil {
					t.Fatal(err)
				}
				_ = c.call(broken) // with or without an error
			}
			if after := openFiles(t); after > before {
				t.Errorf("%d files are open, %d were before", after, before)
			}
		})
	}
}

func closed(tl *timeline.Timeline, err error) error {
	if tl != nil {
		err = errors.Join(err, tl.Close())
	}
	return err
}
