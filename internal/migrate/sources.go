package migrate

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/inputs"
)

// A Mistake is an error by the caller, usually on the command line. Nothing was done.
type Mistake struct{ message string }

// Error implements error.
func (m *Mistake) Error() string { return m.message }

func mistakef(format string, args ...any) error { return &Mistake{fmt.Sprintf(format, args...)} }

// open finds the folders of a run.
func (p *places) open(c *Config, root string) (err error) {
	if p.out, err = filepath.Abs(c.Out); err != nil {
		return err
	}
	if p.root, err = filepath.Abs(root); err != nil {
		return err
	}
	p.outTrue = p.out
	if p.outInfo, err = os.Stat(p.out); err == nil {
		if !p.outInfo.IsDir() {
			return mistakef("%s is a file; --out names a folder", c.Out)
		}
		if p.outTrue, err = filepath.EvalSymlinks(p.out); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %s", c.Out, cause(err))
	}
	rootTrue := p.root
	if target, err := filepath.EvalSymlinks(p.root); err == nil {
		rootTrue = target
	}
	if len(c.Inputs) == 1 && len(c.Lists) == 0 && c.Root == "" && isInside(rootTrue, p.outTrue) {
		return mistakef("%s is in the folder of outputs %s; outputs would be inputs of the next run", root, c.Out)
	}
	return nil
}

// isWhole reports whether a name is the root itself.
func (p *places) isWhole(name string) bool {
	abs, err := filepath.Abs(name)
	return err == nil && abs == p.root
}

// chooseRoot returns the folder below which outputs mirror their inputs.
func (c *Config) chooseRoot() (string, error) {
	if c.Root != "" {
		info, err := os.Stat(c.Root)
		if err != nil {
			return "", mistakef("--root %s: %s", c.Root, cause(err))
		}
		if !info.IsDir() {
			return "", mistakef("--root %s is a file", c.Root)
		}
		return c.Root, nil
	}
	if len(c.Inputs) == 1 && len(c.Lists) == 0 {
		if info, err := os.Stat(c.Inputs[0]); err == nil && info.IsDir() {
			return c.Inputs[0], nil
		}
	}
	return os.Getwd()
}

// openSources returns the inputs in path order, without duplicates.
func (r *run) openSources() (extsort.Sequence[Found], error) {
	var all []extsort.Sequence[Found]
	for _, name := range r.Inputs {
		source, err := r.argument(name)
		if err != nil {
			return nil, err
		}
		all = append(all, source)
	}
	if len(r.Lists) > 0 {
		source, err := r.listed()
		if err != nil {
			return nil, err
		}
		all = append(all, source)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	merger, err := extsort.NewMerger(all, func(a, b *Found) int { return comparePaths(a.Path, b.Path) })
	if err != nil {
		return nil, err
	}
	return func(f *Found) (bool, error) {
		ok, err := merger.Next(f)
		for ok && err == nil {
			next := merger.Peek()
			if next == nil || next.Path != f.Path {
				break
			}
			named := f.Named || next.Named
			if _, err := merger.Next(f); err != nil {
				return false, err
			}
			f.Named = named
		}
		return ok, err
	}, nil
}

// argument returns the inputs that an argument names: the files below a folder, the files that match a pattern, or one file.
func (r *run) argument(name string) (extsort.Sequence[Found], error) {
	if scheme, _, ok := strings.Cut(name, "://"); ok {
		if scheme == "gs" || scheme == "s3" {
			return nil, mistakef("%s: weft migrate reads files of this machine; weft-beam reads %s:// (docs/batch.md)", name, scheme)
		}
		return nil, mistakef("%s: weft does not download; save the files first", name)
	}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) && inputs.IsPattern(name) {
		return r.globbed(name)
	}
	if err != nil {
		return nil, mistakef("%s: %s", name, cause(err))
	}
	rel, err := r.rel(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		source, err := r.walk(rel, nil)
		if err != nil {
			return nil, mistakef("%s: %s", name, cause(err))
		}
		return source, nil
	}
	f := r.stat(rel, true)
	return one(f), nil
}

func one(f Found) extsort.Sequence[Found] {
	given := false
	return func(out *Found) (bool, error) {
		if given {
			return false, nil
		}
		*out, given = f, true
		return true, nil
	}
}

// globbed returns the files that match a pattern.
func (r *run) globbed(pattern string) (extsort.Sequence[Found], error) {
	base, rest := inputs.SplitPattern(filepath.ToSlash(pattern))
	g, err := inputs.ParseGlob(rest)
	if err != nil {
		return nil, mistakef("%v", err)
	}
	rel, err := r.rel(base)
	if err != nil {
		return nil, err
	}
	next, err := r.walk(rel, g)
	if err != nil {
		return nil, mistakef("%s: %s: %s", pattern, base, cause(err))
	}
	n := 0
	return func(f *Found) (bool, error) {
		ok, err := next(f)
		if n++; !ok && err == nil && n == 1 {
			return false, mistakef("%s matches no file", pattern)
		}
		return ok, err
	}, nil
}

// listed returns the inputs in all lists, sorted.
func (r *run) listed() (extsort.Sequence[Found], error) {
	for _, name := range r.Lists {
		if err := r.readList(name); err != nil {
			return nil, err
		}
	}
	sorted, err := r.names.sequences()
	if err != nil {
		return nil, err
	}
	merger, err := extsort.NewMerger(sorted, compareItems)
	if err != nil {
		return nil, err
	}
	last := ""
	return func(f *Found) (bool, error) {
		for {
			var it item
			ok, err := merger.Next(&it)
			if !ok || err != nil {
				return false, err
			}
			if it.input != last {
				last = it.input
				*f = r.stat(it.input, true)
				return true, nil
			}
		}
	}, nil
}

// readList adds the names of a list.
func (r *run) readList(name string) error {
	src := r.Stdin
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return mistakef("--files-from %s: %s", name, cause(err))
		}
		defer f.Close()
		src = f
	}
	lines := bufio.NewScanner(src)
	lines.Buffer(nil, maxLine)
	if r.NUL {
		lines.Split(splitNUL)
	}
	for lines.Scan() {
		text := lines.Text()
		if !r.NUL {
			text = strings.TrimSuffix(text, "\r")
		}
		if text == "" {
			continue
		}
		if strings.HasPrefix(text, "gs://") || strings.HasPrefix(text, "s3://") {
			return mistakef("%s: weft migrate reads files of this machine; weft-beam reads %s:// (docs/batch.md)", text, text[:2])
		}
		if strings.IndexByte(text, 0) >= 0 {
			return mistakef("--files-from %s: a name holds a NUL; with -0 they end names", name)
		}
		rel, err := r.rel(text)
		if err != nil {
			return err
		}
		if err := r.names.add(item{input: rel}); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return mistakef("--files-from %s: %s", name, cause(err))
	}
	return nil
}

// splitNUL splits names that end with a NUL.
func splitNUL(data []byte, atEOF bool) (advance int, token []byte, err error) {
	if i := bytes.IndexByte(data, 0); i >= 0 {
		return i + 1, data[:i], nil
	}
	if atEOF && len(data) > 0 {
		return len(data), data, nil
	}
	return 0, nil, nil
}

// failedInputs returns the inputs of failed records, for runs that try these again.
func (r *run) failedInputs() (extsort.Sequence[Found], error) {
	all, err := r.state.openRecords()
	if err != nil {
		return nil, err
	}
	r.closers = append(r.closers, all.close)
	var below extsort.Sequence[Found]
	last := ""
	return func(f *Found) (bool, error) {
		for {
			if below != nil {
				ok, err := below(f)
				if ok || err != nil {
					return ok, err
				}
				below = nil
			}
			record, err := all.read()
			if record == nil || err != nil {
				return false, err
			}
			if record.State != Failed || record.Input == last {
				continue
			}
			last = record.Input
			if strings.HasSuffix(last, "/") { // a folder that could not be listed
				if below, err = r.walk(strings.TrimSuffix(last, "/"), nil); err == nil {
					continue
				}
				*f = Found{Path: last, State: Failed, Kind: record.Kind, Reason: record.Reason}
				return true, nil
			}
			*f = r.stat(last, record.Kind == KindMissing || record.Kind == KindUnrecognised)
			return true, nil
		}
	}, nil
}
