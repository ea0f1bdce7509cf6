package firefox

import (
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// page is a document that was shown in a window (section 10).
type page struct {
	window   int64 // innerWindowID
	tab      int64 // tabID; 0: unknown
	embedder int64 // innerWindowID of the document around it; 0: none
	url      string
	private  bool
}

// maxPage bounds the text of a page.
const maxPage = maxAttribute

// readPages reads the list of pages.
func (d *decoder) readPages(pages *[]page) error {
	return d.array(func() error {
		c, err := d.Peek()
		if err != nil {
			return err
		}
		if c != '{' {
			return d.unexpected(c)
		}
		var p page
		err = d.Unit(func() {
			p = page{}
			d.pageMembers(&p)
		})
		if err == nil {
			*pages = append(*pages, p)
		}
		return err
	})
}

// pageMembers reads the members of a page, which is a unit.
func (d *decoder) pageMembers(p *page) {
	d.S.Value()
	for key, ok := d.S.Key(); ok; key, ok = d.S.Key() {
		name := string(key)
		kind, text := d.S.Scalar()
		number, _ := jsonscan.Decimal(text, 0)
		switch name {
		case "tabID", "browsingContextID":
			if kind == jsonscan.Integer {
				p.tab = number
			}
		case "innerWindowID":
			p.window = number
		case "embedderInnerWindowID":
			p.embedder = number
		case "url":
			if kind == jsonscan.String {
				p.url = string(text)
			}
		case "isPrivateBrowsing":
			p.private = kind == jsonscan.True
		}
	}
}

// maxAncestors bounds the walk up the tree of pages, whose parents may form a cycle.
const maxAncestors = 64

// pageTree finds pages by their windows.
type pageTree struct {
	pages    []page
	byWindow map[int64]int
}

func newPageTree(pages []page) *pageTree {
	t := &pageTree{pages: pages, byWindow: make(map[int64]int, len(pages))}
	for i := range pages { // the last of several of one window counts: the first is often about:blank
		t.byWindow[pages[i].window] = i
	}
	return t
}

// page returns the page of a window; nil if it is not known.
func (t *pageTree) page(window int64) *page {
	i, ok := t.byWindow[window]
	if !ok {
		return nil
	}
	return &t.pages[i]
}

// top returns the outermost known document around a page.
func (t *pageTree) top(p *page) *page {
	for range maxAncestors {
		outer := t.page(p.embedder)
		if p.embedder == 0 || outer == nil || outer == p {
			break
		}
		p = outer
	}
	return p
}

// attributes returns the pages as attributes of the trace, one each: firefox.page.<innerWindowID>.
func (t *pageTree) attributes() []attribute {
	list := make([]attribute, 0, len(t.pages))
	for i := range t.pages {
		p := &t.pages[i]
		list = append(list, attribute{"page." + strconv.FormatInt(p.window, 10), p.describe()})
	}
	return list
}

// describe returns a page as JSON with the members of the format.
func (p *page) describe() string {
	b := []byte(`{"tabID":`)
	b = strconv.AppendInt(b, p.tab, 10)
	b = append(b, `,"embedderInnerWindowID":`...)
	b = strconv.AppendInt(b, p.embedder, 10)
	b = append(b, `,"isPrivateBrowsing":`...)
	b = strconv.AppendBool(b, p.private)
	b = append(b, `,"url":`...)
	b = appendQuoted(b, p.url[:min(len(p.url), maxPage)])
	return string(append(b, '}'))
}

// appendQuoted appends a text as a JSON string.
func appendQuoted(b []byte, text string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i := range len(text) {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
