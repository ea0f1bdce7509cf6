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

// contextPattern selects contexts by type, and by id or name.
type contextPattern struct {
	text string // as written
	typ  string
	name pattern
}

func parseContext(text string) (p contextPattern, err error) {
	typ, name, ok := strings.Cut(text, "=")
	if !ok || typ == "" || name == "" {
		return p, fmt.Errorf("--context: %q is not TYPE=ID or TYPE=NAME; write, for example, frame=https://example.org/*", text)
	}
	return contextPattern{text, typ, pattern(name)}, checkPattern("context", name)
}

// ordinals is a set of ordinals.
type ordinals = attribution.Bitset[uint64]

// findContexts attributes the work in a trace and returns the ordinals of slices and instants with the requested contexts; nil:
// all.
func (f *Filter) findContexts(ctx context.Context, tl *timeline.Timeline) (found ordinals, err error) {
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
	found = ordinals{}
	var s attribution.EventSet
	for c := result.EventSets.From(0); ; {
		ok, err := c.Next(&s)
		if err != nil || !ok {
			return found, err
		}
		if wanted.Has(s.Set) {
			found.Add(s.Ordinal)
		}
	}
}

// isTrace reports whether a pattern is trace=ID, which selects the spans of a distributed trace. Such a selection needs no
// attribution.
func isTrace(p contextPattern) bool { return p.typ == "trace" }

// findTraces returns the spans of the requested distributed traces.
func (f *Filter) findTraces(ctx context.Context, tl *timeline.Timeline) (found ordinals, err error) {
	if slices.ContainsFunc(f.contexts, func(p contextPattern) bool { return !isTrace(p) }) {
		return nil, fmt.Errorf("--context: trace=ID cannot be combined with other contexts")
	}
	args := tl.SelectArgs(func(name string) bool {
		return slices.Contains([]string{timeline.OwnArgs, "trace_id", "request", "headers", "traceparent"}, name)
	})
	matches := func(id string) bool {
		return slices.ContainsFunc(f.contexts, func(p contextPattern) bool { return p.name.matches(id) })
	}
	found = ordinals{}
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
			found.Add(it.Ordinal)
			return false
		})
		return nil
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("the trace has no context %s", f.contexts[0].text)
	}
	return found, err
}

// traceOf returns the trace id in an argument of a span or in the header of a request. It returns "" if there is none.
func traceOf(path string, arg *timeline.Arg) (id string) {
	switch path {
	case timeline.OwnArgs + ".trace_id":
		return string(arg.Text())
	case "request.headers.traceparent", "request.headers.traceparent[]": // an array if the header is repeated
		id, _ = timeline.Traceparent(string(arg.Text()))
	}
	return id
}

// wantedSets returns the sets that contain a requested context.
func (f *Filter) wantedSets(r *attribution.Result) (wanted attribution.Bitset[attribution.SetID], err error) {
	for _, p := range f.contexts {
		types, known, ok := attribution.TypesNamed(r, p.typ)
		if !ok {
			return nil, unknown(fmt.Sprintf("--context: there are no contexts of type %s", p.typ), p.typ, slices.Values(known))
		}
		var names []string
		matches := false
		for set := range r.Sets.Lists.Len() {
			for _, id := range r.Sets.Lists.At(uint32(set)) {
				m := &r.Sets.Members[id]
				if !types.Contains(m) {
					continue
				}
				labels := labelsOf(r, &types, m)
				if slices.ContainsFunc(labels, p.name.matches) {
					wanted.Add(attribution.SetID(set))
					matches = true
				}
				names = append(names, labels[0])
			}
		}
		if !matches {
			return nil, unknown(fmt.Sprintf("the trace has no context %s", p.text), string(p.name), slices.Values(names))
		}
	}
	return wanted, nil
}

// labelsOf returns the texts by which a context can be selected: its name, its id, and its identity in tables.
func labelsOf(r *attribution.Result, types *attribution.NamedTypes, m *attribution.Member) []string {
	_, name := types.Name(r, m)
	id := r.Contexts.Nodes[types.Node(r, m)].Identity
	return []string{name, id.ID, id.String()}
}
