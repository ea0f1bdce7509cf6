// Package find searches a trace for a text: in names, categories, arguments, functions and the names of processes, threads and
// counters. It also finds events in several processes that belong to the same request.
//
// What does not live here: how hits are printed, and their flows (package flowindex).
package find

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// Kinds of hits that are not events. Events use the names of resolved.Kind.
const (
	Function = "function" // on the stacks of samples
	Process  = "process"
	Thread   = "thread"
	Counter  = "counter"
	Track    = "track"
)

// Hit is an event, function or track that contains the text.
type Hit struct {
	Kind        string
	Name        string
	Category    string
	TS          timeline.Nanos // for a Function: time of its first sample; timeline.NoTime for tracks
	Dur         timeline.Nanos // of a slice; timeline.NoTime if it has no end
	Event       uint32         // number of a slice or instant in the input
	Ordinal     uint64         // of a slice or instant; otherwise timeline.NoOrdinal
	Track       timeline.TrackID
	Lane        uint32
	Where       []string // "name", "category", "id", "label", "url" of a function, and paths of arguments such as args.data.url
	Text        string   // the first matching text other than the name; an extract if the text is long
	Samples     int64    // of a Function
	SameRequest []*Hit   // events of other processes that belong to the same request, see relate

	process timeline.TrackID
	url, id string // of the event's request
}

// IsEvent reports whether the hit is a slice or an instant.
func (h *Hit) IsEvent() bool { return h.Ordinal != timeline.NoOrdinal }

// Result is the result of a search.
type Result struct {
	Hits  []Hit          // tracks, then other hits in time order; up to the requested limit
	All   int            // number of hits, including hits omitted from Hits
	Kinds map[string]int // number of hits by kind
}

const (
	maxText   = 1000                    // bytes of each text in a Hit
	maxWhere  = 8                       // length of Hit.Where
	maxDepth  = 200                     // nesting depth of searched arguments, more than readers keep
	maxScheme = len("chrome-extension") // length of the scheme of a URL

	lookAhead = 256 // number of hits beyond the limit that relate considers
)

// Events calls fn with the ordinals of the slices and instants that contain a text, as Collect finds them. An error from fn ends
// the search and is returned.
func Events(ctx context.Context, tl *timeline.Timeline, text string, selected *selection.Selection, fn func(ordinal uint64) error) error {
	f := newFinder(tl, text)
	f.fn = fn
	return f.walk(ctx, selected)
}

// Collect searches the selected part of a trace for a text, ignoring case, and returns the first limit hits. It reads the
// events once.
func Collect(ctx context.Context, tl *timeline.Timeline, text string, selected *selection.Selection, limit int) (*Result, error) {
	f := newFinder(tl, text)
	f.limit = limit + lookAhead
	f.tracks(selected)
	f.findFunctions()
	if err := f.walk(ctx, selected); err != nil {
		return nil, err
	}
	for _, fn := range f.byName {
		if fn.hit >= 0 {
			f.out.Hits[fn.hit].Samples = fn.samples
		}
	}
	f.out.relate()
	f.out.Hits = f.out.Hits[:min(limit, len(f.out.Hits))]
	return f.out, nil
}

func newFinder(tl *timeline.Timeline, text string) *finder {
	return &finder{
		tl: tl, want: lower(nil, []byte(text)), out: &Result{Kinds: map[string]int{}},
		names: make([]uint8, tl.NameCount()+1), categories: make([]uint8, tl.CategoryCount()+1),
	}
}

// walk searches the events.
func (f *finder) walk(ctx context.Context, selected *selection.Selection) error {
	opts := resolved.Options{}
	if selected != nil {
		opts.Selected = selected.Item
	}
	rows := resolved.NewReader(f.tl)
	_, err := rows.Walk(ctx, opts, f.row)
	return errors.Join(err, rows.Close())
}

// finder is the state of a search.
type finder struct {
	tl    *timeline.Timeline
	want  []byte // in lower case
	limit int    // number of hits
	out   *Result
	fn    func(ordinal uint64) error // receives events instead of out; may be nil

	names, categories []uint8 // by id: 0 not searched, 1 without the text, 2 with it
	buf               []byte

	functions []*function // by FrameID; nil: does not contain the text
	byName    map[[2]string]*function
	stack     []timeline.FrameID
	sampled   int64 // number of samples so far

	hit     Hit // the current event
	name    []byte
	network bool // the event has the category of requests
	path    []byte
	value   []byte // text of an argument's value
}

// function is a function that contains the text. Functions that differ only in their line count as one.
type function struct {
	where, text string
	hit         int // index in Result.Hits; -1: none
	samples     int64
	last        int64 // number of the last sample with the function
}

// lower appends a text in lower case.
func lower(b, text []byte) []byte {
	for i, c := range text {
		switch {
		case c >= 0x80:
			return append(b[:len(b)-i], bytes.ToLower(text)...)
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		b = append(b, c)
	}
	return b
}

// contains reports whether a text contains the wanted text.
func (f *finder) contains(text []byte) bool {
	if len(text) < len(f.want) {
		return false
	}
	f.buf = lower(f.buf[:0], text)
	return bytes.Contains(f.buf, f.want)
}

// interned is contains for an interned text, and caches the result; id is 0 if the text is not interned.
func (f *finder) interned(known []uint8, id uint32, text []byte) bool {
	if id == 0 || int(id) >= len(known) {
		return f.contains(text)
	}
	if known[id] == 0 {
		if known[id] = 1; f.contains(text) {
			known[id] = 2
		}
	}
	return known[id] == 2
}

// extract returns a text that contains the wanted text or, if it is long, the part around the wanted text.
func (f *finder) extract(text []byte) string {
	if len(text) > maxText {
		from := min(max(f.at(text)-maxText/2, 0), len(text)-maxText)
		text = text[from : from+maxText]
	}
	return strings.ToValidUTF8(string(text), "")
}

// at returns the index of the wanted text in another text, or 0 if it is not there. Letters may change length in lower case.
func (f *finder) at(text []byte) (at int) {
	want := bytes.Index(lower(f.buf[:0], text), f.want)
	for n := 0; n < want; {
		r, size := utf8.DecodeRune(text[at:])
		n += utf8.RuneLen(unicode.ToLower(r))
		at += size
	}
	return at
}

// add counts a hit and, up to the limit, adds it. It returns the index, or -1 beyond the limit.
func (f *finder) add(h Hit) int {
	f.out.All++
	f.out.Kinds[h.Kind]++
	if len(f.out.Hits) >= f.limit {
		return -1
	}
	h.process = f.tl.Above(h.Track, timeline.ProcessTrack)
	f.out.Hits = append(f.out.Hits, h)
	return len(f.out.Hits) - 1
}

// tracks searches the names and labels of processes, threads, counters and other tracks. Asynchronous tracks are named after
// their slices.
func (f *finder) tracks(selected *selection.Selection) {
	for i := 1; i < f.tl.TrackCount(); i++ {
		id := timeline.TrackID(i)
		if !f.tl.TrackUsed(id) || !selected.Track(id) {
			continue
		}
		kind := Track
		switch f.tl.TrackKind(id) {
		case timeline.ProcessTrack:
			kind = Process
		case timeline.ThreadTrack:
			kind = Thread
		case timeline.CounterTrack:
			kind = Counter
		case timeline.AsyncTrack:
			continue
		}
		t := f.tl.Track(id)
		h := Hit{Kind: kind, Name: t.Title(), TS: timeline.NoTime, Dur: timeline.NoTime, Ordinal: timeline.NoOrdinal, Track: id}
		if f.contains([]byte(h.Name)) {
			h.Name, h.Where = f.extract([]byte(h.Name)), append(h.Where, "name")
		}
		for _, label := range t.Labels {
			if len(h.Where) < maxWhere && f.contains([]byte(label)) {
				h.Where, h.Text = append(h.Where, "label"), f.extract([]byte(label))
			}
		}
		if len(h.Where) > 0 {
			f.add(h)
		}
	}
}

// findFunctions searches the functions on stacks.
func (f *finder) findFunctions() {
	f.functions, f.byName = make([]*function, f.tl.FrameCount()+1), map[[2]string]*function{}
	for i := 1; i < len(f.functions); i++ {
		frame := f.tl.Frame(timeline.FrameID(i))
		fn := &function{hit: -1}
		switch {
		case f.contains([]byte(frame.Function)):
			fn.where = "name"
		case f.contains([]byte(frame.File)):
			fn.where, fn.text = "url", f.extract([]byte(frame.File))
		default:
			continue
		}
		key := [2]string{frame.Function, frame.File}
		if f.byName[key] == nil {
			f.byName[key] = fn
		}
		f.functions[i] = f.byName[key]
	}
}

// row searches an event and adds a hit if the event contains the text.
func (f *finder) row(row *resolved.Row) error {
	switch row.Kind {
	case resolved.Sample:
		f.sample(row)
		return nil
	case resolved.Counter:
		return nil // its track is a hit
	}
	it := row.Item
	h := &f.hit
	*h, f.name, f.network = Hit{Where: h.Where[:0]}, it.Name, bytes.HasPrefix(it.Category, []byte("Network"))
	if f.interned(f.names, uint32(it.NameID), it.Name) {
		h.Where = append(h.Where, "name")
	}
	if f.interned(f.categories, uint32(it.CategoryID), it.Category) {
		f.addWhere([]byte("category"), it.Category)
	}
	if f.contains([]byte(it.AsyncID)) {
		f.addWhere([]byte("id"), []byte(it.AsyncID))
	}
	f.path = append(f.path[:0], "args"...)
	for arg := range row.Args() {
		f.arg(&arg, 0)
	}
	if len(h.Where) == 0 {
		return nil
	}
	if f.fn != nil {
		return f.fn(it.Ordinal)
	}
	h.Kind, h.TS, h.Dur, h.Event, h.Ordinal, h.Track, h.Lane = row.Kind.String(), it.TS, it.Dur, it.Event, it.Ordinal, it.Track, it.Lane
	if i := f.add(*h); i >= 0 {
		hit := &f.out.Hits[i]
		hit.Name, hit.Category, hit.Where = f.extract(it.Name), f.extract(it.Category), slices.Clone(h.Where)
	}
	return nil
}

// addWhere records where the current event contains the text.
func (f *finder) addWhere(where, text []byte) {
	if h := &f.hit; len(h.Where) < maxWhere {
		h.Where = append(h.Where, strings.ToValidUTF8(string(where[:min(len(where), maxText)]), ""))
		if h.Text == "" && !bytes.Equal(text, f.name) {
			h.Text = f.extract(text)
		}
	}
}

// requestKeys lists arguments that contain a request id, which is the same in all processes.
var requestKeys = []string{"requestId", "channelId"}

// arg searches an argument and its members, and stores the request id or URL that it finds there.
func (f *finder) arg(arg *timeline.Arg, depth int) {
	before := len(f.path)
	if len(arg.Key) > 0 {
		f.path = append(append(f.path, '.'), arg.Key...)
	}
	if arg.Kind == timeline.ArgDict || arg.Kind == timeline.ArgArray {
		if len(arg.Key) > 0 && string(arg.Key) != timeline.OwnArgs && f.contains(arg.Key) {
			f.addWhere(f.path, nil)
		}
		for member := range f.tl.Members(*arg) {
			if depth < maxDepth {
				f.arg(&member, depth+1)
			}
		}
		f.path = f.path[:before]
		return
	}
	text := arg.Text() // not copied, because it may be long
	if arg.Kind != timeline.ArgString && arg.Kind != timeline.ArgJSON {
		f.value = arg.AppendText(f.value[:0])
		text = f.value
	}
	if f.contains(text) || len(arg.Key) > 0 && f.contains(arg.Key) {
		f.addWhere(f.path, text)
	}
	switch key := string(arg.Key); {
	case slices.Contains(requestKeys, key) || f.network && f.hit.id == "" && string(f.path) == "args.id":
		f.hit.id = string(text[:min(len(text), maxText)])
	case f.hit.url == "" && isURL(text):
		f.hit.url = string(text)
	}
	f.path = f.path[:before]
}

// isURL reports whether a text is a URL of at most maxText bytes.
func isURL(text []byte) bool {
	at := bytes.Index(text[:min(len(text), maxScheme+len("://"))], []byte("://"))
	other := func(c rune) bool { return c < '0' && c != '+' && c != '-' && c != '.' || c > '9' && c < 'A' }
	return at > 0 && len(text) <= maxText && bytes.IndexByte(text, ' ') < 0 && bytes.IndexFunc(text[:at], other) < 0
}

// sample counts the matching functions on the stack of a sample.
func (f *finder) sample(row *resolved.Row) {
	if len(f.byName) == 0 {
		return
	}
	it := row.Item
	f.stack = f.tl.AppendCallstack(f.stack[:0], it.Callstack)
	f.sampled++
	for _, id := range f.stack {
		fn := f.functions[id]
		if fn == nil || fn.last == f.sampled {
			continue // count recursive functions once
		}
		fn.last = f.sampled
		if fn.samples++; fn.samples == 1 {
			fn.hit = f.add(Hit{
				Kind: Function, Name: f.extract([]byte(f.tl.Frame(id).Function)), TS: it.TS, Dur: timeline.NoTime, Ordinal: timeline.NoOrdinal, Track: it.Track,
				Lane: it.Lane, Where: []string{fn.where}, Text: fn.text,
			})
		}
	}
}
