package writeback

import (
	"cmp"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// overlayRow is an event of the overlay: the start or end of an interval, or an instant of the catalogue.
type overlayRow struct {
	ts, dur timeline.Nanos
	track   timeline.TrackID
	name    timeline.NameID
	kind    timeline.ItemKind
	node    attribution.NodeID // begin
	args    uint32             // begin, instant: index in overlay.args + 1; 0: none
}

var overlayOrder = extsort.Order[overlayRow]{
	Compare: compareOverlay,
	Key:     func(o *overlayRow) uint64 { return collections.RadixKey(int64(o.ts)) },
}

// compareOverlay sorts by time. Among simultaneous rows, ends come first.
func compareOverlay(a, b *overlayRow) int {
	return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(endLast(b.kind), endLast(a.kind)), cmp.Compare(a.track, b.track))
}

func endLast(k timeline.ItemKind) int {
	if k == timeline.ItemEnd {
		return 1
	}
	return 0
}

// overlay holds the tracks that attribution adds.
type overlay struct {
	t        *timeline.Timeline
	c        *attribution.Catalogue
	rows     *extsort.Sorted[overlayRow]
	args     []timeline.Args
	category timeline.CategoryID // of the slices; 0: not interned

	slices, instants int64
}

// After implements timeline.Overlay.
func (o *overlay) After(ts timeline.Nanos) (func(*timeline.Item) (bool, error), error) {
	i, err := o.rows.Search(func(r *overlayRow) bool { return r.ts > ts })
	if err != nil {
		return nil, err
	}
	at := o.rows.From(i)
	var row overlayRow
	return func(e *timeline.Item) (bool, error) {
		ok, err := at.Next(&row)
		if ok {
			*e = o.event(&row)
		}
		return ok, err
	}, nil
}

// Close implements timeline.Overlay.
func (o *overlay) Close() error { return o.rows.Close() }

// event returns the event of a row, with the track and name of the overlayTarget.
func (o *overlay) event(r *overlayRow) timeline.Item {
	e := timeline.Item{Head: timeline.Head{Kind: r.kind, TS: r.ts, Dur: r.dur, Track: r.track, NameID: r.name}}
	if r.args != 0 {
		e.Args = o.args[r.args-1]
	}
	if r.kind == timeline.ItemBegin {
		e.Category, e.CategoryID = contextCategory, o.category
		if o.t.CorrelationOf(e.Args) == nil { // inline arguments have none
			e.Correlation = o.c.Nodes[r.node].Identity.String()
		}
	}
	return e
}

// contextCategory is the category of context slices.
var contextCategory = []byte("context")

// overlayTarget is the destination of the tracks of an attribution.
type overlayTarget interface {
	addTrack(parent timeline.TrackID, spec timeline.TrackSpec) timeline.TrackID
	name(text string) timeline.NameID
	category(text []byte) timeline.CategoryID // 0: not interned
	encoder() *timeline.ArgsEncoder
}

// attached is a timeline as an overlayTarget.
type attached struct {
	t   *timeline.Timeline
	enc *timeline.ArgsEncoder
}

func (a *attached) addTrack(parent timeline.TrackID, spec timeline.TrackSpec) timeline.TrackID {
	return a.t.AddTrack(parent, spec)
}
func (a *attached) name(text string) timeline.NameID { return a.t.InternName(text) }
func (a *attached) category(text []byte) timeline.CategoryID {
	return a.t.InternCategory(text)
}
func (a *attached) encoder() *timeline.ArgsEncoder { return a.enc }

// attachTracks adds the tracks of the attribution to the timeline.
func (a *Additions) attachTracks() error {
	rows, o, err := a.overlayRows(&attached{a.result.Timeline, a.result.Timeline.NewArgs()})
	if err != nil {
		return err
	}
	defer rows.Close()
	if o.rows, err = rows.Sort(); err != nil {
		return err
	}
	a.result.Timeline.AttachOverlay(o, o.slices, o.instants)
	return nil
}

// overlayRows returns the events of the tracks. The caller closes the sorter.
func (a *Additions) overlayRows(to overlayTarget) (*extsort.Sorter[overlayRow], *overlay, error) {
	rows := extsort.New(overlayOrder, a.result.Timeline.Memory()/16, a.result.Timeline.TempDir())
	o := &overlay{t: a.result.Timeline, c: a.result.Contexts, category: to.category(contextCategory)}
	var err error
	if !a.parts.NoTracks && a.result.Intervals != nil {
		err = a.addIntervals(rows, o, to)
	}
	if !a.parts.NoCatalogue && err == nil {
		err = a.addCatalogue(rows, o, to)
	}
	if err != nil {
		return nil, nil, errors.Join(err, rows.Close())
	}
	return rows, o, nil
}

// catalogueSpec describes the track with all contexts.
var catalogueSpec = timeline.TrackSpec{
	Name: timeline.RoleCatalogue.String(), Role: timeline.RoleCatalogue,
	Description: "All contexts and what is known of them, found by weft",
}

// intervalsSpec describes a track with the contexts of one type for which its thread worked.
func intervalsSpec(typ string) timeline.TrackSpec {
	return timeline.TrackSpec{
		Name: "Context: " + typ, Role: timeline.RoleContexts, Subject: typ,
		Description: "Contexts for which the thread worked, found by weft",
	}
}

// addIntervals adds a track for each thread and type, with the contexts in effect.
func (a *Additions) addIntervals(rows *extsort.Sorter[overlayRow], o *overlay, to overlayTarget) error {
	order := make([]attribution.IntervalTrack, 0, len(a.result.Intervals.Used))
	for track := range a.result.Intervals.Used {
		order = append(order, track)
	}
	slices.SortFunc(order, func(x, y attribution.IntervalTrack) int {
		return cmp.Or(cmp.Compare(x.Thread, y.Thread), cmp.Compare(a.result.Contexts.Types[x.Type], a.result.Contexts.Types[y.Type]))
	})
	tracks := map[attribution.IntervalTrack]timeline.TrackID{}
	for _, t := range order {
		tracks[t] = to.addTrack(t.Thread, intervalsSpec(a.result.Contexts.Types[t.Type]))
	}
	details, err := a.newDetails(o, to.encoder())
	if err != nil {
		return err
	}
	var i attribution.Interval
	for {
		ok, err := a.result.Intervals.Sorted.Next(&i)
		if err != nil || !ok {
			return err
		}
		o.slices++
		row := overlayRow{
			ts: i.From, dur: i.To - i.From, track: tracks[attribution.IntervalTrack{Thread: i.Thread, Type: i.Type}], kind: timeline.ItemBegin,
			name: to.name(a.result.Contexts.LabelOf(i.Node, i.Snapshot)), node: a.result.Contexts.LogicalOf(i.Node),
			args: details.indexOf(&i),
		}
		err = rows.Add(row)
		row.ts, row.kind, row.args = i.To, timeline.ItemEnd, 0
		if err = errors.Join(err, rows.Add(row)); err != nil {
			return err
		}
	}
}

// Limits of the catalogue, whatever the memory budget. The catalogue of a 190 MB recording has more than 8,000 instants.
const (
	maxCatalogue     = 1 << 16
	maxCatalogueSize = 16 << 20 // bytes of arguments
)

// catalogueEntry is the state of a context from a point in time onwards.
type catalogueEntry struct {
	ts   timeline.Nanos
	node attribution.NodeID
}

// addCatalogue adds a track with an instant for every context and each of its states. Perfetto would stack simultaneous
// instants, so they are spread: a microsecond apart if the trace has whole microseconds and is long enough, otherwise a
// nanosecond.
func (a *Additions) addCatalogue(rows *extsort.Sorter[overlayRow], o *overlay, to overlayTarget) error {
	entries := a.catalogueEntries()
	times := make([]timeline.Nanos, len(entries))
	for i := range entries {
		times[i] = entries[i].ts
	}
	tracks := make([]timeline.TrackID, a.result.Uses.Spread(times, a.result.Timeline.TimeUnit()))
	for _, ts := range times {
		a.result.Timeline.ExtendTimeUnit(ts)
	}
	size := 0
	enc := to.encoder()
	for i, e := range entries {
		if size >= maxCatalogueSize {
			a.catalogueFull()
			return nil
		}
		if i < len(tracks) {
			tracks[i] = to.addTrack(0, catalogueSpec)
		}
		enc.Reset()
		a.describe(enc, e.node, e.ts)
		size += len(enc.Args())
		o.args = append(o.args, slices.Clone(enc.Args()))
		row := overlayRow{
			ts: times[i], track: tracks[i%len(tracks)], name: to.name(a.result.Contexts.Label(e.node, e.ts)), kind: timeline.ItemInstant,
			args: uint32(len(o.args)),
		}
		if err := rows.Add(row); err != nil {
			return err
		}
		o.instants++
	}
	return nil
}

// catalogueEntries returns the entries of the catalogue, in time order.
func (a *Additions) catalogueEntries() []catalogueEntry {
	var entries []catalogueEntry
	for id := range a.result.Contexts.Nodes {
		node := attribution.NodeID(id)
		if node == 0 || !a.result.Contexts.Nodes[node].Context || a.result.Contexts.LogicalOf(node) != node {
			continue
		}
		for _, ts := range a.statesOf(node) {
			if len(entries) == maxCatalogue {
				a.catalogueFull()
				return inOrder(entries)
			}
			entries = append(entries, catalogueEntry{ts, node})
		}
	}
	return inOrder(entries)
}

func inOrder(entries []catalogueEntry) []catalogueEntry {
	slices.SortStableFunc(entries, func(a, b catalogueEntry) int { return cmp.Compare(a.ts, b.ts) })
	return entries
}

func (a *Additions) catalogueFull() {
	a.result.Timeline.Problems().Add(problem.ContextLimit, problem.NoPosition, "in the catalogue")
}

// describe encodes the state of a logical node at ts.
func (a *Additions) describe(enc *timeline.ArgsEncoder, node attribution.NodeID, ts timeline.Nanos) {
	addText := func(key, text string) {
		if text != "" {
			enc.Key([]byte(key))
			enc.InternedString(text)
		}
	}
	addText("id", a.result.Contexts.Nodes[node].Identity.String())
	addText("class", a.result.Contexts.Class(node, ts))
	addText("url", a.result.Contexts.Url(node, ts))
	if parent := a.result.Contexts.Parent(node, ts); parent != 0 {
		addText("parent", a.result.Contexts.Nodes[parent].Identity.String())
	}
	if pid, ok := a.result.Contexts.Pid(node, ts); ok {
		enc.Key([]byte("pid"))
		enc.Int(pid)
	}
	if members := a.result.Contexts.MembersOf(node); len(members) > 1 {
		enc.Key([]byte("members"))
		enc.BeginArray()
		for _, m := range members {
			enc.InternedString(a.result.Contexts.Nodes[m].Identity.String())
		}
		enc.EndArray()
	}
	if n, ok := a.result.InputOf(node); ok {
		describeInput(n, enc, addText)
	}
}

// statesOf returns the times of a logical node's states, at least one. A state from before the trace gets the time of its
// event, or the time when the node is first in effect if that is earlier.
func (a *Additions) statesOf(node attribution.NodeID) []timeline.Nanos {
	used, inEffect := a.result.Uses.Of(node)
	var times []timeline.Nanos
	for _, m := range a.result.Contexts.MembersOf(node) {
		if int(m) >= len(a.result.Contexts.States) {
			continue
		}
		for _, s := range a.result.Contexts.States[m] {
			if s.Snapshot == 0 {
				continue
			}
			ts := s.From
			if ts < a.result.Uses.First {
				ts = a.result.Contexts.Snapshots[s.Snapshot].TS
				if inEffect {
					ts = min(ts, used)
				}
			}
			times = append(times, a.result.Uses.Clamp(ts))
		}
	}
	if len(times) == 0 {
		if !inEffect {
			used = a.result.Uses.First
		}
		return []timeline.Nanos{used}
	}
	slices.Sort(times)
	return slices.Compact(times)
}

// describeInput encodes the facts about an input event for the catalogue.
func describeInput(i *attribution.Input, enc *timeline.ArgsEncoder, addText func(key, text string)) {
	addText("type", i.Type)
	number := func(key string, value int64, known bool) {
		if known {
			enc.Key([]byte(key))
			enc.Int(value)
		}
	}
	number("start_ns", int64(i.Start), true)
	if i.Latency != timeline.NoTime {
		enc.Duration("latency", i.Latency)
	}
	number("presented_ns", int64(i.Presented), i.Presented != timeline.NoTime)
	number("interaction_id", i.Interaction, i.Interaction != 0)
	if i.Dropped {
		enc.Key([]byte("dropped"))
		enc.Bool(true)
	}
}
