package attribution

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// The memory of ended asynchronous slices is reused.
func TestHeld(t *testing.T) {
	p := &propagating{asyncs: map[timeline.TrackID]timeline.OpenSlices[openAsync]{}, contexts: newCatalogue(LimitsFor(Full))}
	set := make([]entry, 100)
	const size = openSize + 100*entrySize
	n := 0
	for p.reserve(size) {
		var track timeline.OpenSlices[openAsync]
		track.Push(timeline.Nanos(n)).set = set
		p.asyncs[timeline.TrackID(n)] = track
		n++
	}
	if n != MaxHeld/size || p.contexts.dropped != 1 {
		t.Errorf("%d asynchronous slices are held, want %d; %d were counted", n, MaxHeld/size, p.contexts.dropped)
	}
	p.now, p.patience = timeline.Nanos(n/2), 0
	if !p.reserve(size) || len(p.asyncs) != n-n/2 {
		t.Errorf("%d asynchronous slices are open, want %d", len(p.asyncs), n-n/2)
	}
}

// A history returns the state before any event, in any order of queries.
func TestHistory(t *testing.T) {
	c := newCatalogue(LimitsFor(Full))
	p, q := c.nodeOf("ptr", []byte("0x1"), 1), c.nodeOf("ptr", []byte("0x2"), 1)
	a, h := &active{}, &history{}
	a.enter(7, Entered{Node: p})
	h.Begin(a)
	for i, e := range []Evidence{{kind: enters, Type: 7, Node: q}, {kind: enters, Type: 6, Node: q}, {kind: destroys, Node: q}, {kind: leaves, Type: 7, Node: p}} {
		h.Apply(a, c, &e, &explicitAt{Event: uint32(10 * (i + 1))}, nil)
	}
	for event, want := range map[uint32][]Explicit{
		5: {{7, Entered{Node: p}}}, 10: {{7, Entered{Node: p}}}, 11: {{7, Entered{Node: q, event: 10}}},
		25: {{6, Entered{Node: q, event: 20}}, {7, Entered{Node: q, event: 10}}}, 31: {{7, Entered{Node: p}}}, 99: nil,
	} {
		if got := h.appendInnermost(nil, event); !slices.Equal(got, want) {
			t.Errorf("at event %d: %v, want %v", event, got, want)
		}
	}
}

// The keys of data sorted on disk agree with its order.
func TestEntryKeys(t *testing.T) { testkit.CheckKeys(t, entryOrder) }
