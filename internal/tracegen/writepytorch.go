//go:build ignore

// This program writes a generated trace in the form of PyTorch's profiler to standard output. The small trace in
// testdata/traces/pytorch was made with -bytes 300000; benchmark inputs of any size can be made the same way.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/weft-trace/weft/internal/tracegen"
)

func main() {
	seed := flag.Uint64("seed", 1, "the same seed gives the same trace")
	size := flag.Int64("bytes", 300_000, "size of the trace")
	flag.Parse()
	if err := tracegen.WritePyTorch(os.Stdout, tracegen.PyTorch{Seed: *seed, Bytes: *size}); err != nil {
		fmt.Fprintln(os.Stderr, "pytorch:", err)
		os.Exit(1)
	}
}
