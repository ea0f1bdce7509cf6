package v8profile

import (
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// ErrNoNodes reports a document without nodes.
var ErrNoNodes = errors.New("not a CPU profile: it has no nodes")

// Read reads a .cpuprofile document: from DevTools or Node, in the legacy form with a nested tree, or a result of
// Profiler.stop. It counts bad data in log. A truncated or damaged document is used if it has samples with times; for
// other text, Read returns an error with a position.
func Read(r io.Reader, log *problem.Log) (*Profile, error) { return ReadWithin(r, log, 0) }

// ReadWithin is Read with a memory limit in bytes; 0: no limit. It returns an error for a profile that needs more
// memory.
func ReadWithin(r io.Reader, log *problem.Log, memory int64) (*Profile, error) {
	d := newDraft(new(spool))
	profiles := collections.ProfileMemoryLimit(memory)
	dec := decoder{Document: readers.NewDocument(jsonscan.New(r), log), d: d, room: &profiles}
	dec.Numbered = true
	err := dec.document()
	switch {
	case err == nil:
		err = dec.Trailing()
	case err == readers.ErrEnded:
		err = dec.ended()
	}
	if err != nil {
		return nil, err
	}
	d.spreadSamples()
	d.endPiece()
	start, _ := d.startTime()
	p, err := d.build(start, new(spool))
	switch {
	case err != nil:
		return nil, err
	case p == nil:
		return nil, ErrNoNodes
	}
	d.found.report(log, problem.NoPosition, "")
	return p, nil
}

// ended returns an error if a truncated document has too little data.
func (r *decoder) ended() error {
	switch {
	case r.d.samples.n > 0 && r.d.times.n > 0:
		return nil
	case r.Malformed() != nil:
		return r.Malformed()
	}
	return r.Failed(fmt.Errorf("the document ends before its samples do: %w", io.ErrUnexpectedEOF))
}

// startTime returns the recorded start; ok is false if it is missing.
func (d *draft) startTime() (ts timeline.Nanos, ok bool) { return d.start.in(d.legacy) }

// in returns the bound, which is in seconds in legacy documents.
func (b *bound) in(seconds bool) (ts timeline.Nanos, ok bool) {
	if seconds {
		return b.seconds, b.hasSeconds
	}
	return b.micros, b.hasMicros
}

// spreadSamples spreads samples evenly from the start to the end if the document has no times at all.
func (d *draft) spreadSamples() {
	if d.times.n > 0 || d.samples.n == 0 {
		return
	}
	d.found.timeless++
	start, _ := d.start.in(d.legacy)
	end, _ := d.end.in(d.legacy)
	span, n := max(end-start, 0), timeline.Nanos(d.samples.n)
	for i := range n {
		d.addTime(span/n*i + span%n*i/n)
	}
}

// report counts the problems of a profile.
func (f *findings) report(log *problem.Log, at problem.Position, id string) {
	detail := ""
	if id != "" {
		detail = "profile " + id
	}
	for _, found := range []struct {
		kind problem.Kind
		n    int
	}{
		{problem.ProfileLengthMismatch, f.mismatched},
		{problem.ProfileTimesMissing, f.timeless},
		{problem.ProfileInvalidValue, f.badValues},
		{problem.ProfileNodeWithoutID, f.badNodes},
		{problem.ProfileLimit, f.overLimit},
		{problem.ProfileNodeDuplicate, f.redefined + f.doubled},
		{problem.ProfileNodeUnknownParent, f.unreachable},
		{problem.ProfileRootLost, min(f.adopted, 1)},
		{problem.ProfileSampleUnknownNode, f.unknown},
		{problem.ProfileSamplesReordered, f.backwards},
		{problem.EventInvalidTimestamp, f.tooFar},
	} {
		log.AddN(found.kind, uint64(found.n), at, detail)
	}
}
