package main

import (
	"context"
	"io"
	"os"
	"testing"

	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxExportMemory is how much more memory an export as messages may use than reading the input and one walk; maxZstdMemory is
// the same with zstd, whose window alone is 4 MiB.
const (
	maxExportMemory = 8 << 20
	maxZstdMemory   = maxExportMemory + 12<<20
)

// Writing a stream stores nothing: it needs only the memory of a walk.
func TestExportMemory(t *testing.T) {
	recording.NeedAll(t, "measures memory")
	path := recording.Large(t, "traces/chrome/chrome-devtools-long.json")
	watch := func(fn func(w *recording.MemoryWatch)) int64 {
		in, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		w := &recording.MemoryWatch{Input: in, Every: 8 << 20}
		fn(w)
		return w.Peak
	}
	walk := watch(func(w *recording.MemoryWatch) {
		loaded, err := load.One(t.Context(), w, load.Options{Memory: timeline.DefaultMemory})
		if err != nil {
			t.Fatal(err)
		}
		defer loaded.Close()
		n := 0
		if err := loaded.Timeline.Walk(context.Background(), func(*timeline.Item) error {
			if n++; n%100_000 == 0 {
				w.Look()
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
	for compress, limit := range map[string]int64{"none": maxExportMemory, "zstd": maxZstdMemory} {
		export := watch(func(w *recording.MemoryWatch) {
			env := environment{
				stdin: w, stdout: w, stderr: io.Discard,
				isTerminal: func(io.Writer) bool { return false }, width: func(io.Writer) int { return 0 },
			}
			if code := run(t.Context(), []string{"weft", "export", "--as", "proto", "-q", "--compress", compress, "-o", "-", "-"}, &env); code != exitOK {
				t.Fatalf("exit code %d", code)
			}
		})
		t.Logf("%s: walk %d MiB, export %d MiB", compress, walk>>20, export>>20)
		if export > walk+limit {
			t.Errorf("an export with %s takes %d bytes, %d more than a walk", compress, export, export-walk)
		}
	}
}
