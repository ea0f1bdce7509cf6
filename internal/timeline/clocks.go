package timeline

// Clock is a system clock, numbered as in Perfetto (perfetto.md 2); 0: unknown.
type Clock uint32

// The most common clocks.
const (
	ClockRealtime  Clock = 1 // since 1970, in UTC
	ClockMonotonic Clock = 3 // since an arbitrary moment, excluding system sleep
	ClockBoottime  Clock = 6 // since the system started
)

// ClockReading is a clock's time at some moment.
type ClockReading struct {
	Clock Clock
	Time  Nanos
}

// Clocks identifies the clock of a trace's times. If it is known, Readings may have the times of several system clocks,
// including Trace, at one moment.
type Clocks struct {
	Trace    Clock
	Readings []ClockReading
	// Date is set if Readings has no REALTIME but the recording indicates less directly the wall-clock time of some moment, so
	// that viewers can show dates. It does not align the trace with others.
	Date *Anchor
}

// SetClocks sets the clock of the times given to Add. It changes no time.
func (b *Builder) SetClocks(c Clocks) { b.clocks = c }

// Clocks returns the value given to SetClocks.
func (b *Builder) Clocks() Clocks { return b.clocks }

// Clocks returns the value given to Builder.SetClocks.
func (t *Timeline) Clocks() Clocks { return t.clocks }

// Reading returns the time of a clock; false if it is unknown.
func (c *Clocks) Reading(clock Clock) (Nanos, bool) {
	for _, r := range c.Readings {
		if r.Clock == clock {
			return r.Time, true
		}
	}
	return 0, false
}
