package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers/probes"
	"github.com/weft-trace/weft/internal/timeline"
)

// Report says what was found in an input, what was done and what was wrong. Its JSON form is stable: members are added,
// never renamed or removed; docs/cli.md lists them.
type Report struct {
	Format     Format   `json:"format"`
	Containers []string `json:"containers,omitempty"` // what the input was packed in: gzip, zstd, zip; outermost first

	BytesIn       int64 `json:"bytes_in"`            // read from the input
	BytesUnpacked int64 `json:"bytes_unpacked"`      // the same without containers
	BytesOut      int64 `json:"bytes_out,omitempty"` // written; 0 if nothing was converted

	Tracks TrackCounts `json:"tracks"`
	Events EventCounts `json:"events"`

	// Profiles are the V8 profiles of a Chrome trace.
	Profiles []Profile `json:"profiles,omitempty"`
	// JSCalls says of the sampled threads of a Chrome trace how much of the samples their calls show.
	JSCalls []ThreadCalls `json:"js_calls,omitempty"`

	// Span is the time from the first event to the last one, nil if there is none.
	Span *Span `json:"span,omitempty"`

	// Clock is what the headers of probe lines say of their times, also in a Perfetto trace made of them; nil if they say nothing.
	Clock *RecordedClock `json:"clock,omitempty"`

	// Joined says where in a trace self-profiles were placed, see SelfProfileOptions.Join.
	Joined []Joined `json:"joined,omitempty"`

	// Contexts are the types of which an attribution has found contexts, by name; nil if none was asked for.
	Contexts []string `json:"contexts,omitzero"`

	// Copied says that the packets of a Perfetto trace are in the output as they are. What problems call lost had then no
	// part in the attribution, and is still there, unless no packet could be read at that place.
	Copied bool `json:"copied,omitempty"`

	Problems  []Problem `json:"problems"` // the severest first, then by name
	Durations Durations `json:"durations"`
}

// TrackCounts counts the tracks that hold events.
type TrackCounts struct {
	Processes int `json:"processes"`
	Threads   int `json:"threads"`
	Async     int `json:"async"`    // one for each asynchronous id
	Counters  int `json:"counters"` // counter tracks
	Other     int `json:"other"`    // further tracks: instants of processes, lanes for overlapping slices, …
}

// EventCounts counts events as they are in the output.
type EventCounts struct {
	Slices        int64 `json:"slices"`         // of threads and asynchronous ones
	Unfinished    int64 `json:"unfinished"`     // those of the slices that never end
	Instants      int64 `json:"instants"`       // points in time
	CounterValues int64 `json:"counter_values"` // values of counters
	Samples       int64 `json:"samples"`        // call stacks
	Flows         int64 `json:"flows"`          // arrows between slices
}

// Span is a time from the first to the last moment.
type Span struct {
	Start timeline.Nanos `json:"start_ns"`
	End   timeline.Nanos `json:"end_ns"`
}

// RecordedClock is what the headers of probe lines say of their times (docs/formats/probes.md, section 2).
type RecordedClock struct {
	Name     string `json:"name,omitempty"`         // monotonic, boottime, realtime, tai or other
	Epoch    *int64 `json:"epoch_ns,omitempty"`     // Unix time at 0 of the clock
	Sync     *int64 `json:"sync_ns,omitempty"`      // a time of the clock,
	SyncUnix *int64 `json:"sync_unix_ns,omitempty"` // and Unix time then
	End      *int64 `json:"end_ns,omitempty"`       // when the recording ended
}

// String says it in one line: "boottime; 0 is 2026-11-22T12:00:00.000000001Z; the recording ended at 12 ns".
func (c *RecordedClock) String() string {
	parts := []string{cmp.Or(c.Name, "not named")}
	if epoch, ok := c.epoch(); ok {
		parts = append(parts, "0 is "+time.Unix(0, epoch).UTC().Format(time.RFC3339Nano))
	}
	if c.End != nil {
		parts = append(parts, fmt.Sprintf("the recording ended at %d ns", *c.End))
	}
	return strings.Join(parts, "; ")
}

// epoch returns Unix time at 0 of the clock, if that can be told.
func (c *RecordedClock) epoch() (ns int64, ok bool) {
	switch {
	case c.Epoch != nil:
		return *c.Epoch, true
	case c.Sync != nil && c.SyncUnix != nil:
		ns = *c.SyncUnix - *c.Sync
		return ns, (ns < *c.SyncUnix) == (*c.Sync > 0)
	}
	return 0, false
}

// recordedClock reads the facts about a trace that the reader of probe lines has left; nil if there are none.
func recordedClock(tl *timeline.Timeline) *RecordedClock {
	var c RecordedClock
	found := false
	for _, a := range tl.Attributes() {
		number := map[string]**int64{
			probes.AttributeEpoch: &c.Epoch, probes.AttributeSync: &c.Sync, probes.AttributeSyncUnix: &c.SyncUnix,
			probes.AttributeEnd: &c.End,
		}[a.Key]
		switch {
		case a.Key == probes.AttributeClock && !a.IsInt:
			c.Name, found = a.Text, true
		case number != nil && a.IsInt:
			*number, found = &a.Int, true
		}
	}
	if !found {
		return nil
	}
	return &c
}

// Problem is one kind of problem and how often it occurred.
type Problem struct {
	Name     string        `json:"name"`     // stable, see docs/data-problems.md
	Severity string        `json:"severity"` // lost, repaired or info
	Count    uint64        `json:"count"`
	Sentence string        `json:"sentence"`
	Cases    []ProblemCase `json:"cases"` // the first few
}

// ProblemCase is one occurrence of a problem.
type ProblemCase struct {
	Event  *int64 `json:"event,omitempty"` // index in the input's list of events
	Offset *int64 `json:"byte,omitempty"`  // in the unpacked input
	Detail string `json:"detail,omitempty"`
}

// Durations say how long the steps of a conversion took. In JSON they are seconds.
type Durations struct {
	Read      Seconds `json:"read_s"`    // unpacking, reading and collecting
	Resolve   Seconds `json:"resolve_s"` // sorting, nesting, flows
	Attribute Seconds `json:"attribute_s,omitempty"`
	Write     Seconds `json:"write_s"` // encoding, compressing, writing
	Total     Seconds `json:"total_s"`
}

// Seconds is a duration that is a number of seconds in JSON, in whole milliseconds.
type Seconds time.Duration

// MarshalJSON returns the seconds with three decimals.
func (s Seconds) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%.3f", time.Duration(s).Seconds()), nil
}

// String returns the duration rounded for people: "1.234s".
func (s Seconds) String() string { return time.Duration(s).Round(time.Millisecond).String() }

// Lost returns the number of problems by which something of the input is missing in the output.
func (r *Report) Lost() (n uint64) {
	for i := range r.Problems {
		if p := &r.Problems[i]; r.IsLost(p) {
			n = problem.Sum(n, p.Count)
		}
	}
	return n
}

// IsLost reports whether a problem means that something of the input is missing in the output.
func (r *Report) IsLost(p *Problem) bool {
	return p.Severity == problem.Lost.String() && (!r.Copied || slices.Contains(unreadable, p.Name))
}

// unreadable are the problems of what is not even copied.
var unreadable = []string{problem.ContainerDamaged.Name(), problem.PacketTruncated.Name(), problem.PacketMalformed.Name()}

// Summary says in one line what the input holds: events, tracks and time.
func (r *Report) Summary() string {
	e, t := r.Events, r.Tracks
	var events []string
	for _, kind := range []struct {
		n         int64
		one, many string
	}{
		{e.Slices, "slice", "slices"}, {e.Instants, "instant", "instants"},
		{e.CounterValues, "counter value", "counter values"}, {e.Samples, "sample", "samples"},
		{e.Flows, "flow", "flows"},
	} {
		if kind.n > 0 {
			events = append(events, plural(kind.n, kind.one, kind.many))
		}
	}
	if len(events) == 0 {
		return "no events"
	}
	line := strings.Join(events, ", ") + " on " + plural(int64(t.Threads), "thread", "threads") + " of " +
		plural(int64(t.Processes), "process", "processes")
	if r.Span != nil {
		line += fmt.Sprintf("; %s", time.Duration(r.Span.End-r.Span.Start))
	}
	return line
}

// ProblemSummary counts the problems by severity: "2 lost, 1 repaired, 7 info". It is empty if there are none.
func (r *Report) ProblemSummary() string {
	words := []string{problem.Lost.String(), notAttributed, problem.Repaired.String(), problem.Info.String()}
	counts := make([]uint64, len(words))
	for i := range r.Problems {
		p := &r.Problems[i]
		count := &counts[slices.Index(words, r.WordFor(p))]
		*count = problem.Sum(*count, p.Count)
	}
	var parts []string
	for i, n := range counts {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, words[i]))
		}
	}
	return strings.Join(parts, ", ")
}

// notAttributed is said of what is called lost where it is copied all the same.
const notAttributed = "not attributed"

// WordFor returns the severity of a problem for people: "lost", "repaired" or "info", or "not attributed" for what is in
// the output but had no part in the attribution.
func (r *Report) WordFor(p *Problem) string {
	if p.Severity == problem.Lost.String() && !r.IsLost(p) {
		return notAttributed
	}
	return p.Severity
}

// String says in one line what happened how often and where first: "end_without_begin ×3, first at event 12 (byte
// 3456): An end matches no open slice; weft dropped it."
func (p *Problem) String() string {
	line := fmt.Sprintf("%s ×%d", p.Name, p.Count)
	if len(p.Cases) > 0 {
		if at := p.Cases[0].position(); at != problem.NoPosition {
			line += ", first at " + at.String()
		}
		if detail := p.Cases[0].Detail; detail != "" {
			line += fmt.Sprintf(" (%s)", detail)
		}
	}
	return line + ": " + p.Sentence
}

func (c *ProblemCase) position() problem.Position {
	at := problem.NoPosition
	if c.Event != nil {
		at.Event = *c.Event
	}
	if c.Offset != nil {
		at.Offset = *c.Offset
	}
	return at
}

// String returns position and detail of the case.
func (c *ProblemCase) String() string {
	at := c.position()
	switch {
	case at == problem.NoPosition:
		return c.Detail
	case c.Detail == "":
		return at.String()
	}
	return at.String() + ": " + c.Detail
}

func problemsOf(log *problem.Log) []Problem {
	all := []Problem{}
	for _, total := range log.Totals() {
		p := Problem{
			Name:     total.Kind.Name(),
			Severity: total.Kind.Severity().String(),
			Count:    total.Count,
			Sentence: total.Kind.Sentence(),
			Cases:    []ProblemCase{},
		}
		for _, c := range total.Cases {
			found := ProblemCase{Detail: c.Detail}
			if c.Position.Event >= 0 {
				found.Event = &c.Position.Event
			}
			if c.Position.Offset >= 0 {
				found.Offset = &c.Position.Offset
			}
			p.Cases = append(p.Cases, found)
		}
		all = append(all, p)
	}
	return all
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
