// Package profileexport makes profiles of a trace for other tools: of the samples of its threads, or of its slices, with the time
// that each had for itself. Collect goes through a resolved timeline and sums up; WritePprof and WriteFolded write the sums,
// WriteSpeedscope and WriteCPUProfile what happened one after the other.
//
// Samples count for their weights if these are nanoseconds, otherwise for the time until the next one (v8profile.SampleLength), as in
// package report. Slices count for the time in which no slice inside of them was open, on the tracks of threads. Calls that weft
// puts on a track of their own are a profile of their own; so are, where stacks are told one after the other, the lanes of a
// thread. Slices that never end take no time: that goes to the slice around them.
//
// What is kept grows with the kinds of stacks, within limits; without weights in nanoseconds also 8 bytes for each sample, to find
// out how far they are apart. What comes one after the other is sorted on disk.
//
// What does not live here: files and flags (cmd/weft).
package profileexport

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// Basis is what a profile is made of.
type Basis uint8

// What profiles are made of.
const (
	Samples Basis = iota + 1
	Slices
)

// String returns "samples" or "slices".
func (b Basis) String() string { return [...]string{"", "samples", "slices"}[b] }

// Options say what a profile is made of. Of is required.
type Options struct {
	Of Basis
	// Selected is what counts; nil: the whole trace. A stack counts by its innermost slice, and is exported whole. A sample has the
	// contexts of the innermost slice around it.
	Selected *selection.Selection
	// By is the type of contexts that are put above stacks as frames of their own: AllContexts or what attribution.TypesNamed knows; "": none.
	By string
	// Contexts gives stacks their contexts without frames of their own.
	Contexts bool
	// Idle keeps the samples of threads that were idle, see Profile.Idle.
	Idle bool
	// Ordered keeps what comes one after the other, for WriteSpeedscope and WriteCPUProfile.
	Ordered bool
}

// AllContexts asks for a context of each type.
const AllContexts = "context"

// Thread is where stacks are from: a thread, or a lane of one.
type Thread struct {
	Process string // with its number, as in "Renderer [pid 7]"
	Name    string // likewise; of a lane its number
	PID     timeline.InputID
	TID     timeline.InputID

	// Start is when the first sample or slice begins, End when the last one ends. Count and Time are sums.
	Start, End timeline.Nanos
	Count      int64
	Time       timeline.Nanos

	spent bool // something counts there
}

// Frame is a function or a slice. Line and Column count from 1; 0 is unknown.
type Frame struct {
	Name   string
	File   string
	Line   int64
	Column int64
}

// StackID identifies a stack; 0 is the empty one.
type StackID uint32

// contextsID identifies a list of contexts; 0 is the empty one.
type contextsID uint32

// Sum is what one stack of a thread cost.
type Sum struct {
	Thread   int
	Category timeline.CategoryID

	// Count is the number of samples, or of slices that begin; Time is the time of samples, or of slices without those inside of
	// them. CPU is the CPU time of slices without those inside, as far as it is known.
	Count int64
	Time  timeline.Nanos
	CPU   timeline.Nanos

	contexts contextsID
	stack    StackID
}

// piece is a time in which a stack did not change, or a sample.
type piece struct {
	start, length timeline.Nanos
	thread        int32
	stack         StackID
	contexts      contextsID
	_             uint32
}

// pieceOrder sorts by thread, then by time.
var pieceOrder = extsort.Order[piece]{
	Compare: func(a, b *piece) int { return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start)) },
}

// Profile is what Collect found. It must be closed, before the timeline is.
type Profile struct {
	Of      Basis
	Threads []Thread
	Sums    []Sum
	HasCPU  bool // of a slice the CPU time is known

	// Folded is the number of slices and samples whose stacks were cut or put together with others, because there are too many.
	Folded int64

	// Idle is the number of samples that are left out because their threads were idle, and IdleTime the time that they represent:
	// samples without a stack, and samples whose innermost function is V8's (idle).
	Idle     int64
	IdleTime timeline.Nanos

	tl       *timeline.Timeline
	stacks   *stackTable
	contexts *contextTable // nil: there are none
	by       bool          // contexts are frames
	pieces   *extsort.Sorter[piece]
}

// Close removes temporary files.
func (p *Profile) Close() error {
	if p.pieces == nil {
		return nil
	}
	return p.pieces.Close()
}

// Count returns the number of samples or slices.
func (p *Profile) Count() (n int64) {
	for i := range p.Threads {
		n += p.Threads[i].Count
	}
	return n
}

// Time returns the time of all of them.
func (p *Profile) Time() (t timeline.Nanos) {
	for i := range p.Threads {
		grow(&t, p.Threads[i].Time)
	}
	return t
}

// Stacked returns the indexes of the threads that have any stack.
func (p *Profile) Stacked() (threads []int) {
	for i := range p.Threads {
		if p.Threads[i].spent {
			threads = append(threads, i)
		}
	}
	return threads
}

// Stacks returns the number of stacks that are told apart.
func (p *Profile) Stacks() int { return len(p.Sums) }

// appendFrames appends the frames of a stack, outermost first, with contexts above it.
func (p *Profile) appendFrames(dst []FrameID, contexts contextsID, stack StackID) []FrameID {
	if p.by {
		dst = append(dst, p.contexts.frames(p.stacks, contexts)...)
	}
	return p.stacks.appendList(dst, stack)
}

// Collect makes the profile of a timeline, which is nested. The error is one of temporary files, of the contexts that are asked for, or
// ctx's.
func Collect(ctx context.Context, tl *timeline.Timeline, opts Options) (*Profile, error) {
	p := &Profile{Of: opts.Of, tl: tl, stacks: newStackTable(), by: opts.By != ""}
	if opts.Ordered {
		p.pieces = extsort.New(pieceOrder, tl.Memory()/8, tl.TempDir())
	}
	if err := p.collect(ctx, opts); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

func (p *Profile) collect(ctx context.Context, opts Options) (err error) {
	c := newCollector(p, opts)
	if opts.By != "" || opts.Contexts {
		if p.contexts, err = newContextTable(ctx, p.tl, opts.By); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.contexts.close()) }()
	}
	if opts.Of == Samples {
		if err := c.measure(ctx); err != nil {
			return err
		}
	}
	if err := timeline.WalkNested(ctx, p.tl, c.item); err != nil {
		return err
	}
	return c.finish()
}

// sort puts the sums in the order in which they are written: by thread, then in the order in which stacks were met.
func (p *Profile) sort() {
	slices.SortFunc(p.Sums, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.stack, b.stack), cmp.Compare(a.contexts, b.contexts), cmp.Compare(a.Category, b.Category))
	})
}
