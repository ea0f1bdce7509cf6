package attribution

import "github.com/weft-trace/weft/internal/timeline"

// Bounds on the second pass's memory for open flows, requests and asynchronous slices.
const (
	MaxHeld = 16 << 20 // bytes

	entrySize   = 24     // of an entry
	flowSize    = 160    // of a flow, without its entries and slices
	visitedSize = 8      // of a slice that a flow has passed through
	openSize    = 72     // of an asynchronous slice, without its entries
	maxEnded    = 1 << 8 // slices of a thread that end at one time and are remembered for flow steps at that time
)

// reserve reserves size more bytes if they fit within the limit; otherwise it returns false and counts the loss.
func (p *propagating) reserve(size int) bool {
	switch {
	case p.held+size <= p.contexts.Limits.Of(MaxHeld):
	case p.patience > 0:
		p.patience--
	default:
		p.sweep()
	}
	if p.held+size > p.contexts.Limits.Of(MaxHeld) {
		p.contexts.dropped++
		return false
	}
	p.held += size
	return true
}

// sweep frees the memory of ended asynchronous slices on tracks without later events. If that frees little, reserve waits
// before it calls sweep again.
func (p *propagating) sweep() {
	before := p.held
	for id, track := range p.asyncs {
		if p.closeAsyncs(&track, p.now-1); track.Len() == 0 {
			delete(p.asyncs, id)
		} else {
			p.asyncs[id] = track
		}
	}
	if before-p.held < p.contexts.Limits.Of(MaxHeld)/8 {
		p.patience = 1 << 16
	}
}

// closeAsyncs ends the asynchronous slices of a track that end at or before ts.
func (p *propagating) closeAsyncs(track *timeline.OpenSlices[openAsync], ts timeline.Nanos) {
	for o := track.Ended(ts); o != nil; o = track.Ended(ts) {
		p.held -= openSize + entrySize*len(o.set)
		o.set = nil
		track.Pop()
	}
}
