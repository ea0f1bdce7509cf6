// Package reportpage renders reports as an HTML page: one file that needs no network, no server and no other file, can be
// printed, and can be read without JavaScript.
//
// Its tables come from internal/report (look and show, in table.go); sentences and plots are made from the structs of that
// package. Plots are SVG; a small script (the folder script) adds zooming, selecting and searching. The Content-Security-Policy
// of the page allows this script and the style by their hashes, allows pictures in data: URLs, and forbids everything else.
//
// Texts from the input reach the page only through writer, which truncates, cleans and escapes them. The same report gives the
// same bytes: a page contains no date of its own and no path.
//
// The package does not read files or traces. It opens nothing, so it also runs in a browser.
package reportpage

import (
	"io"
	"slices"
	"strings"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/verdict"
	"github.com/weft-trace/weft/trace"
)

// Source describes the file that a page is about.
type Source struct {
	Name       string // the base name; "": standard input
	Format     string
	Containers []string // the formats that it was packed in, outermost first
	Bytes      int64    // the size of the file
	Unpacked   int64    // the size without containers
	Selected   string   // the part of the trace that was selected; "": all of it
	Problems   []trace.Problem
	Usual      []string // names of problems that most recordings of the format have
}

// NewSource describes a file by its base name and the report of its conversion.
func NewSource(name string, report *convert.Report) *Source {
	return &Source{
		Name: name, Format: string(report.Format), Containers: report.Containers, Bytes: report.BytesIn, Unpacked: report.BytesUnpacked,
		Problems: report.Problems, Usual: report.Usual,
	}
}

// Options selects the contents of a page. The zero value selects all sections.
type Options struct {
	Sections []Section // nil: all with data
	KeepURLs bool      // show queries and fragments of urls
}

// Section is a part of a page.
type Section string

// The sections, in order. Each answers a question.
const (
	Busy    Section = "busy"
	Costs   Section = "costs"
	Code    Section = "code"
	Inputs  Section = "inputs"
	Tasks   Section = "tasks"
	Layout  Section = "layout"
	GC      Section = "gc"
	Network Section = "network"
	Spans   Section = "spans"
	Slices  Section = "slices"
	Flows   Section = "flows"
	Missing Section = "missing"
)

// maxPage bounds the size of a page. A larger page is written again with fewer boxes, dots and slices.
const maxPage = 1_500_000

// limits bounds the number of drawn elements.
type limits struct {
	boxes int // in all flame graphs
	dots  int // in the input plot
	// slices is the limit for the timeline.
	slices int
}

// Write writes the page of a report.
func Write(w io.Writer, src *Source, all *report.All, opts Options) error {
	var p *page
	for l := (limits{boxes: 6000, dots: 2000, slices: 40_000}); ; l = (limits{l.boxes / 2, l.dots / 2, l.slices / 2}) {
		p = newPage(src, all, opts, l)
		p.write()
		if p.Len() <= maxPage || l.boxes < 10 {
			break
		}
	}
	_, err := w.Write(p.Bytes())
	return err
}

// page writes the page of a trace.
type page struct {
	document
	src     *Source
	all     *report.All
	opts    Options
	limits  limits
	verdict *verdict.Verdict
	kinds   []string // the classes of Utilisation.Kinds
	data    pageData // for the script
}

func newPage(src *Source, all *report.All, opts Options, l limits) *page {
	p := &page{document: document{writer{keepURLs: opts.KeepURLs}}, src: src, all: all, verdict: verdict.Of(all, src.Problems, src.Usual), opts: opts, limits: l}
	if u := all.Utilisation; u != nil {
		p.kinds = kindClasses(u)
	}
	return p
}

// section is a part of the page and the question that it answers.
type section struct {
	id       Section
	question string
	has      bool
	write    func()
}

// sections returns the requested sections that have data.
func (p *page) sections() []section {
	a := p.all
	list := []section{
		{Busy, p.busyQuestion(), a.Utilisation != nil || a.Waterfall != nil, p.busy},
		{Costs, p.costQuestion(), len(a.Costs) > 0 && (p.opts.Sections != nil || !p.costsOfThreads()), p.costs},
		{Code, "Where in the code?", len(a.StackTrees) > 0, p.code},
		{Inputs, "How fast were inputs answered?", a.Inputs != nil && len(a.Inputs.List) > 0, p.inputs},
		{Tasks, "Which tasks were long?", a.Tasks != nil, p.tasks},
		{Layout, "Who forces layout?", a.Forced != nil && forcedCount(a.Forced) > 0, p.layout},
		{GC, p.gcQuestion(), a.GC != nil || len(a.Heaps) > 0 || p.gcSlices() != nil, p.gc},
		{Network, "What did the pages ask for?", a.Network != nil, p.network},
		{Spans, "What was slow, and what failed?", a.Spans != nil, p.spans},
		{Slices, "Which slices take the time?", a.Slices != nil, p.slices},
		{Flows, "Which threads wait for which?", a.FlowPairs != nil && len(a.FlowPairs.Pairs) > 0, p.flows},
		{Missing, "How far can you trust this?", true, p.missing},
	}
	rank := func(s section) int { // the timeline comes first, then sections about issues
		switch i := slices.IndexFunc(p.verdict.Issues, func(x verdict.Issue) bool { return Section(x.Section) == s.id }); {
		case s.id == Busy:
			return -1
		case s.id == Missing:
			return len(p.verdict.Issues) + 1
		case i < 0:
			return len(p.verdict.Issues)
		default:
			return i
		}
	}
	slices.SortStableFunc(list, func(a, b section) int { return rank(a) - rank(b) })
	return slices.DeleteFunc(list, func(s section) bool {
		wanted := p.opts.Sections == nil || slices.Contains(p.opts.Sections, s.id) || s.id == Missing && len(p.problems())+len(p.all.NotCounted) > 0
		return !s.has || !wanted
	})
}

func (p *page) write() {
	sections := p.sections()
	v, rating := p.verdict, markup("")
	if v.Rating != "" {
		rating = markup(" class=" + v.Rating)
	}
	if p.opts.Sections == nil {
		p.begin(fileTitle(p.src), p.marked(v.Heading)+".", rating, p.subtitle(), p.src.Selected)
		p.sentences("why", v.Why)
		p.sentences("trust", v.Trust)
		p.tiles(v.Tiles, sections)
		p.issues(sections)
	} else {
		p.begin(fileTitle(p.src), "", "", p.subtitle(), p.src.Selected)
		p.tiles(v.Tiles, sections)
	}
	p.p("<div class=body>\n")
	if len(sections) > 2 {
		p.p("<nav aria-label=Sections><ul>\n")
		for _, s := range sections {
			p.p("<li><a href=#%s>%s</a></li>\n", markup(s.id), p.sectionName(s.id))
		}
		p.p("</ul></nav>\n")
	}
	p.p("<div class=sections>\n")
	if len(sections) == 0 || len(sections) == 1 && sections[0].id == Missing {
		p.p("<section><p class=lead>%s</p></section>\n", p.nothing())
	}
	for _, s := range sections {
		p.p("<section id=%s aria-labelledby=%s-title>\n<h2 id=%s-title>%s</h2>\n", markup(s.id), markup(s.id), markup(s.id), s.question)
		s.write()
		p.p("</section>\n")
	}
	p.p("</div>\n</div>\n")
	data := ""
	if p.data.used() {
		data = p.data.json()
	}
	p.end(data)
}

// any reports whether the trace has events.
func (p *page) any() bool {
	n := &p.all.Counts
	return n.Slices+n.Instants+n.Counters+n.Samples > 0
}

// nothing explains why the page has no sections.
func (p *page) nothing() string {
	switch {
	case !p.any():
		return "The trace has no events."
	case p.opts.Sections != nil:
		return "This trace has no data for this report."
	case p.src.Selected != "":
		return "The selected part of the trace has nothing to show."
	}
	return "The trace has no slices and no samples, so there are no times to show."
}

func fileTitle(src *Source) string {
	if src.Name == "" {
		return "standard input"
	}
	return src.Name
}

// subtitle describes the file in parts.
func (p *page) subtitle() (parts []markup) {
	add := func(format string, args ...any) { parts = append(parts, p.phrase(format, args...)) }
	src, r := p.src, &p.all.Recording
	if made := strings.TrimSpace(r.Producer + " " + r.Version); made != "" {
		if r.System != "" {
			made += " on " + r.System
		}
		add("%s", made)
	}
	if r.Recorded != "" {
		add("recorded %s", strings.Replace(strings.Replace(r.Recorded, "T", " ", 1), "Z", " UTC", 1))
	}
	if p.any() {
		add("%s", length(p.all.End-p.all.Start))
	}
	if src.Bytes > 0 {
		add("%s", size(src.Bytes))
	}
	return parts
}

// contents lists the contents of the file, with counts, for a sentence.
func (p *page) contents() string {
	src, n := p.src, &p.all.Counts
	var words []string
	if src.Format != "" {
		words = append(words, strings.Join(append([]string{src.Format}, src.Containers...), " in "))
	}
	if src.Bytes > 0 && src.Unpacked > src.Bytes {
		words = append(words, size(src.Unpacked)+" unpacked")
	}
	words = append(words, table.Plural(n.Processes, "process", "processes"), table.Count(n.Threads, "thread"))
	for _, c := range []struct {
		n    int64
		what string
	}{{n.Slices, "slice"}, {n.Samples, "sample"}, {n.Instants, "instant"}, {n.Counters, "counter value"}, {n.Flows, "arrow"}} {
		if c.n > 0 {
			words = append(words, table.Count(c.n, c.what))
		}
	}
	return strings.Join(words, ", ")
}
