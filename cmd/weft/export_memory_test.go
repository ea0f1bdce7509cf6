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

// maxExportMemory is how much more memory an export as messages may take than reading the input and one walk; maxZstdMemory is the same with
// zstd, whose window alone has 4 MiB.
const (
	maxExportMemory = 8 << 20
	maxZstdMemory   = maxExportMemory + 12<<20
)

// Writing a stream keeps nothing: it takes the memory of the walk.
//
// When garbage is collected decides how high a run's peak is, and that differs by some MiB from run to run, by more on a busy
// machine. It only ever adds, so the least of several runs counts; they go on until it is low enough.
func TestExportMemory(t *testing.T) {
	path := recording.Large(t, "traces/chrome/chrome-devtools-long.json")
	const runs = 8
	least := map[string]int64{}
	low := func(compress string, limit int64) bool {
		return least[compress] != 0 && least[compress] <= least["walk"]+limit
	}
	for run := 1; run <= runs && !(low("none", maxExportMemory) && low("zstd", maxZstdMemory)); run++ {
		measure := func(name string, args ...string) {
			if peak := peakMemory(t, path, args...); run == 1 || peak < least[name] {
				least[name] = peak
			}
		}
		measure("walk", "walked")
		for _, compress := range []string{"none", "zstd"} {
			measure(compress, "weft", "export", "--as", "proto", "-q", "--compress", compress, "-o", "-", "-")
		}
		t.Logf("after run %d: walk %d MiB, export %d MiB, with zstd %d MiB", run, least["walk"]>>20, least["none"]>>20, least["zstd"]>>20)
	}
	for compress, limit := range map[string]int64{"none": maxExportMemory, "zstd": maxZstdMemory} {
		if !low(compress, limit) {
			t.Errorf("an export with %s takes %d bytes, %d more than a walk", compress, least[compress], least[compress]-least["walk"])
		}
	}
}

// peakMemory runs this test program as another one, args[0], with the file as its standard input, and returns the most memory it had
// resident, in bytes.
func peakMemory(t *testing.T, path string, args ...string) int64 {
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
	return int64(cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss) << 10
}
