package convert

import "github.com/weft-trace/weft/internal/load"

// The report describes an input, its conversion and its problems.
type (
	// Report is the result of Convert and Inspect. Its JSON form is stable: members are added, never renamed or
	// removed; docs/cli.md lists them.
	Report = load.Report
	// Fact is an attribute of the whole trace, or a value that all samples of a thread share.
	Fact = load.Fact
	// TrackCounts counts the tracks that have events.
	TrackCounts = load.TrackCounts
	// EventCounts counts the events of the output.
	EventCounts = load.EventCounts
	// Span is the time from the first event to the last.
	Span = load.Span
	// RecordedClock is the clock that the headers of probe lines name (docs/formats/probes.md, section 2).
	RecordedClock = load.RecordedClock
	// Durations are the times that the steps of a conversion took.
	Durations = load.Durations
	// Profile is a V8 profile in a Chrome or Node trace. Profiles of one thread sample the same time.
	Profile = load.Profile
	// ThreadCalls reports how well the calls of a thread represent its samples.
	ThreadCalls = load.ThreadCalls
	// RefinedLost counts what the refined rules lose.
	RefinedLost = load.RefinedLost
)
