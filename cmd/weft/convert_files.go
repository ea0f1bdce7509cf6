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

// A conversion converts one input of a call to its output.
type conversion struct {
	input, output string
	inFolder      bool        // the input was found in a folder, not named
	info          fs.FileInfo // of the input when the call started; nil if it does not exist or is standard input

	done   chan struct{} // closed once report or err is set
	report *convert.Report
	err    error // starts with the name of the file that failed
}

// newConversion returns the conversion of input to output, with the input's FileInfo.
func newConversion(input inputs.File, output string) *conversion {
	c := &conversion{input: input.Path, output: output, inFolder: input.RelativePath != "", done: make(chan struct{})}
	if c.input != inputs.Stdin {
		if info, err := os.Stat(c.input); err == nil {
			c.info = info
		}
	}
	return c
}

// size returns the length of the input, or -1 if it is unknown in advance.
func (c *conversion) size() int64 {
	if c.info == nil || !c.info.Mode().IsRegular() {
		return -1
	}
	return c.info.Size()
}

// convertAll converts all inputs, several at once, and returns when all are done.
func (j *convertJob) convertAll(ctx context.Context, p *progress) {
	if len(j.conversions) > 1 && os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(migrate.GCPercent)) // the heap limit still applies
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

// progress starts the display of the call's progress.
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

// skipped counts files in folders that a call does not convert.
type skipped struct {
	others  int // files that are not traces
	outputs int // files that weft wrote
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

// isNoTrace reports whether an input was found in a folder and has an unknown format. A folder means only the traces in it.
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

// withoutOutputs drops files found in folders if an earlier call wrote them: those beside their inputs, and those in the
// --out-dir folder.
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

// madeFolders records the folders that a call created for its outputs.
type madeFolders struct {
	sync.Mutex
	made []string // parents before their children
}

// make creates a folder and its parents where they are missing.
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

// removeEmpty removes created folders that received no output after all.
func (m *madeFolders) removeEmpty() {
	m.Lock()
	defer m.Unlock()
	for _, dir := range slices.Backward(m.made) {
		_ = os.Remove(dir) // fails for folders with files, which stay
	}
}
