package timeline

// Clock is a system clock, numbered as in Perfetto (perfetto.md 2). 0 means unknown.
type Clock uint32

// The most common clocks.
const (
	ClockRealtime  Clock = 1 // time since 1970, in UTC
	ClockMonotonic Clock = 3 // time since an arbitrary moment, excluding system sleep
	ClockBoottime  Clock = 6 // time since the system started
)

// ClockReading is the time of a clock at some moment.
type ClockReading struct {
	Clock Clock
	Time  Nanos
}

// Clocks identifies the clock that a trace's times refer to. If the clock is known, Readings may contain the times of several
// system clocks, including Trace, at one moment.
type Clocks struct {
	Trace    Clock
	Readings []ClockReading
	// Date is set if Readings has no REALTIME but the recording indicates, less directly, the wall-clock time of some moment, so
	// that viewers can show dates. Merging does not use Date to align the trace with others.
	Date *Anchor
}

// SetClocks identifies the clock of the times passed to Add. It changes no times.
func (b *Builder) SetClocks(c Clocks) { b.clocks = c }

// Clocks returns the value passed to SetClocks.
func (b *Builder) Clocks() Clocks { return b.clocks }

// Clocks returns the value passed to Builder.SetClocks.
func (t *Timeline) Clocks() Clocks { return t.clocks }

// Reading returns the time of a clock, or false if there is no reading of it.
func (c *Clocks) Reading(clock Clock) (Nanos, bool) {
	for _, r := range c.Readings {
		if r.Clock == clock {
			return r.Time, true
		}
	}
	return 0, false
}
