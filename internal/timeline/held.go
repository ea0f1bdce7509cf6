package timeline

import "github.com/weft-trace/weft/internal/collections"

// What a process, a thread, an asynchronous id and another track take in memory, with their places in the tables by which they are found.
// Tables grow by a quarter, so a part of this is not in use yet.
const (
	processBytes = 512
	threadBytes  = 256
	asyncBytes   = 192
	trackBytes   = 256
)

// held is what must stay in memory while an input is read, and afterwards: the kinds of things that records refer to, and what a reader
// keeps of them. It may take as much as the budget, or DefaultMemory if that is more.
type held struct {
	room collections.Room
	full error // there is no room for more
	tell func(error)
}

func newHeld(memory int64) held {
	return held{room: collections.Room{What: "tracks, and the state of packet sequences, are held in memory", Limit: max(memory, DefaultMemory)}}
}

// hold counts n more bytes as held, or fewer if n is negative.
func (h *held) hold(n int) {
	if err := h.room.Take(int64(n)); err != nil && h.full == nil {
		if h.full = err; h.tell != nil {
			h.tell(err)
		}
	}
}

// Hold counts n more bytes that a reader keeps in memory, or fewer if n is negative. Without room for them, Full, Add and Finish
// return an error.
func (b *Builder) Hold(n int) { b.table.hold(n) }

// Full returns an error if what stays in memory has grown beyond its limit, a *collections.RoomError. Reading on would take more.
func (b *Builder) Full() error { return b.table.full }

// WhenFull has a function called when there is an error for Full: readers add thousands of tracks between two events. nil: none any more.
func (b *Builder) WhenFull(tell func(error)) { b.table.tell = tell }
