package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/inputs"
)

// skipped counts the files in folders that a call does not convert.
type skipped struct {
	others  int // that are not traces
	outputs int // that weft wrote
}

// text says so in a sentence; "" if there are none.
func (s *skipped) text() string {
	var parts []string
	if s.others > 0 {
		parts = append(parts, countText(s.others, "file that is not a trace", "files that are not traces"))
	}
	if s.outputs > 0 {
		parts = append(parts, countText(s.outputs, "file that was converted from another", "files that were converted from others"))
	}
	if len(parts) == 0 {
		return ""
	}
	return "Skipped " + strings.Join(parts, ", and ") + "."
}

// isNoTrace reports whether an input was found in a folder and has no format that weft knows: whoever names a folder means the
// traces in it.
func (c *conversion) isNoTrace() bool {
	return c.inFolder && errors.Is(c.err, convert.ErrUnknownFormat)
}

// findInputs finds what is to be converted, and where to.
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
	j.skipped.others = found.Others
	inFolder := func(f inputs.File) bool { return f.Below != "" }
	j.several = len(files) > 1 || c.IsSet(filesFrom) || c.String("o") == "" && slices.ContainsFunc(files, inFolder)
	return j.chooseOutputs(files, c.String("o"), j.outDir)
}

// withoutOutputs leaves out the files of folders that an earlier call has written: what stands beside its input, and what is in the
// folder of --out-dir.
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
		if f.Below == "" {
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
