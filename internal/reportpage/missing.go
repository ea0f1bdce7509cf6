package reportpage

import (
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// problems returns what is missing or was changed, without what most recordings of the format have.
func (p *page) problems() []trace.Problem {
	return slices.DeleteFunc(slices.Clone(p.src.Problems), func(x trace.Problem) bool {
		return x.Severity == "info" || slices.Contains(p.src.Usual, x.Name)
	})
}

// usual returns what is missing or was changed as in most recordings of the format, such as flows that began before the recording.
func (p *page) usual() []trace.Problem {
	return slices.DeleteFunc(slices.Clone(p.src.Problems), func(x trace.Problem) bool {
		return x.Severity == "info" || !slices.Contains(p.src.Usual, x.Name)
	})
}

// missing writes what of the input is not in the numbers.
func (p *page) missing() {
	list, usual := p.problems(), p.usual()
	const means = "<b>Lost</b> is not in these numbers; <b>repaired</b> is, but changed.</p>\n"
	switch {
	case len(list) > 0:
		p.p("<p class=lead>Something in the file could not be read as intended. " + means)
		p.problemTable("Problems of the data", "", list)
	case len(usual) > 0:
		p.p("<p class=lead>Only what recordings of this format usually lack. " + means)
	case len(p.all.NotCounted) > 0:
		p.p("<p class=lead>Every event of the file was read, but not all of them are in these numbers.</p>\n")
	default:
		p.p("<p class=lead>Nothing: every event of the file was read, and is in these numbers where it belongs.</p>\n")
	}
	for i := range p.all.NotCounted {
		p.p("<p>%s.</p>\n", p.text(NotCounted(&p.all.NotCounted[i])))
	}
	if len(usual) > 0 {
		p.problemTable("What most recordings of this format lack", "As usual for this format", usual)
	}
}

// NotCounted says what of an input of a merge the numbers of a report leave out, and why, as a sentence without its period.
func NotCounted(r *timeline.Recorder) string {
	recorded, there, whose := "recorded 1 thread of another input", "the thread", "its"
	if r.Threads != 1 {
		recorded, there, whose = "recorded "+table.Count(r.Threads, "thread")+" of other inputs", "these threads", "their"
	}
	events := table.Thousands(r.Events) + " slices and instants there are"
	switch {
	case r.Samples == 1:
		events = "1 sample there is"
	case r.Samples > 0:
		events = table.Thousands(r.Samples) + " samples there are"
	case r.Events == 1:
		events = "1 slice or instant there is"
	}
	return fmt.Sprintf("%s also %s; its %s not counted for %s, because that would count %s time twice", r.Input, recorded, events, there, whose)
}

// problemTable writes problems with their sentences; title and fold are as of a look.
func (p *page) problemTable(title, fold string, list []trace.Problem) {
	p.show(table.New(table.Table{}, list,
		table.Texts("name", "what", func(x *trace.Problem) string { return x.Name }),
		table.Counts("count", "count", func(x *trace.Problem) uint64 { return x.Count }),
		table.Texts("severity", "severity", func(x *trace.Problem) string { return x.Severity }),
		table.Texts("sentence", "what was found and what became of it", func(x *trace.Problem) string { return x.Sentence }),
	), look{title: title, fold: fold, note: "docs/data-problems.md says what to do about each."})
}
