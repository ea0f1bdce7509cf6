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

// ThreadCalls reports how well the calls of a thread represent its samples.
type ThreadCalls struct {
	PID     trace.Value `json:"pid"` // as in the input: an IntKind, a StringKind, or NoValue if it is not a number
	TID     trace.Value `json:"tid"`
	Process string      `json:"process"` // as Perfetto shows it
	Thread  string      `json:"thread"`
	Profile string      `json:"profile"` // id in the trace
	Calls   int64       `json:"calls"`   // in the output

	// Samples counts the JavaScript samples, and Time sums the time from each sample to the next. A sample is lost if no call
	// shows its innermost function. Lost counts according to the DevTools rules, RefinedLost according to the refined rules if
	// they made the calls.
	Samples     int64        `json:"samples"`
	Time        trace.Nanos  `json:"time_ns"`
	Lost        int64        `json:"lost_samples"`
	LostTime    trace.Nanos  `json:"lost_time_ns"`
	RefinedLost *RefinedLost `json:"refined,omitempty"`
}

// RefinedLost counts the samples that the refined rules lose, and their time.
type RefinedLost struct {
	Samples int64       `json:"lost_samples"`
	Time    trace.Nanos `json:"lost_time_ns"`
}

// jsThread is a thread in a trace that V8 sampled.
type jsThread struct {
	cpuprofile.Thread
	calls  timeline.TrackID // track that receives the calls
	events timeline.TrackID // has the events that the calls must nest with; 0: Track
}

// wantsProfiles reports whether to read the V8 profiles in a trace. Otherwise, their events remain events.
func (o *Options) wantsProfiles() bool {
	return o.JSCalls != JSCallsOff || o.Samples != pftrace.NoSamples || o.Profile != ""
}

// sampleShare is the divisor that gives the samples' share of the memory budget; samples are stored until their threads' events
// are known.
const sampleShare = 16

// profileAssembler returns an assembler for the V8 profiles in a trace, or nil if they are not wanted.
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

// addProfiles adds the samples and states of the profiles in a trace; c may be nil. Profiles of the same thread cover the same
// time, so only the chosen profile is added, unless all are requested.
func (l *loader) addProfiles(ctx context.Context, c *v8profile.Assembler) error {
	b := l.builder
	if c == nil {
		return nil
	}
	if err := c.Err(); err != nil {
		return err
	}
	if c.Held() > 0 || b == l.whole { // in a merge, spilling for inputs without profiles would write a run for each
		if err := l.whole.FreeMemory(); err != nil {
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
		l.addProfile(r)
		if !r.Chosen && !r.Orphan && l.opts.Profile != ProfileAll {
			continue
		}
		t := &jsThread{Thread: cpuprofile.Thread{
			Profile: r.Profile, ID: r.ID, Track: timeline.TrackID(r.Thread), Args: l.args, Problems: l.problems,
			Event: b.NextEvent(),
		}}
		if !r.Chosen {
			// The thread is unknown, or already has another profile.
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

// describeSamples describes the weight of a profile's samples. If the trace already has samples with another kind of weight, each
// sample counts as one.
func (l *loader) describeSamples(t *jsThread) {
	desc := cpuprofile.Samples
	switch all, described := l.whole.SampleDescription(); {
	case !described:
		l.builder.DescribeSamples(desc)
	case all.Counter != desc.Counter || all.Unit != desc.Unit: // samples from another profiler
		t.CountSamples = true
		l.problems.AddN(problem.ProfileWeightDropped, uint64(t.Profile.Len()), problem.NoPosition, "")
	}
}

// mainThreads returns a function that finds the main thread of a process: the thread with Chrome's name for main threads, or the
// thread with the process's number, which may have no events (profile-calls.md 2).
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

// callPass derives calls from the samples of threads.
type callPass struct {
	t       *timeline.Timeline
	classes map[timeline.NameID]producers.Class // by name
	threads map[timeline.TrackID]*threadPass
	order   []*threadPass
	err     error // first error from the timeline
}

// threadPass derives the calls of one thread.
type threadPass struct {
	*jsThread
	shown    *profilecalls.Builder // makes the calls in the timeline
	devTools *profilecalls.Builder // counts what the DevTools rules lose; nil if shown follows them
	calls    *cpuprofile.Calls
}

// callEvent is an event on a sampled thread.
type callEvent struct {
	thread *threadPass
	name   timeline.NameID
	profilecalls.Event
}

// callBatch is the number of events passed between goroutines at once.
const callBatch = 1 << 12

// addCalls adds the calls of the threads to a timeline and reports how well they represent the samples. With several workers, one
// goroutine reads the events while another makes the calls; only the latter adds to the timeline.
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
		batch = maker.send(batch)
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

// callMaker passes events to a callPass, directly or through a goroutine.
type callMaker struct {
	pass       *callPass
	full, free chan []callEvent // nil: no goroutine
	done       chan struct{}
}

// callBatches is the number of batches in flight.
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
			p.addEvents(batch)
			m.free <- batch[:0]
		}
	}()
	return m
}

// send passes a batch on and returns an empty one for reuse.
func (m *callMaker) send(batch []callEvent) []callEvent {
	if m.full == nil {
		m.pass.addEvents(batch)
		return batch[:0]
	}
	m.full <- batch
	return <-m.free
}

// wait returns when all events have been processed. Do not call send afterwards.
func (m *callMaker) wait() {
	if m.full != nil {
		close(m.full)
		<-m.done
		m.full = nil
	}
}

// addEvents passes events to the passes of their threads.
func (p *callPass) addEvents(events []callEvent) {
	for i := range events {
		if p.err != nil {
			return
		}
		ev := &events[i]
		ev.Class = p.class(ev.name)
		ev.thread.event(&ev.Event)
	}
}

// start creates the threads' passes.
func (p *callPass) start(l *loader, b *timeline.Builder) {
	next := b.NextEvent()
	for i, t := range l.threads {
		th := &threadPass{jsThread: t}
		thread := t.Thread
		thread.Track, thread.CallDetails = t.calls, l.opts.CallDetails
		th.calls = cpuprofile.NewCalls(&thread, b)
		th.calls.NumberAmong(next, i, len(l.threads))
		frames := profilecalls.NewFrames(t.Profile)
		emit := func(c *profilecalls.Call) {
			if err := th.calls.Add(c); err != nil && p.err == nil {
				p.err = err
			}
		}
		if l.opts.JSCalls == JSCallsRefined {
			th.shown = profilecalls.NewBuilder(frames, profilecalls.Refined, emit)
			th.devTools = th.shown.Beside(profilecalls.DevTools, func(*profilecalls.Call) {})
		} else {
			th.shown = profilecalls.NewBuilder(frames, profilecalls.DevTools, emit)
		}
		p.threads[cmp.Or(t.events, t.Track)] = th
		p.order = append(p.order, th)
	}
}

// class returns the class of events with the given name, which determines how calls treat them.
func (p *callPass) class(name timeline.NameID) producers.Class {
	class, ok := p.classes[name]
	if !ok {
		class = producers.ClassOf(p.t.Name(name))
		p.classes[name] = class
	}
	return class
}

// event passes an event on with its times in the profile: the calls of a shifted input are shifted only after they are made.
func (th *threadPass) event(ev *profilecalls.Event) {
	if ev.End == timeline.NoTime {
		ev.End = ev.TS
	}
	ev.TS, ev.End = movedBack(ev.TS, th.Shift), movedBack(ev.End, th.Shift)
	th.shown.Event(ev)
	if th.devTools != nil {
		th.devTools.Event(ev)
	}
}

// movedBack reverses the shift of a time, saturating at the maximum.
func movedBack(ts, shift timeline.Nanos) timeline.Nanos {
	if shift < 0 && ts > math.MaxInt64+shift {
		return math.MaxInt64
	}
	return ts - shift
}

// finish ends the calls of a thread and reports on them.
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
	if th.devTools != nil {
		c.RefinedLost = &RefinedLost{Samples: stats.LostSamples, Time: stats.LostTime}
		if stats, err = th.devTools.Finish(); err != nil {
			return ThreadCalls{}, err
		}
	}
	c.Lost, c.LostTime = stats.LostSamples, stats.LostTime
	return c, nil
}
