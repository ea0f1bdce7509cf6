package selection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/cost"
	"github.com/weft-trace/weft/internal/attribution/options"
	"github.com/weft-trace/weft/internal/attribution/sets"
	"github.com/weft-trace/weft/internal/attribution/trees"
	"github.com/weft-trace/weft/internal/timeline"
)

// contextPattern is a context that is asked for: a type, and an id or name.
type contextPattern struct {
	text string // as written
	typ  string
	who  pattern
}

func parseContext(text string) (p contextPattern, err error) {
	typ, who, ok := strings.Cut(text, "=")
	if !ok || typ == "" || who == "" {
		return p, fmt.Errorf("--context: %q is not TYPE=ID or TYPE=NAME; write, for example, frame=https://example.org/*", text)
	}
	return contextPattern{text, typ, pattern(who)}, checkPattern("context", who)
}

// typePage is the type of contexts that tables make of frames, by the root of their tree.
const typePage = "page"

// bitset is a set of ordinals.
type bitset []uint64

func (b bitset) has(n uint64) bool { return n/64 < uint64(len(b)) && b[n/64]>>(n%64)&1 != 0 }

func (b *bitset) add(n uint64) {
	for n/64 >= uint64(len(*b)) {
		*b = append(*b, 0)
	}
	(*b)[n/64] |= 1 << (n % 64)
}

// findContexts attributes the work in a trace and returns the slices and instants that were done for the contexts that are
// asked for; nil: all.
func (f *Filter) findContexts(ctx context.Context, tl *timeline.Timeline) (found bitset, err error) {
	if len(f.contexts) == 0 {
		return nil, nil
	}
	result, err := attribution.Run(ctx, tl, options.Rules{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	wanted, err := f.wantedSets(result)
	if err != nil {
		return nil, err
	}
	found = bitset{}
	var s cost.EventSet
	for c := result.EventSets.From(0); ; {
		ok, err := c.Next(&s)
		if err != nil || !ok {
			return found, err
		}
		if wanted.Has(s.Set) {
			found.add(s.Ordinal)
		}
	}
}

// wantedSets returns the sets of contexts in which one is that is asked for.
func (f *Filter) wantedSets(r *cost.Result) (wanted sets.Bitset, err error) {
	for _, p := range f.contexts {
		types, page, err := p.types(r)
		if err != nil {
			return nil, err
		}
		who, names := p.who, []string{}
		matches := false
		for set := range r.Sets.Lists.Len() {
			for _, id := range r.Sets.Lists.At(uint32(set)) {
				m := &r.Sets.Members[id]
				if m.Node == 0 || !types[m.Type] {
					continue
				}
				labels := labelsOf(r, m, page)
				if slices.ContainsFunc(labels, who.matches) {
					wanted.Add(sets.SetID(set))
					matches = true
				}
				names = append(names, labels[0])
			}
		}
		if !matches {
			return nil, unknown(fmt.Sprintf("the trace has no context %s", p.text), string(who), slices.Values(names))
		}
	}
	return wanted, nil
}

// labelsOf returns what a context can be called: its name, its id, and its identity as tables write it. As a page it is called
// like the root of its tree.
func labelsOf(r *cost.Result, m *sets.Member, page bool) []string {
	node, name := m.Node, ""
	if page {
		node = r.Contexts.PageOf(node, trees.LastTime)
		name = r.Contexts.Label(node, trees.LastTime)
	} else {
		name = r.Contexts.LabelOf(node, m.Snapshot)
	}
	id := r.Contexts.Nodes[node].Identity
	return []string{name, id.ID, id.String()}
}

// types returns the types of contexts that are meant, whatever the case of the letters, and whether their pages are.
func (p *contextPattern) types(r *cost.Result) (found map[trees.TypeID]bool, page bool, err error) {
	found = map[trees.TypeID]bool{}
	var names []string
	for id, name := range r.Contexts.Types {
		if name == "" {
			continue
		}
		names = append(names, strings.ToLower(name))
		if strings.EqualFold(name, p.typ) || strings.EqualFold(p.typ, "input") && trees.TypeID(id) == trees.TypeInputEvent {
			found[trees.TypeID(id)] = true
		}
	}
	if len(found) == 0 && strings.EqualFold(p.typ, typePage) {
		return map[trees.TypeID]bool{trees.TypeFrame: true}, true, nil
	}
	if len(found) == 0 {
		return nil, false, unknown(fmt.Sprintf("--context: there are no contexts of type %s", p.typ), p.typ, slices.Values(append(names, typePage)))
	}
	return found, false, nil
}
