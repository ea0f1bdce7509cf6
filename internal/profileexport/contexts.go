package profileexport

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// contextTable finds the contexts of slices, in walk order.
type contextTable struct {
	result *attribution.Result
	cursor *extsort.Cursor[attribution.EventSet]
	next   attribution.EventSet
	more   bool

	types attribution.NamedTypes

	bySet  map[attribution.SetID]contextsID
	byText map[string]contextsID
	lists  [][]contextLabel // by contextsID
	framed [][]FrameID      // by contextsID: the frames for the list
}

// contextLabel describes a context by its type and name.
type contextLabel struct{ typ, name string }

// UnknownTypeError reports that the trace has no contexts of the type in Options.By; it lists the existing types.
type UnknownTypeError struct{ err error }

func (e *UnknownTypeError) Error() string { return e.err.Error() }

// unattributed is the frame for stacks without a context.
const unattributed = "(unattributed)"

// newContextTable attributes the work in a trace. The parameter by is the requested type; "" means all types.
func newContextTable(ctx context.Context, tl *timeline.Timeline, by string) (*contextTable, error) {
	result, err := attribution.Run(ctx, tl, attribution.Rules{})
	if err != nil {
		return nil, err
	}
	t := &contextTable{
		result: result, bySet: map[attribution.SetID]contextsID{}, byText: map[string]contextsID{}, lists: make([][]contextLabel, 1), framed: make([][]FrameID, 1),
	}
	if err := t.choose(by); err != nil {
		return nil, errors.Join(err, t.close())
	}
	if result.EventSets != nil {
		t.cursor = result.EventSets.From(0)
		if t.more, err = t.cursor.Next(&t.next); err != nil {
			return nil, errors.Join(err, t.close())
		}
	}
	return t, nil
}

// choose selects the requested types of contexts. Its error is an *UnknownTypeError.
func (t *contextTable) choose(by string) error {
	if by == "" || strings.EqualFold(by, AllContexts) {
		return nil
	}
	types, known, ok := attribution.TypesNamed(t.result, by)
	if !ok {
		return &UnknownTypeError{words.Unknown("type of contexts", by, append([]string{AllContexts}, known...))}
	}
	t.types = types
	return nil
}

// find returns the contexts of a slice. Calls must be in the order of the ordinals; a nil table is empty.
func (t *contextTable) find(ordinal uint64) (contextsID, error) {
	if t == nil {
		return 0, nil
	}
	for t.more && t.next.Ordinal < ordinal {
		var err error
		if t.more, err = t.cursor.Next(&t.next); err != nil {
			return 0, err
		}
	}
	if !t.more || t.next.Ordinal != ordinal {
		return 0, nil
	}
	id, ok := t.bySet[t.next.Set]
	if !ok {
		id = t.intern(t.labels(t.next.Set))
		t.bySet[t.next.Set] = id
	}
	return id, nil
}

// labels returns the requested contexts of a set.
func (t *contextTable) labels(set attribution.SetID) (list []contextLabel) {
	r := t.result
	for _, id := range r.Sets.Lists.At(uint32(set)) {
		if m := &r.Sets.Members[id]; t.types.Contains(m) {
			typ, name := t.types.Name(r, m)
			list = append(list, contextLabel{typ, name})
		}
	}
	return list
}

// intern returns the id of a list of contexts.
func (t *contextTable) intern(list []contextLabel) contextsID {
	if len(list) == 0 {
		return 0
	}
	var text strings.Builder
	for _, l := range list {
		fmt.Fprintf(&text, "%s\x00%s\x00", l.typ, l.name)
	}
	id, ok := t.byText[text.String()]
	if !ok {
		id = contextsID(len(t.lists))
		t.byText[text.String()] = id
		t.lists = append(t.lists, slices.Clip(list))
		t.framed = append(t.framed, nil)
	}
	return id
}

// frames returns the frames for a list of contexts.
func (t *contextTable) frames(stacks *stackTable, id contextsID) []FrameID {
	if t.framed[id] != nil {
		return t.framed[id]
	}
	for _, l := range t.lists[id] {
		t.framed[id] = append(t.framed[id], stacks.frame(Frame{Name: l.typ + ": " + l.name}))
	}
	if len(t.framed[id]) == 0 {
		t.framed[id] = []FrameID{stacks.frame(Frame{Name: unattributed})}
	}
	return t.framed[id]
}

// close frees the attribution, but keeps the names of contexts.
func (t *contextTable) close() error {
	err := t.result.Close()
	t.result, t.cursor, t.more = nil, nil, false
	return err
}
