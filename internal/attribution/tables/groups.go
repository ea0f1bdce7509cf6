package tables

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/publicsuffix"
	"github.com/weft-trace/weft/internal/timeline"
)

// Derived types, which exist only in tables: groups of contexts of another type, and tracks.
const (
	TypePage    = "Page"    // frames, by the root of their tree
	TypeEntity  = "Entity"  // scripts, by registrable domain or extension
	TypeProcess = "Process" // every slice has one
	TypeThread  = "Thread"  // every slice has one
)

// derivedType is a type that exists only in tables.
type derivedType struct {
	name   string
	base   attribution.TypeID // the type whose contexts are grouped; 0: none
	group  GroupBy
	tracks SplitBy // SplitProcess, SplitThread: one row for each
}

var derivedTypes = [...]derivedType{
	{name: TypePage, base: attribution.TypeFrame, group: GroupPage},
	{name: TypeEntity, base: attribution.TypeScript, group: GroupEntity},
	{name: TypeProcess, tracks: SplitProcess},
	{name: TypeThread, tracks: SplitThread},
}

// DerivedName returns the name of a derived type in tables, which has the suffix "(derived)" if the input has a context
// type of the same name.
func (t *Tables) DerivedName(name string) string {
	for t.result.Contexts.ByType[name] != 0 {
		name += " (derived)"
	}
	return name
}

// TrackTypes returns the names of the derived types for processes and threads.
func (t *Tables) TrackTypes() []string {
	return []string{t.DerivedName(TypeProcess), t.DerivedName(TypeThread)}
}

// IsDerived reports whether a type is derived.
func (t *Tables) IsDerived(name string) bool { return t.derived(name) != nil }

// CanGroup reports whether contexts of a type can be grouped: by page if they form trees, by entity if they have urls, by
// class and type always. Derived types are already grouped.
func (t *Tables) CanGroup(typ string, by GroupBy) bool {
	if by == GroupNone {
		return true
	}
	if t.IsDerived(typ) {
		return false
	}
	switch id := t.result.Contexts.ByType[typ]; id {
	case attribution.TypeInputEvent, attribution.TypeGraphicsFrame, attribution.TypeTab:
		return by != GroupPage && by != GroupEntity
	case attribution.TypeScript:
		return by != GroupPage
	}
	return true
}

// derived returns the derived type with a name, or nil if there is none.
func (t *Tables) derived(name string) *derivedType {
	for i := range derivedTypes {
		if d := &derivedTypes[i]; t.DerivedName(d.name) == name {
			return d
		}
	}
	return nil
}

// Names of context groups.
const (
	AllContexts = "(all contexts)"
	noURL       = "(no url)"
	Engine      = "garbage collector and compiler" // work of isolates without a page
)

// groupOf returns the row key of a context or of its group.
func (b *tabulator) groupOf(node attribution.NodeID, ts timeline.Nanos) rowKey {
	switch b.group {
	case GroupNone:
		return rowKey{node: node}
	case GroupPage:
		page := b.result.Contexts.PageOf(node, ts)
		if b.result.Contexts.Nodes[page].Scope == attribution.ScopeIsolate {
			return rowKey{group: b.internGroup(Engine)}
		}
		return rowKey{node: page}
	}
	if b.groupBy == nil {
		b.groupBy = make([]groupID, len(b.result.Contexts.Nodes))
	}
	group := &b.groupBy[node]
	if *group == 0 {
		*group = b.internGroup(b.groupName(node))
	}
	return rowKey{group: *group}
}

// isEngine reports whether a row is the row of the Engine group.
func (b *tabulator) isEngine(key rowKey) bool { return key.group != 0 && b.groups[key.group] == Engine }

// groupName returns the name of a context's group, for groups that do not depend on time.
func (b *tabulator) groupName(node attribution.NodeID) string {
	switch b.group {
	case GroupClass:
		return cmp.Or(b.result.Contexts.Class(node, attribution.LastTime), b.result.Contexts.Nodes[node].Scope)
	case GroupEntity:
		return entityOf(b.result.Contexts.UrlOf(node))
	}
	return AllContexts
}

// entityOf returns the registrable domain of a url (the public suffix and one more label), otherwise the host, the extension, or
// the scheme.
func entityOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return noURL
	}
	host := u.Hostname()
	switch {
	case strings.HasSuffix(u.Scheme, "-extension"):
		return "extension " + host
	case host == "":
		return u.Scheme + ":"
	case net.ParseIP(host) != nil:
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}
