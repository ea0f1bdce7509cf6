// Package chromejson reads traces in Chrome's Trace Event format into a timeline.
//
// It reads both forms of the format (an array of events and an object with traceEvents), with members in any order, in
// one streaming pass, and tolerates the damage found in real files. The rules are in docs/formats/chrome-json.md, whose
// sections the comments cite. The phases become:
//
//	B E X      slices of the thread
//	i I R      instants of the thread, the process or the whole trace, depending on s
//	b e n      asynchronous slices and instants by cat and id; S F T p their legacy form
//	s t f      flow ends, bound by time; bind_id on B X b n, bound to its event
//	C v        counters of the process
//	M          names, labels, order and attributes of processes and threads
//	N D O      slices and instants on a track "<name> objects" of the process
//	T c V      a thread state (T with dur and without id); a clock sync; a global memory dump
//	P ( ) =    and every other letter: instants on a track "Other events"
//
// Later passes pair begin and end events, nest slices, resolve flows and assign process ids that Perfetto can
// represent. Package jsonscan reads the text.
//
// Bad data in individual events is counted in readers.Options.Problems and never stops reading. An error from Read means that
// the input as a whole is unreadable.
package chromejson

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Options configures Read.
type Options struct {
	readers.Options

	// Profiles assembles the V8 CPU profiles of the trace; it identifies processes and threads by their TrackIDs. If it is nil,
	// the pieces of the profiles stay events of the trace.
	Profiles *v8profile.Assembler
	// Workers is the number of scanning goroutines, at most 64; with 0 or 1, the calling goroutine scans. It does not
	// affect the result.
	Workers int

	block int // size of a block; 0: blockSize
}

// droppedKeys returns a cache of dropped keys, or nil if all are kept.
func droppedKeys(f *timeline.ArgFilter) *jsonscan.KeyCache {
	if f.KeepsAll() {
		return nil
	}
	return new(jsonscan.KeyCache)
}

// Read reads the unpacked Chrome JSON trace r into b. Errors from r, b and ctx, and errors about inputs that are not Chrome
// JSON traces, include the position in the input.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) error {
	rd := newReader(ctx, r, b, opts)
	defer rd.recycle()
	if err := rd.document(); err != nil && err != readers.ErrEnded {
		return err
	}
	return rd.finish()
}

// reader is the state of one Read.
type reader struct {
	eventScanner
	ctx context.Context
	doc *readers.Document // reads the text outside the event list
	sub jsonscan.Scanner  // rereads a piece of the current event

	piece      jsonscan.Scanner // replaces S while reading in blocks
	ahead      []byte           // buffer of the last splitter
	spare      *spare
	blocksFrom int64 // first offset at which blocks may start

	b    *timeline.Builder
	log  *problem.Log
	opts Options

	index    int64 // index of the current event or, outside traceEvents, of the next event
	found    bool  // the input has traceEvents
	inEvents bool  // the current position is inside traceEvents
	reparsed int64 // bytes parsed in vain; see mayReparse

	out    timeline.Event // passed to the Builder
	flo    timeline.FlowEvent
	inWeft bool   // the dictionary "weft" of the current event's arguments is open
	buf    []byte // scratch for composed names

	chart string // name of the last counter event with several members

	picture []byte // scratch for screenshots

	counters []counterMember // scratch

	ids     idCache
	roles   map[roleKey]timeline.TrackID
	objects map[objectsKey]timeline.TrackID
	meta    metadata
	stacks  stacks
	clues   *producers.ChromeClues
}

// maxWorkers limits Options.Workers, because each goroutine needs blocks of the input.
const maxWorkers = 64

func newReader(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) *reader {
	window := cmp.Or(opts.Window, jsonscan.DefaultWindow)
	opts.Workers = min(opts.Workers, maxWorkers)
	spare := spares.Get().(*spare)
	rd := &reader{
		eventScanner: eventScanner{
			ArgReader: newArgReader(jsonscan.NewIn(readers.Cancelled(ctx, r), window, spare.window), b.Args()), args: opts.Args, dropped: droppedKeys(&opts.Args),
			tracing: opts.Profiles != nil,
		},

		spare:   spare,
		ctx:     ctx,
		b:       b,
		log:     opts.Problems,
		opts:    opts,
		roles:   map[roleKey]timeline.TrackID{},
		objects: map[objectsKey]timeline.TrackID{},
		meta:    metadata{labels: map[timeline.TrackID]timedText{}, times: map[string]timeline.Nanos{}},
		stacks:  stacks{frames: map[frameKey]*frame{}, used: map[frameKey]timeline.CallstackID{}},
		clues:   producers.NewChromeClues(b),
	}
	rd.unknown = func(key []byte) { rd.doc.Unknown(key, rd.position()) }
	rd.doc = readers.NewDocument(rd.S, rd.log)
	rd.doc.Repeats = func(key []byte) bool { return string(key) == "traceEvents" }
	return rd
}

// A spare is memory that readers reuse: for a small input, the allocation takes about as much time as reading.
type spare struct {
	window []byte // the scanner's window
	ahead  []byte // the splitter's buffer
	blocks []*block
}

const (
	// maxSpare limits the capacity of a buffer in a spare.
	maxSpare = 2 * blockSize
	// maxSpareInput limits the size of an input whose reader returns a spare: for a larger input, the memory is better used for
	// the events.
	maxSpareInput = 64 << 20
)

var spares = sync.Pool{New: func() any { return new(spare) }}

// recycle returns the reader's memory to the pool if its input was small.
func (rd *reader) recycle() {
	small := rd.S.Offset() <= maxSpareInput
	spare := rd.spare
	spare.window = rd.S.Leave()
	if !small {
		return
	}
	if rd.ahead != nil {
		spare.ahead = rd.ahead
	}
	if cap(spare.window) > maxSpare {
		spare.window = nil
	}
	if cap(spare.ahead) > maxSpare {
		spare.ahead = nil
	}
	spares.Put(spare)
}

// finish adds the data that depends on the whole input.
func (rd *reader) finish() error {
	rd.inEvents = false
	rd.flushMetadata()
	if err := rd.flushWaiting(); err != nil {
		return err
	}
	rd.resolveStacks()
	rd.clues.Facts()
	if rd.opts.Offset == 0 {
		rd.clues.Date()
	}
	return nil
}

// position returns the position of the current event or, outside the event list, of the scanner.
func (rd *reader) position() problem.Position {
	if rd.inEvents {
		return problem.Position{Event: rd.index, Offset: rd.S.Start()}
	}
	return problem.Position{Event: -1, Offset: rd.S.Start()}
}

// problem counts a problem with the current event.
func (rd *reader) problem(k problem.Kind, detail string) { rd.log.Add(k, rd.position(), detail) }

// failed adds the scanner's position to an error.
func (rd *reader) failed(err error) error {
	if rd.inEvents {
		return fmt.Errorf("traceEvents[%d] (byte %d): %w", rd.index, rd.S.Offset(), err)
	}
	return fmt.Errorf("byte %d: %w", rd.S.Offset(), err)
}

// ended handles an error from the scanner in the event list. It records the end of the input, which is not a failure.
func (rd *reader) ended(err error) error {
	if err != io.EOF {
		return rd.failed(err)
	}
	return rd.doc.End(err)
}

// notes counts deviations that the scanner tolerated in the current unit.
func (rd *reader) notes() { rd.countNotes(&rd.S.Notes) }

func (rd *reader) countNotes(n *jsonscan.Notes) { rd.doc.CountNotesOf(n, rd.position()) }
