package reportpage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// problems returns the data problems that are not usual for the format.
func (p *page) problems() []trace.Problem {
	return slices.DeleteFunc(slices.Clone(p.src.Problems), func(x trace.Problem) bool {
		return x.Severity == "info" || slices.Contains(p.src.Usual, x.Name)
	})
}

// usual returns the data problems that are usual for the format, such as flows that started before the recording.
func (p *page) usual() []trace.Problem {
	return slices.DeleteFunc(slices.Clone(p.src.Problems), func(x trace.Problem) bool {
		return x.Severity == "info" || !slices.Contains(p.src.Usual, x.Name)
	})
}

// missing writes the section about trust: lost data, the meaning of words, and commands that print the same numbers.
func (p *page) missing() {
	p.losses()
	p.p("<p>Read: %s.</p>\n", p.contents())
	sections := p.sections()
	if len(sections) < 2 {
		return
	}
	p.terms(sections)
	p.commands(sections)
}

// losses writes the data that the numbers leave out.
func (p *page) losses() {
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

// term is a word with its meaning.
type term struct {
	word, meaning string
	sections      []Section // the sections that use it; nil: all
}

// glossary explains the words of the page.
var glossary = []term{
	{"slice", "A stretch of time in which a thread, or something else, did one thing that has a name. Slices nest.", nil},
	{"self time", "The time of a slice or function without the slices or functions inside it.", []Section{Costs, Code, Slices, Tasks}},
	{"busy", "Time in which a thread has an open slice, or a sample that is not idle. It may have waited for a CPU meanwhile.", []Section{Busy}},
	{"on a CPU", "Time in which the operating system let the thread run.", []Section{Busy, Tasks}},
	{"long task", "A task of 50 ms or more: the thread answers nothing meanwhile. What is beyond 50 ms is its blocking time.", []Section{Tasks}},
	{"latency", "From an input until its answer was shown, or until it was handled if nothing was shown.", []Section{Inputs}},
	{"forced layout", "Style and layout that a script waits for, because it asks for a size after a change.", []Section{Layout}},
	{"p50, p95, p99", "Half, 95 or 99 percent of the values are no larger.", []Section{Spans, Slices, Flows}},
	{"span", "What one service did for a request, with what it called. One without a parent is a request itself.", []Section{Spans}},
	{"arrow", "An event says what it led to, on the same thread or another one.", []Section{Flows}},
	{"context", "For whom work was done: a page, a script, a request. An entity is a site, with all its hosts.", []Section{Costs}},
}

// terms writes the glossary for the sections.
func (p *page) terms(sections []section) {
	p.p("<h3>What the words mean</h3>\n<dl class=terms>\n")
	write := func(word, meaning string) { p.p("<dt>%s</dt><dd>%s</dd>\n", word, meaning) }
	if l := p.all.Loads; l != nil && len(l.Pages) > 0 {
		write("LCP, FCP", "From the start of a navigation until the largest content so far, or the first, was painted.")
	}
	if l := p.all.Loads; l != nil && l.Shift != nil {
		write("layout shift (CLS)", "How much of the view moved, and how far, without an input; summed up over at most 5 seconds.")
	}
	if p.all.Counts.Samples > 0 {
		write("sample", "A call stack seen at one moment. It stands for the time until the next one.")
	}
	for i := range glossary {
		if t := &glossary[i]; t.sections == nil || slices.ContainsFunc(t.sections, func(id Section) bool { return has(sections, id) }) {
			write(t.word, t.meaning)
		}
	}
	p.p("</dl>\n<p class=note>docs/reports.md defines every number, and says when each sentence and issue above is shown.</p>\n")
}

// reports maps sections to the commands that print their numbers.
var reports = map[Section]string{
	Busy: "info", Costs: "report cost", Code: "report samples", Inputs: "report input", Tasks: "report tasks", Layout: "report layout-thrashing", GC: "report gc", Network: "report all --json", Spans: "report spans", Slices: "report slices",
	Flows: "flows",
}

// commands writes the commands that print the same numbers.
func (p *page) commands(sections []section) {
	file := "FILE"
	if name := p.src.Name; name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == "" && name[0] != '-' {
		file = name
	}
	p.p("<h3>The same numbers on a terminal</h3>\n<dl class=terms>\n")
	for _, s := range sections {
		report := reports[s.id]
		if s.id == Code && len(p.all.Functions) == 0 { // the tree consists of slices
			continue
		}
		if report != "" {
			p.p("<dt>%s</dt><dd><code>weft %s %s</code></dd>\n", s.question, report, file)
		}
	}
	p.p("</dl>\n")
}

// NotCounted returns a sentence, without its period, about one input of a merge: which of its slices or samples a report leaves
// out, and why.
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

// problemTable writes problems with their explanations; title and fold are the same as in a look.
func (p *page) problemTable(title, fold string, list []trace.Problem) {
	p.show(table.New(table.Table{}, list,
		table.Texts("name", "what", func(x *trace.Problem) string { return x.Name }),
		table.Counts("count", "count", func(x *trace.Problem) uint64 { return x.Count }),
		table.Texts("severity", "severity", func(x *trace.Problem) string { return x.Severity }),
		table.Texts("sentence", "what was found and what became of it", func(x *trace.Problem) string { return x.Sentence }),
	), look{title: title, fold: fold, note: "docs/data-problems.md says what to do about each."})
}
