package v8profile

import "github.com/weft-trace/weft/internal/readers"

// legacyNode is an open node of a legacy tree.
type legacyNode struct {
	nodeReader
	at         int32 // in draft.nodes
	members    readers.Level
	children   readers.Level
	inChildren bool
}

// legacyTree reads the head member of a legacy document: the root, whose children are complete nodes. The depth of the
// tree is limited only by the text, so open nodes are on an explicit stack. The id of a node may follow its children,
// so a node gets its index when it opens.
func (r *decoder) legacyTree() error {
	r.d.legacy = true
	if ok, err := r.opens('{'); !ok {
		return err
	}
	var open []legacyNode
	push := func(parent int32) {
		at := int32(len(r.d.nodes))
		r.d.nodes = append(r.d.nodes, draftNode{slot: noSlot, parent: noSlot, parentAt: parent})
		n := legacyNode{nodeReader: newNodeReader(), at: at, members: r.Open()}
		n.node.parentAt = parent
		open = append(open, n)
	}
	push(-1)
	for len(open) > 0 {
		top := &open[len(open)-1]
		step, err := r.legacyStep(top)
		switch {
		case err != nil:
			return err
		case step == childOpened && len(r.d.nodes) >= maxNodes:
			return errTooManyNodes
		case step == childOpened:
			push(top.at)
		case step == nodeClosed:
			r.closeLegacy(top)
			open = open[:len(open)-1]
		}
	}
	return nil
}

// legacyStep is the result of one step through a legacy tree.
type legacyStep uint8

const (
	memberRead  legacyStep = iota
	childOpened            // a child of the node starts
	nodeClosed             // the node ended
)

// legacyStep reads a member of a node or the opening bracket of a child.
func (r *decoder) legacyStep(n *legacyNode) (legacyStep, error) {
	if n.inChildren {
		c, more, err := r.Next(&n.children)
		switch {
		case err != nil:
			return memberRead, err
		case more && c == '{':
			return childOpened, nil
		case more:
			r.d.found.badNodes++
			return memberRead, r.Skip()
		}
		n.inChildren = false
		return memberRead, nil
	}
	if _, more, err := r.Next(&n.members); !more {
		return nodeClosed, err
	}
	key, _, err := r.Member()
	switch {
	case err != nil:
		return memberRead, err
	case string(key) == "children":
		if n.inChildren, err = r.opens('['); n.inChildren {
			n.children = r.Open()
		}
		return memberRead, err
	}
	return memberRead, r.nodeMember(&n.nodeReader, key)
}

// closeLegacy stores a complete node. Lines and columns are 1-based here (profile-calls.md 2).
func (r *decoder) closeLegacy(n *legacyNode) {
	n.base.line = max(n.base.line-1, -1)
	n.base.column = max(n.base.column-1, -1)
	n.node.function = r.d.function(n.function())
	r.d.nodes[n.at] = n.node
	if n.hasID {
		r.d.defineAt(n.at)
	} else {
		r.d.found.badNodes++
	}
}
