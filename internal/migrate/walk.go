package migrate

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/inputs"
)

// A Found is an input that a run found.
type Found struct {
	Path  string // below the root, escaped
	Size  int64
	Mtime int64 // nanoseconds since 1970
	Named bool  // named on the command line or in a list, so it must be a trace

	// The following fields are set for inputs that must not be opened.
	State  State
	Kind   Kind
	Reason string
}

// places are the folders of a run.
type places struct {
	root, out string // absolute
	outInfo   fs.FileInfo
	outTrue   string // with links resolved
}

func (p *places) abs(rel string) string {
	return filepath.Join(p.root, filepath.FromSlash(inputs.UnescapeName(rel)))
}

// isOutput reports whether a path leads, directly or through links, to the output folder or below it.
func (p *places) isOutput(path string) bool {
	if isInside(path, p.out) {
		return true
	}
	target, err := filepath.EvalSymlinks(path)
	return err == nil && isInside(target, p.outTrue)
}

// rel returns the escaped path of a name below the root.
func (p *places) rel(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(p.root, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", mistakef("%s is not below %s; set --root to a folder that holds all inputs", name, p.root)
	}
	return inputs.EscapeName(filepath.ToSlash(rel)), nil
}

// isInside reports whether a path is the folder or below it.
func isInside(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// walk returns the files below a folder that match a pattern. rel is the folder's path below the root.
func (r *run) walk(rel string, pattern inputs.Glob) (extsort.Sequence[Found], error) {
	dir := r.abs(rel)
	if r.isOutput(dir) {
		return nil, mistakef("it is in the folder of outputs; outputs are never inputs")
	}
	w, err := inputs.NewWalker(dir, pattern, r.outInfo)
	if err != nil {
		return nil, err
	}
	prefix := rel + "/"
	if rel == "." {
		prefix = ""
	}
	return func(f *Found) (bool, error) {
		var e inputs.Entry
		if !w.Next(&e) {
			return false, nil
		}
		*f = Found{Path: prefix + e.Path}
		r.lookAt(f, &e)
		return true, nil
	}, nil
}

// lookAt fills in f from an entry found in a folder.
func (p *places) lookAt(f *Found, e *inputs.Entry) {
	switch {
	case strings.HasSuffix(e.Path, "/"):
		f.State, f.Kind, f.Reason = Failed, KindIO, "the folder cannot be listed: "+cause(e.Err)
		return
	case e.Link && e.Err == nil && e.Info.IsDir():
		f.State, f.Kind, f.Reason = Skipped, KindLink, "a link to a folder; name the folder itself"
		return
	case e.Link && errors.Is(e.Err, fs.ErrNotExist):
		f.State, f.Kind, f.Reason = Failed, KindMissing, "a link to something that is not there"
		return
	case e.Link:
		if target, err := filepath.EvalSymlinks(p.abs(f.Path)); err == nil && isInside(target, p.outTrue) {
			f.State, f.Kind, f.Reason = Skipped, KindLink, "a link into the folder of outputs"
			return
		}
	}
	f.look(e.Info, e.Err)
}

// look records the file system's data about an input.
func (f *Found) look(info fs.FileInfo, err error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.State, f.Kind, f.Reason = Failed, KindMissing, "there is no such file"
	case err != nil:
		f.State, f.Kind, f.Reason = Failed, KindIO, cause(err)
	case info.IsDir():
		f.State, f.Kind, f.Reason = Failed, KindUnrecognised, "a folder; name it as an argument, not in a list"
	case !info.Mode().IsRegular():
		f.State, f.Kind, f.Reason = Skipped, KindSpecial, "not a regular file"
		if f.Named {
			f.State, f.Kind = Failed, KindUnrecognised
		}
	default:
		f.Size, f.Mtime = info.Size(), info.ModTime().UnixNano()
	}
}

// stat returns the input with a given path.
func (p *places) stat(rel string, named bool) Found {
	f := Found{Path: rel, Named: named}
	abs := p.abs(rel)
	if p.isOutput(abs) {
		f.State, f.Kind, f.Reason = Failed, KindName, "it is in the folder of outputs"
		return f
	}
	info, err := os.Stat(abs)
	f.look(info, err)
	return f
}

// cause returns the text of an error from package os without the file name.
func cause(err error) string {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err.Error()
	}
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		return link.Err.Error()
	}
	return err.Error()
}
