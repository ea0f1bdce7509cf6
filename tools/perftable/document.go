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

// document holds the results of a run.
type document struct {
	machine string
	rows    []row

	committed map[[2]string]string // results in the current page, for comparison
}

// print writes the results as text.
func (d *document) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n\n", d.machine)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(slices.Insert(slices.Clone(promiseHeader), 4, "committed"), "\t"))
	for _, cells := range d.cells() {
		before := cmp.Or(d.committed[[2]string{cells[0], cells[1]}], "–")
		fmt.Fprintln(t, strings.Join(slices.Insert(cells, 4, before), "\t"))
	}
	return t.Flush()
}

// cells returns the table rows in the order of the promises.
func (d *document) cells() (all [][]string) {
	rows := slices.Clone(d.rows)
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.promise, b.promise) })
	for _, r := range rows {
		p := r.promised()
		all = append(all, []string{p.what, r.input, r.sides, r.result(), p.bound(p.floor), p.bound(p.aim), r.met()})
	}
	return all
}

// committed returns the results in a page, by promise and input.
func committed(page string) map[[2]string]string {
	all := map[[2]string]string{}
	for line := range strings.Lines(page) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != len(promiseHeader) {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		results := strings.Split(cells[3], lineBreak)
		for i, input := range strings.Split(cells[1], lineBreak) {
			if i < len(results) {
				all[[2]string{cells[0], input}] = results[i]
			}
		}
	}
	return all
}

// update writes the results into performance.md in a folder.
func (d *document) update(docs string) error {
	path := filepath.Join(docs, "performance.md")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := replaceSection(string(page), "table", "Measured on: "+d.machine+".\n\n"+markdown(promiseHeader, grouped(d.cells())))
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o666)
}

var promiseHeader = []string{"what", "input", "measured", "result", "floor", "aim", "met"}

const lineBreak = "<br>"

// grouped merges consecutive rows for one promise into one row, with a line for each input.
func grouped(rows [][]string) (groups [][]string) {
	for _, row := range rows {
		last := len(groups) - 1
		if last < 0 || groups[last][0] != row[0] || groups[last][4] != row[4] || groups[last][5] != row[5] {
			groups = append(groups, row)
			continue
		}
		for _, i := range []int{1, 2, 3, 6} {
			groups[last][i] += lineBreak + row[i]
		}
	}
	return groups
}

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

// replaceSection replaces the text between the start and end comments of a generated section.
func replaceSection(page, name, content string) (string, error) {
	begin, end := "<!-- generated: "+name+" -->\n", "<!-- end: "+name+" -->"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("no section %q…%q", strings.TrimSpace(begin), end)
	}
	return before + begin + "\n" + content + "\n" + end + after, nil
}
