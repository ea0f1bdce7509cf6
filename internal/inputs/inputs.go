// Package inputs finds the files that a command reads: named files, files in folders, files matching a pattern, and files in a
// list. It also unpacks gzip, zstd and zip, which it recognizes by content (unpack.go). weft migrate uses its walker.
//
// What does not live here: the formats of traces.
package inputs

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the name of standard input.
const Stdin = "-"

// Files in folders are recordings if they have one of these extensions, optionally followed by an extension in packed.
var (
	extensions = []string{".json", ".cpuprofile", ".pftrace", ".perfetto-trace", ".jslb", ".trace", ".jsonl", ".har"}
	packed     = []string{".gz", ".zst", ".zip"}
	exported   = []string{".events.jsonl", ".speedscope.json"} // written by weft export; weft does not read them
)

// MaxFiles limits the number of files per command, because folders and lists can have any length.
const MaxFiles = 1 << 20

// IsFolder reports whether a name refers to a folder.
func IsFolder(name string) bool {
	if name == Stdin {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// File is a file to read.
type File struct {
	Path string
	// RelativePath is the path relative to the folder in which the file was found, or "" if the file itself was named.
	RelativePath string
}

// Found is the result of Find.
type Found struct {
	Files []File
	// Skipped counts the files in folders that do not look like recordings.
	Skipped int
}

// Paths returns the paths of all files.
func (f *Found) Paths() (paths []string) {
	for i := range f.Files {
		paths = append(paths, f.Files[i].Path)
	}
	return paths
}

// Find returns the files that names refer to, each only once, in the order of the names, with the files in a folder in natural
// order. A folder refers to the recordings in and below it, recognized by extension. Find skips hidden files and folders and does
// not follow links to folders. Other paths are returned unchanged, whether they exist or not. A folder without recordings is an
// error.
func Find(names []string) (*Found, error) {
	found, added := &Found{}, map[string]bool{}
	for _, name := range names {
		files := []File{{Path: name}}
		if IsFolder(name) {
			var err error
			if files, err = found.folder(name); err != nil {
				return nil, err
			}
		}
		for _, f := range files {
			if !added[f.Path] {
				added[f.Path] = true
				found.Files = append(found.Files, f)
			}
		}
	}
	return found, nil
}

// folder returns the recordings in and below a folder, in natural order, and counts the files that it skips.
func (f *Found) folder(name string) (files []File, err error) {
	w, err := NewWalker(name, nil, nil)
	if err != nil {
		return nil, err
	}
	for e := (Entry{}); w.Next(&e); {
		switch {
		case strings.HasSuffix(e.Path, "/"):
			return nil, e.Err
		case e.Link || e.Err != nil || !e.Info.Mode().IsRegular():
		case !isRecording(e.Path):
			f.Skipped++
		case len(f.Files)+len(files) >= MaxFiles:
			return nil, fmt.Errorf("%s: there are more than %d files", name, MaxFiles)
		default:
			relative := filepath.FromSlash(UnescapeName(e.Path))
			files = append(files, File{filepath.Join(name, relative), relative})
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: the folder has no recordings (files that end in %s, optionally followed by %s)", name,
			strings.Join(extensions, ", "), strings.Join(packed, ", "))
	}
	slices.SortFunc(files, func(a, b File) int { return Compare(a.Path, b.Path) })
	return files, nil
}

func isRecording(path string) bool {
	return hasExtension(path, extensions) && !hasExtension(path, exported)
}

// IsPerfetto reports whether a file has an extension used for Perfetto traces.
func IsPerfetto(path string) bool { return hasExtension(path, []string{".pftrace", ".perfetto-trace"}) }

// hasExtension reports whether a path has one of the extensions, packed or not.
func hasExtension(path string, extensions []string) bool {
	name := strings.ToLower(path)
	for _, suffix := range packed {
		name = strings.TrimSuffix(name, suffix)
	}
	return slices.ContainsFunc(extensions, func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// maxName limits the length of a line in a list.
const maxName = 1 << 16

// ReadList reads file names, one per line. It skips empty lines.
func ReadList(r io.Reader) (names []string, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxName)
	for lines.Scan() {
		if name := strings.TrimSuffix(lines.Text(), "\r"); name != "" {
			names = append(names, name)
		}
		if len(names) > MaxFiles {
			return nil, fmt.Errorf("the list has more than %d files", MaxFiles)
		}
	}
	return names, lines.Err()
}

// Compare orders names naturally: profile2 comes before profile10. Names that differ only in leading zeros are ordered by their
// bytes.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if isDigit(x[0]) && isDigit(y[0]) {
			var m, n string
			m, x = number(x)
			n, y = number(y)
			if c := cmp.Or(cmp.Compare(len(m), len(n)), cmp.Compare(m, n)); c != 0 {
				return c
			}
			continue
		}
		if x[0] != y[0] {
			return cmp.Compare(x[0], y[0])
		}
		x, y = x[1:], y[1:]
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(a, b))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// number splits off the leading digits of text and returns them without leading zeros.
func number(text string) (digits, rest string) {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return strings.TrimLeft(text[:n], "0"), text[n:]
}
