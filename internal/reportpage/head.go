package reportpage

import (
	"slices"

	"github.com/weft-trace/weft/internal/verdict"
)

// tiles writes key numbers, with links to the sections with the details.
func (p *document) tiles(tiles []verdict.Tile, sections []section) {
	p.p("<dl class=keys>\n")
	for i := range tiles {
		t, class, rating := &tiles[i], markup(""), markup("")
		if t.Rating != "" {
			class = markup(" class=" + t.Rating)
			rating = p.phrase(" <span class=rating>%s</span>", string(t.Rating))
		}
		label := p.text(t.Label)
		if has(sections, Section(t.Section)) {
			label = "<a href=\"#" + markup(t.Section) + "\">" + label + "</a>"
		}
		note := markup("")
		if t.Note != "" {
			note = p.phrase(" <small>%s</small>", t.Note)
		}
		p.p("<div%s><dt>%s</dt><dd><b>%s</b>%s%s</dd></div>\n", class, label, t.Value, rating, note)
	}
	p.p("</dl>\n")
}

func has(sections []section, id Section) bool {
	return slices.ContainsFunc(sections, func(s section) bool { return s.id == id })
}

// marked marks up a text by the kinds of its parts.
func (p *document) marked(t verdict.Text) (out markup) {
	for _, part := range t {
		switch part.Kind {
		case verdict.Name:
			out += p.phrase("<b>%s</b>", part.Text)
		case verdict.Number:
			out += p.phrase("<span class=num>%s</span>", part.Text)
		case verdict.Place:
			out += p.phrase("<code>%s</code>", part.Text)
		default:
			out += p.text(part.Text)
		}
	}
	return out
}

// sentences writes texts as one paragraph.
func (p *document) sentences(class markup, list []verdict.Text) {
	if len(list) == 0 {
		return
	}
	p.p("<p class=%s>", class)
	for i, t := range list {
		if i > 0 {
			p.p(" ")
		}
		p.p("%s", p.marked(t))
	}
	p.p("</p>\n")
}

// issues writes a card for each issue.
func (p *page) issues(sections []section) {
	list := p.verdict.Issues
	if len(list) == 0 {
		return
	}
	p.p("<section id=issues aria-labelledby=issues-title>\n<h2 id=issues-title class=hide>What to change</h2>\n<ol class=issues>\n")
	for i := range list {
		x := &list[i]
		p.p("<li class=%s%s><h3>%s</h3><p>%s</p><p class=do>%s</p><p class=more>", markup(x.Class), p.shown(x.Show), p.marked(x.Title), p.marked(x.Proof), p.marked(x.Action))
		if p.verdict.Kind == verdict.WebPage || x.Class != verdict.Yours { // elsewhere all issues are yours
			p.p("<span class=whose>%s</span>", whose[x.Class])
		}
		if id := Section(x.Section); has(sections, id) {
			p.p(" <a href=\"#%s\">%s</a>", markup(id), p.sectionName(id))
		}
		p.p("</p></li>\n")
	}
	p.p("</ol>\n</section>\n")
}

// whose maps classes of issues to the words for them.
var whose = map[verdict.Class]string{
	verdict.Yours: "your page", verdict.Browser: "the browser", verdict.Machine: "the machine", verdict.Recorder: "the recorder",
}

// shown returns the attributes with which the script finds a moment in the timeline or the waterfall.
func (p *page) shown(m *verdict.Moment) markup {
	switch {
	case m == nil:
		return ""
	case m.Thread == nil:
		return onLine(p.all.Waterfall, m.Start, m.Duration).attribute()
	}
	return p.on(*m.Thread, m.Start, m.Duration).attribute()
}

// sectionName returns the text of links to a section.
func (p *page) sectionName(id Section) string {
	if s := p.all.Spans; id == Spans && s != nil && s.Requests == s.Spans.Spans {
		return "Requests"
	}
	return sectionNames[id]
}

// sectionNames maps sections to the texts of links to them.
var sectionNames = map[Section]string{
	Busy: "Timeline", Costs: "Costs", Code: "Code", Inputs: "Inputs", Tasks: "Tasks", Layout: "Layout", GC: "Memory", Network: "Network",
	Spans: "Spans", Slices: "Slices", Flows: "Waits", Missing: "Trust",
}
