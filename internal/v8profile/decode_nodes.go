package v8profile

import (
	"cmp"

	"github.com/weft-trace/weft/internal/readers"
)

// nodeReader collects the members of one node, in any order.
type nodeReader struct {
	node  draftNode
	hasID bool
	base  functionKey // fields of the node itself
	frame functionKey // fields of its callFrame
}

func newNodeReader() nodeReader {
	unknown := functionKey{line: -1, column: -1}
	return nodeReader{node: draftNode{slot: noSlot, parent: noSlot, parentAt: -1, hits: -1}, base: unknown, frame: unknown}
}

// node reads an element of the list "nodes".
func (r *decoder) node() error {
	n := newNodeReader()
	at := r.Position()
	if err := r.object(func(key []byte) error { return r.nodeMember(&n, key) }); err != nil {
		if err == readers.ErrEnded {
			r.Partial(at)
		}
		return err
	}
	r.finishNode(&n)
	return nil
}

// finishNode adds a complete node.
func (r *decoder) finishNode(n *nodeReader) {
	if !n.hasID {
		r.d.found.badNodes++
		return
	}
	n.node.function = r.d.function(n.function())
	r.d.define(n.node)
}

// function returns the node's description of its function. The node's own name takes precedence unless empty
// (profile-calls.md 3).
func (n *nodeReader) function() functionKey {
	f := n.frame
	f.name = cmp.Or(n.base.name, f.name)
	f.url = cmp.Or(f.url, n.base.url)
	f.script = cmp.Or(f.script, n.base.script)
	f.codeType = cmp.Or(f.codeType, n.base.codeType)
	if f.line < 0 {
		f.line = n.base.line
	}
	if f.column < 0 {
		f.column = n.base.column
	}
	return f
}

// nodeMember reads a member of a node.
func (r *decoder) nodeMember(n *nodeReader, key []byte) error {
	switch string(key) {
	case "id":
		id, ok, err := r.integer()
		if ok {
			n.node.id, n.node.slot, n.hasID = id, r.d.slots.get(id), true
		}
		return err
	case "parent":
		id, ok, err := r.integer()
		if ok {
			n.node.parent = r.d.slots.get(id)
		}
		return err
	case "children":
		return r.childIDs(n)
	case "callFrame":
		return r.object(func(key []byte) error { return r.frameMember(&n.frame, key) })
	case "hitCount":
		hits, ok, err := r.integer()
		if ok {
			n.node.hits = max(hits, 0)
		}
		return err
	case "deoptReason":
		if err := r.text(&n.node.deopt); err != nil {
			return err
		}
		if r.d.textList[n.node.deopt] == "no reason" {
			n.node.deopt = 0
		}
		return nil
	case "positionTicks":
		return r.positionTicks(n)
	}
	return r.frameMember(&n.base, key)
}

// frameMember reads a member of a call frame.
func (r *decoder) frameMember(f *functionKey, key []byte) error {
	switch string(key) {
	case "functionName":
		return r.text(&f.name)
	case "url":
		return r.text(&f.url)
	case "scriptId":
		return r.text(&f.script)
	case "codeType":
		return r.text(&f.codeType)
	case "lineNumber":
		return r.lineOrColumn(&f.line)
	case "columnNumber":
		return r.lineOrColumn(&f.column)
	}
	return r.Skip()
}

// childIDs reads a list of child ids. An empty list counts as a list; other values do not.
func (r *decoder) childIDs(n *nodeReader) error {
	c, err := r.Peek()
	if err != nil {
		return err
	}
	n.node.hasChildren = n.node.hasChildren || c == '['
	n.node.children.from = uint32(len(r.d.child))
	err = r.array(func() error {
		id, ok, err := r.integer()
		switch {
		case len(r.d.child) >= maxNodes:
			r.d.found.overLimit++
		case ok:
			r.d.child = append(r.d.child, r.d.slots.get(id))
		}
		return err
	})
	n.node.children.to = uint32(len(r.d.child))
	return err
}

// positionTicks reads the number of samples in each line.
func (r *decoder) positionTicks(n *nodeReader) error {
	n.node.ticks.from = uint32(len(r.d.ticks))
	err := r.array(func() error {
		var t LineTicks
		err := r.object(func(key []byte) error {
			switch string(key) {
			case "line":
				return r.lineOrColumn(&t.Line)
			case "ticks":
				ticks, _, err := r.integer()
				t.Ticks = ticks
				return err
			}
			return r.Skip()
		})
		if len(r.d.ticks) < maxNodes {
			r.d.ticks = append(r.d.ticks, t)
		}
		return err
	})
	n.node.ticks.to = uint32(len(r.d.ticks))
	return err
}
