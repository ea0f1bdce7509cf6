package convert

import "github.com/weft-trace/weft/internal/load"

// A report describes an input, its conversion and its problems.
type (
	// Report is the result of Convert and Inspect. Its JSON form is stable: members may be added, but are never renamed or
	// removed; docs/cli.md lists them.
	Report = load.Report
	// Fact is an attribute of the whole trace, or a value shared by all samples of a thread.
	Fact = load.Fact
	// TrackCounts counts the tracks that have events.
	TrackCounts = load.TrackCounts
	// EventCounts counts the events in the output.
	EventCounts = load.EventCounts
	// Span is the time from the first event to the last.
	Span = load.Span
	// RecordedClock is the clock that probe-line headers name (docs/formats/probes.md, section 2).
	RecordedClock = load.RecordedClock
	// Durations holds the time that each step of a conversion took.
	Durations = load.Durations
	// Profile is a V8 profile in a Chrome or Node trace. Profiles of the same thread sample the same period.
	Profile = load.Profile
	// ThreadCalls reports how well the calls of a thread represent its samples.
	ThreadCalls = load.ThreadCalls
	// RefinedLost counts what the refined rules lose.
	RefinedLost = load.RefinedLost
)
