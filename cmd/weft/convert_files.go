package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/migrate"
	"github.com/weft-trace/weft/internal/table"
)

// A conversion is one input of a call on its way to its output.
type conversion struct {
	input, output string
	inFolder      bool        // it was found in a folder, not named
	info          fs.FileInfo // of the input when the call began; nil if there is none, or it is standard input

	done   chan struct{} // closed when one of the following is set
	report *convert.Report
	err    error // begins with the name of what failed
}

// newConversion looks at an input that goes to output.
func newConversion(input inputs.File, output string) *conversion {
	c := &conversion{input: input.Path, output: output, inFolder: input.RelativePath != "", done: make(chan struct{})}
	if c.input != inputs.Stdin {
		if info, err := os.Stat(c.input); err == nil {
			c.info = info
		}
	}
	return c
}

// size returns the length of the input, -1 if it is not known beforehand.
func (c *conversion) size() int64 {
	if c.info == nil || !c.info.Mode().IsRegular() {
		return -1
	}
	return c.info.Size()
}

// convertAll converts everything, several inputs at once where there are several. It returns when all are done.
func (j *convertJob) convertAll(ctx context.Context, p *progress) {
	if len(j.conversions) > 1 && os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(migrate.GCPercent)) // the limit of the heap holds
	}
	migrate.Each(ctx, j.opts, len(j.conversions), func(w *migrate.Worker, i int) {
		c := j.conversions[i]
		defer close(c.done)
		c.report, c.err = j.convert(ctx, c, w, p)
		p.fileDone()
	})
}

// convert converts one input.
func (j *convertJob) convert(ctx context.Context, c *conversion, w *migrate.Worker, p *progress) (*convert.Report, error) {
	src, err := openInput(ctx, j.env, c.input)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	if j.outDir != "" {
		if err := j.folders.make(filepath.Dir(c.output)); err != nil {
			return nil, err
		}
	}
	dst, err := createOutput(ctx, j.env, c.output, j.force)
	if err != nil {
		return nil, err
	}
	defer dst.Abort()
	opts := j.opts
	j.setForm(&opts, c.output)
	report, err := w.Convert(ctx, p.writer(dst), p.reader(src), src.size, opts)
	if err != nil {
		if err := dst.Failed(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", inputName(c.input), withoutPath(err))
	}
	return report, dst.Commit()
}

// progress starts to show the progress of the call.
func (j *convertJob) progress() *progress {
	if !j.several {
		c := j.conversions[0]
		return startProgress(j.env, inputName(c.input), c.size(), !j.quiet)
	}
	total := int64(0)
	for _, c := range j.conversions {
		if c.size() < 0 {
			total = -1
			break
		}
		total += c.size()
	}
	return startFilesProgress(j.env, len(j.conversions), total, !j.quiet)
}

// skipped counts the files in folders that a call does not convert.
type skipped struct {
	others  int // that are not traces
	outputs int // that weft wrote
}

// text returns the counts as a sentence; "" if there are none.
func (s *skipped) text() string {
	var parts []string
	if s.others > 0 {
		parts = append(parts, table.Plural(s.others, "file that is not a trace", "files that are not traces"))
	}
	if s.outputs > 0 {
		parts = append(parts, table.Plural(s.outputs, "file that was converted from another", "files that were converted from others"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Skipped " + strings.Join(parts, ", and ") + "."
}

// isNoTrace reports whether an input was found in a folder and has no format that weft knows. A folder stands for the traces in it.
func (c *conversion) isNoTrace() bool {
	return c.inFolder && errors.Is(c.err, convert.ErrUnknownFormat)
}

// findInputs finds the inputs and chooses their outputs.
func (j *convertJob) findInputs(c *cli.Context) error {
	names := c.Args().Slice()
	if len(names) == 0 && !c.IsSet(filesFrom) {
		return usagef("no input; name a file or a folder, or use \"-\" for standard input")
	}
	found, err := findInputs(c, j.env, names, filesFrom)
	if err != nil {
		return err
	}
	files := j.withoutOutputs(found.Files)
	if len(files) == 0 {
		return fmt.Errorf("%s: the folder has only traces that weft wrote", found.Files[0].Path)
	}
	j.skipped.others = found.Skipped
	inFolder := func(f inputs.File) bool { return f.RelativePath != "" }
	j.several = len(files) > 1 || c.IsSet(filesFrom) || c.String("o") == "" && slices.ContainsFunc(files, inFolder)
	return j.chooseOutputs(files, c.String("o"), j.outDir)
}

// withoutOutputs removes files in folders that an earlier call wrote: files beside their inputs, and files in the folder of --out-dir.
func (j *convertJob) withoutOutputs(files []inputs.File) []inputs.File {
	known := map[string]bool{}
	for i := range files {
		known[files[i].Path] = true
	}
	below := ""
	if j.outDir != "" {
		below = trueFolder(j.outDir) + string(filepath.Separator)
	}
	parents := folders{}
	return slices.DeleteFunc(slices.Clone(files), func(f inputs.File) bool {
		if f.RelativePath == "" {
			return false
		}
		source, isOutput := strings.CutSuffix(f.Path, outputSuffix)
		if isOutput && known[source] || below != "" && strings.HasPrefix(parents.placeKey(f.Path), below) {
			j.skipped.outputs++
			return true
		}
		return false
	})
}

// madeFolders are the folders that a call has made for its outputs.
type madeFolders struct {
	sync.Mutex
	made []string // a folder comes before those in it
}

// make makes a folder and those above it, if there are none.
func (m *madeFolders) make(dir string) error {
	m.Lock()
	defer m.Unlock()
	var missing []string
	for ; !exists(dir); dir = filepath.Dir(dir) {
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		if err := os.Mkdir(dir, 0o777); err != nil {
			return fmt.Errorf("%s: %w", dir, withoutPath(err))
		}
		m.made = append(m.made, dir)
	}
	return nil
}

// removeEmpty removes the folders in which there is no output after all.
func (m *madeFolders) removeEmpty() {
	m.Lock()
	defer m.Unlock()
	for _, dir := range slices.Backward(m.made) {
		_ = os.Remove(dir) // a folder that has files stays
	}
}
