package migrate

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Found is an input that a source came across.
type Found struct {
	Path  string // below the root, escaped
	Size  int64
	Mtime int64 // nanoseconds since 1970
	Named bool  // on the command line or in a list: it must be a trace
	Link  bool

	// What follows is set for what is not to be opened.
	State  State
	Kind   Kind
	Reason string
}

// places are the folders of a run.
type places struct {
	root, out string // absolute
	outInfo   fs.FileInfo
	outTrue   string // without links
}

func (p *places) abs(rel string) string {
	return filepath.Join(p.root, filepath.FromSlash(unescapeName(rel)))
}

// isOutput reports whether a path leads to the folder of outputs or below it, through links as well.
func (p *places) isOutput(path string) bool {
	if isInside(path, p.out) {
		return true
	}
	target, err := filepath.EvalSymlinks(path)
	return err == nil && isInside(target, p.outTrue)
}

// rel returns the path of a name below the root, escaped.
func (p *places) rel(name string) (string, error) {
	abs, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	rel, err := filepath.Rel(p.root, abs)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", mistakef("%s is not below %s; set --root to a folder that holds all inputs", name, p.root)
	}
	return escapeName(filepath.ToSlash(rel)), nil
}

// isInside reports whether a path is that of a folder or lies below it.
func isInside(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// A walker finds the files below a folder, in the order of their paths. It holds the names of one folder a level.
type walker struct {
	*places
	pattern glob // of paths below base; nil: everything
	base    int  // number of components of base
	frames  []*frame
}

// A frame is a folder that is being walked.
type frame struct {
	rel     string // "" for the root; all others end with a slash
	entries []entry
	failed  *Found // of listing the folder
}

type entry struct {
	name string // escaped
	mode fs.FileMode
}

// start begins with a folder below the root.
func (w *walker) start(rel string) error {
	if rel == "." {
		rel = ""
	} else {
		w.base = strings.Count(rel, "/") + 1
		rel += "/"
	}
	dir := w.abs(rel)
	if w.isOutput(dir) {
		return mistakef("it is in the folder of outputs; outputs are never inputs")
	}
	f := &frame{rel: rel}
	if err := f.list(dir); err != nil {
		return err
	}
	w.frames = append(w.frames, f)
	return nil
}

// listBatch is how many entries of a folder are read at a time.
const listBatch = 1024

// list reads the names of a folder.
func (f *frame) list(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		batch, err := d.ReadDir(listBatch)
		for _, e := range batch {
			if name := e.Name(); !strings.HasPrefix(name, ".") {
				f.entries = append(f.entries, entry{escapeName(name), e.Type()})
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			f.sort()
			return err
		}
	}
	f.sort()
	return nil
}

func (f *frame) sort() {
	slices.SortFunc(f.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
}

// next stores the next input in out and reports whether there was one.
func (w *walker) next(out *Found) (bool, error) {
	for len(w.frames) > 0 {
		top := w.frames[len(w.frames)-1]
		if top.failed != nil {
			*out, top.failed = *top.failed, nil
			return true, nil
		}
		if len(top.entries) == 0 {
			w.frames = w.frames[:len(w.frames)-1]
			continue
		}
		e := top.entries[0]
		top.entries = top.entries[1:]
		if w.visit(out, top.rel+e.name, e.mode) {
			return true, nil
		}
	}
	return false, nil
}

// wanted reports whether a path matches the pattern, or something below it can.
func (w *walker) wanted(rel string, isFolder bool) bool {
	if w.pattern == nil {
		return true
	}
	parts := strings.Split(unescapeName(rel), "/")[w.base:]
	if isFolder {
		return w.pattern.matchFolder(parts)
	}
	return w.pattern.match(parts)
}

// visit looks at an entry of a folder and reports whether out has an input then.
func (w *walker) visit(out *Found, rel string, mode fs.FileMode) bool {
	if mode&fs.ModeSymlink != 0 {
		return w.visitLink(out, rel)
	}
	if mode.IsDir() {
		if !w.wanted(rel, true) {
			return false
		}
		w.enter(rel)
		return false
	}
	if !w.wanted(rel, false) {
		return false
	}
	*out = Found{Path: rel}
	info, err := os.Lstat(w.abs(rel))
	if errors.Is(err, fs.ErrNotExist) {
		return false // gone since the folder was listed
	}
	out.look(info, err)
	return true
}

// visitLink looks at a link.
func (w *walker) visitLink(out *Found, rel string) bool {
	info, err := os.Stat(w.abs(rel))
	switch {
	case err == nil && info.IsDir():
		if !w.wanted(rel, true) {
			return false
		}
		*out = Found{Path: rel, Link: true, State: Skipped, Kind: KindLink, Reason: "a link to a folder; name the folder itself"}
		return true
	case !w.wanted(rel, false):
		return false
	}
	*out = Found{Path: rel, Link: true}
	if errors.Is(err, fs.ErrNotExist) {
		out.State, out.Kind, out.Reason = Failed, KindMissing, "a link to something that is not there"
		return true
	}
	if target, err := filepath.EvalSymlinks(w.abs(rel)); err == nil && isInside(target, w.outTrue) {
		out.State, out.Kind, out.Reason = Skipped, KindLink, "a link into the folder of outputs"
		return true
	}
	out.look(info, err)
	return true
}

// enter goes into a folder, but not into that of the outputs.
func (w *walker) enter(rel string) {
	dir := w.abs(rel)
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err == nil && w.outInfo != nil && os.SameFile(info, w.outInfo):
		return
	}
	f := &frame{rel: rel + "/"}
	if err == nil {
		err = f.list(dir)
	}
	if err != nil {
		f.failed = &Found{Path: rel + "/", State: Failed, Kind: KindIO, Reason: "the folder cannot be listed: " + cause(err)}
	}
	w.frames = append(w.frames, f)
}

// look notes what the file system says of an input.
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

// stat looks at a named input.
func (p *places) stat(rel string, named bool) Found {
	f := Found{Path: rel, Named: named}
	abs := p.abs(rel)
	if p.isOutput(abs) {
		f.State, f.Kind, f.Reason = Failed, KindName, "it is in the folder of outputs"
		return f
	}
	if info, err := os.Lstat(abs); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		f.Link = true
	}
	info, err := os.Stat(abs)
	f.look(info, err)
	return f
}

// cause is what an error of package os says beside the name.
func cause(err error) string {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err.Error()
	}
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		return link.Err.Error()
	}
	return err.Error()
}
