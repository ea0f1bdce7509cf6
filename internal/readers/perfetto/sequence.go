package perfetto

import "github.com/weft-trace/weft/internal/pfwire"

// sequence is what the reader remembers of a packet sequence, beside the state that packets hand to each other.
type sequence struct {
	ofWeft   bool // it has the attribute pfwire.AttributeVersion
	appended bool // weft appended it to the trace

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
