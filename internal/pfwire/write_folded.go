package pfwire

import (
	"bytes"
	"strconv"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxLevels is the maximum number of levels of a recursion that are drawn one by one (perfetto.md 6.7).
const maxLevels = 40

// LevelsKey is the member of the weft argument with the number of calls that a slice shows.
const LevelsKey = "levels"

// folding is a call that waits for its first inner call, and the number of equal levels so far.
type folding struct {
	call   timeline.Item
	texts  []byte // copies of the texts in call
	levels int    // 0: no call is waiting
}

// findCalls determines which categories are for calls.
func (w *writer) findCalls() {
	w.calls = make([]bool, w.t.CategoryCount()+1)
	for id := range w.calls[1:] {
		w.calls[id+1] = timeline.IsCall(w.t.Category(timeline.CategoryID(id + 1)))
	}
}

// canFold reports whether an item can be a call in a recursion: a complete event without flows, a call stack or a thread time.
func (w *writer) canFold(it *timeline.Item) bool {
	return it.Kind == timeline.ItemBegin && int(it.CategoryID) < len(w.calls) && w.calls[it.CategoryID] &&
		len(it.Flows) == 0 && it.Callstack == 0 && it.ThreadTime == (timeline.CPUTime{}) && w.isComplete(it)
}

// hold stores a call until the next item.
func (f *folding) hold(it *timeline.Item) {
	f.call, f.levels = *it, 1
	f.texts = append(append(append(f.texts[:0], it.Name...), it.Args...), it.Notes...)
	name, args := len(it.Name), len(it.Name)+len(it.Args)
	f.call.Name, f.call.Args, f.call.Notes = f.texts[:name:name], f.texts[name:args:args], f.texts[args:]
}

// isLevel reports whether an item is the waiting call again, one level deeper. If anything happened between two levels, their
// times differ; if samples were taken in them, their arguments differ. Such an item is not a further level.
func (f *folding) isLevel(it *timeline.Item) bool {
	c := &f.call
	return f.levels > 0 && it.Kind == c.Kind && it.TS == c.TS && it.Dur == c.Dur && it.Track == c.Track && it.NameID == c.NameID &&
		it.CategoryID == c.CategoryID && len(it.Flows) == 0 && it.Callstack == 0 && it.ThreadTime == c.ThreadTime && it.Lane == c.Lane && it.Correlation == c.Correlation &&
		bytes.Equal(it.Name, c.Name) && bytes.Equal(it.Args, c.Args) && bytes.Equal(it.Notes, c.Notes)
}

// release writes the waiting call, once for each of its levels. If there are more than maxLevels, the slice that viewers show
// comes first.
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

// drawFolded writes the slice that viewers show for a recursion, in the color of the calls.
func (w *writer) drawFolded(levels int) error {
	shown := w.folding.call
	name := shown.Name
	if shown.NameID != 0 {
		name = w.t.Name(shown.NameID)
	}
	var event message.TrackEvent
	if event.Parse(shown.Args); event.Correlation == nil && event.CorrelationIID == 0 && shown.Correlation == "" {
		shown.Correlation = string(name)
	}
	shown.NameID, shown.Name = 0, strconv.AppendInt(append(bytes.Clone(name), " ×"...), int64(levels), 10)
	w.levels = levels
	defer func() { w.levels = 0 }()
	return w.event(&shown, schema.TracePacket_TrackEvent)
}

// Folded counts the calls of a recursion after the slice that viewers show for the recursion, on one sequence.
type Folded struct{ pending uint64 }

// Follow adds the next track event. It returns false if the event is not a folded call although folded calls are pending, or if
// it is a folded call although none are pending.
func (f *Folded) Follow(p *message.TracePacket) bool {
	ok := p.Folded == (f.pending > 0)
	switch {
	case !p.Folded:
		f.pending = p.Levels
	case ok:
		f.pending--
	}
	return ok
}

// Pending returns the number of pending calls.
func (f *Folded) Pending() uint64 { return f.pending }
