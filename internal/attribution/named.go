package attribution

import (
	"strings"
)

// PageType is what people call the type of contexts that are roots of trees of frames. A trace may have a type of its own of this name,
// which is meant then.
const PageType = "page"

// inputName is what people call trees.TypeInputEvent.
const inputName = "input"

// NamedTypes are the types of contexts that people mean by a name. The zero NamedTypes are all types.
type NamedTypes struct {
	types map[TypeID]bool // nil: all
	pages bool            // the pages of frames are meant
}

// TypesNamed returns the types of contexts that a name means, whatever the case of its letters: types of the trace, input events or
// pages. If it means no type, ok is false, and known are the names that exist.
func TypesNamed(r *Result, name string) (found NamedTypes, known []string, ok bool) {
	found.types = map[TypeID]bool{}
	for id, typ := range r.Contexts.Types {
		if typ == "" {
			continue
		}
		known = append(known, strings.ToLower(typ))
		if strings.EqualFold(typ, name) || strings.EqualFold(name, inputName) && TypeID(id) == TypeInputEvent {
			found.types[TypeID(id)] = true
		}
	}
	if len(found.types) == 0 && strings.EqualFold(name, PageType) {
		found.pages, found.types[TypeFrame] = true, true
	}
	return found, append(known, PageType), len(found.types) > 0
}

// Have reports whether a context of a set is of one of the types.
func (n *NamedTypes) Have(m *Member) bool {
	return m.Node != 0 && (n.types == nil || n.types[m.Type])
}

// Name returns the type and the name of a context that Have is true of: as a page it is called like the root of its tree.
func (n *NamedTypes) Name(r *Result, m *Member) (typ, name string) {
	if n.pages {
		return PageType, r.Contexts.Label(n.Node(r, m), LastTime)
	}
	return r.Contexts.Types[m.Type], r.Contexts.LabelOf(m.Node, m.Snapshot)
}

// Node returns the context that is named: a page instead of its frame.
func (n *NamedTypes) Node(r *Result, m *Member) NodeID {
	if n.pages {
		return r.Contexts.PageOf(m.Node, LastTime)
	}
	return m.Node
}
