package inputs

import (
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
	for _, test := range []struct {
		pattern, path string
		file, folder  bool
	}{
		{"a/*.json", "a/b.json", true, false},
		{"a/*.json", "a/b/c.json", false, false},
		{"a/*.json", "a", false, true},
		{"**/*.json", "c.json", true, true},
		{"**/*.json", "a/b/c.json", true, true},
		{"a/**", "a/b/c", true, true},
		{"a/**", "b", false, false},
		{"**", "a/b", true, true},
		{"**/**/x", "a/b/x", true, true},
		{"a/**/b/*", "a/x/y/b/c", true, true},
		{"[ab]?", "b1", true, false},
	} {
		g, err := ParseGlob(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(test.path, "/")
		if file, folder := g.Match(parts), g.matchFolder(parts); file != test.file || folder != test.folder {
			t.Errorf("%s, %s: file %v, folder %v", test.pattern, test.path, file, folder)
		}
	}
	if _, err := ParseGlob("a[b"); err == nil {
		t.Error("an open bracket is not reported")
	}
}
