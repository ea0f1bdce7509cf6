package inputs_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/inputs"
)

func TestFind(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"p10.json", "p2.json.gz", "p1.CPUPROFILE", "notes.txt", "below/deeper/p3.pftrace", "below/x.json.md", ".git/a.json", ".p.json.tmp.json"} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, nil, 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	named := []string{filepath.Join(dir, "notes.txt"), "missing", inputs.Stdin, filepath.Join(dir, "p10.json")}
	var below []inputs.File
	for _, name := range []string{"below/deeper/p3.pftrace", "p1.CPUPROFILE", "p2.json.gz", "p10.json"} {
		below = append(below, inputs.File{Path: filepath.Join(dir, filepath.FromSlash(name)), RelativePath: filepath.FromSlash(name)})
	}
	notes, missing, stdin, p10 := inputs.File{Path: named[0]}, inputs.File{Path: named[1]}, inputs.File{Path: named[2]}, inputs.File{Path: named[3]}
	for _, test := range []struct {
		names []string
		want  []inputs.File
	}{
		{append(slices.Clone(named), dir, named[0]), append([]inputs.File{notes, missing, stdin, p10}, below[:3]...)},
		{append([]string{dir}, named...), append(slices.Clone(below), notes, missing, stdin)},
	} {
		got, err := inputs.Find(test.names)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, got.Files); diff != "" || got.Skipped != 2 {
			t.Errorf("%q: %d others\n%s", test.names, got.Skipped, diff)
		}
		if paths := got.Paths(); len(paths) != len(test.want) || paths[0] != test.want[0].Path {
			t.Errorf("%q", paths)
		}
	}
	if _, err := inputs.Find([]string{filepath.Join(dir, ".git", "..", "below"), t.TempDir()}); err == nil || !strings.Contains(err.Error(), "has no recordings") {
		t.Errorf("a folder without recordings: %v", err)
	}
	if inputs.IsFolder("missing") || inputs.IsFolder(inputs.Stdin) || !inputs.IsFolder(dir) {
		t.Error("folders are not distinguished from files")
	}
}

func TestCompare(t *testing.T) {
	sorted := []string{"", "a", "a1", "a01", "a2", "a2b", "a10", "a010", "a10b", "a99999999999999999999998", "a99999999999999999999999", "b", "b/1", "b/a", "ü"}
	// Names that differ only in leading zeros are ordered by their bytes.
	slices.SortFunc(sorted[2:4], strings.Compare)
	slices.SortFunc(sorted[6:8], strings.Compare)
	for i, a := range sorted {
		for k, b := range sorted {
			if got, want := inputs.Compare(a, b), min(max(i-k, -1), 1); got != want {
				t.Errorf("%q, %q: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestReadList(t *testing.T) {
	got, err := inputs.ReadList(strings.NewReader("a b.json\n\nc.json\r\n-x"))
	if diff := cmp.Diff([]string{"a b.json", "c.json", "-x"}, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if names, err := inputs.ReadList(strings.NewReader(strings.Repeat("a", 1<<17))); err == nil {
		t.Errorf("%d names of a line that is too long", len(names))
	}
	if _, err := inputs.ReadList(broken{}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("%v", err)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, fs.ErrClosed }
