// Package probes reads probe firings, written by a tracer as lines in the format probelines 1, into a timeline: text
// from DTrace or bpftrace, or JSON lines from bpftrace.
//
// The comments cite docs/formats/probes.md and its rules D1 to D6. A file becomes:
//
//	a start and its end         a slice of the thread with the base name of the probe
//	a start without end         a slice up to the last record, flagged never_ended
//	an end without start        an instant of the thread, flagged end_without_start
//	any other probe             an instant of the thread
//	lost events                 an instant on the track "data loss"
//
// Argument declarations apply to the whole file, and the buffers of several processors are interleaved. So
// unconverted records are collected first (lines.go, json.go, header.go), sorted by time, on disk if necessary
// (spool.go), and then read, paired and added in one pass (args.go, pairs.go, emit.go).
//
// Every nonempty line is a record, a header or a known tracer message, or is counted in readers.Options.Problems. Read
// returns errors from the input, the context and temporary files.
package probes

import (
	"context"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Flags of slices and instants in the argument timeline.OwnFlags. It is their last argument; timeline.OwnProbe is their
// first.
const (
	FlagUnbalanced      = "unbalanced"        // a slice without an end that ends with the enclosing slice
	FlagNeverEnded      = "never_ended"       // a slice without an end that ends with the recording
	FlagEndWithoutStart = "end_without_start" // an end without a start
	FlagTextCut         = "text_cut"          // a text has the tracer's maximum length
)

// Read reads the unpacked probe lines r into b.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts readers.Options) error {
	rd := newReader(b, opts)
	defer rd.spool.Close()
	if err := rd.lines(readers.Cancelled(ctx, r)); err != nil {
		return err
	}
	rd.header.describe(b, opts.Offset)
	return newPairer(ctx, rd).run()
}

// reader collects the records and headers of a file.
type reader struct {
	b    *timeline.Builder
	log  *problem.Log
	opts readers.Options

	spool  *readers.Spool[record]
	header header
	commas bool // stray commas in JSON lines were counted

	threads     map[threadKey]uint32 // index into threadList
	threadList  []threadKey
	latest      threadKey // thread of the latest record
	latestIndex uint32

	probes    map[string]uint32    // by normalized name: index into probeList
	probeList []string             // normalized names
	byText    map[string]probeName // by name as written
	probeSize int                  // bytes of names

	at          int64  // offset of the current line
	events      uint32 // records so far
	lastTS      timeline.Nanos
	latestTS    timeline.Nanos // the maximum of all times
	hasRecords  bool
	earlyLosses []uint64 // losses before the first record

	json, tuple jsonscan.Scanner
	fixed       []byte // scratch
	valid       []byte // scratch
	payload     []byte // scratch
	headerText  []byte // scratch
}

// threadKey identifies a thread in the input. Each processor has an idle thread 0 of process 0.
type threadKey struct{ pid, tid, cpu int64 }

// probeName is the probe with a name as written. The probe depends on the process only if the provider ends in a digit.
type probeName struct {
	probe    uint32
	pid      int64
	numbered bool
}

// Limits of the memory for a file of any size.
const (
	maxProbes    = 1 << 17
	maxProbeSize = 32 << 20 // bytes of names
)

func newReader(b *timeline.Builder, opts readers.Options) *reader {
	return &reader{
		b: b, log: opts.Problems, opts: opts,
		spool:   readers.NewSpool(opts.SpoolSize(), opts.TempDir, recordForm, func(r *record) int64 { return int64(r.ts) }),
		header:  header{threads: map[[2]int64]name{}, processes: map[int64]name{}, declarations: map[string]*declaration{}},
		threads: map[threadKey]uint32{}, latest: threadKey{-1, -1, -1},
		probes: map[string]uint32{}, probeList: []string{""}, byText: map[string]probeName{},
	}
}

// position returns the position of the current line.
func (r *reader) position() problem.Position {
	return problem.Position{Event: -1, Offset: r.at}
}

// problem counts a problem with the current line.
func (r *reader) problem(k problem.Kind, detail string) { r.log.Add(k, r.position(), detail) }

// failed adds the position of the current line to an error.
func (r *reader) failed(err error) error { return fmt.Errorf("byte %d: %w", r.at, err) }
