package pfwire

import (
	"bytes"
	"strconv"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxLevels is the number of levels up to which a recursion is drawn level by level (perfetto.md 6.7).
const maxLevels = 40

// LevelsKey is the member of the argument weft that says how many calls a slice shows.
const LevelsKey = "levels"

// folding is a call that waits for those in it, and how many of them are the same. The item is a copy.
type folding struct {
	call   timeline.Item
	texts  []byte // of the item
	levels int    // 0: no call waits
}

// findCalls finds the categories of calls.
func (w *writer) findCalls() {
	w.calls = make([]bool, w.t.CategoryCount()+1)
	for id := range w.calls[1:] {
		w.calls[id+1] = timeline.IsCall(w.t.Category(timeline.CategoryID(id + 1)))
	}
}

// canFold reports whether an item is a call that may be one of a recursion: a complete event with nothing beside its arguments.
func (w *writer) canFold(it *timeline.Item) bool {
	return it.Kind == timeline.ItemBegin && int(it.CategoryID) < len(w.calls) && w.calls[it.CategoryID] &&
		len(it.Flows) == 0 && it.Callstack == 0 && it.ThreadTime == (timeline.CPUTime{}) && w.isComplete(it)
}

// hold keeps a call until it is known what is in it.
func (f *folding) hold(it *timeline.Item) {
	f.call, f.levels = *it, 1
	f.texts = append(append(append(f.texts[:0], it.Name...), it.Args...), it.Notes...)
	name, args := len(it.Name), len(it.Name)+len(it.Args)
	f.call.Name, f.call.Args, f.call.Notes = f.texts[:name:name], f.texts[name:args:args], f.texts[args:]
}

// takes reports whether an item is the call that waits once more, one level deeper: levels between which anything happened differ
// in their times, and those in which anything was seen in their arguments.
func (f *folding) takes(it *timeline.Item) bool {
	c := &f.call
	return f.levels > 0 && it.Kind == c.Kind && it.TS == c.TS && it.Dur == c.Dur && it.Track == c.Track && it.NameID == c.NameID &&
		it.CategoryID == c.CategoryID && len(it.Flows) == 0 && it.Callstack == 0 && it.ThreadTime == c.ThreadTime && it.Lane == c.Lane && it.Correlation == c.Correlation &&
		bytes.Equal(it.Name, c.Name) && bytes.Equal(it.Args, c.Args) && bytes.Equal(it.Notes, c.Notes)
}

// release writes the call that waits, with those in it.
func (w *writer) release() error {
	levels, payload := w.folding.levels, schema.TracePacket_TrackEvent
	w.folding.levels = 0
	if levels > maxLevels {
		payload = schema.TracePacket_WeftFolded
		if err := w.drawFolded(levels); err != nil {
			return err
		}
	}
	for range levels {
		if err := w.event(&w.folding.call, payload); err != nil {
			return err
		}
	}
	return nil
}

// drawFolded writes the slice by which viewers show the calls of a recursion. It has their color.
func (w *writer) drawFolded(levels int) error {
	shown := w.folding.call
	name := shown.Name
	if shown.NameID != 0 {
		name = w.t.Name(shown.NameID)
	}
	var of message.TrackEvent
	if of.Parse(shown.Args); of.Correlation == nil && of.CorrelationIID == 0 && shown.Correlation == "" {
		shown.Correlation = string(name)
	}
	shown.NameID, shown.Name = 0, strconv.AppendInt(append(bytes.Clone(name), " ×"...), int64(levels), 10)
	w.levels = levels
	defer func() { w.levels = 0 }()
	return w.event(&shown, schema.TracePacket_TrackEvent)
}

// Folded counts the calls of a recursion that follow the slice by which viewers show it, on one sequence.
type Folded struct{ left uint64 }

// Follow takes the next track event. It reports whether that is one of the calls if some are left, and none otherwise.
func (f *Folded) Follow(p *message.TracePacket) bool {
	ok := p.Folded == (f.left > 0)
	switch {
	case !p.Folded:
		f.left = p.Levels
	case ok:
		f.left--
	}
	return ok
}

// Left returns how many calls have yet to come.
func (f *Folded) Left() uint64 { return f.left }
