package main

import (
	"cmp"
	"fmt"

	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/words"
)

// flowTree collects the flows that are reached, to write them as a tree below the flows that the search started from.
type flowTree struct {
	branches []branch
	below    map[int][]int // by flow number: the branches to which it leads
	roots    []int
}

// branch is a flow of the tree.
type branch struct {
	flow    flowindex.Flow
	depth   int
	last    bool // the last branch below its parent
	link    flowindex.Link
	through *marker // nil for a root
}

// maxIndent is the depth up to which a branch is indented further than its parent.
const maxIndent = 8

// Marks before a branch and before the last branch, and before the lines below each.
const (
	markBranch, markLast = "├─ ", "└─ "
	markBeside, markNone = "│  ", "   "
)

func (t *flowText) root(f flowindex.Flow) error {
	t.tree.roots = append(t.tree.roots, len(t.tree.branches))
	t.tree.branches = append(t.tree.branches, branch{flow: f})
	return nil
}

func (t *flowText) connection(c flowindex.Connection, from flowindex.Flow, through *marker) error {
	if t.tree.below == nil {
		t.tree.below = map[int][]int{}
	}
	t.tree.below[from.Number] = append(t.tree.below[from.Number], len(t.tree.branches))
	t.tree.branches = append(t.tree.branches, branch{flow: c.Flow, depth: c.Distance, link: c.Link, through: through})
	return nil
}

func (t *flowText) connectedEnd(n int, more bool) error {
	if err := t.writeTree(); err != nil {
		return err
	}
	text := table.Count(n, "connected flow")
	if more {
		text = "more than " + text
	}
	if t.omitted > 0 {
		text += fmt.Sprintf("; the selection belongs to %s more, which --limit leaves out", table.Count(t.omitted, "flow"))
	}
	if n == 0 && !t.nested {
		text += "; --nested also passes through what is inside and around a marker"
	}
	_, err := fmt.Fprintln(t.w, t.on.Wrap(text, 2))
	return err
}

// writeTree writes the branches, each before its children.
func (t *flowText) writeTree() error {
	tree := &t.tree
	names := 0
	for i := range tree.branches {
		b := &tree.branches[i]
		names = max(names, 3*min(b.depth, maxIndent)+words.Width(printable(t.name(b.flow))))
	}
	if err := t.head("%s %7s %16s  %s", words.PadRight("FLOW", names), "MARKERS", "LENGTH", "LINK"); err != nil {
		return err
	}
	for _, root := range tree.roots {
		type place struct {
			branch int
			before string // the text to the left of it
		}
		for open := []place{{branch: root}}; len(open) > 0; {
			p := open[len(open)-1]
			open = open[:len(open)-1]
			b := &tree.branches[p.branch]
			below := tree.below[b.flow.Number]
			rest := p.before + b.besideMark()
			if err := t.writeBranch(b, p.before, rest, len(below) > 0, names); err != nil {
				return err
			}
			for i := len(below) - 1; i >= 0; i-- {
				tree.branches[below[i]].last = i == len(below)-1
				before := rest
				if b.depth >= maxIndent {
					before = p.before
				}
				open = append(open, place{below[i], before})
			}
		}
	}
	return nil
}

// besideMark returns the text below a branch's mark.
func (b *branch) besideMark() string {
	switch {
	case b.depth == 0:
		return ""
	case b.last:
		return markNone
	}
	return markBeside
}

// writeBranch writes a flow and its path.
func (t *flowText) writeBranch(b *branch, before, rest string, more bool, names int) error {
	own, link := before, ""
	if b.depth > 0 {
		own += markBranch
		if b.last {
			own = before + markLast
		}
		link = fmt.Sprintf("step %d, %s event %d", b.depth, b.link, b.through.Event)
	}
	f := b.flow
	err := t.row("%s %7s %16s  %s", words.PadRight(own+printable(t.name(f)), names), table.Thousands(f.Members), table.MomentText(max(f.End-f.Start, 0)), link)
	if err != nil {
		return err
	}
	if more {
		rest += markBeside
	} else {
		rest += markNone
	}
	return t.path(b, rest)
}

// path describes the path of a flow: where it starts, where it was reached, and where it ends.
func (t *flowText) path(b *branch, before string) error {
	f := b.flow
	var ends []flowindex.Member
	for _, n := range []int{0, f.Members - 1} {
		m, err := t.index.Member(f, n)
		if err != nil {
			return err
		}
		ends = append(ends, m)
	}
	markers, err := t.described(ends)
	if err != nil {
		return err
	}
	add := func(what string, m *marker) {
		err = cmp.Or(err, t.placed(fmt.Sprintf("%s%-4s  %s  ", before, what, t.since(m.TS)), m, fmt.Sprintf(", event %d", m.Event)))
	}
	met := cmp.Or(b.through, markers[0])
	if met.N > 0 || b.through == nil {
		add("from", markers[0])
	}
	if b.through != nil {
		add("over", b.through)
	}
	if met.N < f.Members-1 {
		add("to", markers[1])
	}
	return err
}
