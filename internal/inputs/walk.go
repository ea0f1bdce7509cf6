package inputs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An Entry is a file, a link, or a folder that cannot be listed.
type Entry struct {
	// Path is the path relative to the walked folder, with slashes, in the form that EscapeName writes. The path of a folder that
	// cannot be listed ends with a slash.
	Path string
	Link bool
	Info fs.FileInfo // of the file or of the link's target; nil if Err is set
	Err  error
}

// A Walker lists the files below a folder in the order of their paths, compared component by component. It skips hidden files and
// folders and does not follow links to folders. It stores only the names in the folders on the way to the current entry.
type Walker struct {
	dir     string
	pattern Glob
	skip    fs.FileInfo
	folders bool // return matching folders as entries, and do not enter them
	levels  []level
}

// A level is a folder on the way to the current entry.
type level struct {
	path    string // "" for the walked folder; all others end with a slash
	entries []dirEntry
	err     error // error from listing the folder
}

type dirEntry struct {
	name string // escaped
	mode fs.FileMode
}

// NewWalker returns a walker for the folder dir. Files must match pattern unless it is nil. The walker does not enter the folder
// that skip describes; if skip is nil, it enters all folders.
func NewWalker(dir string, pattern Glob, skip fs.FileInfo) (*Walker, error) {
	w := &Walker{dir: dir, pattern: pattern, skip: skip}
	w.enter("")
	return w, w.levels[0].err
}

// enter lists a folder.
func (w *Walker) enter(path string) {
	l := level{path: path}
	l.err = l.list(w.abs(path))
	slices.SortFunc(l.entries, func(a, b dirEntry) int { return strings.Compare(a.name, b.name) })
	w.levels = append(w.levels, l)
}

// listBatch is the number of folder entries to read at once.
const listBatch = 1024

// list reads the names in a folder.
func (l *level) list(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	for {
		batch, err := d.ReadDir(listBatch)
		for _, e := range batch {
			if name := e.Name(); !strings.HasPrefix(name, ".") {
				l.entries = append(l.entries, dirEntry{EscapeName(name), e.Type()})
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (w *Walker) abs(path string) string {
	return filepath.Join(w.dir, filepath.FromSlash(UnescapeName(path)))
}

// Next stores the next entry in e and reports whether there was one.
func (w *Walker) Next(e *Entry) bool {
	for len(w.levels) > 0 {
		top := &w.levels[len(w.levels)-1]
		if top.err != nil {
			*e, top.err = Entry{Path: top.path, Err: top.err}, nil
			return true
		}
		if len(top.entries) == 0 {
			w.levels = w.levels[:len(w.levels)-1]
			continue
		}
		d := top.entries[0]
		top.entries = top.entries[1:]
		if w.visit(e, top.path+d.name, d.mode) {
			return true
		}
	}
	return false
}

// visit examines a name in a folder and reports whether it is an entry.
func (w *Walker) visit(e *Entry, path string, mode fs.FileMode) bool {
	parts := strings.Split(UnescapeName(path), "/")
	*e = Entry{Path: path, Link: mode&fs.ModeSymlink != 0}
	if mode.IsDir() {
		if w.folders && w.pattern.Match(parts) {
			return true
		}
		if w.pattern == nil || w.pattern.matchFolder(parts) {
			w.visitFolder(path)
		}
		return false
	}
	e.Info, e.Err = os.Stat(w.abs(path))
	switch {
	case e.Link && e.Err == nil && e.Info.IsDir():
		return w.pattern == nil || w.pattern.matchFolder(parts)
	case !e.Link && errors.Is(e.Err, fs.ErrNotExist):
		return false // gone since the folder was listed
	}
	return w.pattern == nil || w.pattern.Match(parts)
}

func (w *Walker) visitFolder(path string) {
	if w.skip != nil {
		if info, err := os.Stat(w.abs(path)); err == nil && os.SameFile(info, w.skip) {
			return
		}
	}
	w.enter(path + "/")
}
