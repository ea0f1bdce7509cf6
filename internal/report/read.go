package report

import (
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Collect walks a nested timeline and keeps the data that reports need from the selected part: samples, clipped to the window,
// and whole style and layout slices. Threads without either are left out. It fails only if temporary files cannot be used or
// ctx is done.
func Collect(ctx context.Context, tl *timeline.Timeline, selected *selection.Selection) (*Profiles, error) {
	c := newReader(tl, selected)
	if err := tl.WalkLate(ctx, timeline.Nested(tl, c.item)); err != nil {
		return nil, err
	}
	return c.finish(), nil
}

// finish computes the observations of all threads, cuts them to the selection, and returns the threads that have data.
func (c *reader) finish() *Profiles {
	for _, ct := range c.threads {
		if ct == nil {
			continue
		}
		ct.finish(c.tl, c.p.stacks, c.weightsAreNanos)
		t := ct.thread
		t.cut(c.selected)
		if len(t.observations) > 0 || slices.ContainsFunc(t.forced, func(f forcedSlice) bool { return !f.left }) {
			t.findRuns()
			c.p.Threads = append(c.p.Threads, t)
		}
	}
	return c.p
}

// cut keeps the selected observations and clips them to the window. A sample that starts before the window does not count,
// but its time inside the window does.
func (t *Thread) cut(selected *selection.Selection) {
	if selected == nil {
		return
	}
	kept := t.observations[:0]
	for _, o := range t.observations {
		if o.left || !selected.Overlaps(o.ts, o.dur) {
			continue
		}
		from, to := selected.Clip(o.ts, o.end())
		if from > o.ts {
			o.count = 0
		}
		o.ts, o.dur = from, to-from
		kept = append(kept, o)
	}
	t.observations = kept
}

// role is the meaning of a track for a reader.
type role struct {
	kind   roleKind
	thread timeline.TrackID
}

type roleKind uint8

const (
	noRole roleKind = iota
	threadRole
	stateRole
)

// stateSources maps the roles of state tracks to the sources of their states.
var stateSources = map[timeline.Role]string{
	timeline.RolePageStates: "js_self_profiling",
	timeline.RoleV8States:   "legacy_v8",
	timeline.RoleCategories: sourceFirefox,
}

// sourceFirefox is the source of Firefox samples, whose stacks contain browser functions, and the running line of each
// function.
const sourceFirefox = "gecko"

// reader groups the items of a timeline by thread.
type reader struct {
	tl       *timeline.Timeline
	selected *selection.Selection
	p        *Profiles
	roles    []role
	threads  []*sampledThread // by TrackID
	kinds    []sliceKind      // by NameID
	scripts  []frameID        // by NameID: of slices that run script; 0: not looked up yet
	calls    map[timeline.TemplateID]frameID

	weightsAreNanos bool

	leftOut map[timeline.TrackID]bool // threads that another input sampled in more detail
}

// sampledThread is a thread whose samples have no states yet.
type sampledThread struct {
	thread  *Thread
	samples []observation // stack is a timeline.CallstackID; dur is the weight
	foreign bool          // some weights of samples are not times
	left    bool          // parts without samples are not selected
	states  []stateSlice

	outermost  int // number of outermost slices already read
	lastLayout int // 1 + the index in Thread.forced of the last outermost style or layout slice
}

// stateSlice is a slice of a state track.
type stateSlice struct {
	ts, dur timeline.Nanos
	samples int64 // number of samples that it was made from; 0: unknown
	state   stateID
}

func (s *stateSlice) end() timeline.Nanos { return s.ts + min(s.dur, math.MaxInt64-s.ts) }

func newReader(tl *timeline.Timeline, selected *selection.Selection) *reader {
	c := &reader{
		tl: tl, selected: selected, p: &Profiles{stacks: newStackTable(), Start: tl.Totals().Start},
		roles:           make([]role, tl.TrackCount()),
		kinds:           make([]sliceKind, tl.NameCount()+1),
		scripts:         make([]frameID, tl.NameCount()+1),
		calls:           map[timeline.TemplateID]frameID{},
		threads:         make([]*sampledThread, tl.TrackCount()),
		weightsAreNanos: tl.SampleDescription().Unit == timeline.SampleUnitNanos,
	}
	c.leftOut, _ = tl.Samplers()
	streams := map[timeline.TrackID]bool{} // threads that were written as streams
	for id := range timeline.TrackID(tl.TrackCount()) {
		if !selected.Track(id) {
			continue
		}
		switch tl.TrackKind(id) {
		case timeline.ThreadTrack:
			c.roles[id] = role{threadRole, id}
			if !c.leftOut[id] {
				c.takeFacts(id)
			}
		case timeline.NamedTrack:
			parent := tl.TrackParent(id)
			if tl.Role(id) == timeline.RoleStream && tl.TrackKind(parent) == timeline.ThreadTrack && !streams[parent] {
				c.roles[id], streams[parent] = role{threadRole, parent}, true // the first is lane 0
			}
			if source, ok := stateSources[tl.Role(id)]; ok && tl.TrackKind(parent) == timeline.ThreadTrack && !c.leftOut[parent] {
				c.roles[id] = role{stateRole, parent}
				c.at(parent).thread.Source = source
			}
		}
	}
	return c
}

// takeFacts reads the state of a thread that was always in the same state.
func (c *reader) takeFacts(id timeline.TrackID) {
	for _, f := range c.tl.Track(id).Facts {
		if f.Kind == timeline.FactCategory {
			ct := c.at(id)
			ct.thread.Source = sourceFirefox
			ct.states = append(ct.states, stateSlice{ts: f.Start, dur: f.End - f.Start, samples: f.Samples, state: ct.thread.states.id(f.Text)})
		}
	}
}

// at returns the data read about a thread.
func (c *reader) at(id timeline.TrackID) *sampledThread {
	if c.threads[id] == nil {
		t := &Thread{ThreadID: threadID(c.tl, id)}
		t.track, t.Source = id, c.tl.SampleDescription().Source
		c.threads[id] = &sampledThread{thread: t, left: !c.selected.SelectsUnnamed()}
	}
	return c.threads[id]
}

// item handles one item of the timeline; open holds the slices around the item, and is used only on threads.
func (c *reader) item(it *timeline.Item, open *timeline.OpenSlices[openSlice]) error {
	r := c.roles[it.Track]
	switch {
	case r.kind == noRole:
	case it.Kind == timeline.ItemSample && c.leftOut[r.thread]:
	case it.Kind == timeline.ItemSample:
		ct := c.at(r.thread)
		ct.foreign = ct.foreign || !it.Value.IsInt() || len(it.Name) > 0
		weight := min(max(timeline.Nanos(it.Value.Int()), 0), math.MaxInt64-it.TS)
		ct.samples = append(ct.samples, observation{ts: it.TS, dur: weight, stack: stackID(it.Callstack), count: 1, left: !c.selected.MatchesAnyTime(it)})
	case r.kind == stateRole && it.Kind == timeline.ItemBegin:
		return c.stateSlice(c.at(r.thread), it)
	case r.kind == threadRole && it.Lane == 0 && it.Kind == timeline.ItemBegin:
		return c.slice(c.at(r.thread), it, open)
	}
	return nil
}

// stateSlice handles a slice of a state track.
func (c *reader) stateSlice(ct *sampledThread, it *timeline.Item) error {
	if err := it.ReadArgs(); err != nil {
		return err
	}
	s := stateSlice{ts: it.TS, dur: it.Dur, state: ct.thread.states.id(string(it.Name))}
	if it.Dur == timeline.NoTime {
		s.dur = math.MaxInt64 - it.TS
	}
	for arg := range c.tl.ArgList(it.Args) {
		if string(arg.Key) != timeline.OwnArgs || arg.Kind != timeline.ArgDict {
			continue
		}
		for member := range c.tl.Members(arg) {
			if member.Kind != timeline.ArgInt {
				continue
			}
			if string(member.Key) == "samples" {
				s.samples = max(member.Int(), 0)
			} else {
				ct.thread.gcCounts.add(string(member.Key), member.Int())
			}
		}
	}
	ct.states = append(ct.states, s)
	return nil
}

// finish combines the samples and states of a thread into observations.
func (ct *sampledThread) finish(tl *timeline.Timeline, stacks *stackTable, nanos bool) {
	timed := nanos && !ct.foreign
	if !timed {
		measure(ct.samples)
	}
	t := ct.thread
	switch counted := ct.counted(); {
	case len(ct.states) == 0:
		t.observations = ct.samples
		for i := range t.observations {
			t.infer(&t.observations[i], tl, stacks)
		}
	case len(ct.samples) == 0:
		t.observations = make([]observation, 0, len(ct.states))
		for _, s := range ct.states {
			t.observations = append(t.observations, observation{ts: s.ts, dur: s.dur, count: clampCount(s.samples), state: s.state, left: ct.left})
		}
	case counted:
		ct.joinByCount(tl, stacks, timed)
	default:
		ct.joinByTime(tl, stacks, timed)
	}
	ct.samples, ct.states = nil, nil
}

func clampCount(n int64) uint32 { return uint32(min(n, math.MaxUint32)) }

// counted reports whether the states record how many samples they cover, and cover all of them.
func (ct *sampledThread) counted() bool {
	var n int64
	for _, s := range ct.states {
		if s.samples == 0 || s.samples > int64(len(ct.samples))-n {
			return false
		}
		n += s.samples
	}
	return n == int64(len(ct.samples))
}

// measure sets the lengths of samples whose weights are not times: each lasts until the next one.
func measure(samples []observation) {
	gaps := make([]timeline.Nanos, 0, len(samples))
	for i := 1; i < len(samples); i++ {
		gaps = append(gaps, samples[i].ts-samples[i-1].ts)
	}
	interval, ok := v8profile.SampleInterval(gaps)
	if !ok {
		interval = v8profile.DefaultInterval
	}
	for i := range samples {
		s := &samples[i]
		if i+1 == len(samples) {
			s.dur = interval
			break
		}
		s.dur, _ = v8profile.SampleLength(samples[i+1].ts-s.ts, interval)
	}
}

// joinByCount gives each state as many of the next samples as the state records. Samples without lengths of their own share the
// time of the state, and each lasts until the next one: their format may have rounded the times and left out the weights of
// samples. Firefox is an exception, because its states continue where samples are missing.
func (ct *sampledThread) joinByCount(tl *timeline.Timeline, stacks *stackTable, timed bool) {
	t := ct.thread
	t.observations = ct.samples
	rest := ct.samples
	for _, s := range ct.states {
		part := rest[:s.samples]
		rest = rest[s.samples:]
		if !timed && t.Source != sourceFirefox {
			share(part, &s)
		}
		for i := range part {
			t.observe(&part[i], tl, stacks, s.state)
		}
	}
}

// share divides the time of a state among its samples.
func share(samples []observation, s *stateSlice) {
	until := s.end()
	for i := len(samples) - 1; i >= 0; i-- {
		o := &samples[i]
		if o.ts = min(max(o.ts, s.ts), until); i == 0 {
			o.ts = s.ts
		}
		o.dur = until - o.ts
		until = o.ts
	}
}

// joinByTime assigns each sample the state at its time.
func (ct *sampledThread) joinByTime(tl *timeline.Timeline, stacks *stackTable, timed bool) {
	t := ct.thread
	rest := ct.samples
	for i := range ct.states {
		s := &ct.states[i]
		for ; len(rest) > 0 && rest[0].ts < s.ts; rest = rest[1:] { // between two states
			o := rest[0]
			o.dur = min(o.dur, s.ts-o.ts)
			t.infer(&o, tl, stacks)
			t.observations = append(t.observations, o)
		}
		n := 0
		for n < len(rest) && (rest[n].ts < s.end() || rest[n].ts == s.ts) {
			n++
		}
		ct.joinState(rest[:n], s, tl, stacks, timed)
		rest = rest[n:]
	}
	for _, o := range rest {
		t.infer(&o, tl, stacks)
		t.observations = append(t.observations, o)
	}
}

// joinState adds the samples of a state. Samples without lengths of their own last no longer than the state, and parts of
// the state without samples become observations without samples.
func (ct *sampledThread) joinState(samples []observation, s *stateSlice, tl *timeline.Timeline, stacks *stackTable, timed bool) {
	t := ct.thread
	if !timed && t.Source != sourceFirefox && int64(len(samples)) == s.samples {
		share(samples, s) // no sample is missing
	}
	first, covered, end := len(t.observations), s.ts, s.end()
	for _, o := range samples {
		ct.fill(covered, o.ts, s.state, timed)
		if !timed {
			o.dur = min(o.dur, end-o.ts)
		}
		covered = o.ts + o.dur
		t.observe(&o, tl, stacks, s.state)
		t.observations = append(t.observations, o)
	}
	ct.fill(covered, end, s.state, timed)
	t.countMissing(first, s)
}

// fill adds an observation for a part of a state without samples.
func (ct *sampledThread) fill(from, to timeline.Nanos, state stateID, timed bool) {
	if t := ct.thread; from < to && !timed {
		t.observations = append(t.observations, observation{ts: from, dur: to - from, state: state, left: ct.left})
	}
}

// countMissing adds the samples that the trace lacks, according to the sample count of a state, to the first part of the
// state without samples. Such samples have no stack, and come from formats that can write samples only as stacks.
func (t *Thread) countMissing(first int, s *stateSlice) {
	missing, part := s.samples, -1
	for i := first; i < len(t.observations); i++ {
		missing -= int64(t.observations[i].count)
		if part < 0 && t.observations[i].count == 0 {
			part = i
		}
	}
	if part >= 0 && missing > 0 {
		t.observations[part].count = clampCount(missing)
	}
}

// observe sets the state of a sample, and its stack without the marker that repeats the state.
func (t *Thread) observe(o *observation, tl *timeline.Timeline, stacks *stackTable, state stateID) {
	s := stacks.add(tl, timeline.CallstackID(o.stack))
	o.stack, o.state = s.stack, state
	if stacks.marks(s, t.states.name(state)) {
		o.stack = stacks.nodes[s.stack].below
	}
	t.findScript(o, stacks)
}

// findScript finds the script on the stack of an observation.
func (t *Thread) findScript(o *observation, stacks *stackTable) {
	o.script = o.stack
	if t.Source == sourceFirefox {
		o.script = stacks.scriptOf(o.stack)
	}
}

// infer sets the stack of a sample, and the state that follows from the stack alone.
func (t *Thread) infer(o *observation, tl *timeline.Timeline, stacks *stackTable) {
	s := stacks.add(tl, timeline.CallstackID(o.stack))
	o.stack = s.stack
	t.findScript(o, stacks)
	o.state = t.states.id(s.inferredState(t.Source, o.script != 0))
}

// inferredState returns the state of a sample if no track records it. The state follows from V8's own frames, or else from
// whether there is a stack and whether the stack contains script. In Firefox, a stack may contain only browser functions; its
// category is then Other (firefox.md 3).
func (s sampledStack) inferredState(source string, script bool) string {
	switch {
	case s.state != 0:
		return metaStates[s.state]
	case s.stack == 0:
		return timeline.StateIdle
	case source == "linux.perf":
		return "running"
	case !script:
		return timeline.StateOther
	}
	return timeline.StateInferred
}
