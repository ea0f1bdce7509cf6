// Package recording finds recorded traces for tests and benchmarks: those of the module's testdata folder, and larger
// ones in an optional folder named shared beside the checkout. It is used by nothing else.
package recording

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// maxUnpacked bounds what Read unpacks, so that a wrong file cannot fill the memory of a test run.
const maxUnpacked = 1 << 30

// Testdata returns the path of the module's testdata folder.
func Testdata(tb testing.TB) string {
	tb.Helper()
	dir, ok := locateTestdata()
	if !ok {
		tb.Fatal("no folder testdata/traces above the working directory of the test")
	}
	return dir
}

// Find returns the path of a file of the testdata folder or, when it is not there, of the shared folder. The name has
// slashes and is relative to either folder, for example "traces/chrome/chrome-devtools-tiny.json"; the name with a
// ".gz" after it is accepted as well. ok is false if the file is in neither.
func Find(tb testing.TB, name string) (path string, ok bool) {
	tb.Helper()
	Testdata(tb)
	return Locate(name)
}

// Locate is Find for programs, which may run anywhere: outside of the module there is no testdata folder.
func Locate(name string) (path string, ok bool) {
	var folders []string
	if dir, ok := locateTestdata(); ok {
		folders = append(folders, dir)
	}
	if shared, ok := Shared(); ok {
		folders = append(folders, shared)
	}
	for _, folder := range folders {
		for _, file := range []string{name, name + ".gz"} {
			path := filepath.Join(folder, filepath.FromSlash(file))
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, true
			}
		}
	}
	return "", false
}

// Shared returns the optional folder of larger recordings: a folder named shared beside any folder above the test.
func Shared() (dir string, ok bool) {
	parent, ok := findUp(filepath.Join("shared", "traces"))
	if !ok {
		return "", false
	}
	return filepath.Join(parent, "shared"), true
}

// Read returns the contents of a file, unpacked if it is a gzip stream.
func Read(tb testing.TB, path string) []byte {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		return data
	}
	zr, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	unpacked, err := io.ReadAll(io.LimitReader(zr, maxUnpacked))
	if err != nil {
		tb.Fatalf("%s: %v", path, err)
	}
	return unpacked
}

// Name returns the name of a recording without folder and extensions, for the names of subtests.
func Name(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	return strings.TrimSuffix(name, ".json")
}

// locateTestdata looks for the recordings in it: packages have folders of this name as well, and below tools there are
// other modules.
func locateTestdata() (dir string, ok bool) {
	parent, ok := findUp(filepath.Join("testdata", "traces"))
	if !ok {
		return "", false
	}
	return filepath.Join(parent, "testdata"), true
}

// findUp returns the nearest folder, from the working directory up, that holds the file or folder name.
func findUp(name string) (dir string, ok bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}
