package reportpage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Dimensions of flame graphs.
const (
	rowHeight  = 18
	flameUnits = 10000 // units of the view box across
	labelUnits = 11    // units per character on a desktop screen
)

// pageData is the input of the script.
type pageData struct {
	Names  []string   `json:"names"`  // of functions
	Places []string   `json:"places"` // where functions are defined
	Trees  []treeData `json:"trees,omitempty"`
	Chart  *chartData `json:"chart,omitempty"`
	index  [2]map[string]int
}

// treeData is a flame graph.
type treeData struct {
	Total timeline.Nanos      `json:"total"`
	Row   int                 `json:"row"`   // in the timeline, counted from 1; 0: none
	Kinds []string            `json:"kinds"` // classes
	Boxes [][7]timeline.Nanos `json:"boxes"` // name, place, depth, start, total, self, kind
}

func (d *pageData) used() bool { return len(d.Trees) > 0 || d.Chart != nil }

// json returns the data as JSON that is safe inside a script: encoding/json escapes <, > and &.
func (d *pageData) json() string {
	text, err := json.Marshal(d)
	if err != nil {
		return "null" // unreachable: texts and numbers can be encoded
	}
	return string(text)
}

// intern returns the index of a text in a list. It adds the text if it is new.
func (d *pageData) intern(which int, list *[]string, text string) timeline.Nanos {
	if d.index[which] == nil {
		d.index[which] = map[string]int{}
	}
	i, ok := d.index[which][text]
	if !ok {
		i = len(*list)
		d.index[which][text], *list = i, append(*list, text)
	}
	return timeline.Nanos(i)
}

// code writes a flame graph for each thread.
func (p *page) code() {
	trees := p.all.StackTrees
	first := &trees[0]
	what := "the call stacks that samplers saw"
	if first.From == report.TreeOfSlices {
		what = "the slices of the trace, nested by name"
	}
	p.p("<p class=lead>Made of %s: each box is a function or slice, as wide as the time it and all inside it took; what it calls is below it.</p>\n", markup(what))
	p.p("<div class=controls hidden id=flame-controls><label>Thread <select id=flame-thread>")
	for i := range trees {
		p.p("<option value=%d>%s, %s</option>", i, trees[i].ThreadID.Title(), length(trees[i].Total))
	}
	p.p("</select></label> <label>Order <select id=flame-mode><option value=down>top-down</option><option value=up>bottom-up</option><option value=time>time order</option></select></label> <label>Search <input type=search id=flame-search autocomplete=off spellcheck=false></label> <span id=flame-matches></span> <button type=button id=flame-deeper aria-pressed=false hidden>Deeper</button> <button type=button id=flame-reset>Reset zoom</button></div>\n")
	boxes := p.limits.boxes
	for i := range trees {
		boxes -= p.flame(i, &trees[i], min(boxes, max(p.limits.boxes/len(trees), boxes/(len(trees)-i))))
	}
}

// box is a node of a tree with its position.
type box struct {
	node  *report.TreeNode
	start timeline.Nanos
}

// boxesOf returns the largest boxes of a tree, at most limit, and the number of those left out.
func boxesOf(t *report.StackTree, limit int) (boxes []box, left int) {
	least := timeline.Nanos(0)
	if len(t.Nodes) > limit {
		sizes := make([]timeline.Nanos, len(t.Nodes))
		for i := range t.Nodes {
			sizes[i] = t.Nodes[i].Total
		}
		slices.SortFunc(sizes, func(a, b timeline.Nanos) int { return cmp.Compare(b, a) })
		least = sizes[limit] + 1 // a node is never larger than the one around it
	}
	var ends [64]timeline.Nanos // by depth: where the next box starts
	for i := range t.Nodes {
		n := &t.Nodes[i]
		start := ends[n.Depth]
		ends[n.Depth] = start + n.Total
		ends[n.Depth+1] = start
		if n.Total < least {
			left++
			continue
		}
		boxes = append(boxes, box{n, start})
	}
	return boxes, left
}

// flame writes the flame graph of a thread and returns the number of its boxes.
func (p *page) flame(i int, t *report.StackTree, limit int) int {
	boxes, left := boxesOf(t, limit)
	classes, parts := p.treeClasses(t)
	data, rows := treeData{Total: t.Total, Row: p.on(t.ThreadID, 0, 0).row, Kinds: classNames(parts), Boxes: [][7]timeline.Nanos{}}, 0
	for _, b := range boxes {
		rows = max(rows, b.node.Depth+1)
		kind := slices.IndexFunc(parts, func(x part) bool { return x.class == classes[b.node.Kind] })
		data.Boxes = append(data.Boxes, [7]timeline.Nanos{
			p.data.intern(0, &p.data.Names, p.clean(b.node.Function)), p.data.intern(1, &p.data.Places, p.clean(b.node.Location())),
			timeline.Nanos(b.node.Depth), b.start, b.node.Total, b.node.Self, timeline.Nanos(kind),
		})
	}
	drawn := rowsInView(boxes, rows)
	p.data.Trees = append(p.data.Trees, data)
	title := t.ThreadID.Title()
	p.p("<div class=thread id=flame-%d>\n<h3>%s</h3>\n<p>%s</p>\n", i, title, markup(p.treeLead(t)))
	p.legend(parts)
	p.p("<div class=\"scroll flame\" tabindex=0 role=region aria-label=\"Flame graph of %s\"><svg width=\"100%%\" height=%d role=img aria-label=\"Flame graph of %s; the table below has its functions\">", title, drawn*rowHeight, title)
	p.flameBoxes(boxes, classes, t.Total, drawn)
	p.p("</svg></div>\n<p class=live aria-live=polite></p>\n")
	if left += t.Small; left > 0 {
		p.p("<p class=note>%s too small to be seen %s left out.</p>\n", table.Plural(left, "box", "boxes"), markup(plural(left, "is", "are")))
	}
	p.functions(t)
	p.p("</div>\n")
	return len(boxes)
}

// rowsInView returns the number of rows from the top that contain 99 percent of the time.
func rowsInView(boxes []box, rows int) int {
	itself, all := make([]timeline.Nanos, rows), timeline.Nanos(0)
	for _, b := range boxes {
		itself[b.node.Depth] += b.node.Self
		all += b.node.Self
	}
	for left := all / 100; rows > 1; rows-- {
		if left -= itself[rows-1]; left <= 0 {
			break
		}
	}
	return rows
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// flameBoxes draws boxes and labels for browsers without scripts; the script replaces them.
func (p *page) flameBoxes(boxes []box, classes map[string]string, total timeline.Nanos, rows int) {
	paths := map[string]*strings.Builder{}
	for _, b := range boxes {
		if b.node.Depth >= rows {
			continue
		}
		class := classes[b.node.Kind]
		if paths[class] == nil {
			paths[class] = &strings.Builder{}
		}
		x := scaled(b.start, total, flameUnits)
		w := max(scaled(b.start+b.node.Total, total, flameUnits)-x, 1)
		fmt.Fprintf(paths[class], "M%d %dh%dv%dh-%dz", x, b.node.Depth*rowHeight, w, rowHeight-1, w)
	}
	p.p("<svg width=\"100%%\" height=%d viewBox=\"0 0 %d %d\" preserveAspectRatio=none>", rows*rowHeight, flameUnits, rows*rowHeight)
	for _, class := range slices.Sorted(mapKeys(paths)) {
		p.p("<path class=%s d=\"%s\"/>", markup(class), markup(paths[class].String()))
	}
	p.p("</svg>")
	for _, b := range boxes {
		room := scaled(b.node.Total, total, flameUnits) / (flameUnits / 1000) / labelUnits * 16 / 10
		if name := p.clean(b.node.Function); room >= 4 && b.node.Depth < rows {
			p.p("<text x=\"%s\" dx=3 y=%d>%s</text>", percent(b.start, total), b.node.Depth*rowHeight+13, escape(cut(name, room)))
		}
	}
}

// cut shortens a text to at most n characters.
func cut(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

func mapKeys[V any](m map[string]V) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// treeClasses returns classes for the kinds of a tree with the most self time, and their legend.
func (p *page) treeClasses(t *report.StackTree) (classes map[string]string, parts []part) {
	classes = map[string]string{}
	times := map[string]timeline.Nanos{}
	for i := range t.Nodes {
		times[t.Nodes[i].Kind] += t.Nodes[i].Self
	}
	kinds := slices.Sorted(mapKeys(times))
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(times[b], times[a]) })
	next := 0
	for _, kind := range kinds {
		name := kind
		switch {
		case t.From == report.TreeOfSlices:
			i := slices.Index(p.all.Utilisation.Kinds, kind)
			classes[kind] = "other"
			if i >= 0 {
				classes[kind] = p.kinds[i]
			}
			for _, f := range families {
				if f.class == classes[kind] {
					name = f.name
				}
			}
		case kind == report.NativeOrigin || next == maxClasses:
			classes[kind], name = "other", "other"
			if kind == report.NativeOrigin && len(kinds) <= maxClasses {
				name = "no file"
			}
		default:
			classes[kind] = numbered(next)
			next++
		}
		if k := slices.IndexFunc(parts, func(x part) bool { return x.class == classes[kind] }); k >= 0 {
			parts[k].time += times[kind]
			parts[k].name = name
		} else {
			parts = append(parts, part{classes[kind], name, max(times[kind], 1)})
		}
	}
	return classes, parts
}

func classNames(parts []part) (names []string) {
	for _, part := range parts {
		names = append(names, part.class)
	}
	return names
}

// treeLead returns a sentence about a graph and what the graph leaves out.
func (p *page) treeLead(t *report.StackTree) string {
	var w writer
	w.keepURLs = p.keepURLs
	w.p("%s", length(t.Total)+" in all.")
	if t.Shows != "" {
		w.p(" It shows %s.", t.Shows)
	}
	var left []string
	for _, s := range t.LeftOut {
		if s.Time > 0 {
			left = append(left, s.State+" "+length(s.Time))
		}
	}
	if len(left) > 0 {
		w.p(" Left out, because no function ran: %s.", strings.Join(left[:min(len(left), 6)], ", "))
	}
	if t.Shared > 0 {
		w.p(" %s.", table.Plural(t.Shared, "function that is around everything is", "functions that are around everything are")+" left out too")
	}
	return w.String()
}

// functions writes the functions of a graph with the most self time.
func (p *page) functions(t *report.StackTree) {
	l := look{fold: "The slices with the most self time", before: "self_ns", barTitle: "self time", spare: 2, report: "slices --limit 0"}
	shown := t.Table()
	for i := range p.all.Functions {
		if f := &p.all.Functions[i]; f.ThreadID == t.ThreadID && t.From == report.TreeOfSamples {
			shown, l.fold, l.report = f.Table(), "The functions with the most self time", "samples --limit 0"
		}
	}
	p.show(shown, l)
}
