package perfetto

import (
	"fmt"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/schema"
)

// sequence is what the reader remembers of a packet sequence, beside the state that packets hand to each other.
type sequence struct {
	ofWeft   bool // it has the attribute pfwire.AttributeVersion
	appended bool // weft appended it to the trace

	folded pfwire.Folded
	shown  int64 // the packet of the slice that shows the calls in folded, -1 after the first of them

	stacks    *sequenceStacks
	sampledAs *sampleDefaults
}

// setSequence makes the sequence of a packet, which may be nil, the current one.
func (r *reader) setSequence(seq *pfwire.Sequence) {
	if seq == r.seq {
		return
	}
	own := r.sequences[seq]
	if own == nil {
		own = new(sequence)
		r.sequences[seq] = own
	}
	r.seq, r.own = seq, own
}

// isShown reports whether the track event of a packet, on a sequence of weft, is a slice by which viewers show the calls of a
// recursion that follow. If there are more or fewer calls than it says, that is counted.
func (r *reader) isShown() bool {
	own, f := r.own, r.fields
	if !own.folded.Follow(f) {
		r.levelsNotConverted()
	} else if f.Folded && own.shown >= 0 {
		if r.located != nil {
			r.located(r.index, own.shown) // the first call: viewers see there what becomes of it
		}
		own.shown = -1
	}
	if f.Folded || f.Levels == 0 {
		return false
	}
	own.shown = r.number
	return true
}

// checkFolded counts, at the end, recursions of which calls are missing.
func (r *reader) checkFolded() {
	for _, s := range r.sequences {
		if s.folded.Left() > 0 {
			r.levelsNotConverted()
		}
	}
}

func (r *reader) levelsNotConverted() {
	r.notConverted(fmt.Sprintf("TracePacket field %d", schema.TracePacket_WeftLevels))
}
