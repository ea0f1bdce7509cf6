package load

import (
	"slices"
	"time"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers/probes"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Report describes an input, its conversion and its problems. Its JSON form is stable: members may be added, but are never
// renamed or removed; docs/cli.md lists them.
type Report struct {
	Format     Format   `json:"format"`
	Containers []string `json:"containers,omitempty"` // gzip, zstd, zip; outermost first

	BytesIn       int64 `json:"bytes_in"`            // read from the input
	BytesUnpacked int64 `json:"bytes_unpacked"`      // after unpacking
	BytesOut      int64 `json:"bytes_out,omitempty"` // written; 0 if nothing was converted

	Tracks TrackCounts `json:"tracks"`
	Events EventCounts `json:"events"`

	// Profiles lists the V8 profiles in a Chrome trace.
	Profiles []Profile `json:"profiles,omitempty"`
	// JSCalls reports, for each sampled thread in a Chrome trace, how many of the samples its calls show.
	JSCalls []ThreadCalls `json:"js_calls,omitempty"`

	// Span is the time from the first event to the last; nil: no events.
	Span *Span `json:"span,omitempty"`

	// Clock is the clock that probe-line headers name, including in a Perfetto trace converted from probe lines; may be nil.
	Clock *RecordedClock `json:"clock,omitempty"`

	// Contexts lists the context types that an attribution found, by name; nil: no attribution.
	Contexts []string `json:"contexts,omitzero"`

	// Copied reports that the packets of a Perfetto trace were copied unchanged. Data that problems report as lost then took no
	// part in the attribution but is still in the output, unless its packet was unreadable.
	Copied bool `json:"copied,omitempty"`

	// Facts lists the input's attributes for the trace and its threads; only Inspect fills it.
	Facts []Fact `json:"facts,omitempty"`

	Problems []trace.Problem `json:"problems"` // severest first, then by name
	// Usual names those Problems that occur in most recordings in this format and whose lost data users do not miss, such as
	// flows with only one recorded end.
	Usual []string `json:"usual,omitempty"`

	Durations Durations `json:"durations"`
}

// Fact is an attribute of the whole trace, or a value shared by all samples of a thread.
type Fact struct {
	Name  string `json:"name"`
	Value any    `json:"value"` // a string, an int64 or a float64

	// The following fields describe a thread. For attributes of the trace, Samples is 0.

	Unit    string      `json:"unit,omitempty"`    // of the value
	PID     trace.Value `json:"pid,omitzero"`      // as in the input: an IntKind, a StringKind, or NoValue if it is not a number
	TID     trace.Value `json:"tid,omitzero"`      // as in PID
	Process string      `json:"process,omitempty"` // as Perfetto shows it
	Thread  string      `json:"thread,omitempty"`
	Samples int64       `json:"samples,omitempty"` // number of samples with the value
}

// addFacts adds the attributes for the trace and its threads.
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

// TrackCounts counts the tracks that have events.
type TrackCounts struct {
	Processes int `json:"processes"`
	Threads   int `json:"threads"`
	Async     int `json:"async"`    // one per asynchronous id
	Counters  int `json:"counters"` // counter tracks
	Other     int `json:"other"`    // other tracks: instants of processes, lanes for overlapping slices, …
}

// EventCounts counts the events of the output.
type EventCounts struct {
	Slices        int64 `json:"slices"`         // on threads, asynchronous, and states from samplers
	Unfinished    int64 `json:"unfinished"`     // slices that never end
	Instants      int64 `json:"instants"`       // points in time
	CounterValues int64 `json:"counter_values"` // values of counters
	Samples       int64 `json:"samples"`        // call stacks
	Flows         int64 `json:"flows"`          // arrows between slices

	// Slices and Instants exclude what weft adds (marks for long tasks, and contexts) and the states of idle threads, which no
	// viewer shows. Perfetto's slice table has Slices + Instants + AddedSlices + AddedInstants rows.
	AddedSlices   int64 `json:"added_slices,omitempty"`
	AddedInstants int64 `json:"added_instants,omitempty"`
	IdleStates    int64 `json:"idle_states,omitempty"`

	Screenshots     int64 `json:"screenshots,omitempty"`      // events with a picture
	ScreenshotBytes int64 `json:"screenshot_bytes,omitempty"` // total size of these pictures
}

// Span is the time from the first event to the last.
type Span struct {
	Start trace.Nanos `json:"start_ns"`
	End   trace.Nanos `json:"end_ns"`
}

// RecordedClock is the clock that probe-line headers name (docs/formats/probes.md, section 2).
type RecordedClock struct {
	Name     string `json:"name,omitempty"`         // monotonic, boottime, realtime, tai or other
	Epoch    *int64 `json:"epoch_ns,omitempty"`     // Unix time at 0 on the clock
	Sync     *int64 `json:"sync_ns,omitempty"`      // a time on the clock,
	SyncUnix *int64 `json:"sync_unix_ns,omitempty"` // and the Unix time at that moment
	End      *int64 `json:"end_ns,omitempty"`       // when the recording ended
}

// recordedClock returns the clock described by attributes that the probe-line reader added, or nil.
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

// Durations holds the time that each step of a conversion took.
type Durations struct {
	Read      time.Duration `json:"read_ns"`    // unpacking, reading and collecting
	Resolve   time.Duration `json:"resolve_ns"` // sorting, nesting and binding flows
	Attribute time.Duration `json:"attribute_ns,omitempty"`
	Write     time.Duration `json:"write_ns"` // encoding, compressing, writing
	Total     time.Duration `json:"total_ns"`
}

// Lost returns the number of occurrences of problems that lost data.
func (r *Report) Lost() (n uint64) {
	for i := range r.Problems {
		if p := &r.Problems[i]; r.IsLost(p) {
			n = problem.Sum(n, p.Count)
		}
	}
	return n
}

// IsLost reports whether a problem means that the output lacks data from the input.
func (r *Report) IsLost(p *trace.Problem) bool {
	return p.Severity == problem.Lost.String() && (!r.Copied || slices.Contains(unreadable, p.Name))
}

// unreadable lists the problems whose data is not even copied.
var unreadable = []string{problem.ContainerDamaged.Name(), problem.PacketTruncated.Name(), problem.PacketMalformed.Name()}
