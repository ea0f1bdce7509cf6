package attribution

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/extsort/keytest"
	"github.com/weft-trace/weft/internal/timeline"
)

// What has room again when asynchronous slices are over is used again.
func TestHeld(t *testing.T) {
	p := &propagating{asyncs: map[timeline.TrackID]timeline.OpenSlices[openAsync]{}, contexts: newCatalogue(For(Full))}
	set := make([]entry, 100)
	const size = openSize + 100*begunSize
	n := 0
	for p.hold(size) {
		var track timeline.OpenSlices[openAsync]
		track.Push(timeline.Nanos(n)).set = set
		p.asyncs[timeline.TrackID(n)] = track
		n++
	}
	if n != MaxHeld/size || p.contexts.dropped != 1 {
		t.Errorf("%d asynchronous slices are held, want %d; %d were counted", n, MaxHeld/size, p.contexts.dropped)
	}
	p.now, p.patience = timeline.Nanos(n/2), 0
	if !p.hold(size) || len(p.asyncs) != n-n/2 {
		t.Errorf("%d asynchronous slices are open, want %d", len(p.asyncs), n-n/2)
	}
}

// A history gives what was entered at any event, whichever is asked for first.
func TestHistory(t *testing.T) {
	c := newCatalogue(For(Full))
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

// What is sorted on disk has keys that agree with its order.
func TestEntryKeys(t *testing.T) { keytest.Check(t, entryOrder) }
