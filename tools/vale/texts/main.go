// Command texts extracts the texts that people read from Go programs, for a prose linter: for each FILE.go, it writes
// DIR/FILE.go.txt, which contains every string constant of at least two words, on the same line as in FILE.go.
//
//	texts DIR FILE.go…
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: texts DIR FILE.go…")
		os.Exit(2)
	}
	for _, name := range os.Args[2:] {
		if err := write(os.Args[1], name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(dir, name string) error {
	source, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text, err := texts(name, source)
	if err != nil || text == "" {
		return err
	}
	to := filepath.Join(dir, name+".txt")
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, []byte(text), 0o644)
}

// texts returns the string constants in a Go file, each on its line.
func texts(name string, source []byte) (string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	line := 1
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil || !strings.Contains(strings.TrimSpace(value), " ") {
			return true
		}
		if literal.Value[0] == '"' { // one line of source is one line of text
			value = strings.Join(strings.Fields(value), " ")
		}
		at := files.Position(literal.Pos()).Line
		if at > line {
			text.WriteString(strings.Repeat("\n", at-line))
			line = at
		} else {
			text.WriteByte(' ')
		}
		text.WriteString(value)
		line += strings.Count(value, "\n")
		return true
	})
	return text.String(), nil
}
