// Package jsprofile reads JS Self-Profiling API traces into a timeline. With this API, a page samples its own stack and
// receives a JSON object of resources, frames, stacks and samples, possibly with markers for the browser's activity.
//
// The comments cite docs/formats/jsprofile.md and its rules C1 to C12. A profile becomes:
//
//	consecutive samples with a frame     a slice on the thread "JS main"
//	a marker other than script           a slice (gc), (layout), … on top of the frames
//	the states of the samples            slices on the track "Browser activity" below the thread
//	a period without samples             an instant "sampling gap" on the thread
//	each sample                          a call-stack sample, weighted with its duration in nanoseconds
//
// The lists of a profile may come in any order, and the samples usually come before the stacks that they refer to, so a
// profile is first read into typed columns (document.go, lists.go), at 24 bytes per sample. The frames of each stack
// are resolved once (stacks.go); then the samples are processed in time order (emit.go, calls.go, activity.go).
//
// A file may contain several profiles, in an array or in sequence; each becomes a thread. Wrappers from other tools are
// read if they describe the profile (wrapper.go). Package merge finds the position of a profile in a trace that Chrome
// recorded at the same time, using the times from times.go.
//
// Bad data in individual samples is counted in readers.Options.Problems and never stops reading. An error from Read means
// that the input as a whole is unreadable.
package jsprofile

import (
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// DefaultThreadName is the name of the thread of a profile.
const DefaultThreadName = "JS main"

// Options configures Read. It supplies information that a profile lacks, and overrides information in the profile.
type Options struct {
	readers.Options

	// Interval is the time between two samples; 0: as in the file, or as its samples show (C2).
	Interval timeline.Nanos
	// TimeOrigin is the moment that the times in the file are relative to; nil: as in the file, or 0.
	TimeOrigin *timeline.Nanos
	// End is the end of the recording, relative to the same moment as the times in the file; the last sample lasts until
	// then. nil: as in the file, or one interval after the last sample.
	End *timeline.Nanos

	// ThreadName is the name of the thread; "": DefaultThreadName. The format does not distinguish workers from pages.
	ThreadName string
	// Places holds the positions of the profiles, in input order, in a trace that the Builder already contains; nil:
	// unknown.
	Places []*Place

	// NoCalls omits the slices of frames and markers.
	NoCalls bool

	// ProfileMemory limits the bytes of memory for profiles while they are read; 0: no limit. An input that needs more memory
	// causes an error.
	ProfileMemory int64
}

// Place is the position of a profile in a trace that was recorded at the same time.
type Place struct {
	Process timeline.TrackID // process of the page; 0: a separate one
	Shift   timeline.Nanos   // added to the times, with or without a time origin
}

// Read reads the unpacked profiles in r into b. Errors from r, b and ctx, and errors about inputs that are not profiles, include
// the position in the input.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) error {
	profiles, err := parse(ctx, r, b, opts)
	if err != nil {
		return err
	}
	w := &writer{
		ctx: ctx, b: b, log: opts.Problems, opts: opts,
		locations: locationKeys{opts.Args.KeepsText("url"), opts.Args.KeepsText("line"), opts.Args.KeepsText("column")},
	}
	return w.profiles(profiles)
}

// parse reads the columns of all profiles of an input.
func parse(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) ([]*profile, error) {
	rd := &reader{
		Document: opts.Document(ctx, r), keep: opts.Args,
		room: collections.ProfileMemoryLimit(opts.ProfileMemory),
	}
	rd.Numbered = true
	rd.args = readers.ArgReader{S: rd.S, Enc: b.Args()}
	if err := rd.document(); err != nil && err != readers.ErrEnded {
		return nil, err
	}
	return rd.profiles, nil
}

// reader reads the text of profiles.
type reader struct {
	*readers.Document
	args readers.ArgReader // encodes the wrapper's members
	keep timeline.ArgFilter

	profiles []*profile
	room     collections.MemoryLimit
}

func (r *reader) problem(k problem.Kind, detail string) { r.Log.Add(k, r.Position(), detail) }

// Bytes of memory per item, except its texts.
const (
	sizeOfSample    = 24
	sizeOfStack     = 17 // including stackTable
	sizeOfFrame     = 36
	sizeOfResource  = 16
	sizeOfState     = 64
	sizeOfSpan      = 96
	sizeOfAttribute = 56
)

// reserve accounts for more bytes of memory.
func (r *reader) reserve(n int) error {
	if err := r.room.Add(int64(n)); err != nil {
		return r.Failed(err)
	}
	return nil
}

// ErrListsMissing reports an input with samples, but without the other lists that identify a self-profile.
var ErrListsMissing = errors.New("if these are the samples of a JS self-profile without its other lists, the format jsprofile reads them")
