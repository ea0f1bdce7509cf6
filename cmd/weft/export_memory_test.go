//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"syscall"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

func init() { programs["walked"] = walked }

// walked reads the trace on standard input and walks over it once.
func walked() {
	ctx := context.Background()
	tr, err := convert.Open(bridge.Unwalked(ctx), os.Stdin, convert.Options{Memory: timeline.DefaultMemory})
	if err == nil {
		err = bridge.Timeline(tr).Walk(ctx, func(*timeline.Item) error { return nil })
	}
	if err == nil {
		err = tr.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitFailed)
	}
}

// maxExportMemory is how much more memory an export as messages may take than reading the input and one walk; maxZstdMemory is
// what zstd may take, whose window has 4 MiB.
const (
	maxExportMemory = 8 << 20
	maxZstdMemory   = 12 << 20
)

// Writing a stream keeps nothing: it takes the memory of the walk.
func TestExportMemory(t *testing.T) {
	path, whole := recording.Find(t, "traces/chrome/chrome-devtools-long.json")
	if !whole || testing.Short() {
		t.Skip("needs a recording that is not among the testdata, and some seconds")
	}
	peak := func(args ...string) (least int64) {
		for range 2 {
			in, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			cmd := weftProcess(t, args[1:]...)
			// By default garbage is collected so rarely that the peak differs by 20 MiB from run to run.
			cmd.Env = append(cmd.Environ(), "GOGC=20")
			cmd.Args[0], cmd.Stdin, cmd.Stdout, cmd.Stderr = args[0], in, io.Discard, os.Stderr
			if err := cmd.Run(); err != nil {
				t.Fatal(err)
			}
			used := int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
			if least == 0 || used < least {
				least = used
			}
		}
		return least
	}
	walk := peak("walked")
	for compress, limit := range map[string]int64{"none": maxExportMemory, "zstd": maxExportMemory + maxZstdMemory} {
		export := peak("weft", "export", "--as", "proto", "-q", "--compress", compress, "-o", "-", "-")
		t.Logf("walk: %d MiB, export with %s: %d MiB", walk>>20, compress, export>>20)
		if export > walk+limit {
			t.Errorf("an export with %s takes %d bytes, %d more than a walk", compress, export, export-walk)
		}
	}
}
