package reportpage

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// family is a group of kinds of work with one colour, which is similar to the colour in Chrome's DevTools.
type family struct {
	class, name string
	kinds       []string
}

var families = []family{
	{"script", "script", []string{"script", "compile"}},
	{"rendering", "style and layout", []string{"style", "layout"}},
	{"painting", "paint", []string{"paint", "composite", "raster"}},
	{"loading", "load", []string{"load"}},
	{"gc", "garbage collection", []string{"gc"}},
	{"other", "other", []string{"other", ""}},
}

// familyOf returns the class of a kind of work.
func familyOf(kind string) string {
	for i := range families {
		if slices.Contains(families[i].kinds, kind) {
			return families[i].class
		}
	}
	return "other"
}

// familyName returns the name of a family; for other classes it returns kind.
func familyName(class, kind string) string {
	for i := range families {
		if families[i].class == class {
			return families[i].name
		}
	}
	return kind
}

// kindClasses returns the classes for the kinds of a utilisation: families for kinds of work, otherwise numbered
// classes.
func kindClasses(u *report.Utilisation) (classes []string) {
	for i, kind := range u.Kinds {
		switch {
		case u.By == report.KindsOfWork || kind == "other" || i >= maxClasses:
			classes = append(classes, familyOf(kind))
		default:
			classes = append(classes, numbered(i))
		}
	}
	return classes
}

// maxClasses is the number of numbered classes.
const maxClasses = 8

func numbered(i int) string { return "k" + strconv.Itoa(i+1) }

// part is a part of a bar.
type part struct {
	class string
	name  string
	time  timeline.Nanos
}

// byClass totals times by class: first the numbered classes in the order of the kinds, then the families.
func byClass(classes, names []string, times []timeline.Nanos) (parts []part) {
	for i, class := range classes {
		name := familyName(class, names[i])
		k := slices.IndexFunc(parts, func(p part) bool { return p.class == class })
		if k < 0 {
			k = len(parts)
			parts = append(parts, part{class: class, name: name})
		}
		parts[k].time += times[i]
	}
	rank := func(class string) int {
		if i := slices.IndexFunc(families, func(f family) bool { return f.class == class }); i >= 0 {
			return i + maxClasses
		}
		return slices.Index(classes, class)
	}
	slices.SortStableFunc(parts, func(a, b part) int { return rank(a.class) - rank(b.class) })
	return parts
}

// legend explains the colours of a plot.
func (d *document) legend(parts []part) {
	d.p("<ul class=legend>")
	for _, part := range parts {
		if part.time > 0 {
			d.p("<li><span class=\"key %s\"></span>%s</li>", markup(part.class), part.name)
		}
	}
	d.p("</ul>\n")
}

// bar draws parts of a whole side by side, for a table cell.
func (d *document) bar(parts []part, whole timeline.Nanos) markup {
	var w writer
	w.p("<svg class=bar viewBox=\"0 0 1000 10\" preserveAspectRatio=none aria-hidden=true>")
	at := timeline.Nanos(0)
	for _, part := range parts {
		from := permille(at, whole)
		at += part.time
		if n := permille(at, whole) - from; n > 0 {
			w.p("<rect class=%s x=%d width=%d height=10 />", markup(part.class), from, n)
		}
	}
	w.p("</svg>")
	return markup(w.String())
}
