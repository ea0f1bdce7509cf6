package main

import (
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/timeline"
)

// flowJSON writes flows as JSON, one object per line.
type flowJSON struct{ *flowPrinter }

// flowObject is the JSON form of a flow.
type flowObject struct {
	Flow     string         `json:"flow"` // its name on the command line
	ID       string         `json:"id"`
	Kind     string         `json:"kind"`
	Name     string         `json:"name,omitempty"`
	Category string         `json:"category,omitempty"`
	Start    timeline.Nanos `json:"start_ns"`
	End      timeline.Nanos `json:"end_ns"`
	Ended    bool           `json:"ended"`
	Markers  int            `json:"markers"`
	Threads  int            `json:"threads"`
	Procs    int            `json:"processes"`
	// Only in lists:
	Connected int           `json:"connected_markers,omitempty"` // markers of all flows connected by shared markers, including this flow
	First     *markerObject `json:"first,omitempty"`
}

// markerObject is the JSON form of a slice or instant.
type markerObject struct {
	Event    uint32            `json:"event"`
	TS       timeline.Nanos    `json:"ts_ns"`
	Dur      *timeline.Nanos   `json:"dur_ns,omitempty"` // absent for instants and slices that never end
	Name     string            `json:"name"`
	Category string            `json:"category,omitempty"`
	Track    string            `json:"track"`
	PID      *timeline.InputID `json:"pid,omitempty"`
	TID      *timeline.InputID `json:"tid,omitempty"`
}

// memberObject is a marker in a flow.
type memberObject struct {
	Flow     string          `json:"flow"`
	N        int             `json:"n"`              // from 1
	Of       int             `json:"of"`             // number of markers in the flow
	From     int             `json:"from,omitempty"` // n of the previous marker; absent for the first
	Marker   *markerObject   `json:"marker"`
	Previous *markerObject   `json:"previous,omitempty"`
	Next     []*markerObject `json:"next,omitempty"`
}

// connectionObject is a flow that was reached from another.
type connectionObject struct {
	*flowObject
	Steps   int           `json:"steps"`
	From    string        `json:"from"` // the flow before
	Link    string        `json:"link"` // shared, inside, around
	Through *markerObject `json:"through"`
}

func (j *flowJSON) flowObject(f flowindex.Flow) *flowObject {
	return &flowObject{
		Flow: j.name(f), ID: f.ID, Kind: f.Kind, Name: f.Name, Category: f.Category, Start: f.Start,
		End: f.End, Ended: f.Ended, Markers: f.Members, Threads: f.Threads, Procs: f.Processes,
	}
}

func newMarkerObject(m *marker) *markerObject {
	o := &markerObject{Event: m.Event, TS: m.TS, Name: m.Name, Category: m.Category, Track: m.track.name, PID: m.track.pid, TID: m.track.tid}
	if m.End != timeline.NoTime {
		dur := m.End - m.TS
		o.Dur = &dur
	}
	return o
}

func (j *flowJSON) memberObject(f flowindex.Flow, m *marker) *memberObject {
	return &memberObject{Flow: j.name(f), N: m.N + 1, Of: f.Members, From: m.Previous + 1, Marker: newMarkerObject(m)}
}

func (j *flowJSON) listHead() error { return nil }

func (j *flowJSON) listed(f flowindex.Flow, connected int, first *marker) error {
	o := j.flowObject(f)
	o.Connected = connected
	o.First = newMarkerObject(first)
	return writeJSON(j.w, o)
}

func (j *flowJSON) listEnd(int, int, int) error { return nil }

func (j *flowJSON) flow(f flowindex.Flow) error { return writeJSON(j.w, j.flowObject(f)) }

func (j *flowJSON) member(f flowindex.Flow, m *marker) error {
	return writeJSON(j.w, j.memberObject(f, m))
}

func (j *flowJSON) markerHead(*marker) error { return nil }

func (j *flowJSON) membership(f flowindex.Flow, m *marker, previous, next []*marker) error {
	return writeJSON(j.w, j.memberships(f, m, previous, next))
}

// memberships returns a marker in a flow with its neighbours there.
func (j *flowJSON) memberships(f flowindex.Flow, m *marker, previous, next []*marker) *memberObject {
	o := j.memberObject(f, m)
	for _, p := range previous {
		o.Previous = newMarkerObject(p)
	}
	for _, n := range next {
		o.Next = append(o.Next, newMarkerObject(n))
	}
	return o
}

func (j *flowJSON) root(f flowindex.Flow) error { return j.flow(f) }

func (j *flowJSON) connection(c flowindex.Connection, from flowindex.Flow, through *marker) error {
	return writeJSON(j.w, &connectionObject{
		flowObject: j.flowObject(c.Flow), Steps: c.Distance, From: j.name(from), Link: string(c.Link),
		Through: newMarkerObject(through),
	})
}

func (j *flowJSON) connectedEnd(int, bool) error { return nil }
