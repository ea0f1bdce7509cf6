package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/find"
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// flowPrinter looks up the data that the flows command prints; a flowForm writes this data.
type flowPrinter struct {
	ctx    context.Context
	trace  *timeline.Timeline
	index  *flowindex.Index
	span   selection.Span
	w      *bufio.Writer
	limit  int
	nested bool // nested markers connect flows too
	tracks map[timeline.TrackLane]*markerTrack
	form   flowForm

	grep    string
	sort    string
	omitted int // selected flows beyond the limit, from which connected flows are not searched
}

// flowForm writes the output as text or JSON.
type flowForm interface {
	listHead() error
	listed(f flowindex.Flow, connected int, first *marker) error // connected: markers of all flows connected by shared markers
	listEnd(listed, found, all int) error                        // found: including flows beyond the limit
	flow(f flowindex.Flow) error                                 // before its members
	member(f flowindex.Flow, m *marker) error
	markerHead(m *marker) error // before its memberships
	membership(f flowindex.Flow, m *marker, previous, next []*marker) error
	root(f flowindex.Flow) error // a flow from which connected flows are searched
	connection(c flowindex.Connection, from flowindex.Flow, through *marker) error
	connectedEnd(n int, more bool) error
}

// marker is a slice or instant in a flow, with its description.
type marker struct {
	flowindex.Member
	flowindex.Label
	track *markerTrack
}

// markerTrack describes the track of a marker.
type markerTrack struct {
	name     string            // the whole path, for people
	pid, tid *timeline.InputID // of its process and thread; nil if the input has no number for them
}

// maxNext bounds the number of next markers shown. Few flows lead to more than one.
const maxNext = 100

// labelBatch is the number of members of a flow that are looked up at once.
const labelBatch = 1 << 12

// flowName returns the name of a flow, which parseFlowName parses.
func flowName(f flowindex.Flow, span selection.Span) string {
	return "flow:" + f.ID + ";" + span.Since(f.Start)
}

// name returns the name of a flow.
func (p *flowPrinter) name(f flowindex.Flow) string { return flowName(f, p.span) }

// flowList is a request for the list of flows.
type flowList struct {
	selected *selection.Selection
	grep     string // "": not set
	across   bool
	sort     string // one of flowColumns, with the prefix "-" for smallest first; "": in order of first markers
}

// flowColumns are the sort keys of the list.
var flowColumns = []string{"start", "length", "markers", "connected", "threads", "processes"}

// column returns the number by which a flow is sorted, largest first.
func (l *flowList) column(f *flowindex.Flow, connected int) int64 {
	n := int64(0)
	switch strings.TrimPrefix(l.sort, "-") {
	case "start":
		n = int64(-f.Start) // earliest first, as in all tables
	case "length":
		n = int64(f.End - f.Start)
	case "markers":
		n = int64(f.Members)
	case "connected":
		n = int64(connected)
	case "threads":
		n = int64(f.Threads)
	case "processes":
		n = int64(f.Processes)
	}
	if strings.HasPrefix(l.sort, "-") {
		return -n
	}
	return n
}

// list prints the requested flows.
func (p *flowPrinter) list(l *flowList) error {
	p.grep, p.sort = l.grep, strings.TrimPrefix(l.sort, "-")
	connected, err := p.index.ConnectedMarkers(p.ctx)
	if err != nil {
		return err
	}
	wanted, err := p.flowsIn(l)
	if err == nil {
		err = p.form.listHead()
	}
	if err != nil {
		return err
	}
	type entry struct {
		flow  int
		value int64
	}
	var sorted []entry
	listed, found := 0, 0
	err = p.index.Walk(p.ctx, func(f flowindex.Flow, first flowindex.Member, label flowindex.Label) error {
		switch {
		case wanted != nil && !wanted[f.Number] || l.across && f.Processes < 2:
			return nil
		case l.sort != "":
			sorted = append(sorted, entry{f.Number, l.column(&f, connected.Of(f))})
		case listed < p.limit:
			listed++
			err = p.form.listed(f, connected.Of(f), p.marker(first, label))
		}
		found++
		return err
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(sorted, func(a, b entry) int { return cmp.Compare(b.value, a.value) })
	for batch := range slices.Chunk(sorted[:min(len(sorted), p.limit)], labelBatch) {
		flows, members := make([]flowindex.Flow, len(batch)), make([]flowindex.Member, len(batch))
		for i := range batch {
			if flows[i], err = p.index.Flow(batch[i].flow); err == nil {
				members[i], err = p.index.Member(flows[i], 0)
			}
			if err != nil {
				return err
			}
		}
		firsts, err := p.described(members)
		if err != nil {
			return err
		}
		for i, first := range firsts {
			if err := p.form.listed(flows[i], connected.Of(flows[i]), first); err != nil {
				return err
			}
		}
		listed += len(batch)
	}
	return p.form.listEnd(listed, found, p.index.Len())
}

// flowsIn returns the numbers of the flows with a marker that is selected and contains the text; nil: all flows.
func (p *flowPrinter) flowsIn(l *flowList) (map[int]bool, error) {
	if l.selected == nil && l.grep == "" {
		return nil, nil
	}
	wanted := map[int]bool{}
	add := func(ordinal uint64) error {
		members, err := p.index.OfSlice(ordinal)
		for i := range members {
			wanted[members[i].Flow] = true
		}
		return err
	}
	if l.grep != "" {
		return wanted, find.Events(p.ctx, p.trace, l.grep, l.selected, add)
	}
	return wanted, l.selected.Walk(p.ctx, p.trace, func(item *timeline.Item) error {
		if item.Kind != timeline.ItemBegin && item.Kind != timeline.ItemInstant {
			return nil
		}
		return add(item.Ordinal)
	})
}

// selectedFlows returns the flows with a selected marker, by start.
func (p *flowPrinter) selectedFlows(l *flowList) (flows []flowindex.Flow, err error) {
	wanted, err := p.flowsIn(l)
	if err != nil {
		return nil, err
	}
	if len(wanted) == 0 {
		return nil, errors.New("nothing in the selection belongs to a flow")
	}
	for _, number := range slices.Sorted(maps.Keys(wanted)) {
		f, err := p.index.Flow(number)
		if err != nil {
			return nil, err
		}
		if !l.across || f.Processes > 1 {
			flows = append(flows, f)
		}
	}
	slices.SortStableFunc(flows, func(a, b flowindex.Flow) int {
		return cmp.Or(cmp.Compare(l.column(&b, 0), l.column(&a, 0)), cmp.Compare(a.Start, b.Start))
	})
	p.omitted = max(len(flows)-p.limit, 0)
	return flows[:len(flows)-p.omitted], nil
}

// behindArrow returns the flows of the input that an arrow of the output belongs to: the flows that contain all slices with this
// arrow.
func (p *flowPrinter) behindArrow(id uint64) (flows []flowindex.Flow, err error) {
	var common []int
	first := true
	err = p.trace.Walk(p.ctx, func(item *timeline.Item) error {
		if !slices.ContainsFunc(item.Flows, func(f timeline.FlowRef) bool { return f.ID == id }) {
			return nil
		}
		members, err := p.index.OfSlice(item.Ordinal)
		in := func(flow int) bool {
			return slices.ContainsFunc(members, func(m flowindex.Member) bool { return m.Flow == flow })
		}
		if first {
			for i := range members {
				common = append(common, members[i].Flow)
			}
		}
		first = false
		common = slices.DeleteFunc(common, func(flow int) bool { return !in(flow) })
		return err
	})
	slices.Sort(common)
	for _, flow := range slices.Compact(common) {
		f, flowErr := p.index.Flow(flow)
		flows, err = append(flows, f), errors.Join(err, flowErr)
	}
	return flows, err
}

func (p *flowPrinter) marker(m flowindex.Member, label flowindex.Label) *marker {
	return &marker{m, label, p.track(m.Track, m.Lane)}
}

// maxTrackDepth bounds the walk to the root track, even in a malformed timeline.
const maxTrackDepth = 100

// track describes a lane of a track.
func (p *flowPrinter) track(id timeline.TrackID, lane uint32) *markerTrack {
	key := timeline.TrackLane{Track: id, Lane: lane}
	if t := p.tracks[key]; t != nil {
		return t
	}
	t := &markerTrack{name: resolved.TrackText(p.trace, id, lane)}
	for range maxTrackDepth {
		if id == 0 {
			break
		}
		track := p.trace.Track(id)
		if input := &track.InputID; input.HasNumber() && track.Kind == timeline.ProcessTrack {
			t.pid = input
		} else if input.HasNumber() && track.Kind == timeline.ThreadTrack {
			t.tid = input
		}
		id = track.Parent
	}
	p.tracks[key] = t
	return t
}

// described looks up the labels of members.
func (p *flowPrinter) described(members []flowindex.Member) ([]*marker, error) {
	var ordinals []uint64
	for i := range members {
		ordinals = append(ordinals, members[i].Ordinal)
	}
	slices.Sort(ordinals)
	labels, err := p.index.Labels(p.ctx, slices.Compact(ordinals))
	if err != nil {
		return nil, err
	}
	var markers []*marker
	for i := range members {
		markers = append(markers, p.marker(members[i], labels[members[i].Ordinal]))
	}
	return markers, nil
}

// flows prints flows with all their members.
func (p *flowPrinter) flows(flows []flowindex.Flow) error {
	lines := 0
	for _, f := range flows {
		if err := p.form.flow(f); err != nil {
			return err
		}
		var batch []flowindex.Member
		flush := func() error {
			markers, err := p.described(batch)
			batch = batch[:0]
			for i := 0; err == nil && i < len(markers); i++ {
				if lines++; lines > p.limit {
					return errLimit
				}
				err = p.form.member(f, markers[i])
			}
			return err
		}
		err := p.index.Members(p.ctx, f, func(m flowindex.Member) error {
			if batch = append(batch, m); len(batch) < labelBatch {
				return nil
			}
			return flush()
		})
		if err == nil {
			err = flush()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// membership is a marker in one of its flows, with its neighbours there.
type membership struct {
	flow     flowindex.Flow
	marker   flowindex.Member
	previous []flowindex.Member // at most one
	next     []flowindex.Member
}

// markers prints the flows of markers, with the previous and next markers in each.
func (p *flowPrinter) markers(ordinals []uint64) error {
	var batch []membership
	lines := 0
	last := uint64(timeline.NoOrdinal)
	flush := func() error {
		err := p.memberships(batch, &last)
		batch = batch[:0]
		return err
	}
	for _, ordinal := range ordinals {
		members, err := p.index.OfSlice(ordinal)
		if err != nil {
			return err
		}
		for _, m := range members {
			if lines == p.limit {
				return flush()
			}
			lines++
			b, err := p.around(m)
			if err != nil {
				return err
			}
			if batch = append(batch, b); len(batch) < labelBatch/8 {
				continue
			}
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

// around finds the neighbours of a member of a flow.
func (p *flowPrinter) around(m flowindex.Member) (b membership, err error) {
	b.marker = m
	if b.flow, err = p.index.Flow(m.Flow); err != nil {
		return b, err
	}
	if m.Previous >= 0 {
		previous, err := p.index.Member(b.flow, m.Previous)
		if err != nil {
			return b, err
		}
		b.previous = []flowindex.Member{previous}
	}
	b.next, err = p.index.Next(p.ctx, b.flow, m.N, maxNext)
	return b, err
}

// memberships prints a batch. last is the ordinal of the most recently printed marker.
func (p *flowPrinter) memberships(batch []membership, last *uint64) error {
	var members []flowindex.Member
	for i := range batch {
		b := &batch[i]
		members = append(append(append(members, b.marker), b.previous...), b.next...)
	}
	markers, err := p.described(members)
	if err != nil {
		return err
	}
	for i := range batch {
		b := &batch[i]
		m, previous := markers[0], markers[1:1+len(b.previous)]
		next := markers[1+len(previous) : 1+len(previous)+len(b.next)]
		markers = markers[1+len(previous)+len(next):]
		if m.Ordinal != *last {
			*last = m.Ordinal
			if err := p.form.markerHead(m); err != nil {
				return err
			}
		}
		if err := p.form.membership(b.flow, m, previous, next); err != nil {
			return err
		}
	}
	return nil
}

// flowsOf returns the flows of markers without duplicates.
func (p *flowPrinter) flowsOf(ordinals []uint64) (flows []flowindex.Flow, err error) {
	seen := map[int]bool{}
	for _, ordinal := range ordinals {
		members, err := p.index.OfSlice(ordinal)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			if seen[m.Flow] {
				continue
			}
			seen[m.Flow] = true
			f, err := p.index.Flow(m.Flow)
			if err != nil {
				return nil, err
			}
			flows = append(flows, f)
		}
	}
	return flows, nil
}

// connected prints the flows that can be reached from the given flows.
func (p *flowPrinter) connected(from []flowindex.Flow) error {
	for _, f := range from {
		if err := p.form.root(f); err != nil {
			return err
		}
	}
	n := 0
	var batch []flowindex.Connection
	flush := func() error {
		err := p.connections(batch)
		batch = batch[:0]
		return err
	}
	err := p.index.Connected(p.ctx, from, p.nested, func(c flowindex.Connection) error {
		if n == p.limit {
			return errLimit
		}
		n++
		if batch = append(batch, c); len(batch) < labelBatch {
			return nil
		}
		return flush()
	})
	more := err == errLimit
	if err != nil && !more {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	return p.form.connectedEnd(n, more)
}

// connections prints a batch of connections.
func (p *flowPrinter) connections(batch []flowindex.Connection) error {
	var members []flowindex.Member
	for i := range batch {
		members = append(members, batch[i].Through)
	}
	through, err := p.described(members)
	if err != nil {
		return err
	}
	for i := range batch {
		from, err := p.index.Flow(batch[i].From)
		if err != nil {
			return err
		}
		if err := p.form.connection(batch[i], from, through[i]); err != nil {
			return err
		}
	}
	return nil
}
