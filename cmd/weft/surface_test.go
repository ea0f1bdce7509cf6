package main

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxExported is the maximum number of functions, methods and types that the public packages may export together. It may only
// be lowered.
const maxExported = 115

// TestPublicSurface counts the exports of the public packages. All of them, including constants, are documented, and every
// package with exports has an example.
func TestPublicSurface(t *testing.T) {
	total := 0
	for _, dir := range publicPackages(t) {
		total += exportedNames(t, dir)
	}
	if total > maxExported {
		t.Errorf("the public packages export %d functions, methods and types, more than %d", total, maxExported)
	}
	t.Logf("%d functions, methods and types", total)
}

// publicPackages returns the folders of packages that other modules can import, except for generated ones.
func publicPackages(t *testing.T) (dirs []string) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.IsDir() {
			if dir := filepath.Dir(path); strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
			return nil
		}
		switch name := d.Name(); name {
		case "internal", "cmd", "gen", "tools", "testdata":
			return filepath.SkipDir
		default:
			if strings.HasPrefix(name, ".") && name != ".." {
				return filepath.SkipDir
			}
			// A separate module is not part of weft's module.
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && name != ".." {
				return filepath.SkipDir
			}
		}
		return nil
	})
	if err != nil || len(dirs) == 0 {
		t.Fatalf("packages %q, error %v", dirs, err)
	}
	return dirs
}

// constants reports exported constants without their own comment, above or after them.
func constants(t *testing.T, of string, groups []*doc.Value) {
	t.Helper()
	for _, group := range groups {
		for _, spec := range group.Decl.Specs {
			spec, ok := spec.(*ast.ValueSpec)
			if !ok {
				continue
			}
			alone := len(group.Decl.Specs) == 1 && strings.TrimSpace(group.Doc) != ""
			for _, name := range spec.Names {
				if name.IsExported() && !alone && spec.Doc.Text() == "" && spec.Comment.Text() == "" {
					t.Errorf("%s.%s has no comment", of, name.Name)
				}
			}
		}
	}
}

// exportedNames counts the exports of a package, and reports missing comments and examples.
func exportedNames(t *testing.T, dir string) (n int) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		f, err := parser.ParseFile(fset, filepath.Join(dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	p, err := doc.NewFromFiles(fset, files, "example.com/"+filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	has := func(name, comment string) {
		if n++; strings.TrimSpace(comment) == "" {
			t.Errorf("%s.%s has no comment", p.Name, name)
		}
	}
	examples := len(p.Examples)
	funcs := func(of string, list []*doc.Func) {
		for _, f := range list {
			has(of+f.Name, f.Doc)
			examples += len(f.Examples)
		}
	}
	funcs("", p.Funcs)
	constants(t, p.Name, p.Consts)
	for _, typ := range p.Types {
		has(typ.Name, typ.Doc)
		constants(t, p.Name, typ.Consts)
		examples += len(typ.Examples)
		funcs("", typ.Funcs)
		funcs(typ.Name+".", typ.Methods)
	}
	if n > 0 && examples == 0 {
		t.Errorf("package %s has no example", p.Name)
	}
	return n
}
