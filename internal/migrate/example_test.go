package migrate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-trace/weft/internal/migrate"
)

func ExampleRun() {
	dir, err := os.MkdirTemp("", "migrate")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	if err := os.Mkdir(in, 0o777); err != nil {
		panic(err)
	}
	trace := `[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"a"}]`
	if err := os.WriteFile(filepath.Join(in, "a.json"), []byte(trace), 0o666); err != nil {
		panic(err)
	}
	for range 2 {
		summary, err := migrate.Run(context.Background(), migrate.Config{Out: out, Inputs: []string{in}})
		if err != nil {
			panic(err)
		}
		fmt.Println(summary.Run.Converted, "converted,", summary.Run.Unchanged, "unchanged")
	}
	// Output:
	// 1 converted, 0 unchanged
	// 0 converted, 1 unchanged
}
