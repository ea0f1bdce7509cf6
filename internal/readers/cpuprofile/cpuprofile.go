// Package cpuprofile brings V8 CPU profiles into a timeline: Read reads .cpuprofile files, and Calls, AddSamples and
// AddStates add any profile that package v8profile read, such as those in Chrome traces. What becomes of a profile:
//
//	calls                  slices on the thread, with the place of the function as url, line and column
//	each sample            a call-stack sample, which weighs the nanoseconds up to the next one
//	what V8 was doing      slices gc, program, idle and script on the track "V8 state" below the thread
//
// The pseudo functions (program), (idle) and (garbage collector) are states and frames of stacks, but not calls: they
// would be noise among the functions. The comments cite docs/formats/profile-calls.md.
package cpuprofile

import (
	"context"
	"io"
	"math"
	"net/url"
	"strings"

	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/profilecalls"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Options says how Read reads.
type Options struct {
	readers.Options

	// ProfileMemory is the number of bytes that the profile may take while it is read, and what is kept of its calls; 0: any. One
	// that needs more is an error.
	ProfileMemory int64
	// CallDetails is passed to Thread.
	CallDetails bool
	// NoCalls leaves the calls out, SeparateCalls puts them on a track timeline.RoleCalls below the thread, which shows another profile's.
	NoCalls, SeparateCalls bool
	// Thread is the thread that the profile is of, in a trace that the Builder holds; 0: one of its own.
	Thread timeline.TrackID
	// Among takes the profile to make calls of it among the events of Thread; nil: they are made alone.
	Among func(*Thread)
}

// Names of what a file does not name.
const (
	threadName     = "JavaScript"
	unknownProcess = "V8 CPU profile"
	nodeProcess    = "Node.js"
)

// Read reads a .cpuprofile from r, which is unpacked, into b. Errors are errors of r, b and ctx, and inputs that are not
// profiles; each states its position in the input. The profile is held in memory while it is read: some 6 bytes for a
// sample.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) error {
	p, err := v8profile.ReadWithin(jsondoc.Cancelled(ctx, r), opts.Problems, opts.ProfileMemory)
	if err != nil {
		return err
	}
	thread := opts.Thread
	if thread == 0 {
		process := b.Process(timeline.ProcessKey{Text: processName(p)})
		b.NoteProcess(process, problem.Position{Event: -1, Offset: 0})
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
		on := *t
		if opts.SeparateCalls {
			on.Track = b.RoleTrack(t.Track, timeline.RoleCalls)
		}
		if err := on.addCalls(ctx, b, opts.ProfileMemory); err != nil {
			return err
		}
		t.Event = on.Event
	}
	if err := t.AddSamples(ctx, b); err != nil {
		return err
	}
	return t.AddStates(ctx, b)
}

// processName returns the name of the process of a file, which says nothing of it: the origin of the first page that a
// function is from.
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
	if origin == "" {
		return unknownProcess
	}
	return origin
}

// cancelEvery is the number of samples or calls between checks of the context.
const cancelEvery = 1 << 12

// addCalls adds the calls of a profile without a trace around it (profile-calls.md 4), which may take so many bytes of memory.
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

// Thread is a profile and the thread that it is shown on.
type Thread struct {
	Profile *v8profile.Profile
	ID      string // of the profile in its trace; "" in files
	Track   timeline.TrackID
	// Category is the category of the calls; "": the constant Category.
	Category string
	// Shift is added to the times of the profile.
	Shift timeline.Nanos
	// Args says which arguments are kept of url, line and column.
	Args timeline.ArgFilter
	// CallDetails gives calls the ids of their profile, node, script and first sample too, the type of their code, and the lines of
	// all samples of their node.
	CallDetails bool
	// CountSamples lets each sample count as one, where weights cannot be nanoseconds.
	CountSamples bool
	// Problems counts what is before time 0. Required.
	Problems *problem.Log
	// Event is the index of the next event that is added. They count upwards from the last event that the Builder has.
	Event uint32
}

// noOffset is the place in the input of events that come from no particular place.
const noOffset = -1

// maxTime is the last time that a profile may reach: 146 years.
const maxTime = timeline.Nanos(math.MaxInt64 / 2)

// inRange reports whether a time of the profile can be moved.
func (t *Thread) inRange(ts timeline.Nanos) bool {
	return ts <= maxTime && (t.Shift <= 0 || ts <= maxTime-t.Shift) && (t.Shift >= 0 || ts >= math.MinInt64-t.Shift)
}

// time moves a time of the profile to the timeline's clock, which has no times before 0.
func (t *Thread) time(ts timeline.Nanos) (moved timeline.Nanos, ok bool) {
	if !t.inRange(ts) {
		t.Problems.Add(problem.EventInvalidTimestamp, problem.NoPosition, "in a CPU profile")
		return 0, false
	}
	if moved = ts + t.Shift; moved < 0 {
		t.Problems.Add(problem.EventNegativeTimestamp, problem.NoPosition, "in a CPU profile")
		return 0, false
	}
	return moved, true
}

// span is the time of a call or state on the timeline.
type span struct {
	ts, length timeline.Nanos
	start      timeline.Nanos // before time 0, if it is shown from there on; otherwise 0
}

// span moves a call or state.
func (t *Thread) span(from, length timeline.Nanos) (s span, ok bool) {
	if t.inRange(from) && from+t.Shift < 0 && from+t.Shift+length > 0 {
		t.Problems.Add(problem.ProfileSliceClamped, problem.NoPosition, "")
		return span{length: from + t.Shift + length, start: from + t.Shift}, true
	}
	s.length = length
	s.ts, ok = t.time(from)
	return s, ok
}

// realStart adds the start of what starts before time 0 to the dictionary of what weft knows, which is open.
func (s *span) realStart(args *timeline.ArgsEncoder) {
	if s.start < 0 {
		args.Key([]byte("start_ns"))
		args.Int(int64(s.start))
	}
}

// add adds a separate event.
func (t *Thread) add(to *timeline.Builder, ev *timeline.Event) error {
	ev.Event, ev.Offset = t.Event, noOffset
	t.Event++
	return to.Add(ev)
}
