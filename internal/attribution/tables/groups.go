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

// Types that only tables know: groups of the contexts of another type, and the tracks on which work is done.
const (
	TypePage    = "Page"    // frames, by the root of their tree
	TypeEntity  = "Entity"  // scripts, by registrable domain or extension
	TypeProcess = "Process" // every slice has one
	TypeThread  = "Thread"  // every slice has one
)

// derivedType is a type that only tables know.
type derivedType struct {
	name   string
	of     attribution.TypeID // whose contexts are grouped; 0: none
	group  GroupBy
	tracks SplitBy // SplitProcess, SplitThread: rows are these
}

var derivedTypes = [...]derivedType{
	{name: TypePage, of: attribution.TypeFrame, group: GroupPage},
	{name: TypeEntity, of: attribution.TypeScript, group: GroupEntity},
	{name: TypeProcess, tracks: SplitProcess},
	{name: TypeThread, tracks: SplitThread},
}

// DerivedName returns the name by which tables know TypePage, TypeEntity, TypeProcess or TypeThread: with "(derived)" after
// it if the input has contexts of a type that is called so.
func (t *Tables) DerivedName(name string) string {
	for t.result.Contexts.ByType[name] != 0 {
		name += " (derived)"
	}
	return name
}

// TrackTypes returns the names of the types of tables that say what was done in each process and on each thread.
func (t *Tables) TrackTypes() []string {
	return []string{t.DerivedName(TypeProcess), t.DerivedName(TypeThread)}
}

// IsDerived reports whether only tables know a type.
func (t *Tables) IsDerived(name string) bool { return t.derived(name) != nil }

// CanGroup reports whether contexts of a type can share a row in a way: by page those that form trees, by entity those that
// have urls, by class and type all. What only tables know is grouped already.
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

// derived returns the derived type of a name, nil if it is the type of contexts.
func (t *Tables) derived(name string) *derivedType {
	for i := range derivedTypes {
		if d := &derivedTypes[i]; t.DerivedName(d.name) == name {
			return d
		}
	}
	return nil
}

// Names of groups of contexts.
const (
	AllContexts = "(all contexts)"
	noURL       = "(no url)"
	Engine      = "garbage collector and compiler" // what isolates do that is for no page
)

// groupOf returns the row of a context, or of the group that it is in.
func (b *tabulator) groupOf(node attribution.NodeID, ts timeline.Nanos) rowKey {
	switch b.group {
	case GroupNone:
		return rowKey{node: node}
	case GroupPage:
		page := b.result.Contexts.PageOf(node, ts)
		if b.result.Contexts.Nodes[page].Scope == attribution.ScopeIsolate {
			return rowKey{group: b.named(Engine)}
		}
		return rowKey{node: page}
	}
	if b.groupBy == nil {
		b.groupBy = make([]groupID, len(b.result.Contexts.Nodes))
	}
	group := &b.groupBy[node]
	if *group == 0 {
		*group = b.named(b.groupName(node))
	}
	return rowKey{group: *group}
}

// isEngine reports whether a row is about isolates.
func (b *tabulator) isEngine(key rowKey) bool { return key.group != 0 && b.groups[key.group] == Engine }

// groupName returns the name of the group of a context, of those that do not depend on the time.
func (b *tabulator) groupName(node attribution.NodeID) string {
	switch b.group {
	case GroupClass:
		return cmp.Or(b.result.Contexts.Class(node, attribution.LastTime), b.result.Contexts.Nodes[node].Scope)
	case GroupEntity:
		return entityOf(b.result.Contexts.UrlOf(node))
	}
	return AllContexts
}

// entityOf returns the registrable domain of a url (the public suffix and one label), the host where there is none, the
// extension of a script of one, or the scheme.
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
