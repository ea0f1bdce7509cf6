package reportpage

import (
	"bytes"
	"context"
	"slices"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/verdict"
)

// Sum summarizes many recordings in one page. It must be closed.
type Sum struct {
	fold   *table.Fold
	list   []summed
	failed []error
}

// summed is a recording in a Sum.
type summed struct {
	name, heading, change string
}

// NewSum returns an empty sum. memory and tempDir are passed to table.NewFold.
func NewSum(memory int64, tempDir string) *Sum {
	return &Sum{fold: table.NewFold(manyTables(new(report.All)), memory, tempDir)}
}

// Close removes temporary files.
func (s *Sum) Close() error { return s.fold.Close() }

// manyTables returns the tables of a recording that a Sum combines.
func manyTables(all *report.All) []*table.Table {
	inputs, tasks := new(report.Inputs), new(report.Tasks)
	if all.Inputs != nil {
		inputs = all.Inputs.Inputs
	}
	if all.Tasks != nil {
		tasks = all.Tasks.Tasks
	}
	return slices.Concat(tasks.Many().Sections[0].Tables, inputs.Many().Sections[0].Tables)
}

// Add adds a recording that was read but not walked, and completes its report.
func (s *Sum) Add(ctx context.Context, name string, t *load.Trace) error {
	all, err := report.CollectAll(ctx, t.Timeline, attribution.Rules{}, report.AllOptions{})
	if err != nil {
		return err
	}
	t.Count()
	v := verdict.Of(all, t.Report.Problems, t.Report.Usual)
	recording := summed{name: name, heading: v.Heading.String()}
	for i := range v.Issues {
		if v.Issues[i].Class == verdict.Yours {
			recording.change = v.Issues[i].Title.String()
			break
		}
	}
	if lost := verdict.Lost(t.Report.Problems, t.Report.Usual); lost > 0 {
		recording.name += ", data was lost in " + table.Count(lost, "case")
	}
	if err := s.fold.Add(name, &table.Report{Sections: []table.Section{{Tables: manyTables(all)}}}); err != nil {
		return err
	}
	s.list = append(s.list, recording)
	return nil
}

// Fail records that a recording could not be read.
func (s *Sum) Fail(err error) { s.failed = append(s.failed, err) }

// Page returns the page after the last call of Add and Fail.
func (s *Sum) Page(ctx context.Context) ([]byte, error) {
	if err := s.fold.Finish(ctx); err != nil {
		return nil, err
	}
	d := new(document)
	changes := 0
	for i := range s.list {
		if s.list[i].change != "" {
			changes++
		}
	}
	heading := d.phrase("%s, %s with something that you can change.", table.Count(len(s.list), "recording"), table.Thousands(changes))
	d.begin(table.Count(len(s.list)+len(s.failed), "file"), heading, "", nil, "")
	tasks, inputs := s.fold.List("tasks"), s.fold.List("inputs")
	tiles := []verdict.Tile{
		{Label: "Recordings", Value: table.Thousands(len(s.list))},
		{Label: "Long tasks", Value: table.Thousands(tasks.Count), Note: "in " + table.Count(tasks.Recordings, "recording")},
		{Label: "Inputs", Value: table.Thousands(inputs.Count), Note: "in " + table.Count(inputs.Recordings, "recording")},
	}
	if n := len(s.failed); n > 0 {
		tiles = append(tiles, verdict.Tile{Label: "Not read", Value: table.Thousands(n), Rating: "poor"})
	}
	d.tiles(slices.DeleteFunc(tiles, func(t verdict.Tile) bool { return t.Value == "0" }), nil)
	d.p("<section id=each aria-labelledby=each-title>\n<h2 id=each-title>What is wrong in each?</h2>\n")
	d.p("<ol class=issues>\n")
	for i := range s.list {
		r, class, change := &s.list[i], markup(verdict.Machine), markup("")
		if r.change != "" {
			class, change = markup(verdict.Yours), d.phrase("<p class=do>%s</p>", r.change)
		}
		d.p("<li class=%s><h3>%s</h3>%s<p class=more><span class=whose>%s</span></p></li>\n", class, r.heading, change, r.name)
	}
	d.p("</ol>\n")
	for _, err := range s.failed {
		d.p("<p class=note>%s</p>\n", err.Error())
	}
	d.p("</section>\n")
	for _, t := range s.fold.Tables() {
		if t.All = len(t.Rows); t.All > 0 {
			t.Rows = t.Rows[:min(t.All, comparedRows)]
			d.p("<section>\n<h2>%s</h2>\n", manyQuestions[t.Name].question)
			d.show(t, look{spare: 2, report: manyQuestions[t.Name].report})
			d.p("</section>\n")
		}
	}
	d.end("")
	return bytes.Clone(d.Bytes()), nil
}

// manyQuestions maps tables about many files to the questions that they answer and the reports that contain them.
var manyQuestions = map[string]struct{ question, report string }{
	"parts": {"What is in long tasks?", "tasks"}, "tasks": {"Which tasks were long?", "tasks"}, "kinds": {"How fast were inputs answered?", "input"}, "inputs": {"Which inputs were slow?", "input"},
}
