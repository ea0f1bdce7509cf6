package report

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Work summarizes the work of some slices, by kind and by function or name. All times are self times: the time of a slice without
// the slices directly inside it.
type Work struct {
	Self       timeline.Nanos `json:"self_ns"`
	ByCategory []CategoryTime `json:"by_category"` // most time first
	// Forced is the style and layout time that script waited for, in ForcedCount slices. ByCategory includes it in these two
	// categories.
	Forced      timeline.Nanos `json:"forced_ns"`
	ForcedCount int64          `json:"forced_count"`
	Parts       []WorkPart     `json:"parts"` // functions and other slices, most self time first, at most MaxParts
	PartCount   int            `json:"part_count"`
}

// CategoryTime is the time of a kind of work: "script", "style", "layout", "gc", … (attribution.md, Cost).
type CategoryTime struct {
	Category string         `json:"category"`
	Time     timeline.Nanos `json:"self_ns"`
}

// WorkPart is a function, or all slices with the same name that are not functions, within some work.
type WorkPart struct {
	Name     string         `json:"name"`
	Location string         `json:"location,omitempty"` // url:line:column, as far as known
	Category string         `json:"category,omitempty"`
	Count    int64          `json:"count"` // slices; for functions known from samples, samples
	Self     timeline.Nanos `json:"self_ns"`
	Longest  timeline.Nanos `json:"longest_ns"` // longest self time of one slice; in an Interaction, of one stretch
}

// MaxParts is the maximum number of parts in a Work.
const MaxParts = 20

// ContextTime is a context that work was done for, with the time.
type ContextTime struct {
	Type string         `json:"type"` // "Frame", "Script", "InputEvent", …
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Time timeline.Nanos `json:"self_ns"`
}

// Memory limits for one piece of work.
const (
	maxWorkParts = 1 << 12
	maxWorkSets  = 1 << 10
)

// partKey identifies the slices that form one WorkPart.
type partKey struct {
	name     string
	location string
	category producers.Category
}

type workTally struct {
	self        timeline.Nanos
	categories  [producers.CategoryCount]timeline.Nanos
	forced      timeline.Nanos
	forcedCount int64
	parts       map[partKey]*WorkPart
	sets        map[attribution.SetID]timeline.Nanos
}

func newWorkTally() workTally {
	return workTally{parts: map[partKey]*WorkPart{}, sets: map[attribution.SetID]timeline.Nanos{}}
}

// add adds the self time of some slices; count is their number.
func (w *workTally) add(key partKey, self timeline.Nanos, count int64, forced bool) {
	sum(&w.self, self)
	sum(&w.categories[key.category], self)
	if forced {
		sum(&w.forced, self)
		w.forcedCount += count
	}
	p := w.parts[key]
	if p == nil {
		if len(w.parts) >= maxWorkParts {
			key = partKey{name: OthersGroup}
			p = w.parts[key]
		}
		if p == nil {
			key.name, key.location = strings.Clone(key.name), strings.Clone(key.location)
			p = &WorkPart{Name: key.name, Location: key.location, Category: key.category.String()}
			w.parts[key] = p
		}
	}
	p.Count += count
	sum(&p.Self, self)
	p.Longest = max(p.Longest, self)
}

// addSet records the contexts that a slice worked for.
func (w *workTally) addSet(set attribution.SetID, self timeline.Nanos) {
	if _, known := w.sets[set]; known || len(w.sets) < maxWorkSets {
		t := w.sets[set]
		sum(&t, self)
		w.sets[set] = t
	}
}

func (w *workTally) work() Work {
	out := Work{Self: w.self, Forced: w.forced, ForcedCount: w.forcedCount, PartCount: len(w.parts), ByCategory: []CategoryTime{}, Parts: []WorkPart{}}
	for c, t := range w.categories {
		if name := producers.Category(c).String(); t > 0 {
			out.ByCategory = append(out.ByCategory, CategoryTime{cmp.Or(name, producers.CategoryOther.String()), t})
		}
	}
	out.ByCategory = joinOther(out.ByCategory)
	for _, p := range w.parts {
		out.Parts = append(out.Parts, *p)
	}
	slices.SortFunc(out.Parts, func(a, b WorkPart) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Location, b.Location),
			cmp.Compare(a.Category, b.Category))
	})
	out.Parts = slices.Clip(out.Parts[:min(len(out.Parts), MaxParts)])
	return out
}

// joinOther merges categories with the same name, such as "other", and sorts all by time.
func joinOther(list []CategoryTime) []CategoryTime {
	out := []CategoryTime{}
	for _, c := range list {
		if i := slices.IndexFunc(out, func(o CategoryTime) bool { return o.Category == c.Category }); i >= 0 {
			sum(&out[i].Time, c.Time)
		} else {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b CategoryTime) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Category, b.Category))
	})
	return out
}

// contexts returns the contexts that the work was done for, by type, with their times, most time first.
func (w *workTally) contexts(r *attribution.Result) []ContextTime {
	times := map[ContextTime]timeline.Nanos{}
	for set, t := range w.sets {
		for _, id := range r.ByTypeName(set) {
			m := &r.Sets.Members[id]
			if m.Node == 0 {
				continue
			}
			c := namedContext(r, m)
			was := times[c]
			sum(&was, t)
			times[c] = was
		}
	}
	out := make([]ContextTime, 0, len(times))
	for c, t := range times {
		c.Time = t
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b ContextTime) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(b.Time, a.Time), cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func namedContext(r *attribution.Result, m *attribution.Member) ContextTime {
	return ContextTime{
		Type: r.Contexts.Types[m.Type], ID: r.Contexts.Nodes[m.Node].Identity.String(), Name: r.Contexts.LabelOf(m.Node, m.Snapshot),
	}
}

// openWork is an open slice of a thread.
type openWork struct {
	ts, dur  timeline.Nanos
	inside   timeline.Nanos // time of slices directly inside
	timed    bool           // the input records its end
	category producers.Category
	script   bool // it, or a slice around it, runs script
	call     bool // it is a call made from samples
	forced   bool // style or layout that script waits for
	set      attribution.SetID
	cpu      timeline.CPUTime
	key      partKey // if requested
	task     *taskBuilder
	isTask   bool // it is the task itself
	below    heaviest
	input    bool // it may matter for a detailed input
}

// threadWork walks the slices of threads for collectors that need their work and contexts, so that these are determined only
// once.
type threadWork struct {
	tl     *timeline.Timeline
	reader *workReader
	tasks  *taskCollector  // nil: long tasks are not requested
	inputs *inputCollector // nil: the work for inputs is not requested
}

// walk walks the slices of all threads.
func (w *threadWork) walk(ctx context.Context) error {
	threads := func(id timeline.TrackID) bool { return w.tl.TrackKind(id) == timeline.ThreadTrack }
	return w.tl.WalkSlices(ctx, threads, timeline.Nested(w.tl, w.item))
}

// item handles an item of a walk; open holds the slices around it.
func (w *threadWork) item(it *timeline.Item, open *timeline.OpenSlices[openWork]) error {
	if it.Lane > 0 || it.Kind != timeline.ItemBegin && it.Kind != timeline.ItemEnd || w.tl.TrackKind(it.Track) != timeline.ThreadTrack {
		return nil
	}
	if w.inputs != nil {
		w.inputs.pass(it, open)
	}
	s, around := open.Innermost(), (*openWork)(nil)
	if n := open.Len(); n > 1 {
		around = open.At(n - 2)
	}
	switch {
	case s == nil:
	case it.Kind == timeline.ItemBegin:
		return w.begin(it, around, s)
	case w.tasks != nil:
		w.tasks.end(it, around, s)
	}
	return nil
}

// begin handles the start of the slice s; around is the slice around it, or nil.
func (w *threadWork) begin(it *timeline.Item, around, s *openWork) (err error) {
	if err := w.reader.begin(it, around, s); err != nil {
		return err
	}
	s.input = w.inputs != nil && w.inputs.concerns(it, s)
	inTask := w.tasks != nil && w.tasks.begin(it, around, s)
	if s.input || inTask {
		s.key, err = w.reader.keyOf(it, s)
	}
	return err
}

// workReader determines the work and the contexts of the slices in a walk.
type workReader struct {
	tl         *timeline.Timeline
	args       *timeline.ArgSelection
	attributed *attribution.Result // nil: contexts are unknown
	cursor     *extsort.Cursor[attribution.EventSet]
	ahead      attribution.EventSet
	have       bool
	categories []producers.Category // by NameID
	kinds      []sliceKind          // by NameID; unknownSlice: kind and category have not been looked up yet
	producers  []producers.Category // by CategoryID: the kind of work according to the category of the producer
}

func newWorkReader(tl *timeline.Timeline, attributed *attribution.Result) *workReader {
	r := &workReader{
		tl: tl, attributed: attributed,
		categories: make([]producers.Category, tl.NameCount()+1), kinds: make([]sliceKind, tl.NameCount()+1),
		producers: make([]producers.Category, tl.CategoryCount()+1),
	}
	for id := range r.producers[1:] {
		r.producers[id+1] = producerCategory(tl.Category(timeline.CategoryID(id + 1)))
	}
	r.args = tl.SelectArgs(func(name string) bool {
		switch name {
		case "data", "beginData", "url", "line", "column", "functionName", "lineNumber", "columnNumber", "type":
			return true
		}
		return false
	})
	if attributed != nil && attributed.EventSets != nil {
		r.cursor = attributed.EventSets.From(0)
	}
	return r
}

// setOf returns the contexts of a slice. Calls must pass ordinals in ascending order.
func (r *workReader) setOf(ordinal uint64) (attribution.SetID, error) {
	for r.cursor != nil {
		if !r.have {
			ok, err := r.cursor.Next(&r.ahead)
			if err != nil || !ok {
				r.cursor = nil
				return 0, err
			}
			r.have = true
		}
		switch {
		case r.ahead.Ordinal > ordinal:
			return 0, nil
		case r.ahead.Ordinal == ordinal:
			return r.ahead.Set, nil
		}
		r.have = false
	}
	return 0, nil
}

// begin fills in s, which is zero, for a slice that starts; around is the slice around it, or nil.
func (r *workReader) begin(it *timeline.Item, around, s *openWork) (err error) {
	s.ts, s.dur, s.timed, s.cpu = it.TS, it.Dur, hasEnd(&it.Head), it.ThreadTime
	if around != nil {
		s.category, s.script, s.task = around.category, around.script, around.task
	}
	s.set, err = r.setOf(it.Ordinal)
	s.call = timeline.IsCall(it.Category) || string(it.Category) == "js"
	kind, category := r.nameOf(&it.Head, it.Name)
	switch {
	case s.call:
		s.category, s.script = producers.CategoryScript, true
	case category != producers.CategoryNone:
		s.category = category
	}
	s.script = s.script || kind == scriptSlice
	if kind == styleSlice || kind == layoutSlice {
		s.forced = around != nil && around.script
	}
	return err
}

// producerCategory returns the kind of work of a Firefox category such as "DOM,DOMEvent". It depends on the type of the marker
// or, if that is unknown, on the first part. The name of the marker may be just a label.
func producerCategory(category []byte) producers.Category {
	main, typ, ok := strings.Cut(string(category), ",")
	if !ok {
		return producers.CategoryNone
	}
	return cmp.Or(producers.CategoryOf(typ), producers.CategoryOf(main))
}

// nameOf returns the kind and category of a slice according to its name.
func (r *workReader) nameOf(it *timeline.Head, name []byte) (kind sliceKind, category producers.Category) {
	if it.NameID == 0 {
		kind, category = kindOfSlice(name), producers.CategoryOf(string(name))
	} else {
		if r.kinds[it.NameID] == unknownSlice {
			r.kinds[it.NameID], r.categories[it.NameID] = kindOfSlice(name), producers.CategoryOf(string(name))
		}
		kind, category = r.kinds[it.NameID], r.categories[it.NameID]
	}
	return kind, cmp.Or(category, r.producers[it.CategoryID])
}

// selfTime returns the self time of a slice that ends; ok is false if the slice has no self time. It also adds the time of the
// slice to the time inside the slice around it.
func (s *openWork) selfTime(around *openWork) (self timeline.Nanos, ok bool) {
	inside := s.inside
	if s.timed {
		inside = s.dur
	}
	if around != nil {
		sum(&around.inside, inside)
	}
	return s.dur - s.inside, s.timed
}

// keyOf returns the name and category of a slice, and the location of its code.
func (r *workReader) keyOf(it *timeline.Item, s *openWork) (partKey, error) {
	if err := it.ReadArgs(); err != nil {
		return partKey{}, err
	}
	key := partKey{name: string(it.Name), category: s.category}
	var f Frame
	typ := r.frameOf(r.args.List(it.Args), &f)
	if _, own, _ := bytes.Cut(it.Category, []byte{','}); typ != "" && !s.call && string(own) != typ { // Firefox: marker type
		key.name += " " + typ
	}
	if f.Function != "" && !s.call {
		key.name += " " + f.Function
	}
	key.location = f.Location()
	return key, nil
}

// frameOf reads from the arguments of a slice the location of its code, and returns the type of the event that it
// dispatches.
func (r *workReader) frameOf(args func(func(timeline.Arg) bool), f *Frame) (typ string) {
	for arg := range args {
		switch key := string(arg.Key); {
		case arg.Kind == timeline.ArgDict && (key == "data" || key == "beginData"):
			typ = cmp.Or(r.frameOf(r.args.Members(arg), f), typ)
		case arg.Kind == timeline.ArgInt && (key == "line" || key == "lineNumber"):
			f.Line = arg.Int()
		case arg.Kind == timeline.ArgInt && (key == "column" || key == "columnNumber"):
			f.Column = arg.Int()
		case arg.Kind != timeline.ArgString:
		case key == "url":
			f.URL = string(arg.Text())
		case key == "functionName":
			f.Function = string(arg.Text())
		case key == "type":
			typ = string(arg.Text())
		}
	}
	return typ
}
