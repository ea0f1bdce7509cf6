// Package inputs finds the files that a command is to read: those that are named, those in folders, and those of a list.
//
// What does not live here: opening them, and patterns that the shell has not expanded (cmd/weft).
package inputs

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stdin is the name of standard input.
const Stdin = "-"

// extensions are those by which files of a folder are taken for recordings; behind them there may be one of packed.
var (
	extensions = []string{".json", ".cpuprofile", ".pftrace", ".perfetto-trace", ".jslb", ".trace", ".jsonl"}
	packed     = []string{".gz", ".zst", ".zip"}
)

// MaxFiles bounds the files of one command: folders and lists can be of any length.
const MaxFiles = 1 << 20

// IsFolder reports whether a name is that of a folder.
func IsFolder(name string) bool {
	if name == Stdin {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// Find returns the files that names mean, each once, in natural order. A folder means the recordings in it and in the folders
// below it, known by their extensions; links to folders are not followed. What is no folder stays as it is, whether it exists or not.
func Find(names []string) (files []string, err error) {
	for _, name := range names {
		if !IsFolder(name) {
			files = append(files, name)
			continue
		}
		err := filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case len(files) >= MaxFiles:
				return fmt.Errorf("%s: there are more than %d files", name, MaxFiles)
			case entry.Type().IsRegular() && isRecording(path):
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, Compare)
	return slices.Compact(files), nil
}

func isRecording(path string) bool {
	name := strings.ToLower(path)
	for _, suffix := range packed {
		name = strings.TrimSuffix(name, suffix)
	}
	return slices.ContainsFunc(extensions, func(ext string) bool { return strings.HasSuffix(name, ext) })
}

// maxName bounds the length of a line of a list.
const maxName = 1 << 16

// ReadList reads names of files, one a line. Empty lines mean nothing.
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

// Compare orders names as people count: profile2 comes before profile10. Names that differ only in leading zeros are in the order
// of their bytes.
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

// number cuts off the digits that a text begins with, without leading zeros.
func number(text string) (digits, rest string) {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	return strings.TrimLeft(text[:n], "0"), text[n:]
}
