package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-trace/weft/internal/inputs"
)

// Only Linux allows arbitrary names.
func TestNamesAndLinks(t *testing.T) {
	long := strings.Repeat("n", 250) + ".json"
	a := newTestArchive(t, map[string]string{"\xff\x01.json": small, `\xff.json`: small, long: small, "d/x.json": small, "b c\n#%41.json": small})
	for link, target := range map[string]string{"d/loop": "..", "file.json": "d/x.json", "dangling": "nowhere", "circle": "circle"} {
		if err := os.Symlink(target, filepath.Join(a.in, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(a.in, "pipe"), 0o666); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"\\xff\x01.json": "done", `\x5cxff.json`: "done", long: "failed name", "d/x.json": "done", "b c\n#%41.json": "done",
		"d/loop": "skipped link", "file.json": "done", "dangling": "failed missing", "circle": "failed io", "pipe": "skipped special",
	}
	if _, err := a.run(nil); err != nil {
		t.Fatal(err)
	}
	a.want(want)
	for _, name := range []string{"\xff\x01.json", `\xff.json`} {
		if _, err := os.Stat(filepath.Join(a.out, name+outputSuffix)); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"a", "ä", "\xff", `\xff`, `\x`, `\\x41`, "a\x80b", "\xc3"} {
		if got := inputs.UnescapeName(inputs.EscapeName(name)); got != name {
			t.Errorf("%q comes back as %q", name, got)
		}
	}
}
