package writeback

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"maps"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/timeline"
)

// AttachChanged calls Attach and reports whether that changed anything. If the trace already contained exactly this
// attribution, the caller should keep the trace as it is, because reading and writing it reorders tracks and texts.
func (a *Additions) AttachChanged(ctx context.Context) (changed bool, err error) {
	if !a.result.Attributed {
		return true, a.Attach()
	}
	before, err := a.written(ctx, func(it *timeline.Item) (timeline.Arg, bool) {
		i, note := attribution.NoteIn(a.result.Timeline, it.Args)
		return note, i >= 0
	})
	if err != nil {
		return true, err
	}
	if err := a.Attach(); err != nil {
		return true, err
	}
	after, err := a.written(ctx, func(it *timeline.Item) (timeline.Arg, bool) {
		for note := range a.result.Timeline.ArgList(it.Notes) {
			return note, true
		}
		return timeline.Arg{}, false
	})
	return !maps.Equal(before, after), err
}

// digest identifies a sequence of texts.
type digest [sha256.Size]byte

// written returns digests of the parts of the attribution in a timeline: the notes, each track and each attribute.
func (a *Additions) written(ctx context.Context, noteOf func(*timeline.Item) (timeline.Arg, bool)) (map[string]digest, error) {
	sums := map[string]hash.Hash{}
	sum := func(name string) hash.Hash {
		if sums[name] == nil {
			sums[name] = sha256.New()
		}
		return sums[name]
	}
	own := ownTrackNames(a.result.Timeline)
	var line []byte
	err := a.result.Timeline.Walk(ctx, func(it *timeline.Item) error {
		if name, ok := own[it.Track]; ok {
			line = a.appendOverlayItem(line[:0], it)
			sum(name).Write(line)
			return nil
		}
		if it.Kind != timeline.ItemBegin && it.Kind != timeline.ItemInstant {
			return nil
		}
		if note, ok := noteOf(it); ok {
			line = appendArg(binary.AppendUvarint(line[:0], it.Ordinal), a.result.Timeline, note)
			sum("notes").Write(line)
		}
		return nil
	})
	for _, a := range a.result.Timeline.Attributes() {
		if attribution.IsOwnAttribute(a.Key) {
			fmt.Fprintf(sum("fact "+a.Key), "%d %q", a.Int, a.Text)
		}
	}
	digests := make(map[string]digest, len(sums))
	for name, h := range sums {
		digests[name] = digest(h.Sum(nil))
	}
	return digests, err
}

// ownTrackNames returns the visible tracks of attributions, with unique names.
func ownTrackNames(t *timeline.Timeline) map[timeline.TrackID]string {
	own := map[timeline.TrackID]string{}
	for id := range timeline.TrackID(t.TrackCount()) {
		if tr := t.Track(id); attribution.IsOwnTrack(t, id) {
			own[id] = fmt.Sprint("track ", tr.Parent, " ", tr.Name)
		}
	}
	return own
}

// appendOverlayItem appends an item of an attribution's track, in the same form whether it has been read or will be written.
func (a *Additions) appendOverlayItem(b []byte, it *timeline.Item) []byte {
	b = binary.AppendVarint(append(b, byte(it.Kind)), int64(it.TS))
	if it.Kind == timeline.ItemEnd {
		return b
	}
	correlation := []byte(it.Correlation)
	if len(correlation) == 0 {
		correlation = a.result.Timeline.CorrelationOf(it.Args)
	}
	b = appendText(appendText(b, it.Name), correlation)
	for arg := range a.result.Timeline.ArgList(it.Args) {
		b = appendArg(b, a.result.Timeline, arg)
	}
	return b
}

// appendArg appends an argument with its members.
func appendArg(b []byte, t *timeline.Timeline, a timeline.Arg) []byte {
	b = appendText(append(b, byte(a.Kind)), a.Key)
	switch a.Kind {
	case timeline.ArgDict, timeline.ArgArray:
		for m := range t.Members(a) {
			b = appendArg(b, t, m)
		}
		return append(b, 0)
	case timeline.ArgString, timeline.ArgJSON:
		return appendText(b, a.Text())
	}
	return binary.AppendUvarint(b, a.Uint())
}

// appendText appends a text, prefixed with its length.
func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}
