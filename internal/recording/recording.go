// Package recording finds recorded traces for tests and benchmarks, and determines how many tests run. The recordings are in the module's
// testdata folder; larger ones are in an optional folder named shared next to the checkout.
//
// By default, tests are quick and use only testdata, so that they behave the same on every machine. With WEFT_TESTS=all in the
// environment, all tests run, and use shared if it exists. CONTRIBUTING.md lists the differences.
package recording

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxUnpacked limits the size of unpacked files, so that a bad file cannot exhaust the memory of a test run.
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

// All reports whether all tests run: WEFT_TESTS=all.
func All() bool { return os.Getenv("WEFT_TESTS") == "all" }

// NeedAll skips the test unless all tests run. It is for tests that are slow or need something that some machines lack. The reason completes
// the sentence "skipped: …".
func NeedAll(tb testing.TB, reason string) {
	tb.Helper()
	if !All() {
		tb.Skipf("skipped: %s; WEFT_TESTS=all runs it", reason)
	}
}

// Some returns every fourth item, starting with the first, or all items if all tests run.
func Some[T any](all []T) []T {
	if All() {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += 4 {
		some = append(some, all[i])
	}
	return some
}

// Path returns the path of a file in testdata, for example "traces/chrome/chrome-devtools-tiny.json". If only a compressed version of the
// file exists, with ".gz" added to the name, it returns the path of that version.
func Path(tb testing.TB, name string) string {
	tb.Helper()
	path, ok := locate([]string{Testdata(tb)}, name)
	if !ok {
		tb.Fatalf("%s is not in testdata", name)
	}
	return path
}

// Large is like Path, but takes several names and returns the path of the first file that exists. Benchmarks, and tests if all tests
// run, also look in shared. If none of the files exist, Large skips the test, or fails it if it also looked in shared, because then
// the names are wrong.
func Large(tb testing.TB, names ...string) string {
	tb.Helper()
	roots := Roots(tb)
	for _, name := range names {
		if path, ok := locate(roots, name); ok {
			return path
		}
	}
	if len(roots) > 1 {
		tb.Fatalf("%s is neither in testdata nor in shared", names[0])
	}
	tb.Skipf("skipped: %s is not in testdata; WEFT_TESTS=all with the folder shared beside the checkout runs it", names[0])
	return ""
}

// Roots returns the folders for Large: testdata, and shared if it is used.
func Roots(tb testing.TB) []string {
	tb.Helper()
	roots := []string{Testdata(tb)}
	_, bench := tb.(*testing.B)
	if shared, ok := shared(); ok && (bench || All()) {
		roots = append(roots, shared)
	}
	return roots
}

// A File is a recording in one of the folders that Roots returns.
type File struct {
	Name string // relative to traces, with slashes and without ".gz": "chrome/chrome-devtools-tiny.json"
	Path string
}

// Limits on the stored size of the recordings that In returns: in quick tests, and if all tests run.
const (
	maxQuick = 215_000
	maxWhole = 1_100_000
)

// In returns the recordings in and below the given subfolders of traces, for example "firefox/processed", sorted by name. It looks
// in the folders that Roots returns, and omits large recordings.
func In(tb testing.TB, folders ...string) []File {
	tb.Helper()
	if All() {
		return within(tb, maxWhole, folders)
	}
	return within(tb, maxQuick, folders)
}

// Every is like In, but includes large recordings if all tests run. It is for the few tests that compare all recordings of a
// format with an independent count; in other tests, large recordings add nothing.
func Every(tb testing.TB, folders ...string) []File {
	tb.Helper()
	if All() {
		return within(tb, math.MaxInt64, folders)
	}
	return within(tb, maxQuick, folders)
}

// within returns the recordings whose stored size does not exceed largest, in bytes.
func within(tb testing.TB, largest int64, folders []string) []File {
	tb.Helper()
	var files []File
	seen := map[string]bool{}
	for _, root := range Roots(tb) {
		traces := filepath.Join(root, "traces")
		for _, folder := range folders {
			err := filepath.WalkDir(filepath.Join(traces, filepath.FromSlash(folder)), func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() || !isRecording(d.Name()) {
					return err
				}
				info, err := d.Info()
				if err != nil || info.Size() > largest {
					return err
				}
				name, err := filepath.Rel(traces, path)
				if name = strings.TrimSuffix(filepath.ToSlash(name), ".gz"); err == nil && !seen[name] {
					seen[name] = true
					files = append(files, File{name, path})
				}
				return err
			})
			if err != nil && !errors.Is(err, fs.ErrNotExist) { // testdata may lack folders
				tb.Fatal(err)
			}
		}
	}
	if len(files) == 0 {
		tb.Fatalf("no recordings in %q", folders)
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return files
}

// isRecording reports, based on its name, whether a file in a folder of traces is a recording rather than a script, source or
// expected result.
func isRecording(name string) bool {
	plain := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	switch filepath.Ext(plain) {
	case ".json", ".jsonl", ".cpuprofile", ".pftrace", ".probelines", ".proto", ".otlp", ".har":
		return !strings.HasSuffix(plain, ".expected.json") && name != "MANIFEST.json"
	}
	return false
}

// Damaged reports whether a recording is damaged, according to its name.
func (f File) Damaged() bool {
	return strings.HasPrefix(f.Name, "damaged/") || strings.Contains(f.Name, "cut60pct") || strings.Contains(f.Name, "truncated")
}

// Locate is like Large, but for programs, which may run outside the module, where there is no testdata folder. It always looks in
// shared too.
func Locate(name string) (path string, ok bool) {
	var roots []string
	if dir, ok := locateTestdata(); ok {
		roots = append(roots, dir)
	}
	if shared, ok := shared(); ok {
		roots = append(roots, shared)
	}
	return locate(roots, name)
}

func locate(roots []string, name string) (path string, ok bool) {
	for _, root := range roots {
		for _, file := range []string{name, name + ".gz"} {
			path := filepath.Join(root, filepath.FromSlash(file))
			if _, err := os.Stat(path); err == nil {
				return path, true
			}
		}
	}
	return "", false
}

// shared returns the optional folder of larger recordings: a folder named shared in any folder above the test.
func shared() (dir string, ok bool) {
	parent, ok := findUp(filepath.Join("shared", "traces"))
	if !ok {
		return "", false
	}
	return filepath.Join(parent, "shared"), true
}

// Bytes returns the contents of a file in testdata, unpacked.
func Bytes(tb testing.TB, name string) []byte {
	tb.Helper()
	return Read(tb, Path(tb, name))
}

// Read returns the contents of a file, unpacked if it is compressed with gzip.
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

// Name returns the name of a recording without its folder, ".gz" and ".json", for the names of subtests.
func Name(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	return strings.TrimSuffix(name, ".json")
}

// locateTestdata finds the testdata folder that contains traces. It skips the testdata folders of packages and of the modules in tools.
func locateTestdata() (dir string, ok bool) {
	parent, ok := findUp(filepath.Join("testdata", "traces"))
	if !ok {
		return "", false
	}
	return filepath.Join(parent, "testdata"), true
}

// findUp returns the nearest folder, from the working directory up, that contains a file or folder with the given name.
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
