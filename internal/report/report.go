// Package report computes from the samples of a trace where the time of a thread went, which functions the garbage collector
// interrupted, and which functions repeatedly force the browser to compute style and layout. It also counts slices, like the
// scripts that came with the probes of a browser: layout phases (CollectLayout) and function calls (CountCalls).
//
// Three reports answer questions about a trace as a whole: which slices took the time (CollectSlices), which tasks blocked
// their thread (CollectTasks), and why inputs were answered late (CollectInputs). The last two use the attribution to
// determine which contexts work was done for. All three walk the nested timeline, and limit how many groups they
// distinguish.
//
// The package works on a resolved timeline and knows no input formats, so that a recording and the Perfetto trace made
// from it give the same numbers. For a sampled thread it uses
//
//   - the call-stack samples. Weights in nanoseconds are the times that the samples represent; otherwise a sample
//     lasts until the next one (v8profile.SampleLength);
//   - the state track below the thread, which has one of the roles in package timeline (RoleV8States, …) and records what the
//     thread was doing at each sample. Without a state track, the thread counts as running script where there is a stack, and as
//     idle elsewhere;
//   - in Chrome traces, style and layout slices inside slices that run script.
//
// Collect walks the timeline once. The sample reports (Samples, GC, LayoutThrashing) are computed from the data that it
// keeps, 32 bytes for each sample. docs/reports.md defines every number.
//
// Printing is in package table, and nothing here reads files.
package report

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/weft-trace/weft/internal/timeline"
)

// Profiles holds the sampled threads of a trace.
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
	forced       []forcedSlice // style and layout slices of Chrome traces, forced or not
}

// ThreadID identifies the thread of a row: by names as Perfetto shows them, and by the ids in the input.
type ThreadID struct {
	Process string           `json:"process"`
	PID     timeline.InputID `json:"pid"`
	Thread  string           `json:"thread"`
	TID     timeline.InputID `json:"tid"`

	Recorded RecordedAs `json:"-"` // of the process
}

// RecordedAs holds the recorded pid of a process and the name of its recording. It is set only if weft made up a pid for the
// process, because another recording has a process with the same pid. All other processes have the zero RecordedAs.
type RecordedAs struct {
	PID   int64
	Input string // the name of its recording; "": unknown
}

// recordedTrack returns how a process was recorded.
func recordedTrack(process *timeline.Track) RecordedAs {
	if !process.Renumbered || process.Kind != timeline.ProcessTrack {
		return RecordedAs{}
	}
	return RecordedAs{process.RecordedPID, process.Input}
}

// Shown returns the pid to show to readers: the one in the recording.
func (r RecordedAs) Shown(pid timeline.InputID) timeline.InputID {
	switch {
	case r == RecordedAs{}:
		return pid
	case r.Input == "":
		return timeline.InputID{Num: r.PID}
	}
	return timeline.InputID{Text: strconv.FormatInt(r.PID, 10) + " of " + r.Input, IsNumber: true}
}

// ShownTID returns the tid to show to readers: the one in the recording.
func (t *ThreadID) ShownTID() timeline.InputID {
	if t.Recorded != (RecordedAs{}) && t.TID == t.PID { // a main thread
		return timeline.InputID{Num: t.Recorded.PID}
	}
	return t.TID
}

// ThreadTitle returns a title for the thread, with its number.
func (t *ThreadID) ThreadTitle() string { return t.ShownTID().Title(t.Thread, "tid") }

// ProcessTitle returns a title for the process, with its number; "" without a process.
func (t *ThreadID) ProcessTitle() string { return t.Recorded.Title(t.Process, t.PID) }

// Title returns a title for the thread with its process.
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

// Title returns a title for a process, with its number, from its name and id in the timeline.
func (r RecordedAs) Title(process string, pid timeline.InputID) string {
	return r.Shown(pid).Title(timeline.Program(process), "pid")
}

// Options controls the tables of reports. The zero value selects whole tables without buckets.
type Options struct {
	// Bucket is the length of the time buckets; 0: no buckets. The first bucket starts with the first sample of any thread.
	Bucket timeline.Nanos
	// Top is the maximum number of rows in tables of stacks and functions; 0: all.
	Top int
	// Tree requests a call tree table; nil: none.
	Tree *TreeView
}

// observation is a sample or, where samples are unknown, a stretch of one state.
type observation struct {
	ts    timeline.Nanos
	dur   timeline.Nanos
	stack stackID // without markers; 0: none
	// script is the stack reduced to script: Firefox stacks also contain browser functions.
	script stackID
	count  uint32 // number of samples that it represents
	state  stateID
	left   bool // left out: it is not selected
}

// end returns when an observation ends.
func (o *observation) end() timeline.Nanos { return o.ts + o.dur }

// span returns the time from the first observation to the end of the last one; ok is false if there are no observations.
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

// maxBuckets bounds the number of time buckets in a table.
const maxBuckets = 1_000_000

// check rejects options that would make a table far too long.
func (p *Profiles) check(opts Options) error {
	start, end := p.span()
	if opts.Bucket > 0 && (end-start)/opts.Bucket >= maxBuckets {
		return fmt.Errorf("%w: %v in buckets of %v", ErrTooManyBuckets, time.Duration(end-start), time.Duration(opts.Bucket))
	}
	return nil
}
