// Package selection is the part of a trace that someone asks about: what happens in some processes, on some threads, under
// some names and categories, for some contexts, in some time. Commands, reports and exports narrow with it, so that the same
// flags mean the same everywhere.
//
// A Query is what was typed. Parse checks what can be checked without the trace and gives a Filter; Filter.Bind looks up in a
// trace what it means there and gives a Selection, which is asked about tracks and events. A nil *Selection is the whole trace.
//
// What selects an event:
//
//   - its track: one of a selected thread or of a track below it, or without --thread of a selected process. What happens on no
//     thread, such as a counter of a process, is on no selected thread;
//   - its name: of the slice or instant, of the counter, or of a function on the stack of a sample;
//   - its category: the whole list as written, or one of it;
//   - its time: a slice if any of it is in the window, everything else if it happens there;
//   - its contexts, as the attribution finds them. Only slices and instants have contexts.
//
// What lies inside a selected slice is not selected with it.
//
// What does not live here: names of flags in messages about the command line (cmd/weft), and what reports make of slices that
// are partly in the window (see their pages; Selection.Clip cuts them).
package selection

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/weft-trace/weft/internal/moment"
	"github.com/weft-trace/weft/internal/timeline"
)

// Query is what someone asks about, as text. Of several texts of one kind any may hold, of different kinds all have to.
type Query struct {
	Processes  []string // id, name or glob
	Threads    []string // id, name or glob, or PROCESS/THREAD
	Names      []string // name or glob
	Categories []string // name or glob
	Contexts   []string // TYPE=ID or TYPE=NAME
	From, To   string   // moments, see package moment; "": the start and the end
}

// Filter is a Query that makes sense. The zero Filter selects everything.
type Filter struct {
	processes, threads, names, categories []pattern
	contexts                              []contextPattern
	window                                moment.Window
}

// maxPattern bounds the length of what is asked for, and with it the time that matching takes.
const maxPattern = 4096

// Parse checks a query. Its errors are about flags and name them.
func Parse(q Query) (*Filter, error) {
	f := &Filter{}
	for _, list := range []struct {
		flag  string
		texts []string
		to    *[]pattern
	}{
		{"process", q.Processes, &f.processes}, {"thread", q.Threads, &f.threads},
		{"name", q.Names, &f.names}, {"category", q.Categories, &f.categories},
	} {
		for _, text := range list.texts {
			if err := checkPattern(list.flag, text); err != nil {
				return nil, err
			}
			*list.to = append(*list.to, pattern(text))
		}
	}
	for _, text := range q.Contexts {
		p, err := parseContext(text)
		if err != nil {
			return nil, err
		}
		f.contexts = append(f.contexts, p)
	}
	var err error
	f.window, err = moment.ParseWindow(q.From, q.To)
	return f, err
}

func checkPattern(flag, text string) error {
	switch {
	case text == "":
		return fmt.Errorf("--%s: the text is empty", flag)
	case len(text) > maxPattern:
		return fmt.Errorf("--%s: the text is longer than %d bytes", flag, maxPattern)
	}
	return nil
}

// All reports whether a filter selects everything.
func (f *Filter) All() bool {
	return len(f.processes)+len(f.threads)+len(f.names)+len(f.categories)+len(f.contexts) == 0 && f.window.Whole()
}

// Selection is a Filter in a trace. Its methods may be called on nil, which selects everything; they are not safe for
// concurrent use.
type Selection struct {
	tl       *timeline.Timeline
	from, to timeline.Nanos

	tracks     []bool // by TrackID; nil: all
	names      *texts // nil: all
	categories *texts // nil: all
	ordinals   bitset // of the slices and instants that have the contexts; nil: all

	functions []answer           // by FrameID: whether the name of the function is selected
	counters  []answer           // by TrackID: whether the name of the counter is selected
	stack     []timeline.FrameID // for use again
}

// Bind looks up what a filter means in a trace. A process, thread, name, category or context that the trace does not have, and
// a time outside of it, are errors that say what was probably meant. It is nil for a filter that selects everything.
func (f *Filter) Bind(ctx context.Context, tl *timeline.Timeline) (*Selection, error) {
	if f == nil || f.All() {
		return nil, nil
	}
	s := &Selection{
		tl: tl, from: math.MinInt64, to: math.MaxInt64,
		functions: make([]answer, tl.FrameCount()+1), counters: make([]answer, tl.TrackCount()),
	}
	if !tl.Totals().Any() {
		return s, nil // there is nothing to select, and nothing to compare with
	}
	var err error
	if s.from, s.to, err = f.window.In(moment.SpanOf(tl)); err != nil {
		return nil, err
	}
	if s.tracks, err = f.findTracks(tl); err != nil {
		return nil, err
	}
	if s.names, err = f.findNames(tl); err != nil {
		return nil, err
	}
	if s.categories, err = f.findCategories(tl); err != nil {
		return nil, err
	}
	if s.ordinals, err = f.findContexts(ctx, tl); err != nil {
		return nil, err
	}
	return s, nil
}

// Track reports whether events on a track may be selected.
func (s *Selection) Track(id timeline.TrackID) bool {
	return s == nil || s.tracks == nil || int(id) < len(s.tracks) && s.tracks[id]
}

// Window returns the times that are selected: those from from on and before to. They are the first and the last there can be
// where nothing was asked for.
func (s *Selection) Window() (from, to timeline.Nanos) {
	if s == nil {
		return math.MinInt64, math.MaxInt64
	}
	return s.from, s.to
}

// Overlaps reports whether something is in the window that takes a time, which is timeline.NoTime if it never ends. What takes
// no time is at its moment.
func (s *Selection) Overlaps(ts, dur timeline.Nanos) bool {
	switch {
	case s == nil:
		return true
	case ts >= s.from:
		return ts < s.to || s.to == math.MaxInt64
	}
	return dur == timeline.NoTime || dur > s.from-ts // ts is at least 0, and so is from then
}

// Clip cuts a time to the window. It is empty, with from = to, for what is not in it.
func (s *Selection) Clip(from, to timeline.Nanos) (timeline.Nanos, timeline.Nanos) {
	if s == nil {
		return from, to
	}
	from, to = max(from, s.from), min(to, s.to)
	return from, max(from, to)
}

// Item reports whether an event is selected. An ItemEnd has no name; Walk selects it with its slice.
func (s *Selection) Item(it *timeline.Item) bool {
	if s == nil {
		return true
	}
	dur := timeline.Nanos(0)
	if it.Kind == timeline.ItemBegin {
		dur = it.Dur
	}
	return s.Overlaps(it.TS, dur) && s.What(it)
}

// What reports whether an event is selected, whenever it happens.
func (s *Selection) What(it *timeline.Item) bool {
	return s == nil || s.Track(it.Track) && s.hasName(it) && s.hasCategory(it) && s.hasContext(it.Ordinal)
}

// Named reports whether a name is one of those that are asked for; false if none is.
func (s *Selection) Named(name string) bool {
	return s != nil && s.names != nil && s.names.matches(name)
}

// Unnamed reports whether something is selected that has no name, category and context, if its track and its time are.
func (s *Selection) Unnamed() bool {
	return s == nil || s.names == nil && s.categories == nil && s.ordinals == nil
}

// Head reports whether a slice or instant is selected, as Item does in a walk. Names and categories that the timeline
// does not intern are not known here.
func (s *Selection) Head(o *timeline.Head) bool {
	if s == nil {
		return true
	}
	dur := timeline.Nanos(0)
	if o.Kind == timeline.ItemBegin {
		dur = timeline.NoTime
		if o.End != timeline.NoTime {
			dur = o.End - o.TS
		}
	}
	return s.Overlaps(o.TS, dur) && s.Track(o.Track) && s.hasContext(o.Ordinal) &&
		(s.names == nil || s.names.has(uint32(o.NameID), s.tl.Name(o.NameID))) &&
		(s.categories == nil || s.categories.has(uint32(o.CategoryID), s.tl.Category(o.CategoryID)))
}

// Walk is Walk of the timeline with what is selected only. The end of a slice is selected with its start.
func (s *Selection) Walk(ctx context.Context, tl *timeline.Timeline, fn func(*timeline.Item) error) error {
	return tl.Walk(ctx, s.Pass(tl, fn))
}

// Pass returns what Walk of the timeline can call to give fn what is selected, as Walk does.
func (s *Selection) Pass(tl *timeline.Timeline, fn func(*timeline.Item) error) func(*timeline.Item) error {
	if s == nil {
		return fn
	}
	return timeline.Nested(tl, func(it *timeline.Item, open *timeline.OpenSlices[bool]) error {
		selected := false
		switch it.Kind {
		case timeline.ItemBegin:
			selected = s.Item(it)
			*open.Innermost() = selected
		case timeline.ItemEnd:
			selected = open.Len() > 0 && *open.Innermost()
		default:
			selected = s.Item(it)
		}
		if !selected {
			return nil
		}
		return fn(it)
	})
}

// hasName reports whether the name of an event is selected.
func (s *Selection) hasName(it *timeline.Item) bool {
	switch {
	case s.names == nil:
		return true
	case it.Kind == timeline.ItemCounter:
		return s.counters[it.Track].of(func() bool { return s.names.matches(s.tl.Track(it.Track).Name) })
	case it.Kind == timeline.ItemSample:
		return s.hasFunction(it.Callstack)
	}
	return s.names.has(uint32(it.NameID), it.Name)
}

// hasFunction reports whether the name of a function on a stack is selected.
func (s *Selection) hasFunction(stack timeline.CallstackID) bool {
	s.stack = s.tl.AppendCallstack(s.stack[:0], stack)
	for _, id := range s.stack {
		if s.functions[id].of(func() bool { return s.names.matches(s.tl.Frame(id).Function) }) {
			return true
		}
	}
	return false
}

// hasCategory reports whether a category of an event is selected.
func (s *Selection) hasCategory(it *timeline.Item) bool {
	return s.categories == nil || s.categories.has(uint32(it.CategoryID), it.Category)
}

// hasContext reports whether a slice or instant has a context that is selected.
func (s *Selection) hasContext(ordinal uint64) bool {
	return s.ordinals == nil || s.ordinals.has(ordinal)
}

// answer is what is known of a question about a text: it is asked once.
type answer uint8

const (
	yes answer = iota + 1
	no
)

func (a *answer) of(ask func() bool) bool {
	if *a == 0 {
		*a = no
		if ask() {
			*a = yes
		}
	}
	return *a == yes
}

// texts says which names, or lists of categories, are selected.
type texts struct {
	matches func(string) bool
	known   []answer // by id of the interned text; 0 has no id
}

// has reports whether a text is selected; id is 0 if it is not interned.
func (t *texts) has(id uint32, text []byte) bool {
	if id == 0 || int(id) >= len(t.known) {
		return t.matches(string(text))
	}
	return t.known[id].of(func() bool { return t.matches(string(text)) })
}

// maxLookup is the number of names in a trace up to which a name that is not among them is an error: longer tables may be full,
// and then not every name is in them.
const maxLookup = 1 << 18

// findNames finds out which names are selected; nil: all.
func (f *Filter) findNames(tl *timeline.Timeline) (*texts, error) {
	if len(f.names) == 0 {
		return nil, nil
	}
	names := eventNames(tl)
	matches, missing := choose(f.names, names)
	if missing != "" && tl.NameCount() < maxLookup {
		return nil, unknown(fmt.Sprintf("no event, counter or function is called %q", missing), string(missing), names)
	}
	return &texts{matches, make([]answer, tl.NameCount()+1)}, nil
}

// eventNames gives the names of events, counters and functions, some of them more than once.
func eventNames(tl *timeline.Timeline) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for id := range timeline.NameID(tl.NameCount()) {
			if !yield(string(tl.Name(id + 1))) {
				return
			}
		}
		for id := range timeline.TrackID(tl.TrackCount()) {
			if tl.TrackKind(id) == timeline.CounterTrack && !yield(tl.Track(id).Name) {
				return
			}
		}
		for id := range timeline.FrameID(tl.FrameCount()) {
			if !yield(tl.Frame(id + 1).Function) {
				return
			}
		}
	}
}

// findCategories finds out which lists of categories are selected; nil: all.
func (f *Filter) findCategories(tl *timeline.Timeline) (*texts, error) {
	if len(f.categories) == 0 {
		return nil, nil
	}
	names := categoryNames(tl)
	matches, missing := choose(f.categories, names)
	if missing != "" && tl.CategoryCount() < maxLookup {
		return nil, unknown(fmt.Sprintf("the trace has no category %q", missing), string(missing), names)
	}
	return &texts{
		func(list string) bool {
			for category := range eachCategory(list) {
				if matches(category) {
					return true
				}
			}
			return false
		},
		make([]answer, tl.CategoryCount()+1),
	}, nil
}

// categoryNames gives the categories of events, some of them more than once.
func categoryNames(tl *timeline.Timeline) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for id := range timeline.CategoryID(tl.CategoryCount()) {
			for category := range eachCategory(string(tl.Category(id + 1))) {
				if !yield(category) {
					return
				}
			}
		}
	}
}

// eachCategory gives the categories of a list as written in the input, "a, b", and the list itself if it has several.
func eachCategory(list string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		several := false
		for category := range strings.SplitSeq(list, ",") {
			if several = len(category) < len(list); !yield(strings.TrimSpace(category)) {
				return
			}
		}
		if several {
			yield(list)
		}
	}
}
