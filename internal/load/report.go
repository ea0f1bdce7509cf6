package load

import (
	"slices"
	"time"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers/probes"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
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
	// JSCalls tells, for the sampled threads of a Chrome trace, how much of the samples their calls show.
	JSCalls []ThreadCalls `json:"js_calls,omitempty"`

	// Span is the time from the first event to the last one, nil if there is none.
	Span *Span `json:"span,omitempty"`

	// Clock is the clock that the headers of probe lines name, also in a Perfetto trace made of them; nil if they name none.
	Clock *RecordedClock `json:"clock,omitempty"`

	// Contexts are the types of which an attribution has found contexts, by name; nil if none was asked for.
	Contexts []string `json:"contexts,omitzero"`

	// Copied is set if the packets of a Perfetto trace are in the output as they are. What problems call lost had then no part in
	// the attribution, and is still there, unless no packet could be read at that place.
	Copied bool `json:"copied,omitempty"`

	// Facts are the input's statements about the trace as a whole and its threads; only Inspect lists them.
	Facts []Fact `json:"facts,omitempty"`

	Problems []trace.Problem `json:"problems"` // the severest first, then by name
	// Usual are the names of those Problems that most recordings in this format have and that users do not miss, such
	// as flows whose other end was not recorded.
	Usual []string `json:"usual,omitempty"`

	Durations Durations `json:"durations"`
}

// Fact is a statement of the input about the trace as a whole, or a value that all samples of a thread share.
type Fact struct {
	Name  string `json:"name"`
	Value any    `json:"value"` // a string, an int64 or a float64

	// What follows is about a thread; Samples is 0 otherwise.

	Unit    string      `json:"unit,omitempty"`    // of the value
	PID     trace.Value `json:"pid,omitzero"`      // as the input has it: an IntKind, a StringKind, or NoValue if it is not a number
	TID     trace.Value `json:"tid,omitzero"`      // likewise
	Process string      `json:"process,omitempty"` // as Perfetto shows it
	Thread  string      `json:"thread,omitempty"`
	Samples int64       `json:"samples,omitempty"` // that have the value
}

// addFacts adds the input's statements about the trace as a whole and its threads.
func (r *Report) addFacts(tl *timeline.Timeline) {
	for _, a := range tl.Attributes() {
		f := Fact{Name: a.Key, Value: a.Text}
		if a.IsInt {
			f.Value = a.Int
		}
		r.Facts = append(r.Facts, f)
	}
	for id := range timeline.TrackID(tl.TrackCount()) {
		thread := tl.Track(id)
		if !thread.Used {
			continue
		}
		for i := range thread.Facts {
			f := &thread.Facts[i]
			process := tl.Track(thread.Parent)
			out := Fact{
				Name: f.Kind.String(), Unit: f.Kind.Unit(), PID: idValue(process.InputID), TID: idValue(thread.InputID),
				Process: process.FullName(), Thread: thread.FullName(), Samples: f.Samples,
			}
			switch {
			case f.Kind.IsText():
				out.Value = f.Text
			case f.Number.IsInt():
				out.Value = f.Number.Int()
			default:
				out.Value = f.Number.Float()
			}
			r.Facts = append(r.Facts, out)
		}
	}
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
	Slices        int64 `json:"slices"`         // of threads and asynchronous ones, and states of samplers
	Unfinished    int64 `json:"unfinished"`     // slices that never end
	Instants      int64 `json:"instants"`       // points in time
	CounterValues int64 `json:"counter_values"` // values of counters
	Samples       int64 `json:"samples"`        // call stacks
	Flows         int64 `json:"flows"`          // arrows between slices

	// What weft adds of its own, marks of long tasks and contexts, is not in Slices and Instants, and neither are states of idle threads,
	// which no viewer shows. In the table slice of Perfetto, the output has Slices + Instants + AddedSlices + AddedInstants.
	AddedSlices   int64 `json:"added_slices,omitempty"`
	AddedInstants int64 `json:"added_instants,omitempty"`
	IdleStates    int64 `json:"idle_states,omitempty"`

	Screenshots     int64 `json:"screenshots,omitempty"`      // events with a picture
	ScreenshotBytes int64 `json:"screenshot_bytes,omitempty"` // of these pictures
}

// Span is a time from the first to the last moment.
type Span struct {
	Start trace.Nanos `json:"start_ns"`
	End   trace.Nanos `json:"end_ns"`
}

// RecordedClock is the clock that the headers of probe lines name (docs/formats/probes.md, section 2).
type RecordedClock struct {
	Name     string `json:"name,omitempty"`         // monotonic, boottime, realtime, tai or other
	Epoch    *int64 `json:"epoch_ns,omitempty"`     // Unix time at 0 of the clock
	Sync     *int64 `json:"sync_ns,omitempty"`      // a time of the clock,
	SyncUnix *int64 `json:"sync_unix_ns,omitempty"` // and Unix time then
	End      *int64 `json:"end_ns,omitempty"`       // when the recording ended
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

// Durations say how long the steps of a conversion took.
type Durations struct {
	Read      time.Duration `json:"read_ns"`    // unpacking, reading and collecting
	Resolve   time.Duration `json:"resolve_ns"` // sorting, nesting, flows
	Attribute time.Duration `json:"attribute_ns,omitempty"`
	Write     time.Duration `json:"write_ns"` // encoding, compressing, writing
	Total     time.Duration `json:"total_ns"`
}

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
func (r *Report) IsLost(p *trace.Problem) bool {
	return p.Severity == problem.Lost.String() && (!r.Copied || slices.Contains(unreadable, p.Name))
}

// unreadable are the problems of what is not even copied.
var unreadable = []string{problem.ContainerDamaged.Name(), problem.PacketTruncated.Name(), problem.PacketMalformed.Name()}
