package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bench holds the state that all measurements share.
type bench struct {
	config
	ctx    context.Context
	root   string // folder of weft's module
	dir    string // folder for inputs and outputs
	weft   string // the built program
	self   string // this program
	stderr io.Writer

	generated map[int64]string // paths of generated traces by size
	inputs    []input          // the main inputs
}

// newBench builds weft in a new folder.
func newBench(ctx context.Context, c config, root string, stderr io.Writer) (*bench, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(c.temp, "weft-perftable-")
	if err != nil {
		return nil, err
	}
	b := &bench{
		config: c, ctx: ctx, root: root, dir: dir, weft: filepath.Join(dir, "weft"), self: self, stderr: stderr,
		generated: map[int64]string{},
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", b.weft, "./cmd/weft")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		os.RemoveAll(dir)
		return nil, fmt.Errorf("building weft: %w\n%s", err, out)
	}
	return b, nil
}

func (b *bench) logf(format string, args ...any) { fmt.Fprintf(b.stderr, format+"\n", args...) }

// path returns the path of a file in the bench's folder.
func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

// command is one side of a comparison: a program with its arguments, and the number of cores that it may use.
type command struct {
	program string
	args    []string
	cores   int    // 0: all
	folder  string // for outputs, created anew before every run; "": none
}

// child returns a command that runs this program, for a side other than weft.
func (b *bench) child(cores int, args ...string) command {
	return command{program: b.self, args: append([]string{childCommand}, args...), cores: cores}
}

// convert returns the command that converts input to output, with as many workers as cores; 0: all.
func (b *bench) convert(cores int, input, output string, flags ...string) command {
	args := []string{"convert", "--quiet", "--force", "-o", output}
	if cores > 0 {
		args = append(args, "--workers", strconv.Itoa(cores))
	}
	return command{program: b.weft, args: append(append(args, flags...), input), cores: cores}
}

// usage is the time and memory that a process used.
type usage struct {
	wall, cpu time.Duration
	peak      int64 // peak resident memory in bytes
	childResult
}

// run runs a command and returns its usage.
//
// On Linux, the peak memory of a new process starts at its parent's, because they share memory for a moment. The
// comparing process must therefore stay small: operations that need memory run in a child, and generators stream.
func (b *bench) run(c command) (u usage, err error) {
	cmd := exec.CommandContext(b.ctx, c.program, c.args...)
	for _, entry := range os.Environ() {
		switch name, _, _ := strings.Cut(entry, "="); name {
		case "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG": // measure what users get
		default:
			cmd.Env = append(cmd.Env, entry)
		}
	}
	if c.cores > 0 {
		cmd.Env = append(cmd.Env, "GOMAXPROCS="+strconv.Itoa(c.cores))
	}
	if c.folder != "" {
		if err := b.newFolder(c.folder); err != nil {
			return u, err
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	err = cmd.Run()
	u.wall = time.Since(start)
	if err != nil {
		return u, fmt.Errorf("%s %s: %w\n%s", filepath.Base(c.program), strings.Join(c.args, " "), err, stderr.String())
	}
	u.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	u.peak = peakMemory(cmd.ProcessState)
	if c.program == b.self {
		err = json.Unmarshal(stdout.Bytes(), &u.childResult)
	}
	return u, err
}

// newFolder creates an empty folder. It moves an existing one away instead of emptying it: some file systems are slow
// for seconds after many files were deleted.
func (b *bench) newFolder(path string) error {
	oldDir, err := os.MkdirTemp(b.dir, "old-")
	if err != nil {
		return err
	}
	if err := os.Rename(path, filepath.Join(oldDir, filepath.Base(path))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Mkdir(path, 0o777)
}

// oneCore returns the time that counts for a process on one core. CPU time is the wall time of a process that has the
// core to itself and does not wait for files.
func (b *bench) oneCore(u usage) time.Duration {
	if b.cpuTime {
		return u.cpu
	}
	return u.wall
}

// side is a command and the destination of its usage.
type side struct {
	command
	result *usage
}

// compare runs the sides in turn, and sets each result to the medians of the runs.
func (b *bench) compare(sides ...side) error {
	all := make([][]usage, len(sides))
	for range b.runs {
		for i := range sides {
			u, err := b.run(sides[i].command)
			if err != nil {
				return err
			}
			all[i] = append(all[i], u)
		}
	}
	for i := range sides {
		*sides[i].result = usage{
			wall: medianOf(all[i], func(u usage) time.Duration { return u.wall }),
			cpu:  medianOf(all[i], func(u usage) time.Duration { return u.cpu }),
			peak: medianOf(all[i], func(u usage) int64 { return u.peak }),
			childResult: childResult{
				Seconds:   medianOf(all[i], func(u usage) float64 { return u.Seconds }),
				CPU:       medianOf(all[i], func(u usage) float64 { return u.CPU }),
				PerEvent:  medianOf(all[i], func(u usage) float64 { return u.PerEvent }),
				Events:    all[i][0].Events,
				BytesRead: all[i][0].BytesRead,
			},
		}
	}
	return nil
}

// median returns the middle value, or the lower of the two middle values.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

func medianOf[T cmp.Ordered](all []usage, get func(usage) T) T {
	values := make([]T, len(all))
	for i, u := range all {
		values[i] = get(u)
	}
	return median(values)
}
