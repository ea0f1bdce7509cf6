package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/cellwidth"
	escapes "github.com/weft-trace/weft/internal/printable"
	"github.com/weft-trace/weft/internal/timeline"
)

// answerReport is a report about a trace as a whole: tables below a summary for people, one JSON object a line for programs.
type answerReport struct {
	name, usage, example string
	flags                []string // of those that not all reports have
	forms                []table  // without rows
	main                 string   // the table that --csv prints if none is asked for
	make                 func(c *cli.Context, in *reportInput) (*answer, error)
	check                func(c *cli.Context) error // its flags; nil: nothing to check
}

// answer is such a report in all forms.
type answer struct {
	summary []string // lines for people
	tables  []table  // those of the report's forms
	details []string // lines for people behind the tables; each block has an empty line and a title first
	hidden  []string // names of tables that text shows only if they are asked for
	json    []any    // a line each
	notes   []string // what the numbers lack, for standard error
	nothing string   // why there are no rows; "": there are some
}

func answerReports() []answerReport {
	return []answerReport{inputsReport(), tasksReport(), slicesReport()}
}

// checkAnswerFlags refuses flags that a report does not have.
func checkAnswerFlags(c *cli.Context, r *answerReport) error {
	for _, f := range slices.Concat(sampleFlags(), costFlags(), eventFlags(), inputFlags()) {
		name := f.Names()[0]
		if c.IsSet(name) && !slices.Contains(r.flags, name) {
			return usagef("--%s: the report %s does not have this flag", name, r.name)
		}
	}
	if takesMany(c) { // whose tables are others
		if err := checkManyFlags(c, findManyReport(r.name)); err != nil {
			return err
		}
	} else if _, err := findTable(r.forms, c.String("table")); err != nil {
		return err
	}
	if r.check != nil {
		return r.check(c)
	}
	return nil
}

// runAnswerReport prints a report about a trace as a whole.
func runAnswerReport(c *cli.Context, env *environment, r *answerReport) error {
	shown, err := findTable(r.forms, cmp.Or(c.String("table"), r.main))
	if err != nil {
		return err
	}
	opts, err := inputOptions(c)
	if err != nil {
		return err
	}
	in, err := openReportInput(c, env, opts)
	if err != nil {
		return err
	}
	in.printProblems(env, costProblems)
	in.printNotCounted(env, true)
	a, err := r.make(c, in)
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	for _, note := range a.notes {
		printNote(env, in.name, note)
	}
	order := readArrangement(c)
	if err := order.check(r.forms, c.String("table"), c.Bool("csv"), shown); err != nil {
		return err
	}
	order.apply(a.tables)
	if order.columns != nil { // whoever asks for columns wants them
		for i := range a.tables {
			for k := range a.tables[i].columns {
				a.tables[i].columns[k].spare = 0
			}
		}
	}
	switch {
	case c.Bool("json"):
		return a.writeJSON(env.stdout)
	case c.Bool("csv"):
		printNote(env, in.name, a.nothing)
		return a.tables[shown].writePlainCSV(env.stdout)
	}
	return a.writeText(env.stdout, env.terminal(env.stdout), c.String("table"))
}

// writeJSON writes each object as a line.
func (a *answer) writeJSON(w io.Writer) error {
	for _, line := range a.json {
		if err := writeJSON(w, line); err != nil {
			return err
		}
	}
	return nil
}

// writeText prints the summary and the tables that have rows, or only the one of a name.
func (a *answer) writeText(w io.Writer, on terminal, only string) error {
	var b bytes.Buffer
	if a.nothing != "" {
		fmt.Fprintln(&b, a.nothing)
		_, err := w.Write(b.Bytes())
		return err
	}
	for _, line := range a.summary {
		fmt.Fprintln(&b, line)
	}
	for i := range a.tables {
		t := &a.tables[i]
		if t.name == only || only == "" && len(t.rows) > 0 && !slices.Contains(a.hidden, t.name) {
			t.fit(on.columns)
			t.writeText(&b, on)
		}
	}
	text := on.cut(b.Bytes())
	for i, line := range a.details {
		if i > 0 && a.details[i-1] == "" {
			line = on.heading(line)
		}
		text = append(append(text, line...), '\n')
	}
	_, err := w.Write(text)
	return err
}

// writePlainCSV writes the rows of a table that is about no single thread.
func (t *table) writePlainCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := t.csvHead()[len(threadHead):]
	if err := out.Write(head); err != nil {
		return err
	}
	for _, row := range t.rows {
		record := make([]string, 0, len(head))
		for k, v := range row {
			record = t.columns[k].appendCSV(record, v)
		}
		if err := out.Write(escapes.Lines(record)); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// spare says that people can do without the column where a terminal is too narrow: of several without that of the largest number
// first.
func spare(n uint8, c column) column {
	c.spare = n
	return c
}

// nameCell is a name of any length, which people get in at most so many columns of the terminal: both ends say something.
func nameCell(name string, width int) cell {
	if name == "" {
		return cell{short: "(none)"}
	}
	return cell{text: name, short: elideTo(name, width)}
}

// elideTo shortens a text in the middle to a number of columns.
func elideTo(text string, width int) string {
	text = printable(text)
	if cellwidth.Of(text) <= width {
		return text
	}
	runes := []rune(text)
	head, tail := (width-1)*2/3, (width-1)-(width-1)*2/3
	for head+tail > 0 && (len(runes) < head+tail || cellwidth.Of(string(runes[:head])+"…"+string(runes[len(runes)-tail:])) > width) {
		if head > tail {
			head--
		} else {
			tail--
		}
	}
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

// momentCell is a time of a trace: for people from its start, in the form that --from takes; for programs as it is.
func momentCell(at, start timeline.Nanos) cell {
	return cell{text: strconv.FormatInt(int64(at), 10), short: momentText(at - start)}
}
