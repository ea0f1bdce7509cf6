package v8profile

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Event is a trace event that carries a profile or a piece of one.
type Event struct {
	// Process and Thread are the event's own, as numbers of the caller's choice.
	Process, Thread int64
	ID              string // as written; may be empty
	TS              timeline.Nanos
	Offset          timeline.Nanos // of TS from the sampler's clock, which the times in Args count on
	Args            []byte         // the JSON text of args; not kept
	At              problem.Position
}

// Recording is one profile of a trace.
type Recording struct {
	Process, Thread int64  // of the sampled thread
	ID              string // as the events have it
	Source          string // Internal, Inspector or SelfProfiling; empty if unknown
	At              problem.Position

	// Orphan means that the profile's head is missing. It counts as one of the main thread of its process.
	Orphan bool
	// Chosen means that the calls of the thread come from this profile. All profiles of a thread sample the same time,
	// and must never be added up.
	Chosen bool

	Profile *Profile
}

// Assembler joins the pieces of the profiles of a trace (profile-calls.md 2). Each chunk of a profile continues the one
// before, so chunks must come in order; other events may come in any order.
type Assembler struct {
	log   *problem.Log
	opts  AssemblerOptions
	byKey map[profileKey]*partialProfile
	order []*partialProfile // by first event
	scan  jsonscan.Scanner
	doc   *jsondoc.Reader // of scan
	room  collections.Room
	full  error // there is no room for more

	read, built spool // the samples as they are read, and the samples of the profiles that Finish returns
	failed      error // of the temporary files
}

type profileKey struct {
	process int64
	id      string
}

// partialProfile is a profile for which at least one event has come.
type partialProfile struct {
	profileKey
	draft  *draft
	thread int64
	start  timeline.Nanos
	offset timeline.Nanos // see Event
	at     problem.Position

	hasHead, hasChunk bool
	whole             bool // a single event; the start is the profile's own
}

// ThreadName begins the names of threads that hold the samples of a profile beside its thread's. The id of the profile follows.
const ThreadName = "V8 profile "

// AssemblerOptions bound the memory of an Assembler and choose profiles.
type AssemblerOptions struct {
	// Memory is the number of bytes that all profiles together may take without their samples; 0: any.
	Memory int64
	// SampleMemory is the number of bytes that samples may take in memory; 0: any. What does not fit is in temporary files in
	// TempDir ("" for the system's).
	SampleMemory int64
	TempDir      string
	// Preferred recognises profiles that are chosen before all others of their threads, also without a head. Nil: there is
	// none.
	Preferred func(process int64, id string) bool
}

// NewAssembler returns an empty Assembler, which counts bad data in log.
func NewAssembler(log *problem.Log, opts AssemblerOptions) *Assembler {
	a := &Assembler{log: log, opts: opts, byKey: map[profileKey]*partialProfile{}, room: collections.RoomOfProfiles(opts.Memory)}
	a.doc = jsondoc.New(&a.scan, log)
	each := max(opts.SampleMemory/2, 1)
	if opts.SampleMemory == 0 {
		each = math.MaxInt64
	}
	a.read, a.built = spool{dir: opts.TempDir, limit: each}, spool{dir: opts.TempDir, limit: each}
	return a
}

// Close removes the temporary files. The profiles that Finish returned cannot be used any more. Closing twice does nothing.
func (a *Assembler) Close() error { return errors.Join(a.read.close(), a.built.close()) }

// Held returns about how many bytes of memory the profiles take so far.
func (a *Assembler) Held() int64 { return a.room.Held() + a.read.held }

// Err returns an *AssemblyError if the profiles need more memory than AssemblerOptions.Memory. They lack whatever came after
// that. Any other error is one of temporary files.
func (a *Assembler) Err() error {
	if a.failed != nil {
		return a.failed
	}
	if a.full == nil {
		return nil
	}
	return &AssemblyError{a.full}
}

// AssemblyError says why the profiles among the events of a trace cannot be read. Without them the trace can.
type AssemblyError struct{ Err error }

func (e *AssemblyError) Error() string { return e.Err.Error() }

// Hint says which flags help.
func (e *AssemblyError) Hint() string {
	return "; allow more with --memory; --js-calls off and --samples none leave them out"
}

// Unwrap returns the reason.
func (e *AssemblyError) Unwrap() error { return e.Err }

// wholeID is the id of a CpuProfile event that has none.
const wholeID = "0x1"

// Names of the events that carry profiles (profile-calls.md 2). Events of a whole profile may have other phases than P.
const (
	HeadName  = "Profile"
	ChunkName = "ProfileChunk"
	WholeName = "CpuProfile"
)

// IsEventName reports whether events of phase P with this name carry a profile or a piece of one.
func IsEventName(name string) bool { return name == HeadName || name == ChunkName || name == WholeName }

// Add adds an event by its name, for which IsEventName holds. It reports whether the profile holds everything that the
// event says; a head is worth keeping as well.
func (a *Assembler) Add(name string, ev *Event) (taken bool) {
	switch name {
	case HeadName:
		a.Head(ev)
	case ChunkName:
		a.Chunk(ev)
	case WholeName:
		a.Whole(ev)
	}
	return name != HeadName
}

// Head adds an event Profile: its own thread is sampled from its time on. Of several heads with one id the
// last counts.
func (a *Assembler) Head(ev *Event) {
	p := a.profile(ev, ev.ID)
	p.thread, p.start, p.hasHead = ev.Thread, ev.TS, true
	p.setOffset(ev.Offset)
	a.readArgs(ev, p)
}

// Chunk adds an event ProfileChunk: a piece of the profile with its id, whatever thread it comes from.
func (a *Assembler) Chunk(ev *Event) {
	p := a.profile(ev, ev.ID)
	first := !p.hasChunk && !p.hasHead
	p.hasChunk = true
	a.readArgs(ev, p)
	if first {
		p.start = ev.TS
		if inRange(ev.TS) {
			p.start -= p.draft.now // the sum of the deltas of this piece
		}
	}
}

// Whole adds an event CpuProfile, which old versions of Chrome wrote: a whole profile of its own thread.
func (a *Assembler) Whole(ev *Event) {
	id := ev.ID
	if id == "" {
		id = wholeID
	}
	p := a.profile(ev, id)
	p.thread, p.hasHead, p.whole, p.start = ev.Thread, true, true, ev.TS
	p.setOffset(ev.Offset)
	a.readArgs(ev, p)
}

// setOffset sets the offset from the profile's own times to events' times.
func (p *partialProfile) setOffset(offset timeline.Nanos) {
	p.offset = min(max(offset, -maxTime), maxTime)
}

// bytesOfDraft is the memory of an empty draft.
const bytesOfDraft = 1 << 10

// profile returns the profile of an event.
func (a *Assembler) profile(ev *Event, id string) *partialProfile {
	key := profileKey{ev.Process, id}
	p := a.byKey[key]
	if p == nil {
		p = &partialProfile{profileKey: key, draft: newDraft(&a.read), at: ev.At}
		a.byKey[key] = p
		a.order = append(a.order, p)
		if err := a.room.Take(bytesOfDraft); a.full == nil {
			a.full = err
		}
	}
	return p
}

// readArgs reads the arguments of an event. What was read before an error is kept.
func (a *Assembler) readArgs(ev *Event, p *partialProfile) {
	if len(ev.Args) == 0 || a.full != nil || a.failed != nil {
		return
	}
	a.scan.Reset(ev.Args)
	a.doc.StartPiece(ev.At)
	dec := decoder{Reader: a.doc, d: p.draft, room: &a.room, taken: p.draft.bytes()}
	err := dec.args()
	if a.failed = p.draft.err; a.failed != nil {
		return
	}
	if a.full = dec.take(); a.full != nil {
		return
	}
	if err != nil {
		a.log.Add(problem.ProfileMalformed, ev.At, fmt.Sprintf("profile %s: %v", p.id, err))
	}
	if p.whole {
		p.draft.spreadSamples()
	}
	p.draft.endPiece()
	a.failed = p.draft.err
}

// Finish returns the profiles in the order of their first events, those without nodes excepted. mainThread gives the
// main thread of a process, to which profiles without a head are taken to belong; ok is false if it is not known. The profiles
// can be used until the Assembler is closed, which is of no other use afterwards. The error is one of temporary files.
func (a *Assembler) Finish(mainThread func(process int64) (thread int64, ok bool)) ([]*Recording, error) {
	var all []*Recording
	for _, p := range a.order {
		r := &Recording{
			Process: p.process, Thread: p.thread, ID: p.id, Source: p.draft.source, At: p.at, Orphan: !p.hasHead,
		}
		if r.Orphan {
			a.log.Add(problem.ProfileWithoutHead, p.at, "profile "+p.id)
			r.Thread, _ = mainThread(p.process)
		}
		start := p.start
		if p.whole {
			if ts, ok := p.draft.startTime(); ok {
				start = ts + p.offset
			}
		}
		p.draft.offset = p.offset
		var err error
		if r.Profile, err = p.draft.build(start, &a.built); err != nil {
			return nil, err
		}
		p.draft.found.report(a.log, p.at, p.id)
		p.draft = nil
		all = append(all, r)
	}
	a.byKey, a.order = nil, nil
	if err := errors.Join(a.failed, a.read.close(), a.built.flush()); err != nil {
		return nil, err
	}
	a.choose(all)
	for _, r := range all {
		if r.Profile == nil {
			a.log.Add(problem.ProfileWithoutNodes, r.At, "profile "+r.ID)
		} else if !r.Chosen {
			a.log.Add(problem.ProfileNotChosen, r.At, "profile "+r.ID)
		}
	}
	return slices.DeleteFunc(all, func(r *Recording) bool { return r.Profile == nil }), nil
}

// sourceRank orders the sources by which profile of a thread is chosen: Internal is what DevTools and its panel record,
// Inspector what a client of the protocol asked for.
func sourceRank(source string) int {
	switch source {
	case "Internal":
		return 0
	case "Inspector":
		return 1
	}
	return 2
}

// choose marks the profile of each thread whose calls are built: the preferred one, otherwise the first of the best source,
// even if it has no nodes. A profile without head that is not preferred is chosen only if it is the only one without
// head in its process, and its thread has no profile with a head.
func (a *Assembler) choose(all []*Recording) {
	type thread struct{ process, thread int64 }
	best := map[thread]*Recording{}
	orphans := map[int64]int{}
	rank := func(r *Recording) int {
		if a.opts.Preferred != nil && a.opts.Preferred(r.Process, r.ID) {
			return -1
		}
		return sourceRank(r.Source)
	}
	for _, r := range all {
		t := thread{r.Process, r.Thread}
		if r.Orphan {
			orphans[r.Process]++
		}
		if (!r.Orphan || rank(r) < 0) && (best[t] == nil || rank(r) < rank(best[t])) {
			best[t] = r
		}
	}
	for _, r := range all {
		t := thread{r.Process, r.Thread}
		r.Chosen = best[t] == r || r.Orphan && orphans[r.Process] == 1 && best[t] == nil
	}
}
