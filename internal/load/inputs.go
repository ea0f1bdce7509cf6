package load

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/readers/cpuprofile"
	"github.com/weft-trace/weft/internal/timeline"
)

// addInput reads one of several inputs into the builder. What its profiles still add is then to be moved as its events are.
func (l *loader) addInput(in timeline.Input, read func() error) error {
	known := len(l.js.threads)
	l.builder.BeginInput(in)
	err := read()
	for _, t := range l.js.threads[known:] {
		t.Shift += in.Offset
		t.Problems = l.builder.Problems() // what is found while calls are made
		l.placeCalls(t, known)
	}
	l.builder.EndInput()
	return err
}

// placeCalls finds where the calls of a sampled thread of the current input go: among the events that this input has on the thread, unless
// calls are made among these already, of the samples of an input before, of which there are known threads.
func (l *loader) placeCalls(t *jsThread, known int) {
	t.events = l.builder.Place(t.Track)
	if t.calls == t.Track {
		t.calls = t.events
	}
	for _, other := range l.js.threads[:known] {
		if cmp.Or(other.events, other.Track) == t.events {
			t.calls = l.builder.RoleTrack(t.Track, timeline.RoleCalls)
			t.events = t.calls // where no events are
		}
	}
}

// cpuProfile returns the options of the reader of .cpuprofile files. Calls of a profile that is of a thread with events are made among
// these, unless the thread has a profile already.
func (l *loader) cpuProfile() cpuprofile.Options {
	o := &l.opts
	opts := cpuprofile.Options{
		Problems: l.problems, Offset: o.TimeOffset, Args: l.args, CallDetails: o.CallDetails, Memory: o.profileMemory(),
		NoCalls: o.JSCalls == JSCallsOff, Thread: l.profileOf,
	}
	if l.profileOf == 0 || opts.NoCalls {
		return opts
	}
	if slices.ContainsFunc(l.js.threads, func(t *jsThread) bool { return t.Track == l.profileOf }) {
		opts.SeparateCalls = true
		return opts
	}
	opts.Among = func(t *cpuprofile.Thread) {
		l.js.threads = append(l.js.threads, &jsThread{Thread: *t, calls: t.Track})
	}
	return opts
}
