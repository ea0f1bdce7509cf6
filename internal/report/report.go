// Package report counts in the samples of a trace: where the time of a thread went, which functions were interrupted by
// the garbage collector, and which of them force the browser to compute style and layout again and again. And it counts
// slices, as the scripts do that came with the probes of a browser: phases of layout (CollectLayout), and calls of functions
// (CountCalls).
//
// Three reports answer a question about a trace as a whole: which slices took the time (CollectSlices), which tasks blocked
// their thread (CollectTasks), and why inputs were answered late (CollectInputs). The last two ask the attribution for whom
// work was done. They go through the timeline with timeline.WalkNested, and keep what they tell apart within limits.
//
// It works on a resolved timeline and knows no input format, so that a recording and the Perfetto trace made of it give
// the same numbers. Of a sampled thread it uses
//
//   - the call-stack samples. If their weights are nanoseconds they are the time that a sample represents; otherwise a sample
//     lasts until the next one (v8profile.SampleLength);
//   - the state track below the thread, which has a role of timeline (RoleV8States, …) and records what the thread was doing at each
//     sample. Without one it is script where there is a stack, and idle where there is none;
//   - in Chrome's traces, slices of style and layout inside of slices that run script.
//
// Collect goes through the timeline once. The reports on samples (Samples, GC, LayoutThrashing) are computed from what it
// keeps, of 32 bytes for each sample. docs/reports.md defines every number.
//
// What does not live here: printing (package table), and anything that reads files.
package report

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weft-trace/weft/internal/timeline"
)

// Profiles are the sampled threads of a trace.
type Profiles struct {
	Threads []*Thread      // in the order of the timeline's tracks
	Start   timeline.Nanos // of the trace

	stacks *stackTable
}

// Thread is a sampled thread.
type Thread struct {
	ThreadID

	// Source is the sampler, by Perfetto's name: "js_self_profiling", "legacy_v8", "gecko", …
	Source string

	shows        string // see Profiles.FindShown
	track        timeline.TrackID
	observations []observation
	runs         []run
	states       stateNames
	gcCounts     GCSources
	forced       []forcedSlice // style and layout of Chrome's traces, not only what was forced
}

// ThreadID identifies the thread of a row: by names as Perfetto shows them, and by the ids in the input.
type ThreadID struct {
	Process string           `json:"process"`
	PID     timeline.InputID `json:"pid"`
	Thread  string           `json:"thread"`
	TID     timeline.InputID `json:"tid"`

	Recorded RecordedAs `json:"-"` // of the process
}

// RecordedAs is a process of one of several recordings whose pid is a number that weft made, because another recording has a process of
// that pid. All other processes have the zero RecordedAs.
type RecordedAs struct {
	PID   int64
	Input string // the name of its recording; "": not known
}

// recordedTrack returns how a process was recorded.
func recordedTrack(process *timeline.Track) RecordedAs {
	if !process.Renumbered || process.Kind != timeline.ProcessTrack {
		return RecordedAs{}
	}
	return RecordedAs{process.RecordedPID, process.Input}
}

// Shown returns the pid for people: the recording's.
func (r RecordedAs) Shown(pid timeline.InputID) timeline.InputID {
	switch {
	case r == RecordedAs{}:
		return pid
	case r.Input == "":
		return timeline.InputID{Num: r.PID}
	}
	return timeline.InputID{Text: strconv.FormatInt(r.PID, 10) + " of " + r.Input, IsNumber: true}
}

// ShownTID returns the tid for people, likewise.
func (t *ThreadID) ShownTID() timeline.InputID {
	if t.Recorded != (RecordedAs{}) && t.TID == t.PID { // a main thread
		return timeline.InputID{Num: t.Recorded.PID}
	}
	return t.TID
}

// ThreadTitle names the thread for people, with its number.
func (t *ThreadID) ThreadTitle() string { return t.ShownTID().Title(t.Thread, "tid") }

// ProcessTitle names the process for people, with its number; "" if there is none.
func (t *ThreadID) ProcessTitle() string { return t.Recorded.Title(t.Process, t.PID) }

// Title names the thread with its process for people.
func (t *ThreadID) Title() string {
	thread, process := t.ThreadTitle(), t.ProcessTitle()
	switch {
	case thread == "":
		return process
	case process == "" || process == thread:
		return thread
	}
	return thread + " of " + process
}

// Title names a process for people, with its number, from its name and id in the timeline.
func (r RecordedAs) Title(process string, pid timeline.InputID) string {
	return r.Shown(pid).Title(timeline.Program(process), "pid")
}

// Options control the tables of reports. The zero Options ask for whole tables without buckets.
type Options struct {
	// Bucket is the length of the time buckets; 0: none. They count from the start of the first sample of any thread.
	Bucket timeline.Nanos
	// Top is the number of rows of tables of stacks and functions; 0: all.
	Top int
	// Tree asks for a table of call trees; nil: none.
	Tree *TreeView
}

// observation is a sample, or where samples are not known a stretch of one state.
type observation struct {
	ts    timeline.Nanos
	dur   timeline.Nanos
	stack stackID // without markers; 0: none
	// script is the stack of script alone: in Firefox stacks hold the functions of the browser too.
	script stackID
	count  uint32 // of samples that it stands for
	state  stateID
	left   bool // out: it is not selected
}

// end is when an observation ends.
func (o *observation) end() timeline.Nanos { return o.ts + o.dur }

// span returns the time from the first observation to the end of the last one; false if there are none.
func (t *Thread) span() (start, end timeline.Nanos, ok bool) {
	n := len(t.observations)
	if n == 0 {
		return 0, 0, false
	}
	return t.observations[0].ts, t.observations[n-1].end(), true
}

// span returns the time from the first observation of any thread to the end of the last one.
func (p *Profiles) span() (start, end timeline.Nanos) {
	first := true
	for _, t := range p.Threads {
		from, to, ok := t.span()
		if !ok {
			continue
		}
		if first || from < start {
			start = from
		}
		end = max(end, to)
		first = false
	}
	return start, end
}

// ErrTooManyBuckets means that Options.Bucket is too short for the time that the trace covers.
var ErrTooManyBuckets = errors.New("too many buckets")

// maxBuckets bounds the length of tables by time.
const maxBuckets = 1_000_000

// check refuses options that would make an endless table.
func (p *Profiles) check(opts Options) error {
	start, end := p.span()
	if opts.Bucket > 0 && (end-start)/opts.Bucket >= maxBuckets {
		return fmt.Errorf("%w: %v in buckets of %v", ErrTooManyBuckets, time.Duration(end-start), time.Duration(opts.Bucket))
	}
	return nil
}
