package convert

import "github.com/weft-trace/weft/internal/load"

// The report says what was found in an input, what was done and what was wrong.
type (
	// Report is what Convert and Inspect return. Its JSON form is stable: members are added, never renamed or removed; docs/cli.md
	// lists them.
	Report = load.Report
	// Fact is a statement of the input about the trace as a whole, or a value that all samples of a thread share.
	Fact = load.Fact
	// TrackCounts counts the tracks that hold events.
	TrackCounts = load.TrackCounts
	// EventCounts counts events as they are in the output.
	EventCounts = load.EventCounts
	// Span is a time from the first to the last moment.
	Span = load.Span
	// RecordedClock is the clock that the headers of probe lines name (docs/formats/probes.md, section 2).
	RecordedClock = load.RecordedClock
	// Durations say how long the steps of a conversion took.
	Durations = load.Durations
	// Profile is a V8 profile in a Chrome or Node trace. Several of one thread sampled the same time.
	Profile = load.Profile
	// ThreadCalls says what became of the samples of a thread.
	ThreadCalls = load.ThreadCalls
	// RefinedLost is what is lost under the refined rules.
	RefinedLost = load.RefinedLost
)
