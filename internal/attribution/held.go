package attribution

import "github.com/weft-trace/weft/internal/timeline"

// Bounds of what the second pass keeps of flows, requests and asynchronous slices that are not over.
const (
	MaxHeld = 16 << 20 // bytes

	begunSize  = 24     // of an entry
	flowSize   = 160    // of a flow, without its entries and slices
	passedSize = 8      // of a slice that a flow has passed
	openSize   = 72     // of an asynchronous slice, without its entries
	maxEnded   = 1 << 8 // slices of a thread that end at one time; what comes out of them at that time is known
)

// hold reports whether size bytes more may be kept, and counts what may not.
func (p *propagating) hold(size int) bool {
	switch {
	case p.held+size <= p.contexts.Room.Of(MaxHeld):
	case p.patience > 0:
		p.patience--
	default:
		p.sweep()
	}
	if p.held+size > p.contexts.Room.Of(MaxHeld) {
		p.contexts.dropped++
		return false
	}
	p.held += size
	return true
}

// sweep gives up what is kept of asynchronous slices that are over, on tracks where nothing has happened since. Where
// that is little it is not done again soon.
func (p *propagating) sweep() {
	before := p.held
	for id, track := range p.asyncs {
		if p.closeAsyncs(&track, p.now-1); track.Len() == 0 {
			delete(p.asyncs, id)
		} else {
			p.asyncs[id] = track
		}
	}
	if before-p.held < p.contexts.Room.Of(MaxHeld)/8 {
		p.patience = 1 << 16
	}
}

// closeAsyncs ends the asynchronous slices of a track up to a time.
func (p *propagating) closeAsyncs(track *timeline.OpenSlices[openAsync], ts timeline.Nanos) {
	for o := track.Ended(ts); o != nil; o = track.Ended(ts) {
		p.held -= openSize + begunSize*len(o.set)
		o.set = nil
		track.Pop()
	}
}
