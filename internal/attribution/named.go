package attribution

import (
	"strings"
)

// PageType is the user's name for contexts that are roots of frame trees, unless the trace has a type of this name.
const PageType = "page"

// inputName is the user's name for TypeInputEvent.
const inputName = "input"

// NamedTypes are the context types that a user has selected by name. The zero value selects all types.
type NamedTypes struct {
	types map[TypeID]bool // nil: all
	pages bool            // name frames by their pages
}

// TypesNamed returns the context types with the given name, ignoring case: types of the trace, input events or pages. If no type
// has the name, ok is false, and known lists the names that exist.
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

// Contains reports whether a context has one of the types.
func (n *NamedTypes) Contains(m *Member) bool {
	return m.Node != 0 && (n.types == nil || n.types[m.Type])
}

// Name returns the type and the name of a context with one of the types. If pages are selected, the type is PageType, and the
// name is the name of the context's page.
func (n *NamedTypes) Name(r *Result, m *Member) (typ, name string) {
	if n.pages {
		return PageType, r.Contexts.Label(n.Node(r, m), LastTime)
	}
	return r.Contexts.Types[m.Type], r.Contexts.LabelOf(m.Node, m.Snapshot)
}

// Node returns the context that Name names: the page of a frame if pages are selected.
func (n *NamedTypes) Node(r *Result, m *Member) NodeID {
	if n.pages {
		return r.Contexts.PageOf(m.Node, LastTime)
	}
	return m.Node
}
