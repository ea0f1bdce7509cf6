package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The architecture page names every package and draws the dependencies between packages, taken from the imports. With -update the
// drawing is made anew.
func TestArchitecturePage(t *testing.T) {
	imports := packageImports(t)
	file := filepath.Join("..", "..", "docs", "architecture.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "## Layout")
	layout, _, closed := strings.Cut(rest, "\n## ")
	if !ok || !closed {
		t.Fatal("no section Layout")
	}
	for name := range imports {
		if !strings.Contains(layout, "`"+name+"`") && !strings.Contains(layout, "`"+filepath.Base(name)+"`") {
			t.Errorf("the table of the layout does not name %s", name)
		}
	}
	_, rest, ok = strings.Cut(string(page), "## To change something")
	places, _, closed := strings.Cut(rest, "\n## ")
	if !ok || !closed {
		t.Fatal("no section To change something")
	}
	for _, place := range regexp.MustCompile("`([a-z]+/[a-z0-9_/*.]+)`").FindAllStringSubmatch(places, -1) {
		if found, err := filepath.Glob(filepath.Join("..", "..", place[1])); err != nil || len(found) == 0 {
			t.Errorf("there is no %s", place[1])
		}
	}
	const begin, end = "```layers\n", "```"
	before, drawn, ok := strings.Cut(string(page), begin)
	drawn, after, closed := strings.Cut(drawn, end)
	if !ok || !closed {
		t.Fatalf("no block that begins with %q", begin)
	}
	want := drawLayers(imports)
	if drawn == want {
		return
	}
	if !*update {
		t.Fatalf("the page draws\n%s\nthe imports are\n%s\ngo test ./cmd/weft -run Architecture -update draws it anew", drawn, want)
	}
	if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

const modulePath = "github.com/weft-trace/weft/"

// packageImports returns the packages of weft, and which of them each imports. It omits packages with only tests, and
// generated structs.
func packageImports(t *testing.T) map[string][]string {
	t.Helper()
	list := exec.Command("go", "list", "-f", "{{.ImportPath}} {{len .GoFiles}} {{join .Imports \" \"}}", "./...")
	list.Dir = filepath.Join("..", "..")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		name := strings.TrimPrefix(fields[0], modulePath)
		if fields[1] == "0" || strings.HasPrefix(name, "gen/") || name == "conformance" {
			continue
		}
		all[name] = []string{}
		for _, to := range fields[2:] {
			if to, own := strings.CutPrefix(to, modulePath); own {
				all[name] = append(all[name], to)
			}
		}
	}
	return all
}

// drawLayers draws packages in layers: each depends only on packages in lines above its own, or on packages without a line,
// which import no others. The arrow of a package leads to its imports, except imports that it also has through another import.
func drawLayers(imports map[string][]string) string {
	depth := map[string]int{}
	var find func(string) int
	find = func(name string) int {
		if d, ok := depth[name]; ok {
			return d
		}
		d := 0
		for _, to := range imports[name] {
			d = max(d, find(to)+1)
		}
		depth[name] = d
		return d
	}
	width := 0
	for name := range imports {
		find(name)
		width = max(width, len(name))
	}
	names := slices.SortedFunc(maps.Keys(imports), func(a, b string) int {
		return cmp.Or(cmp.Compare(depth[a], depth[b]), cmp.Compare(a, b))
	})
	names = slices.DeleteFunc(names, func(name string) bool { return depth[name] == 0 })
	var b strings.Builder
	for i, name := range names {
		if i > 0 && depth[name] != depth[names[i-1]] {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%-*s  → %s\n", width, name, strings.Join(direct(imports, name), ", "))
	}
	return b.String()
}

// direct returns the imports of a package that none of its other imports leads to.
func direct(imports map[string][]string, name string) []string {
	indirect := map[string]bool{}
	var follow func(string)
	follow = func(from string) {
		for _, to := range imports[from] {
			if !indirect[to] {
				indirect[to] = true
				follow(to)
			}
		}
	}
	for _, to := range imports[name] {
		follow(to)
	}
	var out []string
	for _, to := range imports[name] {
		if !indirect[to] {
			out = append(out, to)
		}
	}
	slices.Sort(out)
	return out
}

// Neither programs that use weft as a library nor weft in a browser get net/http. The program imports it for the view server
// and for the compression of Parquet files, and so does the tool that assembles weft.html.
func TestNoNetwork(t *testing.T) {
	packages := []string{modulePath + "cmd/weftweb"}
	for name := range packageImports(t) {
		if !slices.Contains([]string{"cmd/weft", "cmd/weftweb/bundle", "internal/view", "internal/export/parquet"}, name) {
			packages = append(packages, modulePath+name)
		}
	}
	list := exec.Command("go", append([]string{"list", "-deps"}, packages...)...)
	list.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 100 {
		t.Fatalf("only %d packages: %s", len(deps), out)
	}
	for _, unwanted := range []string{"net/http", "crypto/tls"} {
		if slices.Contains(deps, unwanted) {
			t.Errorf("%s is imported; go list -deps says by what", unwanted)
		}
	}
}
