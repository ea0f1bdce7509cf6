// Package selection selects events of a trace by process, thread, name, category, context and time. Commands, reports and
// exports use it, so that the same flags have the same meaning everywhere.
//
// A Query is the text of the flags. Parse validates it without the trace and returns a Filter; Filter.Bind resolves the Filter
// against a trace and returns a Selection, which tests tracks and events. A nil *Selection selects the whole trace.
//
// Events are selected by:
//
//   - track: it must belong to a selected thread, or, without --thread, to a selected process. Events without a
//     thread, such as process counters, belong to no selected thread;
//   - name: of the slice or instant, of the counter, or of a function on a sample's stack;
//   - category: the whole list as written, or one element;
//   - time: a slice if it overlaps the window, other events if they are inside;
//   - contexts, as attribution finds them. Only slices and instants have contexts.
//
// Events inside a selected slice are not selected with it.
//
// What does not live here: flag names in messages about the command line (cmd/weft), and how reports treat slices that
// are partly in the window (see their pages; Selection.Clip clips them).
package selection

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// Query is the text of the flags. An event must match one of the texts of each kind that is present.
type Query struct {
	Processes  []string // id, name or glob
	Threads    []string // id, name or glob, or PROCESS/THREAD
	Names      []string // name or glob
	Categories []string // name or glob
	Contexts   []string // TYPE=ID or TYPE=NAME
	From, To   string   // see Moment; "": the start and the end
}

// Filter is a valid Query. The zero Filter selects everything.
type Filter struct {
	processes, threads, names, categories []pattern
	contexts                              []contextPattern
	window                                Window
}

// maxPattern bounds the length of patterns in bytes, and thereby the time for matching.
const maxPattern = 4096

// Parse validates a query. Its errors name the flags.
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
	f.window, err = ParseWindow(q.From, q.To)
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

// Selection is a Filter resolved against a trace. Its methods may be called on nil, which selects everything. The methods are not
// safe for concurrent use.
type Selection struct {
	tl       *timeline.Timeline
	from, to timeline.Nanos

	tracks     []bool   // by TrackID; nil: all
	names      *texts   // nil: all
	categories *texts   // nil: all
	ordinals   ordinals // of slices and instants with selected contexts; nil: all

	functions []memo             // by FrameID: whether the function's name is selected
	counters  []memo             // by TrackID: whether the counter's name is selected
	stack     []timeline.FrameID // buffer
}

// Bind resolves a filter against a trace. A process, thread, name, category or context that the trace does not contain, or a time
// outside the trace, is an error that suggests alternatives. The result is nil if the filter selects everything.
func (f *Filter) Bind(ctx context.Context, tl *timeline.Timeline) (*Selection, error) {
	if f == nil || f.All() {
		return nil, nil
	}
	s := &Selection{
		tl: tl, from: math.MinInt64, to: math.MaxInt64,
		functions: make([]memo, tl.FrameCount()+1), counters: make([]memo, tl.TrackCount()),
	}
	if !tl.Totals().Any() {
		return s, nil // the trace is empty
	}
	var err error
	if s.from, s.to, err = f.window.In(SpanOf(tl)); err != nil {
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

// Window returns the selected time range. The end is exclusive. Limits that are not set are the lowest and highest possible
// times.
func (s *Selection) Window() (from, to timeline.Nanos) {
	if s == nil {
		return math.MinInt64, math.MaxInt64
	}
	return s.from, s.to
}

// Overlaps reports whether an event overlaps the window. dur is timeline.NoTime for a slice without an end, 0 for an instant.
func (s *Selection) Overlaps(ts, dur timeline.Nanos) bool {
	switch {
	case s == nil:
		return true
	case ts >= s.from:
		return ts < s.to || s.to == math.MaxInt64
	}
	return dur == timeline.NoTime || dur > s.from-ts // does not overflow, because 0 ≤ ts < from
}

// Clip clips an interval to the window. The result is empty, with from = to, if the interval does not overlap the window.
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
	return s.Overlaps(it.TS, dur) && s.MatchesAnyTime(it)
}

// MatchesAnyTime reports whether an event is selected, ignoring its time.
func (s *Selection) MatchesAnyTime(it *timeline.Item) bool {
	return s == nil || s.Track(it.Track) && s.hasName(it) && s.hasCategory(it) && s.hasContext(it.Ordinal)
}

// Named reports whether the selection is by name and includes the given name.
func (s *Selection) Named(name string) bool {
	return s != nil && s.names != nil && s.names.matches(name)
}

// SelectsUnnamed reports whether events with no name, category or context are selected if their track and time are.
func (s *Selection) SelectsUnnamed() bool {
	return s == nil || s.names == nil && s.categories == nil && s.ordinals == nil
}

// Head is like Item, but tests a Head, which lacks names and categories that the timeline does not intern.
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

// Walk is Timeline.Walk for selected items only. The end of a slice is selected with its start.
func (s *Selection) Walk(ctx context.Context, tl *timeline.Timeline, fn func(*timeline.Item) error) error {
	return tl.Walk(ctx, s.Filtered(tl, fn))
}

// Filtered returns a callback for Timeline.Walk that calls fn for selected items.
func (s *Selection) Filtered(tl *timeline.Timeline, fn func(*timeline.Item) error) func(*timeline.Item) error {
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
		return s.counters[it.Track].get(func() bool { return s.names.matches(s.tl.Track(it.Track).Name) })
	case it.Kind == timeline.ItemSample:
		return s.hasFunction(it.Callstack)
	}
	return s.names.has(uint32(it.NameID), it.Name)
}

// hasFunction reports whether the name of a function on a stack is selected.
func (s *Selection) hasFunction(stack timeline.CallstackID) bool {
	s.stack = s.tl.AppendCallstack(s.stack[:0], stack)
	for _, id := range s.stack {
		if s.functions[id].get(func() bool { return s.names.matches(s.tl.Frame(id).Function) }) {
			return true
		}
	}
	return false
}

// hasCategory reports whether a category of an event is selected.
func (s *Selection) hasCategory(it *timeline.Item) bool {
	return s.categories == nil || s.categories.has(uint32(it.CategoryID), it.Category)
}

// hasContext reports whether a slice or instant has a selected context.
func (s *Selection) hasContext(ordinal uint64) bool {
	return s.ordinals == nil || s.ordinals.Has(ordinal)
}

// memo is a boolean that is computed once.
type memo uint8

const (
	yes memo = iota + 1
	no
)

func (m *memo) get(compute func() bool) bool {
	if *m == 0 {
		*m = no
		if compute() {
			*m = yes
		}
	}
	return *m == yes
}

// texts selects names, or lists of categories.
type texts struct {
	matches func(string) bool
	memos   []memo // by id of the interned text
}

// has reports whether a text is selected; id is 0 if it is not interned.
func (t *texts) has(id uint32, text []byte) bool {
	if id == 0 || int(id) >= len(t.memos) {
		return t.matches(string(text))
	}
	return t.memos[id].get(func() bool { return t.matches(string(text)) })
}

// maxLookup bounds the tables of interned names in which a missing name is an error: larger tables may be full and lack some
// names.
const maxLookup = 1 << 18

// findNames returns the selected names; nil: all.
func (f *Filter) findNames(tl *timeline.Timeline) (*texts, error) {
	if len(f.names) == 0 {
		return nil, nil
	}
	names := eventNames(tl)
	matches, missing := matchAny(f.names, names)
	if missing != "" && tl.NameCount() < maxLookup {
		return nil, unknown(fmt.Sprintf("no event, counter or function is called %q", missing), string(missing), names)
	}
	return &texts{matches, make([]memo, tl.NameCount()+1)}, nil
}

// eventNames yields the names of events, counters and functions, some more than once.
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

// findCategories returns the selected lists of categories; nil: all.
func (f *Filter) findCategories(tl *timeline.Timeline) (*texts, error) {
	if len(f.categories) == 0 {
		return nil, nil
	}
	names := categoryNames(tl)
	matches, missing := matchAny(f.categories, names)
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
		make([]memo, tl.CategoryCount()+1),
	}, nil
}

// categoryNames yields the categories of events, some more than once.
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

// eachCategory yields the categories in a list such as "a, b" and, if there are several, the list itself.
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
