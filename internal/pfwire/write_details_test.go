package pfwire

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/timeline"
)

// TestDetails: tracks with details of a thread are below one track of the thread, in an order that does not depend on their
// creation (perfetto.md 5.5).
func TestDetails(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{})
	process := b.Process(timeline.ProcessKey{Num: 1})
	thread := b.Thread(process, timeline.ThreadKey{Num: 2})
	at := timeline.Nanos(0)
	put := func(track timeline.TrackID) {
		at += 10
		e := timeline.Event{Kind: timeline.Slice, Track: track, TS: at, Dur: 5, Name: []byte("x"), Offset: -1}
		if err := b.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	put(b.RoleTrack(thread, timeline.RoleSamplePages))
	put(b.RoleTrack(thread, timeline.RoleCategories))
	put(b.NewTrack(thread, timeline.TrackSpec{Name: "a marker"}))
	for _, typ := range []string{"page", "frame", "frame"} { // tracks with equal names are lanes of each other
		put(b.NewTrack(thread, timeline.TrackSpec{Name: "Context: " + typ, Role: timeline.RoleContexts, Subject: typ}))
	}
	put(b.Thread(process, timeline.ThreadKey{Num: 3}))
	tl, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var tracks []*protos.TrackDescriptor
	names := map[uint64]string{}
	for _, p := range decode(t, write(t, tl, Options{})).Packet {
		if d := p.GetTrackDescriptor(); d != nil {
			name := d.GetName()
			if th := d.GetThread(); th != nil {
				name = fmt.Sprintf("thread %d", th.GetTid())
			}
			names[d.GetUuid()] = name
			tracks = append(tracks, d)
		}
	}
	slices.SortStableFunc(tracks, func(a, b *protos.TrackDescriptor) int {
		return cmp.Compare(a.GetSiblingOrderRank(), b.GetSiblingOrderRank())
	})
	var got []string
	for _, d := range tracks {
		switch {
		case d.GetThread() != nil:
			if !d.GetDisallowMergingWithSystemTracks() {
				t.Errorf("%s is ranked apart from the tracks below it", names[d.GetUuid()])
			}
		case d.GetProcess() == nil:
			got = append(got, fmt.Sprintf("%s / %s", names[d.GetParentUuid()], d.GetName()))
		}
		if explicit := d.GetChildOrdering() == protos.TrackDescriptor_EXPLICIT; explicit != (d.GetName() == "(contexts and states)") {
			t.Errorf("%s: explicit order: %v", names[d.GetUuid()], explicit)
		}
	}
	want := []string{
		"thread 2 / (contexts and states)",
		"thread 2 / a marker",
		"(contexts and states) / Context: page",
		"(contexts and states) / Context: frame",
		"(contexts and states) / Context: frame",
		"(contexts and states) / Sample category",
		"(contexts and states) / Sample page",
	}
	slices.Sort(got[:2])
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error("-want +got\n" + diff)
	}
}
