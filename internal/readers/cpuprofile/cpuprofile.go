// Package cpuprofile reads V8 CPU profiles into a timeline: Read reads .cpuprofile files, and Calls, AddSamples and
// AddStates add any profile that package v8profile read, such as those in Chrome traces. A profile becomes:
//
//	calls                  slices on the thread, with the position of the function as url, line and column
//	each sample            a call-stack sample, weighted with the nanoseconds to the next one
//	the activity of V8     slices gc, program, idle and script on the track "V8 state" below the thread
//
// The pseudo functions (program), (idle) and (garbage collector) become states and stack frames, but not calls, where
// they would be noise. The comments cite docs/formats/profile-calls.md.
package cpuprofile

import (
	"cmp"
	"context"
	"io"
	"math"
	"net/url"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/profilecalls"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Options configures Read.
type Options struct {
	readers.Options

	// ProfileMemory limits the bytes of memory for the profile and its calls while they are read; 0: no limit. A profile that
	// needs more memory causes an error.
	ProfileMemory int64
	// CallDetails is passed to Thread.
	CallDetails bool
	// NoCalls omits the calls. SeparateCalls puts them on a timeline.RoleCalls track below the thread, for a thread that
	// already shows the calls of another profile.
	NoCalls, SeparateCalls bool
	// Thread is the sampled thread, if it is already in the Builder; 0: a new one.
	Thread timeline.TrackID
	// Among receives the profile, so that the caller can nest the calls of the profile with the events of Thread; nil: Read makes
	// the calls from the samples alone.
	Among func(*Thread)
}

// Names to use if a file contains no names.
const (
	threadName     = "JavaScript"
	unknownProcess = "V8 CPU profile"
	nodeProcess    = "Node.js"
)

// Read reads the unpacked .cpuprofile r into b. Errors from r, b and ctx, and errors about inputs that are not profiles,
// include the position in the input. The profile stays in memory while it is read, at about 6 bytes per sample.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) error {
	p, err := v8profile.ReadWithin(readers.Cancelled(ctx, r), opts.Problems, opts.ProfileMemory)
	if err != nil {
		return err
	}
	thread := opts.Thread
	if thread == 0 {
		process := b.Process(timeline.ProcessKey{Text: processName(p)})
		b.SetProcessPosition(process, problem.Position{Event: -1, Offset: 0})
		thread = b.Thread(process, timeline.ThreadKey{Text: threadName})
	}
	t := &Thread{
		Profile: p, Track: thread,
		Shift: opts.Offset, Args: opts.Args, CallDetails: opts.CallDetails, Problems: opts.Problems,
	}
	b.DescribeSamples(Samples)
	b.SetIntAttribute("cpuprofile.start_ns", int64(p.Start))
	if p.End != timeline.NoTime {
		b.SetIntAttribute("cpuprofile.end_ns", int64(p.End))
	}
	switch {
	case opts.NoCalls:
	case opts.Among != nil:
		opts.Among(t)
	default:
		callThread := *t
		if opts.SeparateCalls {
			callThread.Track = b.RoleTrack(t.Track, timeline.RoleCalls)
		}
		if err := callThread.addCalls(ctx, b, opts.ProfileMemory); err != nil {
			return err
		}
		t.Event = callThread.Event
	}
	if err := t.AddSamples(ctx, b); err != nil {
		return err
	}
	return t.AddStates(ctx, b)
}

// processName makes up a name for the process, because files do not contain one: nodeProcess if the URL of any function starts
// with node:, otherwise the origin of the first page with a function, otherwise unknownProcess.
func processName(p *v8profile.Profile) string {
	origin := ""
	for i := range p.FunctionCount() {
		address := p.Function(v8profile.FunctionIndex(i)).URL
		if strings.HasPrefix(address, "node:") {
			return nodeProcess
		}
		if origin == "" && strings.HasPrefix(address, "http") {
			if u, err := url.Parse(address); err == nil && u.Host != "" {
				origin = u.Scheme + "://" + u.Host
			}
		}
	}
	return cmp.Or(origin, unknownProcess)
}

// cancelEvery is the number of samples or calls between checks of the context.
const cancelEvery = 1 << 12

// addCalls adds the calls of a profile without events (profile-calls.md 4). The parameter memory limits the memory for the calls,
// in bytes.
func (t *Thread) addCalls(ctx context.Context, b *timeline.Builder, memory int64) error {
	calls := NewCalls(t, b)
	calls.inOrder = true
	stats, err := profilecalls.Alone(t.Profile, memory, func(c *profilecalls.AloneCall) error {
		if c.Order%cancelEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if t.Profile.Meta(c.Node) {
			return nil
		}
		return calls.Add(&c.Call)
	})
	t.Problems.AddN(problem.ProfileLimit, uint64(stats.TooDeep), problem.NoPosition, "too many frames on a stack")
	t.Problems.AddN(problem.ProfilePositionLost, uint64(stats.LostPositions), problem.NoPosition, "")
	return err
}

// Thread is a profile and the thread that shows it.
type Thread struct {
	Profile *v8profile.Profile
	ID      string // id of the profile in its trace; "" in files
	Track   timeline.TrackID
	// Category is the category of the calls; "": the constant Category.
	Category string
	// Shift is added to the times of the profile.
	Shift timeline.Nanos
	// Args selects which of the arguments url, line and column are kept.
	Args timeline.ArgFilter
	// CallDetails adds to calls the ids of their profile, node, script and first sample, the type of their code, and
	// the lines of all samples of their node.
	CallDetails bool
	// CountSamples gives each sample a weight of one, for traces whose weights cannot be nanoseconds.
	CountSamples bool
	// Problems counts data before time 0. Required.
	Problems *problem.Log
	// Event is the index of the next event. Indexes continue from the last event of the Builder.
	Event uint32
}

// noOffset is the offset of events without a position in the input.
const noOffset = -1

// maxTime is the latest allowed time of a profile: 146 years.
const maxTime = timeline.Nanos(math.MaxInt64 / 2)

// inRange reports whether a time of the profile can be shifted.
func (t *Thread) inRange(ts timeline.Nanos) bool {
	return ts <= maxTime && (t.Shift <= 0 || ts <= maxTime-t.Shift) && (t.Shift >= 0 || ts >= math.MinInt64-t.Shift)
}

// time converts a time of the profile to the clock of the timeline, which has no negative times.
func (t *Thread) time(ts timeline.Nanos) (shifted timeline.Nanos, ok bool) {
	if !t.inRange(ts) {
		t.Problems.Add(problem.EventInvalidTimestamp, problem.NoPosition, "in a CPU profile")
		return 0, false
	}
	if shifted = ts + t.Shift; shifted < 0 {
		t.Problems.Add(problem.EventNegativeTimestamp, problem.NoPosition, "in a CPU profile")
		return 0, false
	}
	return shifted, true
}

// span is the time of a call or state on the timeline.
type span struct {
	ts, length timeline.Nanos
	start      timeline.Nanos // the real start if it is before time 0, otherwise 0
}

// span shifts a call or state and clamps its start to time 0.
func (t *Thread) span(from, length timeline.Nanos) (s span, ok bool) {
	if t.inRange(from) && from+t.Shift < 0 && from+t.Shift+length > 0 {
		t.Problems.Add(problem.ProfileSliceClamped, problem.NoPosition, "")
		return span{length: from + t.Shift + length, start: from + t.Shift}, true
	}
	s.length = length
	s.ts, ok = t.time(from)
	return s, ok
}

// realStart adds the start before time 0, if any, to the open dictionary of weft's arguments.
func (s *span) realStart(args *timeline.ArgsEncoder) {
	if s.start < 0 {
		args.Key([]byte("start_ns"))
		args.Int(int64(s.start))
	}
}

// add adds an event with the next index and no position in the input.
func (t *Thread) add(to *timeline.Builder, ev *timeline.Event) error {
	ev.Event, ev.Offset = t.Event, noOffset
	t.Event++
	return to.Add(ev)
}
