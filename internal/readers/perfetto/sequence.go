package perfetto

import (
	"fmt"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/schema"
)

// sequence is the reader's state for a packet sequence, in addition to pfwire's.
type sequence struct {
	byWeft    bool // it has the attribute pfwire.AttributeVersion
	appended  bool // weft appended it to the trace
	folded    pfwire.Folded
	shown     int64 // number of the packet with the slice that shows the folded calls; -1 after the first call
	stacks    *sequenceStacks
	sampledAs *sampleDefaults
}

// setSequence sets the current sequence, which may be nil.
func (r *reader) setSequence(seq *pfwire.Sequence) {
	if seq == r.seq {
		return
	}
	info := r.sequences[seq]
	if info == nil {
		info = new(sequence)
		r.sequences[seq] = info
	}
	r.seq, r.seqInfo = seq, info
}

// isShown reports whether the track event of the current packet, on a sequence by weft, is a slice that shows the
// following calls of a recursion to viewers. It counts recursions with a wrong number of calls.
func (r *reader) isShown() bool {
	info, f := r.seqInfo, r.fields
	if !info.folded.Follow(f) {
		r.levelsNotConverted()
	} else if f.Folded && info.shown >= 0 {
		if r.located != nil {
			r.located(r.index, info.shown) // the first call, whose changes viewers see in that slice
		}
		info.shown = -1
	}
	if f.Folded || f.Levels == 0 {
		return false
	}
	info.shown = r.number
	return true
}

func (r *reader) levelsNotConverted() {
	r.notConverted(fmt.Sprintf("TracePacket field %d", schema.TracePacket_WeftLevels))
}
