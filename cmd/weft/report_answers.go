package main

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

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
	details []detail // blocks for people after the tables
	hidden  []string // names of tables that text shows only if they are asked for
	json    []any    // a line each
	notes   []string // what the numbers lack, for standard error
	nothing string   // why there are no rows; "": there are some
}

// detail is a block of lines about one row.
type detail struct {
	title string
	lines []labelled
	width int // of the labels
}

// labelled is a line with a label in front of it, "" for that of the line before. What does not fit it begins below its column hang.
type labelled struct {
	label, text string
	hang        int
}

func (d *detail) add(label, text string, hang int) {
	if text != "" {
		d.lines = append(d.lines, labelled{label, text, hang})
	}
}

func (d *detail) write(b *bytes.Buffer, on terminal) {
	fmt.Fprintf(b, "\n%s\n", on.heading(on.wrap(d.title, 3)))
	for _, l := range d.lines {
		line := "   " + cellwidth.Left(l.label, d.width) + l.text
		fmt.Fprintln(b, on.wrap(line, 3+d.width+l.hang))
	}
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
		fmt.Fprintln(&b, on.wrap(a.nothing, 0))
		_, err := w.Write(b.Bytes())
		return err
	}
	for _, line := range a.summary {
		fmt.Fprintln(&b, on.wrap(line, 2))
	}
	for i := range a.tables {
		t := &a.tables[i]
		if t.name == only || only == "" && len(t.rows) > 0 && !slices.Contains(a.hidden, t.name) {
			t.fit(on.columns)
			t.writeText(&b, on)
		}
	}
	for i := range a.details {
		a.details[i].write(&b, on)
	}
	_, err := w.Write(b.Bytes())
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

// numberAtEnd matches the number with which a text ends, which is nothing if only a part of it is seen: that of a process or thread, the
// line and column of a function.
var numberAtEnd = regexp.MustCompile(`(?:[ /(\[]|[pt]id )*[0-9][0-9:,.]*[\])]*$`)

// elideTo shortens a text in the middle to a number of columns, of which a number at its end is left whole where it has room.
func elideTo(text string, width int) string {
	text = printable(text)
	if cellwidth.Of(text) <= width {
		return text
	}
	runes := []rune(text)
	tail := (width - 1) - (width-1)*2/3
	if number := len(numberAtEnd.FindString(text)); number <= width-4 {
		tail = max(tail, number)
	}
	head := width - 1 - tail
	for head+tail > 0 && (len(runes) < head+tail || cellwidth.Of(string(runes[:head])+"…"+string(runes[len(runes)-tail:])) > width) {
		if head > tail {
			head--
		} else {
			tail--
		}
	}
	isDigit := func(i int) bool { return i >= 0 && i < len(runes) && '0' <= runes[i] && runes[i] <= '9' }
	for head > 1 && isDigit(head-1) && isDigit(head) { // a part of a number is another number
		head--
	}
	for tail > 1 && isDigit(len(runes)-tail) && isDigit(len(runes)-tail-1) {
		tail--
	}
	first, _, _ := strings.Cut(string(runes[:head]), "…") // it was shortened before
	last := string(runes[len(runes)-tail:])
	if i := strings.LastIndex(last, "…"); i >= 0 {
		last = last[i+len("…"):]
	}
	return first + "…" + last
}

// momentCell is a time of a trace: for people from its start, in the form that --from takes; for programs as it is.
func momentCell(at, start timeline.Nanos) cell {
	return cell{text: strconv.FormatInt(int64(at), 10), short: momentText(at - start), number: int64(at)}
}
