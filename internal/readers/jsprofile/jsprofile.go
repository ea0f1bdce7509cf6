// Package jsprofile reads traces of the JS Self-Profiling API into a timeline: a page samples its own stack and gets a
// JSON object of resources, frames, stacks and samples, perhaps with markers that say what the browser was doing.
//
// The comments cite docs/formats/jsprofile.md, whose rules C1 to C12 they call by these names. What becomes of a profile:
//
//	samples in a row with a frame     a slice on the thread "JS main"
//	a marker other than script        a slice (gc), (layout), … on top of the frames
//	the states of the samples         slices on the track "Browser activity" below the thread
//	a time without samples            an instant "sampling gap" on the thread
//	each sample                       a call-stack sample, which weighs the nanoseconds that it stands for
//
// The lists of a profile may come in any order, and the samples usually come before the stacks that they name, so a
// profile is read into typed columns first (document.go, lists.go), of 24 bytes for a sample. What is on each stack is
// found once (stacks.go); then the samples are gone through in order of time (emit.go, calls.go, activity.go).
//
// A file may hold several profiles, in an array or one after the other; each becomes a thread. Wrappers of other tools
// are read where they describe the profile (wrapper.go). Where a profile belongs in the trace of Chrome that was recorded
// beside it is found by the clues in that (clues.go, traced.go, match.go); package merge asks for it.
//
// Bad data in single samples is counted in readers.Options.Problems and never stops reading. An error from Read means that the
// input as a whole cannot be read.
package jsprofile

import (
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// DefaultThreadName is the name of the thread of a profile.
const DefaultThreadName = "JS main"

// Options says how Read reads. It can supply what a profile lacks, and overrides what a profile says.
type Options struct {
	readers.Options

	// Interval is the time between two samples; 0: as the file states, otherwise as its samples show (C2).
	Interval timeline.Nanos
	// TimeOrigin is the moment from which the times of the file count; nil: as the file states, otherwise 0.
	TimeOrigin *timeline.Nanos
	// End is the end of the recording, counted like the times in the file; the last sample lasts until then. nil: what the
	// file says; if it says nothing, the last sample lasts one interval.
	End *timeline.Nanos

	// ThreadName is the name of the thread; "": DefaultThreadName. The format does not tell workers from pages.
	ThreadName string
	// Places say where the profiles go in a trace that the Builder holds already, in the order of the input; nil: not known.
	Places []*Place

	// NoCalls leaves the slices of frames and markers out.
	NoCalls bool

	// ProfileMemory is the number of bytes that profiles may take while they are read; 0: any. An input with more is an error.
	ProfileMemory int64
}

// Place is where a profile goes in a trace that was recorded beside it.
type Place struct {
	Process timeline.TrackID // of the page; 0: one of its own
	Shift   timeline.Nanos   // is added to the times, whether they count from a known time origin or from 0
}

// Read reads the profiles of r, which is unpacked, into b. Errors are errors of r, b and ctx, and inputs that are not
// profiles; each states its position in the input.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) error {
	profiles, err := parse(ctx, r, b, opts)
	if err != nil {
		return err
	}
	w := &writer{
		ctx: ctx, b: b, log: opts.Problems, opts: opts, locations: newLocationKeys(opts.Args),
	}
	return w.profiles(profiles)
}

// parse reads the columns of all profiles of an input.
func parse(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) ([]*profile, error) {
	rd := &reader{
		Reader: opts.Document(ctx, r), keep: opts.Args,
		room: collections.RoomOfProfiles(opts.ProfileMemory),
	}
	rd.Numbered = true
	rd.args = readers.ArgReader{S: rd.S, Enc: b.Args()}
	if err := rd.document(); err != nil && err != jsondoc.ErrEnded {
		return nil, err
	}
	return rd.profiles, nil
}

// reader reads the text of profiles.
type reader struct {
	*jsondoc.Reader
	args readers.ArgReader // of what wrappers add
	keep timeline.ArgFilter

	profiles []*profile
	room     collections.Room
}

func (r *reader) problem(k problem.Kind, detail string) { r.Log.Add(k, r.Position(), detail) }

// Bytes that one of each takes in memory, beside its texts.
const (
	sizeOfSample    = 24
	sizeOfStack     = 17 // with what stackTable has of it
	sizeOfFrame     = 36
	sizeOfResource  = 16
	sizeOfState     = 64
	sizeOfSpan      = 96
	sizeOfAttribute = 56
)

// take accounts for more bytes of memory.
func (r *reader) take(n int) error {
	if err := r.room.Take(int64(n)); err != nil {
		return r.Failed(err)
	}
	return nil
}

// ErrListsMissing means that an input has samples, but not the other lists by which a self-profile is known.
var ErrListsMissing = errors.New("if these are samples of a JS self-profile whose other lists are missing, the format jsprofile reads them")
