package reportpage

import (
	"io"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/verdict"
)

// Comparison is a result of package compare with the texts for its page.
type Comparison struct {
	Title    string     // "before → after"
	By       compare.By // the meaning of a row
	Per      string     // "recording" or "second"
	Selected string     // the part of the recordings that is compared; "": all of them
	Result   *compare.Result
	Stacks   *compare.Result // the same recordings by compare.ByStack, for the flame graph
	KeepURLs bool
}

// comparedRows bounds the rows of each table.
const comparedRows = 40

// WriteComparison writes the page of a comparison.
func WriteComparison(w io.Writer, c *Comparison) error {
	p := comparisonPage{document: document{writer{keepURLs: c.KeepURLs}}, Comparison: c}
	p.write()
	_, err := w.Write(p.Bytes())
	return err
}

type comparisonPage struct {
	document
	*Comparison
}

func (p *comparisonPage) write() {
	r := p.Result
	p.begin(p.Title, p.heading(), "", []markup{
		p.phrase("base: %s", p.recordings(r.Base)), p.phrase("new: %s", p.recordings(r.New)), p.phrase("self time by %s, per %s", p.By, p.Per),
	}, p.Selected)
	p.tiles([]verdict.Tile{
		{Label: "Slower", Value: table.Thousands(r.Counts[compare.Slower]), Note: "significantly"},
		{Label: "Faster", Value: table.Thousands(r.Counts[compare.Faster]), Note: "significantly"},
		{Label: "Undecided", Value: table.Thousands(r.Counts[compare.Undecided]), Note: undecidedNote(r)},
		{Label: "Noise", Value: table.Thousands(r.Counts[compare.Noise]), Note: "differ as much within a version"},
		{Label: "Equal", Value: table.Thousands(r.Counts[compare.Equal]), Note: "in all recordings"},
	}, nil)
	p.flame()
	p.p("<section id=changes aria-labelledby=changes-title>\n<h2 id=changes-title>What changed?</h2>\n<p class=lead>%s</p>\n", p.verdict())
	nested := p.rows(func(row *compare.Row) bool { return row.Verdict < compare.Noise && !row.Async() })
	overlapping := p.rows(func(row *compare.Row) bool { return row.Verdict < compare.Noise && row.Async() })
	p.changes("Changes, by size", nested)
	p.p("</section>\n")
	if len(overlapping) > 0 {
		p.p("<section id=async aria-labelledby=async-title>\n<h2 id=async-title>What changed of asynchronous work?</h2>\n<p class=lead>Asynchronous slices overlap: their times are not added to others.</p>\n")
		p.changes("Changes of asynchronous slices", overlapping)
		p.p("</section>\n")
	}
	p.end("")
}

// recordings describes one side: the number and length of recordings, and lost data.
func (p *comparisonPage) recordings(list []compare.Recording) string {
	shortest, longest, lost := list[0].Length, list[0].Length, uint64(0)
	for _, r := range list {
		shortest, longest, lost = min(shortest, r.Length), max(longest, r.Length), lost+r.Lost
	}
	text := table.Count(len(list), "recording") + ", " + length(shortest) + " to " + length(longest)
	if len(list) == 1 {
		text = list[0].Name + ", " + length(shortest)
	}
	if lost > 0 {
		text += ", data was lost in " + table.Count(lost, "case")
	}
	return text
}

func undecidedNote(r *compare.Result) string {
	if r.Few {
		return "too few recordings to tell"
	}
	return "can be chance among so many rows"
}

// verdict states the result of the test.
func (p *comparisonPage) verdict() markup {
	r := p.Result
	switch {
	case len(r.Rows) == 0:
		return "The recordings have nothing to compare."
	case !r.Testable:
		return p.phrase("With %s and %s a change cannot be told from noise: recordings of the same thing differ too. %s",
			table.Count(len(r.Base), "recording"), table.Count(len(r.New), "recording"), r.Advice())
	case r.Counts[compare.Slower]+r.Counts[compare.Faster] == 0 && r.Counts[compare.Undecided] > 0:
		return p.phrase("Nothing is significantly slower or faster. Some rows differ, but among %s that can be chance. %s", table.Count(r.Tested, "row"), r.Advice())
	case r.Counts[compare.Slower]+r.Counts[compare.Faster] == 0:
		return p.phrase("Nothing is significantly slower or faster, of %s. %s", table.Count(len(r.Rows), "row"), r.Advice())
	}
	return p.phrase("<b>%s slower</b> and <b>%s faster</b>, of %s: a Mann–Whitney U test, corrected for the number of rows (Benjamini–Hochberg, q &lt; %s).",
		table.Thousands(r.Counts[compare.Slower]), table.Thousands(r.Counts[compare.Faster]), table.Count(r.Tested, "row"), strconv.FormatFloat(compare.Alpha, 'f', -1, 64))
}

// rows returns the rows for which counts is true.
func (p *comparisonPage) rows(counts func(*compare.Row) bool) []compare.Row {
	return slices.DeleteFunc(slices.Clone(p.Result.Rows), func(row compare.Row) bool { return !counts(&row) })
}

// changes writes rows as a table. Bars extend to the left for faster rows and to the right for slower ones.
func (p *comparisonPage) changes(title string, rows []compare.Row) {
	if len(rows) == 0 {
		return
	}
	p.legend([]part{{"gc", "slower", 1}, {"painting", "faster", 1}, {"other", "each recording of base", 1}, {"loading", "each recording of new", 1}})
	most := timeline.Nanos(0)
	for _, row := range rows[:min(len(rows), comparedRows)] {
		most = max(most, row.Size())
	}
	note := "Times are medians of the recordings."
	if more := len(rows) - comparedRows; more > 0 {
		note += " " + table.Plural(more, "more row", "more rows") + ": weft compare lists them."
	}
	shown := *p.Result
	shown.Rows = rows[:min(len(rows), comparedRows)]
	p.show(shown.Table(p.By, p.Per == "second", func(*compare.Row) bool { return true }), look{
		title: title, before: "base_ns", barTitle: "change and recordings", note: note,
		bar: func(i int) markup { return changeBar(shown.Rows[i].Change, most) + strip(&shown.Rows[i]) },
	})
}

// changeBar draws a change: to the right of the middle if the row is slower, otherwise to the left.
func changeBar(change, most timeline.Nanos) markup {
	var w writer
	w.p("<svg class=bar viewBox=\"0 0 1000 10\" preserveAspectRatio=none aria-hidden=true><rect class=ground width=1000 height=10 />")
	switch n := scaled(max(change, -change), most, 500); {
	case change > 0:
		w.p("<rect class=gc x=500 width=%d height=10 />", n)
	case change < 0:
		w.p("<rect class=painting x=%d width=%d height=10 />", 500-n, n)
	}
	w.p("</svg>")
	return markup(w.String())
}

// maxDots bounds the recordings of each side that a row shows.
const maxDots = 50

// strip draws the value of each recording: base above new.
func strip(row *compare.Row) markup {
	most := timeline.Nanos(1)
	for _, values := range [][]timeline.Nanos{row.Base, row.New} {
		for _, v := range values {
			most = max(most, v)
		}
	}
	var w writer
	w.p("<svg class=bar viewBox=\"0 0 1000 12\" preserveAspectRatio=none aria-hidden=true>")
	for side, values := range [][]timeline.Nanos{row.Base, row.New} {
		class := [...]markup{"other", "loading"}[side]
		for _, v := range values[:min(len(values), maxDots)] {
			w.p("<rect class=%s x=%d y=%d width=14 height=5 />", class, scaled(v, most, 980), 7*side)
		}
	}
	w.p("</svg>")
	return markup(w.String())
}
