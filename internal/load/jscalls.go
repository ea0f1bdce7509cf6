package load

import (
	"cmp"
	"context"
	"math"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/profilecalls"
	"github.com/weft-trace/weft/internal/readers/cpuprofile"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// ThreadCalls says what became of the samples of a thread.
type ThreadCalls struct {
	PID     trace.Value `json:"pid"` // as the input has it: an IntKind, a StringKind, or NoValue if it is not a number
	TID     trace.Value `json:"tid"`
	Process string      `json:"process"` // as Perfetto shows it
	Thread  string      `json:"thread"`
	Profile string      `json:"profile"` // its id in the trace
	Calls   int64       `json:"calls"`   // that are in the output

	// Samples and Time are the samples of JavaScript and the time to the next ones. Of those that are lost no call shows
	// the innermost function; under the rules of DevTools, and, if the calls were made by them, under the refined ones.
	Samples     int64        `json:"samples"`
	Time        trace.Nanos  `json:"time_ns"`
	Lost        int64        `json:"lost_samples"`
	LostTime    trace.Nanos  `json:"lost_time_ns"`
	RefinedLost *RefinedLost `json:"refined,omitempty"`
}

// RefinedLost is what is lost under the refined rules.
type RefinedLost struct {
	Samples int64       `json:"lost_samples"`
	Time    trace.Nanos `json:"lost_time_ns"`
}

// jsThread is a thread of a trace that V8 sampled.
type jsThread struct {
	cpuprofile.Thread
	calls  timeline.TrackID // where calls go
	events timeline.TrackID // where the events are among which calls are made; 0: Track
}

// wantsProfiles reports whether anything is to be made of the V8 profiles of a trace. Else their events stay events.
func (o *Options) wantsProfiles() bool {
	return o.JSCalls != JSCallsOff || o.Samples != pftrace.NoSamples || o.Profile != ""
}

// sampleShare is the part of the budget for the samples of profiles, which wait for their threads' events.
const sampleShare = 16

// profileAssembler returns an assembler for the V8 profiles of a trace, nil if nothing is to be made of them.
func (l *loader) profileAssembler() *v8profile.Assembler {
	if !l.opts.wantsProfiles() {
		return nil
	}
	a := v8profile.NewAssembler(l.problems, v8profile.AssemblerOptions{
		Preferred: l.opts.preferred(l.builder), Memory: l.opts.profileMemory(),
		SampleMemory: cmp.Or(l.opts.Memory, timeline.DefaultMemory)/sampleShare + 1, TempDir: l.opts.TempDir,
	})
	l.assembled = append(l.assembled, a)
	return a
}

// addProfiles adds the samples and states of the profiles that were collected from a trace; c may be nil. All profiles of a
// thread sample the same time, so that only the one is shown whose calls are, unless all are asked for.
func (l *loader) addProfiles(ctx context.Context, c *v8profile.Assembler) error {
	b := l.builder
	if c == nil {
		return nil
	}
	if err := c.Err(); err != nil {
		return err
	}
	if c.Held() > 0 || b == l.whole { // an input without profiles needs no room, and of many inputs each would be a run of its own
		if err := l.whole.MakeRoom(); err != nil {
			return err
		}
	}
	recordings, err := c.Finish(mainThreads(b))
	if err != nil {
		return err
	}
	if err := l.opts.checkChoice(recordings, l.opts.preferred(b)); err != nil {
		return err
	}
	for _, r := range recordings {
		l.found(r)
		if !r.Chosen && !r.Orphan && l.opts.Profile != ProfileAll {
			continue
		}
		t := &jsThread{Thread: cpuprofile.Thread{
			Profile: r.Profile, ID: r.ID, Track: timeline.TrackID(r.Thread), Args: l.args, Problems: l.problems,
			Event: b.NextEvent(),
		}}
		if !r.Chosen {
			// The thread is unknown, or shows another profile.
			t.Track = b.Thread(timeline.TrackID(r.Process), timeline.ThreadKey{Text: v8profile.ThreadName + r.ID})
		}
		if l.opts.Samples != pftrace.NoSamples {
			l.describeSamples(t)
			if err := t.AddSamples(ctx, b); err != nil {
				return err
			}
		}
		if err := t.AddStates(ctx, b); err != nil {
			return err
		}
		if !r.Chosen || l.opts.JSCalls == JSCallsOff {
			continue
		}
		t.calls = t.Track
		l.threads = append(l.threads, t)
	}
	return nil
}

// describeSamples says what the samples of a profile weigh; beside samples that weigh something else each counts as one.
func (l *loader) describeSamples(t *jsThread) {
	own := cpuprofile.Samples
	switch all, described := l.whole.SampleDescription(); {
	case !described:
		l.builder.DescribeSamples(own)
	case all.Counter != own.Counter || all.Unit != own.Unit: // as other profilers' are
		t.CountSamples = true
		l.problems.AddN(problem.ProfileWeightDropped, uint64(t.Profile.Len()), problem.NoPosition, "")
	}
}

// mainThreads returns a function that finds the main thread of a process: the one that Chrome calls by a name of main
// threads, or else the one with its number, of which there may be no event (profile-calls.md 2).
func mainThreads(b *timeline.Builder) func(process int64) (thread int64, ok bool) {
	byNumber, byName := map[timeline.TrackID]timeline.TrackID{}, map[timeline.TrackID]timeline.TrackID{}
	for _, th := range b.Threads() {
		if th.Main && th.Used {
			byNumber[th.Process] = th.Track
		}
		if th.Name == producers.ChromeRendererMain {
			byName[th.Process] = th.Track
		}
	}
	return func(process int64) (int64, bool) {
		p := timeline.TrackID(process)
		if t, ok := byName[p]; ok {
			return int64(t), true
		}
		if t, ok := byNumber[p]; ok {
			return int64(t), true
		}
		return int64(b.Thread(p, timeline.ThreadKey{})), true
	}
}

// callPass makes calls of the samples of threads.
type callPass struct {
	t       *timeline.Timeline
	classes map[timeline.NameID]producers.Class // by name
	threads map[timeline.TrackID]*threadPass
	order   []*threadPass
	err     error // the first one of the timeline
}

// threadPass is the work on one thread.
type threadPass struct {
	*jsThread
	shown *profilecalls.Builder // what it makes goes to the timeline
	other *profilecalls.Builder // by the rules of DevTools, for what these lose, if shown is by others
	calls *cpuprofile.Calls
}

// callEvent is an event of a sampled thread.
type callEvent struct {
	thread *threadPass
	name   timeline.NameID
	profilecalls.Event
}

// callBatch is the number of events that go from one goroutine to the other together.
const callBatch = 1 << 12

// addCalls adds the calls of the threads to a timeline, and says what became of the samples. With several workers one goroutine
// goes through the events, and another one makes the calls: it alone adds to the timeline meanwhile.
func (l *loader) addCalls(ctx context.Context, t *timeline.Timeline) ([]ThreadCalls, error) {
	if len(l.threads) == 0 {
		return nil, nil
	}
	p := &callPass{t: t, classes: map[timeline.NameID]producers.Class{}, threads: map[timeline.TrackID]*threadPass{}}
	var all []ThreadCalls
	maker := newCallMaker(p, l.opts.workers() > 1)
	defer maker.wait()
	batch := make([]callEvent, 0, callBatch)
	err := t.Extend(ctx, func(starts []timeline.Head, b *timeline.Builder) error {
		if p.order == nil {
			p.start(l, b)
		}
		for i := range starts {
			o := &starts[i]
			if th := p.threads[o.Thread]; th != nil {
				batch = append(batch, callEvent{th, o.NameID, profilecalls.Event{TS: o.TS, End: o.End, TraceID: o.TraceID}})
			}
		}
		if len(batch) < callBatch && starts != nil {
			return nil
		}
		batch = maker.take(batch)
		if starts != nil {
			return nil
		}
		maker.wait()
		for _, th := range p.order {
			calls, err := th.finish(t)
			if err != nil {
				return err
			}
			all = append(all, calls)
		}
		return p.err
	})
	return all, err
}

// callMaker hands events to a callPass, in a goroutine of its own or not.
type callMaker struct {
	pass       *callPass
	full, free chan []callEvent // nil: there is no goroutine
	done       chan struct{}
}

// callBatches is the number of batches under way.
const callBatches = 4

func newCallMaker(p *callPass, background bool) *callMaker {
	m := &callMaker{pass: p}
	if !background {
		return m
	}
	m.full, m.free, m.done = make(chan []callEvent, callBatches), make(chan []callEvent, callBatches), make(chan struct{})
	for range callBatches {
		m.free <- make([]callEvent, 0, callBatch)
	}
	go func() {
		defer close(m.done)
		for batch := range m.full {
			p.take(batch)
			m.free <- batch[:0]
		}
	}()
	return m
}

// take takes over events and returns an empty batch for the next ones.
func (m *callMaker) take(batch []callEvent) []callEvent {
	if m.full == nil {
		m.pass.take(batch)
		return batch[:0]
	}
	m.full <- batch
	return <-m.free
}

// wait returns when all events have been taken. Nothing is taken after it.
func (m *callMaker) wait() {
	if m.full != nil {
		close(m.full)
		<-m.done
		m.full = nil
	}
}

// take makes calls of events.
func (p *callPass) take(events []callEvent) {
	for i := range events {
		if p.err != nil {
			return
		}
		ev := &events[i]
		ev.Class = p.class(ev.name)
		ev.thread.event(&ev.Event)
	}
}

// start makes what the threads need.
func (p *callPass) start(l *loader, b *timeline.Builder) {
	next := b.NextEvent()
	for i, t := range l.threads {
		th := &threadPass{jsThread: t}
		shownOn := t.Thread
		shownOn.Track, shownOn.CallDetails = t.calls, l.opts.CallDetails
		th.calls = cpuprofile.NewCalls(&shownOn, b)
		th.calls.NumberAmong(next, i, len(l.threads))
		frames := profilecalls.NewFrames(t.Profile)
		emit := func(c *profilecalls.Call) {
			if err := th.calls.Add(c); err != nil && p.err == nil {
				p.err = err
			}
		}
		if l.opts.JSCalls == JSCallsRefined {
			th.shown = profilecalls.NewBuilder(frames, profilecalls.Refined, emit)
			th.other = th.shown.Beside(profilecalls.DevTools, func(*profilecalls.Call) {})
		} else {
			th.shown = profilecalls.NewBuilder(frames, profilecalls.DevTools, emit)
		}
		p.threads[cmp.Or(t.events, t.Track)] = th
		p.order = append(p.order, th)
	}
}

// class returns what the name of an event means for calls.
func (p *callPass) class(name timeline.NameID) producers.Class {
	class, ok := p.classes[name]
	if !ok {
		class = producers.ClassOf(p.t.Name(name))
		p.classes[name] = class
	}
	return class
}

// event hands on an event, at the times of the profile: calls of an input that is moved are moved after they are made.
func (th *threadPass) event(ev *profilecalls.Event) {
	if ev.End == timeline.NoTime {
		ev.End = ev.TS
	}
	ev.TS, ev.End = movedBack(ev.TS, th.Shift), movedBack(ev.End, th.Shift)
	th.shown.Event(ev)
	if th.other != nil {
		th.other.Event(ev)
	}
}

// movedBack returns a time before it was moved, or the last time there is.
func movedBack(ts, shift timeline.Nanos) timeline.Nanos {
	if shift < 0 && ts > math.MaxInt64+shift {
		return math.MaxInt64
	}
	return ts - shift
}

// finish ends the calls of a thread.
func (th *threadPass) finish(t *timeline.Timeline) (ThreadCalls, error) {
	track := t.Track(th.Track)
	stats, err := th.shown.Finish()
	if err != nil {
		return ThreadCalls{}, err
	}
	th.Problems.AddN(problem.ProfileLimit, uint64(stats.TooDeep), problem.NoPosition, "too many frames on a stack")
	th.Problems.AddN(problem.ProfilePositionLost, uint64(stats.LostPositions), problem.NoPosition, "profile "+th.ID)
	process := t.Track(track.Parent)
	c := ThreadCalls{
		PID: idValue(process.InputID), TID: idValue(track.InputID), Process: process.FullName(), Thread: track.FullName(), Profile: th.ID, Calls: th.calls.Added,
		Samples: stats.Samples, Time: stats.Time,
	}
	if th.other != nil {
		c.RefinedLost = &RefinedLost{Samples: stats.LostSamples, Time: stats.LostTime}
		if stats, err = th.other.Finish(); err != nil {
			return ThreadCalls{}, err
		}
	}
	c.Lost, c.LostTime = stats.LostSamples, stats.LostTime
	return c, nil
}
