// Package har reads HTTP archives (HAR 1.2) into a timeline: the requests of pages, as saved by browsers and proxies.
//
// The comments cite docs/formats/har.md. A file becomes:
//
//	an entry             a slice on the track of its page, with its phases as slices in it
//	a page               a track, and below it a track with the instants page, onContentLoad and onLoad
//	creator, browser     the description of these tracks, and attributes of the trace
//
// An archive is read as a stream, with one entry and its bodies in memory at a time (document.go, entry.go). Encoded entries
// wait in a spool until all pages are known, and are assigned to tracks in order of start time (emit.go).
//
// Bad data in individual entries is counted in readers.Options.Problems and never stops reading. An error from Read means that
// the input as a whole is unreadable.
package har

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// ErrNoEntries reports an input that is not an archive.
var ErrNoEntries = errors.New("not an HTTP archive: it has no log with entries")

var headForm = extsort.FormOf[head]()

// Read reads the unpacked archive r into b. Errors from r, b and ctx, and errors about inputs that are not archives, include
// the position in the input.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts readers.Options) (err error) {
	rd := &reader{
		Document: opts.Document(ctx, r), b: b, opts: opts, pageIDs: map[string]uint32{},
		entries: readers.NewSpool(opts.SpoolSize(), opts.TempDir, headForm, func(h *head) int64 { return int64(h.start) }),
	}
	rd.Numbered = true
	rd.args = readers.ArgReader{S: rd.S, Enc: b.Args(), MaxDepth: maxDepth}
	defer func() { err = errors.Join(err, rd.entries.Close()) }()
	if err := rd.document(); err != nil && err != readers.ErrEnded {
		return err
	}
	if !rd.any {
		return rd.Failed(cmp.Or(rd.Malformed(), ErrNoEntries))
	}
	if opts.Offset == 0 { // times with an offset belong to no clock
		b.SetClocks(timeline.Clocks{Trace: timeline.ClockRealtime})
	}
	return rd.emit(ctx)
}
