package attribution

import (
	"cmp"
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

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
	of     TypeID // whose contexts are grouped; 0: none
	group  GroupBy
	tracks SplitBy // SplitProcess, SplitThread: rows are these
}

var derivedTypes = [...]derivedType{
	{name: TypePage, of: TypeFrame, group: GroupPage},
	{name: TypeEntity, of: TypeScript, group: GroupEntity},
	{name: TypeProcess, tracks: SplitProcess},
	{name: TypeThread, tracks: SplitThread},
}

// DerivedName returns the name by which tables know TypePage, TypeEntity, TypeProcess or TypeThread: with "(derived)" behind
// it if the input has contexts of a type that is called so.
func (r *Result) DerivedName(name string) string {
	for r.c.byType[name] != 0 {
		name += " (derived)"
	}
	return name
}

// TrackTypes returns the names of the types of tables that say what was done in each process and on each thread.
func (r *Result) TrackTypes() []string {
	return []string{r.DerivedName(TypeProcess), r.DerivedName(TypeThread)}
}

// IsDerived reports whether only tables know a type.
func (r *Result) IsDerived(name string) bool { return r.derived(name) != nil }

// CanGroup reports whether contexts of a type can share a row in a way: by page those that form trees, by entity those that
// have urls, by class and type all. What only tables know is grouped already.
func (r *Result) CanGroup(typ string, by GroupBy) bool {
	if by == GroupNone {
		return true
	}
	if r.IsDerived(typ) {
		return false
	}
	switch id := r.c.byType[typ]; id {
	case TypeInputEvent, TypeGraphicsFrame, TypeTab:
		return by != GroupPage && by != GroupEntity
	case TypeScript:
		return by != GroupPage
	}
	return true
}

// derived returns the derived type of a name, nil if it is the type of contexts.
func (r *Result) derived(name string) *derivedType {
	for i := range derivedTypes {
		if d := &derivedTypes[i]; r.DerivedName(d.name) == name {
			return d
		}
	}
	return nil
}

// Names of groups of contexts.
const (
	allContexts = "(all contexts)"
	noURL       = "(no url)"
)

// groupOf returns the row of a context, or of the group that it is in.
func (b *tabulator) groupOf(node NodeID, ts timeline.Nanos) rowKey {
	switch b.group {
	case GroupNone:
		return rowKey{node: node}
	case GroupPage:
		return rowKey{node: b.result.c.pageOf(node, ts)}
	}
	if b.groupBy == nil {
		b.groupBy = make([]groupID, len(b.result.c.nodes))
	}
	group := &b.groupBy[node]
	if *group == 0 {
		*group = b.named(b.groupName(node))
	}
	return rowKey{group: *group}
}

// groupName returns the name of the group of a context, of those that do not depend on the time.
func (b *tabulator) groupName(node NodeID) string {
	switch b.group {
	case GroupClass:
		return cmp.Or(b.result.c.class(node, lastTime), b.result.c.nodes[node].Scope)
	case GroupEntity:
		return entityOf(b.result.c.urlOf(node))
	}
	return allContexts
}

// pageOf returns the root of a context's tree. That of a frame is the outermost frame: isolates, which stand above frames,
// are roots for what is no frame only.
func (c *catalogue) pageOf(node NodeID, ts timeline.Nanos) NodeID {
	page, root := NodeID(0), node
	for _, n := range c.ancestors(node, ts) {
		root = n
		if c.nodes[n].isFrame {
			page = n
		}
	}
	return cmp.Or(page, root)
}

// urlOf returns the url of a context as it was last, "" if it has none.
func (c *catalogue) urlOf(node NodeID) string {
	if n := &c.nodes[node]; n.Scope == ScopeScript {
		return n.ID
	}
	return c.url(node, lastTime)
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
