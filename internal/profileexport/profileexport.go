// Package profileexport builds profiles of a trace for other tools, from the samples of its threads or the self times of its
// slices. Collect computes the sums over a resolved timeline; WritePprof and WriteFolded write the sums; WriteSpeedscope and
// WriteCPUProfiles write the stacks in time order.
//
// The time of a sample is its weight if the weight is in nanoseconds, otherwise the time until the next sample
// (v8profile.SampleLength), as in package report. The time of a slice, on the tracks of threads, excludes the slices inside it.
// Calls on a separate track are a separate profile; so are the lanes of a thread if stacks are ordered in time. Slices that never
// end have no time of their own: their time belongs to the slice around them.
//
// Memory grows with the number of distinct stacks, within limits, and with 8 bytes for each sample without a weight in nanoseconds, to
// determine the interval. Stacks in time order are sorted on disk.
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

// Basis is the kind of data from which a profile is built.
type Basis uint8

// The kinds of data.
const (
	Samples Basis = iota + 1
	Slices
)

// String returns "samples" or "slices".
func (b Basis) String() string { return [...]string{"", "samples", "slices"}[b] }

// Options configure a profile. Of is required.
type Options struct {
	Of Basis
	// Selected is the selected part; nil: the whole trace. A stack is selected by its innermost slice, and exported completely. A
	// sample has the contexts of the innermost slice around it.
	Selected *selection.Selection
	// By is the type of contexts to add as outermost frames: AllContexts or a name that attribution.TypesNamed accepts; "": none.
	By string
	// Contexts attaches contexts to stacks without adding frames for them.
	Contexts bool
	// Idle includes the samples of idle threads, see Profile.Idle.
	Idle bool
	// Ordered keeps the stacks in time order, for WriteSpeedscope and WriteCPUProfiles.
	Ordered bool
}

// AllContexts selects a context of each type.
const AllContexts = "context"

// Thread is the origin of stacks: a thread, or a lane of a thread.
type Thread struct {
	Process string // including its number, as in "Renderer [pid 7]"
	Name    string // including its number and, for a lane, the lane's number
	PID     timeline.InputID
	TID     timeline.InputID

	// Start is the start of the first sample or slice, and End is the end of the last one. Count and Time are sums.
	Start, End timeline.Nanos
	Count      int64
	Time       timeline.Nanos

	spent bool // Start and End are set
}

// Frame is a function or a slice. Line and Column count from 1; 0 is unknown.
type Frame struct {
	Name   string
	File   string
	Line   int64
	Column int64
}

// StackID identifies a stack; 0 is the empty stack.
type StackID uint32

// contextsID identifies a list of contexts; 0 is the empty list.
type contextsID uint32

// Sum is the cost of one stack of a thread.
type Sum struct {
	Thread   int
	Category timeline.CategoryID

	// Count is the number of samples, or of slices that begin. Time is the time of samples, or the self time of slices. CPU is
	// the CPU time of slices, excluding inner slices, where known.
	Count int64
	Time  timeline.Nanos
	CPU   timeline.Nanos

	contexts contextsID
	stack    StackID
}

// piece is a sample, or an interval with a constant stack.
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

// Profile is the result of Collect. It must be closed before the timeline.
type Profile struct {
	Of      Basis
	Threads []Thread
	Sums    []Sum
	HasCPU  bool // the CPU time of some slice is known

	// Folded is the number of slices and samples whose stacks were truncated or merged with others because there were too many.
	Folded int64

	// Idle is the number of samples omitted because their threads were idle, and IdleTime is their time. Idle samples have no
	// stack, or V8's (idle) as the innermost function.
	Idle     int64
	IdleTime timeline.Nanos

	tl       *timeline.Timeline
	stacks   *stackTable
	contexts *contextTable // nil: none
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

// Time returns the total time.
func (p *Profile) Time() (t timeline.Nanos) {
	for i := range p.Threads {
		grow(&t, p.Threads[i].Time)
	}
	return t
}

// Stacked returns the indexes of the threads with stacks.
func (p *Profile) Stacked() (threads []int) {
	for i := range p.Threads {
		if p.Threads[i].spent {
			threads = append(threads, i)
		}
	}
	return threads
}

// Stacks returns the number of distinct stacks.
func (p *Profile) Stacks() int { return len(p.Sums) }

// appendFrames appends the frames of a stack, outermost first, preceded by the frames of contexts.
func (p *Profile) appendFrames(dst []FrameID, contexts contextsID, stack StackID) []FrameID {
	if p.by {
		dst = append(dst, p.contexts.frames(p.stacks, contexts)...)
	}
	return p.stacks.appendList(dst, stack)
}

// Collect builds the profile of a nested timeline. Errors come from temporary files, the requested contexts or ctx.
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

// sort sorts the sums by thread, then by the first occurrence of stacks.
func (p *Profile) sort() {
	slices.SortFunc(p.Sums, func(a, b Sum) int {
		return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.stack, b.stack), cmp.Compare(a.contexts, b.contexts), cmp.Compare(a.Category, b.Category))
	})
}
