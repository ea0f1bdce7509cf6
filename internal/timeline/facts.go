package timeline

import "github.com/weft-trace/weft/internal/problem"

// Page is a document that was shown in a window of a browser (firefox.md 10).
type Page struct {
	Window   int64 // the inner window: each document has its own
	Tab      int64 // 0: unknown
	Embedder int64 // the inner window of the document around this one; 0: none
	URL      string
	Private  bool // its window is a private one
}

// maxPages bounds the pages that are kept of a trace.
const maxPages = maxAttributes

// AddPage adds a page. Of several pages of one window the last one counts.
func (b *Builder) AddPage(p Page) {
	if i, ok := b.pageIndex[p.Window]; ok {
		b.pages[i] = p
		return
	}
	if len(b.pages) == maxPages {
		b.opts.Problems.Add(problem.MetadataValueOmitted, problem.NoPosition, p.URL)
		return
	}
	b.pageIndex[p.Window] = len(b.pages)
	b.pages = append(b.pages, p)
}

// Pages returns the pages of the trace, in the order in which they were first added.
func (t *Timeline) Pages() []Page { return t.pages }
