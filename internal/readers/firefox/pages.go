package firefox

import (
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

func (d *decoder) readPages(pages *[]timeline.Page) error {
	return d.array(func() error {
		c, err := d.Peek()
		if err != nil {
			return err
		}
		if c != '{' {
			return d.unexpected(c)
		}
		var p timeline.Page
		err = d.Unit(func() {
			p = timeline.Page{}
			d.pageMembers(&p)
		})
		if err == nil {
			*pages = append(*pages, p)
		}
		return err
	})
}

// pageMembers reads the members of a page within one unit.
func (d *decoder) pageMembers(p *timeline.Page) {
	d.S.Value()
	for key, ok := d.S.Key(); ok; key, ok = d.S.Key() {
		name := string(key)
		kind, text := d.S.Scalar()
		number, _ := jsonscan.Decimal(text, 0)
		switch name {
		case "tabID", "browsingContextID":
			if kind == jsonscan.Integer {
				p.Tab = number
			}
		case "innerWindowID":
			p.Window = number
		case "embedderInnerWindowID":
			p.Embedder = number
		case "url":
			if kind == jsonscan.String {
				p.URL = clip(string(text), readers.MaxAttribute)
			}
		case "isPrivateBrowsing":
			p.Private = kind == jsonscan.True
		}
	}
}

// maxAncestors limits the walk up the page tree, in which parents may form a cycle.
const maxAncestors = 64

// pageTree finds pages by window.
type pageTree struct {
	pages    []timeline.Page
	byWindow map[int64]int
}

func newPageTree(pages []timeline.Page) *pageTree {
	t := &pageTree{pages: pages, byWindow: make(map[int64]int, len(pages))}
	for i := range pages { // use a window's last page: the first is often about:blank
		t.byWindow[pages[i].Window] = i
	}
	return t
}

// page returns the page of a window, or nil.
func (t *pageTree) page(window int64) *timeline.Page {
	i, ok := t.byWindow[window]
	if !ok {
		return nil
	}
	return &t.pages[i]
}

// top returns the outermost known document around a page.
func (t *pageTree) top(p *timeline.Page) *timeline.Page {
	for range maxAncestors {
		outer := t.page(p.Embedder)
		if p.Embedder == 0 || outer == nil || outer == p {
			break
		}
		p = outer
	}
	return p
}

// describePage returns a page as JSON, with the member names of the format.
func describePage(p *timeline.Page) string {
	b := []byte(`{"tabID":`)
	b = strconv.AppendInt(b, p.Tab, 10)
	b = append(b, `,"embedderInnerWindowID":`...)
	b = strconv.AppendInt(b, p.Embedder, 10)
	b = append(b, `,"isPrivateBrowsing":`...)
	b = strconv.AppendBool(b, p.Private)
	b = append(b, `,"url":`...)
	b = jsonscan.AppendString(b, p.URL)
	return string(append(b, '}'))
}
