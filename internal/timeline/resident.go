package timeline

import "github.com/weft-trace/weft/internal/collections"

// Estimated memory for a process, a thread, an asynchronous id and any other track, including their share of the lookup tables
// and of the spare capacity of growing tables.
const (
	processBytes = 512
	threadBytes  = 256
	asyncBytes   = 192
	trackBytes   = 256
)

// resident counts memory that cannot be spilled while an input is read: the data that records refer to, and the state of readers.
// It is limited to the budget, or to DefaultMemory if that is larger.
type resident struct {
	room   collections.MemoryLimit
	full   error // set once the limit is exceeded
	onFull func(error)
}

func newResident(memory int64) resident {
	return resident{room: collections.MemoryLimit{What: "tracks, and the state of packet sequences, are held in memory", Limit: max(memory, DefaultMemory)}}
}

// hold adds n bytes, or subtracts them if n is negative.
func (m *resident) hold(n int) {
	if err := m.room.Add(int64(n)); err != nil && m.full == nil {
		if m.full = err; m.onFull != nil {
			m.onFull(err)
		}
	}
}

// Hold counts n more bytes of reader state, or fewer if n is negative. Once the counted bytes exceed the limit, Full, Add and
// Finish return an error.
func (b *Builder) Hold(n int) { b.table.hold(n) }

// Full returns a *collections.MemoryLimitError once memory that cannot be spilled exceeds its limit; readers must then stop.
func (b *Builder) Full() error { return b.table.full }

// WhenFull sets a function to call when Full starts to return an error; readers need it because they may add thousands of tracks
// between two events. nil means no function.
func (b *Builder) WhenFull(onFull func(error)) { b.table.onFull = onFull }
