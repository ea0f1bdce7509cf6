package v8profile

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Event is a trace event that carries a profile or a piece of a profile.
type Event struct {
	// Process and Thread identify the process and thread that recorded the event, by numbers of the caller's choice.
	Process, Thread int64
	ID              string // as written; may be empty
	TS              timeline.Nanos
	Offset          timeline.Nanos // from the sampler's clock, which the times in Args use, to the clock of TS
	Args            []byte         // the JSON text of args; not retained
	At              problem.Position
}

// Recording is one of the profiles in a trace.
type Recording struct {
	Process, Thread int64  // of the sampled thread
	ID              string // as in the events
	Source          string // Internal, Inspector or SelfProfiling; empty if unknown
	At              problem.Position

	// Orphan is set if the profile's head is missing. Such a profile is assigned to the main thread of its process.
	Orphan bool
	// Chosen is set if the calls of the thread come from this profile. All profiles of a thread sample the same period, so their
	// times must never be added.
	Chosen bool

	Profile *Profile
}

// Assembler joins the pieces of the profiles of a trace (profile-calls.md 2). Each chunk continues the previous one, so
// chunks must be added in order; other events may come in any order.
type Assembler struct {
	log   *problem.Log
	opts  AssemblerOptions
	byKey map[profileKey]*partialProfile
	order []*partialProfile // by first event
	scan  jsonscan.Scanner
	doc   *readers.Document // reads from scan
	room  collections.MemoryLimit
	full  error // set once the memory limit is exceeded

	read, built spool // samples of the drafts and of the finished profiles
	failed      error // first error of the temporary files
}

type profileKey struct {
	process int64
	id      string
}

// partialProfile is a profile with at least one event.
type partialProfile struct {
	profileKey
	draft  *draft
	thread int64
	start  timeline.Nanos
	offset timeline.Nanos // see Event
	at     problem.Position

	hasHead, hasChunk bool
	whole             bool // read from a CpuProfile event; the profile has its own start
}

// ThreadName is the prefix, before the profile's id, of the names of threads for further profiles of a sampled thread.
const ThreadName = "V8 profile "

// AssemblerOptions limit the memory of an Assembler and choose profiles.
type AssemblerOptions struct {
	// Memory limits the total size of all profiles in bytes, except their samples; 0: no limit.
	Memory int64
	// SampleMemory limits the bytes of samples in memory; 0: no limit. The rest goes to temporary files in TempDir ("":
	// the system's directory).
	SampleMemory int64
	TempDir      string
	// Preferred recognizes profiles that take precedence over all other profiles of their threads, even without a head; may be
	// nil.
	Preferred func(process int64, id string) bool
}

// NewAssembler returns an empty Assembler, which counts bad data in log.
func NewAssembler(log *problem.Log, opts AssemblerOptions) *Assembler {
	a := &Assembler{log: log, opts: opts, byKey: map[profileKey]*partialProfile{}, room: collections.ProfileMemoryLimit(opts.Memory)}
	a.doc = readers.NewDocument(&a.scan, log)
	each := max(opts.SampleMemory/2, 1)
	if opts.SampleMemory == 0 {
		each = math.MaxInt64
	}
	a.read, a.built = spool{dir: opts.TempDir, limit: each}, spool{dir: opts.TempDir, limit: each}
	return a
}

// Close removes the temporary files. The profiles that Finish returned become invalid. Close may be called twice.
func (a *Assembler) Close() error { return errors.Join(a.read.close(), a.built.close()) }

// Held returns the approximate memory use of the profiles in bytes.
func (a *Assembler) Held() int64 { return a.room.Used() + a.read.inMemory }

// Err returns an *AssemblyError if the profiles exceeded AssemblerOptions.Memory; the profiles then lack all later data. Other
// errors come from temporary files.
func (a *Assembler) Err() error {
	if a.failed != nil {
		return a.failed
	}
	if a.full == nil {
		return nil
	}
	return &AssemblyError{a.full}
}

// AssemblyError reports that the profiles in a trace need too much memory. The rest of the trace is readable.
type AssemblyError struct{ Err error }

func (e *AssemblyError) Error() string { return e.Err.Error() }

// Hint lists the flags that help.
func (e *AssemblyError) Hint() string {
	return "; allow more with --memory, or skip the profiles with --js-calls off and --samples none"
}

// Unwrap returns the underlying error.
func (e *AssemblyError) Unwrap() error { return e.Err }

// wholeID is the id used for a CpuProfile event without an id.
const wholeID = "0x1"

// Names of the events that carry profiles (profile-calls.md 2). Events of a whole profile may have other phases than P.
const (
	HeadName  = "Profile"
	ChunkName = "ProfileChunk"
	WholeName = "CpuProfile"
)

// IsEventName reports whether events of phase P with this name carry a profile or a piece of a profile.
func IsEventName(name string) bool { return name == HeadName || name == ChunkName || name == WholeName }

// Add adds an event with a name for which IsEventName holds. It reports whether the profile retains everything in the event;
// the event that starts a profile contains more.
func (a *Assembler) Add(name string, ev *Event) (complete bool) {
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

// Head adds a Profile event, which starts the sampling of the thread that wrote it. Of several heads with the same id, the last
// counts.
func (a *Assembler) Head(ev *Event) {
	p := a.profile(ev, ev.ID)
	p.thread, p.start, p.hasHead = ev.Thread, ev.TS, true
	p.setOffset(ev.Offset)
	a.readArgs(ev, p)
}

// Chunk adds a ProfileChunk event: a piece of the profile with its id, from any thread.
func (a *Assembler) Chunk(ev *Event) {
	p := a.profile(ev, ev.ID)
	first := !p.hasChunk && !p.hasHead
	p.hasChunk = true
	a.readArgs(ev, p)
	if first {
		p.start = ev.TS
		if inRange(ev.TS) {
			p.start -= p.draft.lastTime // the sum of this piece's deltas
		}
	}
}

// Whole adds a CpuProfile event, written by old versions of Chrome: a complete profile of the thread that wrote the event.
func (a *Assembler) Whole(ev *Event) {
	p := a.profile(ev, cmp.Or(ev.ID, wholeID))
	p.thread, p.hasHead, p.whole, p.start = ev.Thread, true, true, ev.TS
	p.setOffset(ev.Offset)
	a.readArgs(ev, p)
}

// setOffset sets the offset from the profile's times to event times.
func (p *partialProfile) setOffset(offset timeline.Nanos) {
	p.offset = min(max(offset, -maxTime), maxTime)
}

// bytesOfDraft is the memory use of an empty draft in bytes.
const bytesOfDraft = 1 << 10

// profile returns the profile of an event, which it creates if necessary.
func (a *Assembler) profile(ev *Event, id string) *partialProfile {
	key := profileKey{ev.Process, id}
	p := a.byKey[key]
	if p == nil {
		p = &partialProfile{profileKey: key, draft: newDraft(&a.read), at: ev.At}
		a.byKey[key] = p
		a.order = append(a.order, p)
		if err := a.room.Add(bytesOfDraft); a.full == nil {
			a.full = err
		}
	}
	return p
}

// readArgs reads the arguments of an event. After an error, everything read before it is kept.
func (a *Assembler) readArgs(ev *Event, p *partialProfile) {
	if len(ev.Args) == 0 || a.full != nil || a.failed != nil {
		return
	}
	a.scan.Reset(ev.Args)
	a.doc.StartPiece(ev.At)
	dec := decoder{Document: a.doc, d: p.draft, room: &a.room, charged: p.draft.bytes()}
	err := dec.args()
	if a.failed = p.draft.err; a.failed != nil {
		return
	}
	if a.full = dec.account(); a.full != nil {
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

// Finish returns the profiles with nodes, in the order of their first events. The callback mainThread returns the main thread of
// a process, to which profiles without a head are assigned; its result ok is false if the thread is unknown. The profiles are
// valid until the Assembler is closed; no more events can be added. Errors come from temporary files.
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

// sourceRank orders sources by preference: DevTools and its panel record Internal profiles; clients of the protocol
// record Inspector profiles.
func sourceRank(source string) int {
	switch source {
	case "Internal":
		return 0
	case "Inspector":
		return 1
	}
	return 2
}

// choose marks, for each thread, the profile that the calls come from: the preferred one, otherwise the first profile from the
// best source, even if it has no nodes. An orphan that is not preferred is chosen only if it is the only orphan of its process
// and if its thread has no profile with a head.
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
