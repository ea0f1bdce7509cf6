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

// page is a page of the archive, or one that entries refer to.
type page struct {
	id, title string
	known     bool // it is in the list of pages
	started   timeline.Nanos
	offset    int64
	args      []byte // encoded
	moments   []moment
	requests  *readers.Lanes[timeline.Nanos]
}

// maxPages bounds the pages, and maxPageSize their bytes: they are held in memory.
const (
	maxPages    = 1 << 16
	maxPageSize = 32 << 20
)

// pageIndex returns the index of a page in r.pages, which has one for each id; the last one's, if there are too many.
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
	u := &r.now
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

// pageMember reads a member of a page.
func (r *reader) pageMember(key []byte) {
	u := &r.now
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

// maxMoments bounds the times of a page.
const maxMoments = 64

// pageTiming reads a time of a page: onContentLoad, onLoad, and others that producers add, with a leading underscore.
func (r *reader) pageTiming(key []byte, kept bool) bool {
	name, u := string(key), &r.now
	own := name == "onContentLoad" || name == "onLoad"
	if !own && !strings.HasPrefix(name, "_") {
		return false
	}
	kind, text := r.inner(kept)
	if !own && kind != jsonscan.Integer && kind != jsonscan.Number {
		return true
	}
	if at := u.millis(kind, text, name); at != notApplicable && len(u.moments) < maxMoments {
		u.moments = append(u.moments, moment{name, at})
	}
	return true
}

// errNoPlace means that something is outside the range of times; it was counted.
var errNoPlace = errors.New("no place in time")

// shift adds the offset of the options to a time.
func (r *reader) shift(ts timeline.Nanos, at problem.Position, detail []byte) (timeline.Nanos, error) {
	by := r.opts.Offset
	switch {
	case ts > math.MaxInt64/2 || by > math.MaxInt64/4 || by < -math.MaxInt64/4:
		r.Log.Add(problem.EventInvalidTimestamp, at, string(detail))
		return 0, errNoPlace
	case ts+by < 0:
		r.Log.Add(problem.EventNegativeTimestamp, at, string(detail))
		return 0, errNoPlace
	}
	return ts + by, nil
}

// name is the name of the track of a page. A title that is an address, as Chrome writes, is without user, query and fragment. " > " is what
// separates the parts of paths of tracks.
func (p *page) name() string {
	name := cmp.Or(p.title, p.id, "page")
	if scheme, host, path := producers.SplitURL(name); host != "" {
		name = scheme + "://" + host + path
	}
	return strings.ReplaceAll(name, " > ", " › ")
}
