package selection

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
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
	if slices.ContainsFunc(f.contexts, isTrace) {
		return f.findTraces(ctx, tl)
	}
	result, err := attribution.Run(ctx, tl, attribution.Rules{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	wanted, err := f.wantedSets(result)
	if err != nil {
		return nil, err
	}
	found = bitset{}
	var s attribution.EventSet
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

// isTrace reports whether a context is a distributed trace, trace=ID: the spans that have this id. That needs no attribution.
func isTrace(p contextPattern) bool { return p.typ == "trace" }

// findTraces returns the spans of the traces that are asked for.
func (f *Filter) findTraces(ctx context.Context, tl *timeline.Timeline) (found bitset, err error) {
	if !slices.EqualFunc(f.contexts, f.contexts, func(_, p contextPattern) bool { return isTrace(p) }) {
		return nil, fmt.Errorf("--context: trace=ID cannot be combined with other contexts")
	}
	args := tl.SelectArgs(func(name string) bool {
		return slices.Contains([]string{timeline.OwnArgs, "trace_id", "request", "headers", "traceparent"}, name)
	})
	matches := func(id string) bool {
		return slices.ContainsFunc(f.contexts, func(p contextPattern) bool { return p.who.matches(id) })
	}
	found = bitset{}
	err = tl.WalkSlices(ctx, func(timeline.TrackID) bool { return true }, func(it *timeline.Item) error {
		if it.Kind != timeline.ItemBegin {
			return nil
		}
		if err := it.ReadArgs(); err != nil {
			return err
		}
		args.Paths(it.Args, func(path string, arg *timeline.Arg) bool {
			id := traceOf(path, arg)
			if id == "" || !matches(id) {
				return true
			}
			found.add(it.Ordinal)
			return false
		})
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("the trace has no context %s", f.contexts[0].text)
	}
	return found, err
}

// traceOf returns the id of a trace that an argument with a path is: of a span, or in the header of a request; "": not one.
func traceOf(path string, arg *timeline.Arg) (id string) {
	switch path {
	case timeline.OwnArgs + ".trace_id":
		return string(arg.Text())
	case "request.headers.traceparent", "request.headers.traceparent[]": // an array if the header is there twice
		id, _ = timeline.Traceparent(string(arg.Text()))
	}
	return id
}

// wantedSets returns the sets of contexts in which one is that is asked for.
func (f *Filter) wantedSets(r *attribution.Result) (wanted attribution.Bitset, err error) {
	for _, p := range f.contexts {
		types, known, ok := attribution.TypesNamed(r, p.typ)
		if !ok {
			return nil, unknown(fmt.Sprintf("--context: there are no contexts of type %s", p.typ), p.typ, slices.Values(known))
		}
		who, names := p.who, []string{}
		matches := false
		for set := range r.Sets.Lists.Len() {
			for _, id := range r.Sets.Lists.At(uint32(set)) {
				m := &r.Sets.Members[id]
				if !types.Have(m) {
					continue
				}
				labels := labelsOf(r, &types, m)
				if slices.ContainsFunc(labels, who.matches) {
					wanted.Add(attribution.SetID(set))
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

// labelsOf returns what a context can be called: its name, its id, and its identity as tables write it.
func labelsOf(r *attribution.Result, types *attribution.NamedTypes, m *attribution.Member) []string {
	_, name := types.Name(r, m)
	id := r.Contexts.Nodes[types.Node(r, m)].Identity
	return []string{name, id.ID, id.String()}
}
