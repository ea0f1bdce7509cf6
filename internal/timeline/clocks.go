package timeline

// Clock is a clock of the system, numbered as in Perfetto (perfetto.md 2); 0 is "not known".
type Clock uint32

// The clocks that are named most.
const (
	ClockRealtime  Clock = 1 // since 1970, in UTC
	ClockMonotonic Clock = 3 // since some moment, without the time that the system slept
	ClockBoottime  Clock = 6 // since the system started
)

// ClockReading is what a clock showed at some moment.
type ClockReading struct {
	Clock Clock
	Time  Nanos
}

// Clocks says which clock the times of a trace are of. Where that is known, Readings may hold what several clocks of the
// system showed at one moment, Trace among them.
type Clocks struct {
	Trace    Clock
	Readings []ClockReading
	// Date is set if nothing in Readings is of REALTIME, but the recording tells less directly when a time was by the wall clock: viewers show
	// dates then. It says nothing about the place of the trace among others.
	Date *Anchor
}

// SetClocks says which clock the times given to Add are of. It changes no time.
func (b *Builder) SetClocks(c Clocks) { b.clocks = c }

// Clocks returns what SetClocks was given; the zero Clocks if it was never called.
func (b *Builder) Clocks() Clocks { return b.clocks }

// Clocks returns what SetClocks was given; the zero Clocks if it was never called.
func (t *Timeline) Clocks() Clocks { return t.clocks }

// Reading returns what a clock showed; false if that is not known.
func (c *Clocks) Reading(clock Clock) (Nanos, bool) {
	for _, r := range c.Readings {
		if r.Clock == clock {
			return r.Time, true
		}
	}
	return 0, false
}
