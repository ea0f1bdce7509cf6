// Command perftable measures weft against the promises in docs/performance.md and prints a table: each promise, the measurements
// of both sides in this run, the result in docs/performance.md, and whether the promise is kept. make bench runs it.
//
// Everything is measured from outside. Each side of a comparison is a process: the built weft for conversions, and this program
// itself for the operations that weft is compared with (see child.go: decoding with encoding/json, unpacking with gunzip). The
// sides take turns, so that other load on the machine affects both, and the median of several runs counts. Times and memory are
// the values that the system reports for a process that has ended.
//
//	go run -C tools/perftable .                    the table, with inputs of moderate size
//	go run -C tools/perftable . -full -docs        everything in full size, written into docs/performance.md
//
// It is a separate module, so that users of weft do not depend on it. Paths in flags are relative to its folder.
//
// Generated inputs, outputs and the temporary files of conversions are in a folder below -tmp, which is removed at the end: up to
// 3 GB, and 15 GB with -full.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
)

const megabyte = 1_000_000

// config holds the flags.
type config struct {
	runs     int
	pytorch  int64 // size of the generated main input, in MB
	large    int64 // size of the larger input for memory measurements, in MB
	files    int   // number of small files
	full     bool
	docs     bool
	cpuTime  bool // use CPU time instead of wall time for measurements on one core
	temp     string
	recorded string // path of a .json.gz; "": the largest recording
	only     string
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == childCommand {
		if err := runChild(os.Stdout, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var c config
	flag.IntVar(&c.runs, "runs", 5, "runs of every measurement, of which the median counts")
	flag.Int64Var(&c.pytorch, "pytorch", 500, "size in MB of the generated main input")
	flag.Int64Var(&c.large, "large", 1000, "size in MB of the input of which the peak memory is measured, and one of half of it")
	flag.IntVar(&c.files, "files", 1000, "number of small files that are converted in one call")
	flag.BoolVar(&c.full, "full", false, "the same as -large 4000")
	flag.BoolVar(&c.docs, "docs", false, "write the results into docs/performance.md")
	flag.BoolVar(&c.cpuTime, "cpu", false, "compare CPU time instead of wall time in the rows of one core: for trials on a busy machine")
	flag.StringVar(&c.temp, "tmp", "", "folder for inputs and outputs (default: the system's)")
	flag.StringVar(&c.recorded, "recording", "", "a .json.gz as the recorded main input (default: the largest recording that is found)")
	flag.StringVar(&c.only, "only", "", "measure only groups whose name matches the regular expression: "+groupNames())
	flag.Parse()
	if c.full {
		c.large = 4000
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, os.Stderr, c); err != nil {
		fmt.Fprintln(os.Stderr, "perftable:", err)
		stop()
		os.Exit(1)
	}
}

// run runs the measurements that c selects, and prints the table to stdout and progress to stderr.
func run(ctx context.Context, stdout, stderr io.Writer, c config) (err error) {
	only, err := regexp.Compile(c.only)
	if err != nil {
		return err
	}
	if c.runs < 1 || c.pytorch < 1 || c.large < 2 || c.files < 1 {
		return errors.New("-runs, -pytorch and -files have to be at least 1, -large at least 2")
	}
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	b, err := newBench(ctx, c, root, stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()

	var rows []row
	for _, g := range groups {
		if !only.MatchString(g.name) {
			continue
		}
		b.logf("%s", g.name)
		found, err := g.measure(b)
		if err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
		rows = append(rows, found...)
	}
	before, err := os.ReadFile(filepath.Join(root, "docs", "performance.md"))
	if err != nil {
		return err
	}
	page := document{machine: c.machine(), rows: rows, committed: committed(string(before))}
	if err := page.print(stdout); err != nil {
		return err
	}
	if c.docs {
		return page.update(filepath.Join(root, "docs"))
	}
	return nil
}

// machine describes where and how the numbers were measured.
func (c *config) machine() string {
	text := fmt.Sprintf("%d cores, %s/%s, %s; median of %d runs", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), c.runs)
	if c.cpuTime {
		text += "; CPU time in the rows of one core"
	}
	return text
}

// moduleRoot returns the folder of weft's module, which is the working directory or a parent of it.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cmd", "weft")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no cmd/weft above the working directory; run this in a clone of weft")
		}
		dir = parent
	}
}
