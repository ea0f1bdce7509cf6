// Package har reads HTTP archives (HAR 1.2) into a timeline: the requests of pages, as browsers and proxies save them.
//
// The comments cite docs/formats/har.md. What becomes of a file:
//
//	an entry             a slice on the track of its page, with its phases as slices in it
//	a page               a track, and below it one with the instants page, onContentLoad and onLoad
//	creator, browser     the description of these tracks, and attributes of the trace
//
// An archive is read as a stream, of which an entry is held at a time, with its bodies (document.go, entry.go). Entries wait in a
// spool, encoded, until all pages are known, and get their tracks in the order of their starts (emit.go).
//
// Bad data in single entries is counted in readers.Options.Problems and never stops reading. An error from Read means that the input as a
// whole cannot be read.
package har

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// ErrNoEntries is the error for an input that is not an archive.
var ErrNoEntries = errors.New("no HTTP archive: there is no log with entries")

var headForm = extsort.FormOf[head]()

// Read reads the archive r, which is unpacked, into b. Errors are errors of r, b and ctx, and inputs that are not archives; each
// states its position in the input.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts readers.Options) (err error) {
	rd := &reader{
		Reader: opts.Document(ctx, r), b: b, opts: opts, pageIDs: map[string]uint32{},
		entries: readers.NewSpool(opts.SpoolSize(), opts.TempDir, headForm, func(h *head) int64 { return int64(h.start) }),
	}
	rd.Numbered = true
	rd.args = readers.ArgReader{S: rd.S, Enc: b.Args(), MaxDepth: maxDepth}
	defer func() { err = errors.Join(err, rd.entries.Close()) }()
	if err := rd.document(); err != nil && err != jsondoc.ErrEnded {
		return err
	}
	if !rd.any {
		return rd.Failed(cmp.Or(rd.Malformed(), ErrNoEntries))
	}
	if opts.Offset == 0 { // else the times have no clock
		b.SetClocks(timeline.Clocks{Trace: timeline.ClockRealtime})
	}
	return rd.emit(ctx)
}
