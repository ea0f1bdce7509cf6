package main

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/timeline"
)

// flowPrinter looks up what the flows command prints; a flowForm writes it.
type flowPrinter struct {
	ctx    context.Context
	trace  *timeline.Timeline
	index  *flowindex.Index
	start  timeline.Nanos // of the trace
	w      *bufio.Writer
	limit  int
	tracks dumper
	form   flowForm
}

// flowForm is the form of the output: text or JSON.
type flowForm interface {
	listHead() error
	listed(f flowindex.Flow, first *marker) error
	listEnd(listed, all int) error
	flow(f flowindex.Flow) error // before its members
	member(f flowindex.Flow, m *marker) error
	markerHead(m *marker) error // before its memberships
	membership(f flowindex.Flow, m *marker, previous, next []*marker) error
	connection(c flowindex.Connection, from flowindex.Flow, through *marker) error
	connectedEnd(n int, more bool) error
}

// marker is a slice or instant as a member of a flow, with what is said about it.
type marker struct {
	flowindex.Member
	flowindex.Label
	track *dumpTrack
}

// maxNext bounds the number of markers that are shown as next ones. Few flows lead to more than one.
const maxNext = 100

// labelBatch is the number of members of a flow that are looked up at once.
const labelBatch = 1 << 12

// flowName is the name by which parseFlowName finds a flow again.
func flowName(f flowindex.Flow) string {
	return "flow:" + f.ID + ";" + strconv.FormatInt(int64(f.Start), 10)
}

func (p *flowPrinter) list(least int) error {
	if err := p.form.listHead(); err != nil {
		return err
	}
	listed := 0
	err := p.index.Walk(p.ctx, func(f flowindex.Flow, first flowindex.Member, label flowindex.Label) error {
		if f.Members < least {
			return nil
		}
		if listed == p.limit {
			return errLimit
		}
		listed++
		return p.form.listed(f, p.marker(first, label))
	})
	if err != nil && err != errLimit {
		return err
	}
	return p.form.listEnd(listed, p.index.Len())
}

func (p *flowPrinter) marker(m flowindex.Member, label flowindex.Label) *marker {
	return &marker{m, label, p.tracks.track(&timeline.Item{Head: timeline.Head{Track: m.Track, Lane: m.Lane}})}
}

// described returns members with their labels.
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

// membership is a marker in one of its flows, with what comes before and behind it there.
type membership struct {
	flow     flowindex.Flow
	marker   flowindex.Member
	previous []flowindex.Member // none or one
	next     []flowindex.Member
}

// markers prints the flows of markers, with one step back and forth in each.
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

// around finds what comes before and behind a member of a flow.
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

// memberships prints a batch. last is the slice of the membership that was printed last.
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

// flowsOf returns the flows of markers, each once.
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

// connected prints the flows that can be reached from some flows.
func (p *flowPrinter) connected(from []flowindex.Flow, nested bool) error {
	for _, f := range from {
		if err := p.form.flow(f); err != nil {
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
	err := p.index.Connected(p.ctx, from, nested, func(c flowindex.Connection) error {
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

// connections prints a batch.
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

// threads returns the threads that someone means by an id of the input, "PID/TID", or a name.
func (p *flowPrinter) threads(text string) (found []timeline.TrackID) {
	pid, tid, both := strings.Cut(text, "/")
	for id := range timeline.TrackID(p.trace.TrackCount()) {
		if p.trace.TrackKind(id) != timeline.ThreadTrack {
			continue
		}
		tr := p.trace.Track(id)
		own, process := tr.InputID.String(), p.trace.Track(tr.Parent)
		if own == text || tr.Name == text || both && own == tid && process.InputID.String() == pid {
			found = append(found, id)
		}
	}
	return found
}

// milliseconds writes a length of time in ms, with all digits.
func milliseconds(t timeline.Nanos) string { return fmt.Sprintf("%d.%06d", t/1e6, t%1e6) }
