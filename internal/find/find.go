// Package find finds where a text is in a trace: in names, categories, arguments, functions and the names of processes, threads and
// counters. It also finds which events of several processes are about the same request.
//
// What does not live here: how hits are printed, and the flows that they belong to (package flowindex).
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

// The kinds of hits that are not events. Events have the names of resolved.Kind.
const (
	Function = "function" // on the stacks of samples
	Process  = "process"
	Thread   = "thread"
	Counter  = "counter"
	Track    = "track"
)

// Hit is something that has the text.
type Hit struct {
	Kind     string
	Name     string
	Category string
	TS       timeline.Nanos // of a Function: of its first sample; timeline.NoTime for what has no time
	Dur      timeline.Nanos // of a slice; timeline.NoTime if it never ends
	Event    uint32         // number in the input, of slices and instants
	Ordinal  uint64         // of slices and instants; timeline.NoOrdinal for all else
	Track    timeline.TrackID
	Lane     uint32
	Where    []string // "name", "category", "id", "label", "url" of a function, and paths of arguments such as args.data.url
	Text     string   // what has the text, where that is not the name: an extract if it is long
	Samples  int64    // of a Function
	Same     []*Hit   // events of other processes that are about the same request, see relate

	process timeline.TrackID
	url, id string // of the request that the event is about
}

// IsEvent reports whether the hit is a slice or an instant.
func (h *Hit) IsEvent() bool { return h.Ordinal != timeline.NoOrdinal }

// Result is what was found.
type Result struct {
	Hits  []Hit          // tracks, then all else in the order of time; at most as many as were asked for
	All   int            // the number of hits, also of those that are not in Hits
	Kinds map[string]int // the same by kind
}

// maxText bounds each text of a Hit, maxPlaces the list in Hit.Where, maxDepth the nesting of arguments that are searched: readers keep
// less.
const (
	maxText   = 1000
	maxPlaces = 8
	maxDepth  = 200
	maxScheme = len("chrome-extension") // of a URL

	lookAhead = 256 // hits after those that are kept, which relate looks at as well
)

// Events calls fn for the slices and instants that have a text, by their ordinals, as Collect finds them. An error of fn ends the search
// and is returned.
func Events(ctx context.Context, tl *timeline.Timeline, text string, selected *selection.Selection, fn func(ordinal uint64) error) error {
	f := newFinder(tl, text)
	f.fn = fn
	return f.walk(ctx, selected)
}

// Collect finds a text, in upper or lower case, in what is selected of a trace, and keeps the first limit hits. It reads the events
// once.
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

// walk looks at the events.
func (f *finder) walk(ctx context.Context, selected *selection.Selection) error {
	opts := resolved.Options{}
	if selected != nil {
		opts.Selected = selected.Item
	}
	rows := resolved.NewReader(f.tl)
	_, err := rows.Walk(ctx, opts, f.row)
	return errors.Join(err, rows.Close())
}

// finder is a search under way.
type finder struct {
	tl    *timeline.Timeline
	want  []byte // in lower case
	limit int    // of the hits that are looked at
	out   *Result
	fn    func(ordinal uint64) error // gets the events instead of out; nil: none

	names, categories []uint8 // by id: 0 not looked at, 1 without the text, 2 with it
	buf               []byte

	functions []*function // by FrameID; nil: the function does not have the text
	byName    map[[2]string]*function
	stack     []timeline.FrameID
	sampled   int64 // number of samples so far

	hit     Hit // the event that is looked at
	name    []byte
	network bool // its category is the one of requests
	path    []byte
	value   []byte // text of the value of an argument
}

// function is a function with the text. Those that differ in the line alone are one.
type function struct {
	where, text string
	hit         int // -1: none yet, or not kept
	samples     int64
	last        int64 // the sample that was counted last
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

// in reports whether the text is in another.
func (f *finder) in(text []byte) bool {
	if len(text) < len(f.want) {
		return false
	}
	f.buf = lower(f.buf[:0], text)
	return bytes.Contains(f.buf, f.want)
}

// interned is in for a text with an id, 0: it has none.
func (f *finder) interned(known []uint8, id uint32, text []byte) bool {
	if id == 0 || int(id) >= len(known) {
		return f.in(text)
	}
	if known[id] == 0 {
		if known[id] = 1; f.in(text) {
			known[id] = 2
		}
	}
	return known[id] == 2
}

// extract returns a text that has the wanted one, or the part around that.
func (f *finder) extract(text []byte) string {
	if len(text) > maxText {
		from := min(max(f.at(text)-maxText/2, 0), len(text)-maxText)
		text = text[from : from+maxText]
	}
	return strings.ToValidUTF8(string(text), "")
}

// at returns where the wanted text begins in another, 0 if it is not there. Letters may have another length in lower case.
func (f *finder) at(text []byte) (at int) {
	want := bytes.Index(lower(f.buf[:0], text), f.want)
	for n := 0; n < want; {
		r, size := utf8.DecodeRune(text[at:])
		n += utf8.RuneLen(unicode.ToLower(r))
		at += size
	}
	return at
}

// add counts a hit and keeps it if there is room. It returns its index; -1: it is not kept.
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

// tracks finds processes, threads, counters and other tracks by their names and labels. Asynchronous tracks are called as what is on them.
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
		if f.in([]byte(h.Name)) {
			h.Name, h.Where = f.extract([]byte(h.Name)), append(h.Where, "name")
		}
		for _, label := range t.Labels {
			if len(h.Where) < maxPlaces && f.in([]byte(label)) {
				h.Where, h.Text = append(h.Where, "label"), f.extract([]byte(label))
			}
		}
		if len(h.Where) > 0 {
			f.add(h)
		}
	}
}

// findFunctions looks for the text in all functions of stacks.
func (f *finder) findFunctions() {
	f.functions, f.byName = make([]*function, f.tl.FrameCount()+1), map[[2]string]*function{}
	for i := 1; i < len(f.functions); i++ {
		frame := f.tl.Frame(timeline.FrameID(i))
		fn := &function{hit: -1}
		switch {
		case f.in([]byte(frame.Function)):
			fn.where = "name"
		case f.in([]byte(frame.File)):
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

// row looks at an event.
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
		f.found([]byte("category"), it.Category)
	}
	if f.in([]byte(it.AsyncID)) {
		f.found([]byte("id"), []byte(it.AsyncID))
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
		kept := &f.out.Hits[i]
		kept.Name, kept.Category, kept.Where = f.extract(it.Name), f.extract(it.Category), slices.Clone(h.Where)
	}
	return nil
}

// found notes a place of the text in the event that is looked at.
func (f *finder) found(where, text []byte) {
	if h := &f.hit; len(h.Where) < maxPlaces {
		h.Where = append(h.Where, strings.ToValidUTF8(string(where[:min(len(where), maxText)]), ""))
		if h.Text == "" && !bytes.Equal(text, f.name) {
			h.Text = f.extract(text)
		}
	}
}

// requestKeys are arguments with the id of a request, which is one in all processes.
var requestKeys = []string{"requestId", "channelId"}

// arg looks at an argument and what is in it.
func (f *finder) arg(arg *timeline.Arg, depth int) {
	before := len(f.path)
	if len(arg.Key) > 0 {
		f.path = append(append(f.path, '.'), arg.Key...)
	}
	if arg.Kind == timeline.ArgDict || arg.Kind == timeline.ArgArray {
		if len(arg.Key) > 0 && string(arg.Key) != timeline.OwnArgs && f.in(arg.Key) {
			f.found(f.path, nil)
		}
		for member := range f.tl.Members(*arg) {
			if depth < maxDepth {
				f.arg(&member, depth+1)
			}
		}
		f.path = f.path[:before]
		return
	}
	text := arg.Text() // texts may be long: they are not copied
	if arg.Kind != timeline.ArgString && arg.Kind != timeline.ArgJSON {
		f.value = arg.AppendText(f.value[:0])
		text = f.value
	}
	if f.in(text) || len(arg.Key) > 0 && f.in(arg.Key) {
		f.found(f.path, text)
	}
	switch key := string(arg.Key); {
	case slices.Contains(requestKeys, key) || f.network && f.hit.id == "" && string(f.path) == "args.id":
		f.hit.id = string(text[:min(len(text), maxText)])
	case f.hit.url == "" && isURL(text):
		f.hit.url = string(text)
	}
	f.path = f.path[:before]
}

// isURL reports whether a text is a URL and no more, of a length that is kept.
func isURL(text []byte) bool {
	at := bytes.Index(text[:min(len(text), maxScheme+len("://"))], []byte("://"))
	other := func(c rune) bool { return c < '0' && c != '+' && c != '-' && c != '.' || c > '9' && c < 'A' }
	return at > 0 && len(text) <= maxText && bytes.IndexByte(text, ' ') < 0 && bytes.IndexFunc(text[:at], other) < 0
}

// sample counts the functions with the text on the stack of a sample.
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
			continue // a function that calls itself is counted once
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
