package har

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// page is a page in the archive's list, or a page that entries refer to.
type page struct {
	id, title string
	known     bool // in the list of pages
	started   timeline.Nanos
	offset    int64
	args      []byte // encoded arguments
	moments   []moment
	requests  *readers.Lanes[timeline.Nanos]
}

// maxPages and maxPageSize limit the number and total bytes of pages, which stay in memory.
const (
	maxPages    = 1 << 16
	maxPageSize = 32 << 20
)

// pageIndex returns the index in r.pages of the page with the given id, or of the last page if there are too many.
func (r *reader) pageIndex(id []byte) uint32 {
	if i, ok := r.pageIDs[string(id)]; ok {
		return i
	}
	if len(r.pages) == maxPages {
		return maxPages - 1
	}
	i := uint32(len(r.pages))
	r.pages = append(r.pages, page{id: string(id)})
	r.pageIDs[string(id)] = i
	return i
}

// page reads an element of the list of pages.
func (r *reader) page() error {
	at, err := r.read(r.pageMember)
	if err != nil {
		return err
	}
	r.count(at)
	u := &r.current
	p := &r.pages[r.pageIndex(u.id)]
	size := len(r.args.Enc.Args()) + len(u.id) + len(u.title)
	if p.known || r.pageSize+size > maxPageSize {
		r.Log.Add(problem.TopLevelMemberSkipped, at, "a page")
		return nil
	}
	r.pageSize += size
	p.known, p.title, p.offset = true, string(u.title), at.Offset
	p.args, p.moments = bytes.Clone(r.args.Enc.Args()), slices.Clone(u.moments)
	if !u.hasStarted {
		r.Log.Add(problem.EventInvalidTimestamp, at, "a page")
		p.started = timeline.NoTime
		return nil
	}
	if p.started, err = r.shift(u.started, at, u.title); err != nil {
		p.started = timeline.NoTime
	}
	return nil
}

func (r *reader) pageMember(key []byte) {
	u := &r.current
	switch string(key) {
	case "startedDateTime":
		u.start(r.scalar(key))
	case "id":
		if kind, text := r.scalar(key); kind == jsonscan.String {
			u.id = text
		}
	case "title":
		if kind, text := r.scalar(key); kind == jsonscan.String {
			u.title = text
		}
	case "pageTimings":
		r.dict(key, r.pageTiming)
	default:
		r.scalar(key)
	}
}

// maxMoments limits the number of moments that are stored for a page.
const maxMoments = 64

// pageTiming reads a time of a page: onContentLoad, onLoad, or a producer's extension, with a leading underscore.
func (r *reader) pageTiming(key []byte, kept bool) bool {
	name, u := string(key), &r.current
	standard := name == "onContentLoad" || name == "onLoad"
	if !standard && !strings.HasPrefix(name, "_") {
		return false
	}
	kind, text := r.inner(kept)
	if !standard && kind != jsonscan.Integer && kind != jsonscan.Number {
		return true
	}
	if at := u.millis(kind, text, name); at != notApplicable && len(u.moments) < maxMoments {
		u.moments = append(u.moments, moment{name, at})
	}
	return true
}

// errOutOfRange reports a time out of range that was already counted.
var errOutOfRange = errors.New("time out of range")

// shift adds Options.Offset to a time.
func (r *reader) shift(ts timeline.Nanos, at problem.Position, detail []byte) (timeline.Nanos, error) {
	offset := r.opts.Offset
	switch {
	case ts > math.MaxInt64/2 || offset > math.MaxInt64/4 || offset < -math.MaxInt64/4:
		r.Log.Add(problem.EventInvalidTimestamp, at, string(detail))
		return 0, errOutOfRange
	case ts+offset < 0:
		r.Log.Add(problem.EventNegativeTimestamp, at, string(detail))
		return 0, errOutOfRange
	}
	return ts + offset, nil
}

// name returns the name of a page's track. If the title is an address, as in Chrome's archives, name removes its user,
// query and fragment. It replaces " > ", which separates the parts of track paths.
func (p *page) name() string {
	name := cmp.Or(p.title, p.id, "page")
	if scheme, host, path := producers.SplitURL(name); host != "" {
		name = scheme + "://" + host + path
	}
	return strings.ReplaceAll(name, " > ", " › ")
}
