package main

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// document is everything that was measured.
type document struct {
	machine string
	rows    []row
	growth  []growthPoint
	shares  []share
}

// print writes the results as text.
func (d *document) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", d.machine)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tinput\tmeasured\tresult\tfloor\taim\tmet")
	for _, cells := range d.cells() {
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, table := range []string{growthTable(d.growth), shareTable(d.shares)} {
		if table == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "\n%s", table); err != nil {
			return err
		}
	}
	return nil
}

// cells returns the rows in the order of the promises.
func (d *document) cells() (all [][]string) {
	rows := slices.Clone(d.rows)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.promise, b.promise) })
	for _, r := range rows {
		p := &promises[r.promise]
		all = append(all, []string{p.what, r.input, r.sides, r.result(), p.bound(p.floor), p.bound(p.aim), r.met()})
	}
	return all
}

// update writes the results into the page performance.md of a folder, and the plot beside it.
func (d *document) update(docs string) error {
	path := filepath.Join(docs, "performance.md")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := string(page)
	for _, s := range []struct{ name, content string }{
		{"table", "Measured on: " + d.machine + ".\n\n" + markdown(promiseHeader, d.cells())},
		{"shares", shareTable(d.shares)},
		{"growth", growthTable(d.growth)},
	} {
		if text, err = replaceSection(text, s.name, s.content); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	plot := filepath.Join(docs, "performance", "growth.svg")
	if err := os.MkdirAll(filepath.Dir(plot), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(plot, []byte(growthPlot(d.growth)), 0o666); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o666)
}

var promiseHeader = []string{"what", "input", "measured", "result", "floor", "aim", "met"}

// markdown returns a table in Markdown.
func markdown(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(header)
	b.WriteString("|" + strings.Repeat("---|", len(header)) + "\n")
	for _, cells := range rows {
		line(cells)
	}
	return b.String()
}

// replaceSection replaces what stands in a page between the comments that begin and end a generated section.
func replaceSection(page, name, content string) (string, error) {
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end: "+name+" -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("no section %q…%q", strings.TrimSpace(begin), end)
	}
	return before + begin + "\n" + content + "\n" + end + after, nil
}
