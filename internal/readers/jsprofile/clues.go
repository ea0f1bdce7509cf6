package jsprofile

import (
	"context"
	"io"

	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Clues are what a trace of Chrome says about the clocks of the pages in it. Two things tell where the time origin of a page
// lies in the trace:
//
//   - Chrome records the self-profiles of pages in its own way too, as profiles of the source SelfProfiling. One whose
//     samples are those of the self-profile, all at one distance, gives the time origin to within a few microseconds.
//   - navigationStart is the time origin of the page that was navigated to. The page may be the one of the self-profile if it
//     is among its scripts, as a page with a script in it is, or if it is of the same thread and origin as one that is.
//
// Anything else, such as where a function of the profile runs in the trace, would be a guess. It may only confirm one of these places.
type Clues struct {
	profiles    []tracedProfile
	byID        map[tracedID]int // index in profiles
	navigations []navigation
	start, end  timeline.Nanos // of the trace
	any         bool           // start and end are known
}

// tracedID is what identifies a profile in a trace.
type tracedID struct {
	pid int64
	id  string
}

// tracedProfile is a profile in a trace.
type tracedProfile struct {
	tracedID
	tid      int64
	selfMade bool // of the source SelfProfiling
	headed   bool // its head says when it began
	now      timeline.Nanos
	times    []timeline.Nanos // of its samples
	slack    timeline.Nanos   // by which all times may be wrong
	// otherClock says that its start is on another clock than the times of the trace.
	otherClock bool
	mixed      bool // the samples may be of other profiles of the thread
}

// selfProfiling is the source of profiles that pages make of themselves.
const selfProfiling = "SelfProfiling"

// navigation is a navigationStart.
type navigation struct {
	pid, tid int64
	ts       timeline.Nanos
	url      string
	inFrame  bool // the page is not that of a tab, but in a frame of one
}

// ReadClues reads the clues of a Chrome JSON trace, which is unpacked. The error is one of r, or ctx's; text that is
// not JSON ends reading.
func ReadClues(ctx context.Context, r io.Reader) (*Clues, error) {
	c := &clueReader{
		// Conversion counts what is wrong with the trace.
		doc:   jsondoc.New(jsonscan.New(jsondoc.Cancelled(ctx, r)), new(problem.Log)),
		clues: &Clues{byID: map[tracedID]int{}},
	}
	if _, err := c.doc.S.Peek(); err == io.EOF {
		return c.clues, nil
	}
	first, err := c.doc.Begin()
	switch {
	case err != nil:
		return nil, err
	case first == '{':
		err = c.doc.Members(func(key []byte, first byte) error {
			if string(key) == "traceEvents" && first == '[' {
				return c.events()
			}
			return c.doc.Skip()
		})
	case first == '[':
		err = c.events()
	}
	if err != nil && err != jsondoc.ErrEnded {
		return nil, err
	}
	return c.clues, nil
}

// profileOf returns the index of the profile with an id, which it adds if there is none.
func (c *Clues) profileOf(id tracedID, tid int64) int {
	at, ok := c.byID[id]
	if !ok {
		at = len(c.profiles)
		c.byID[id] = at
		c.profiles = append(c.profiles, tracedProfile{tracedID: id, tid: tid})
	}
	return at
}

// advance adds a sample, which comes so long after the one before.
func (p *tracedProfile) advance(delta timeline.Nanos) {
	p.now, _ = shift(p.now, delta)
	p.times = append(p.times, p.now)
}

// clueReader reads the events of a trace, as far as they are clues.
type clueReader struct {
	doc   *jsondoc.Reader
	sub   jsonscan.Scanner // reads arguments
	clues *Clues
}

// events reads a list of events.
func (c *clueReader) events() error {
	return c.doc.Elements(func(first byte) error {
		if first != '{' {
			return c.doc.Skip()
		}
		var e clueEvent
		err := c.doc.Unit(func() { e = c.event() })
		if err == nil {
			c.take(&e)
		}
		return err
	})
}

// clueEvent is an event of a trace. Its texts are pieces of the scanner's window.
type clueEvent struct {
	name, id, args []byte
	pid, tid       int64
	ts, dur        timeline.Nanos
	timed          bool
}

// event reads an event.
func (c *clueReader) event() (e clueEvent) {
	s := c.doc.S
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "name":
			_, e.name = s.Scalar()
		case "id":
			_, e.id = s.Scalar()
		case "args":
			_, e.args = s.Scalar()
		case "pid":
			e.pid = c.integer(s)
		case "tid":
			e.tid = c.integer(s)
		case "ts":
			_, text := s.Scalar()
			ts, ok := jsonscan.Decimal(text, 3)
			e.ts, e.timed = timeline.Nanos(ts), ok
		case "dur":
			_, text := s.Scalar()
			dur, _ := jsonscan.Decimal(text, 3)
			e.dur = timeline.Nanos(dur)
		default:
			s.Skip()
		}
	}
	return e
}

// integer reads an integer; 0 for any other value.
func (c *clueReader) integer(s *jsonscan.Scanner) int64 {
	_, text := s.Scalar()
	n, _ := jsonscan.Int64(text)
	return n
}

// take looks at an event. Events at time 0 are metadata.
func (c *clueReader) take(e *clueEvent) {
	all := c.clues
	if !e.timed {
		return
	}
	if e.ts > 0 {
		if end, ok := shift(e.ts, max(e.dur, 0)); ok {
			all.end = max(all.end, end)
		}
		if !all.any || e.ts < all.start {
			all.start, all.any = e.ts, true
		}
	}
	switch string(e.name) {
	case "navigationStart":
		n := navigation{pid: e.pid, tid: e.tid, ts: e.ts}
		c.data(e.args, func(key []byte) { c.navigationMember(&n, key) })
		all.navigate(&n)
	case "Profile", "ProfileChunk":
		c.profile(e)
	}
}

// data goes through the members of args.data.
func (c *clueReader) data(args []byte, member func(key []byte)) {
	c.sub.Reset(args)
	if kind, _ := c.sub.Value(); kind != jsonscan.Object {
		return
	}
	for key, ok := c.sub.Key(); ok; key, ok = c.sub.Key() {
		if string(key) != "data" {
			c.sub.Skip()
			continue
		}
		if kind, _ := c.sub.Value(); kind != jsonscan.Object {
			return
		}
		for key, ok := c.sub.Key(); ok; key, ok = c.sub.Key() {
			member(key)
		}
	}
}

// navigate adds a navigation, unless it is to the empty page of a new frame.
func (c *Clues) navigate(n *navigation) {
	if n.url != "" {
		c.navigations = append(c.navigations, *n)
	}
}

// Members of the data of a navigationStart.
const (
	documentURL = "documentLoaderURL"
	isTab       = "isOutermostMainFrame" // not in traces of old versions
)

// navigationMember reads a member of args.data of a navigation.
func (c *clueReader) navigationMember(n *navigation, key []byte) {
	switch string(key) {
	case documentURL:
		if kind, text := c.sub.Scalar(); kind == jsonscan.String {
			n.url = string(text)
		}
	case isTab:
		kind, _ := c.sub.Scalar()
		n.inFrame = kind == jsonscan.False
	default:
		c.sub.Skip()
	}
}

// profile takes in the head of a profile, or a chunk of its samples.
func (c *clueReader) profile(e *clueEvent) {
	all := c.clues
	at := all.profileOf(tracedID{e.pid, string(e.id)}, e.tid)
	p := &all.profiles[at]
	isHead := string(e.name) == "Profile"
	if isHead {
		p.tid = e.tid // chunks come from the thread that writes them
	}
	c.data(e.args, func(key []byte) { c.profileMember(p, key, isHead) })
}

// profileMember reads a member of args.data of the head of a profile, or of a chunk.
func (c *clueReader) profileMember(p *tracedProfile, key []byte, isHead bool) {
	switch {
	case string(key) == "source":
		_, text := c.sub.Scalar()
		p.selfMade = string(text) == selfProfiling
	case string(key) == "startTime" && isHead:
		_, text := c.sub.Scalar()
		start, _ := jsonscan.Decimal(text, 3)
		p.now, p.headed = timeline.Nanos(start), true
	case string(key) == "timeDeltas":
		c.deltas(p)
	default:
		c.sub.Skip()
	}
}

// deltas reads a list of the times between samples.
func (c *clueReader) deltas(p *tracedProfile) {
	if kind, _ := c.sub.Value(); kind != jsonscan.Array {
		return
	}
	for c.sub.Elem() {
		_, text := c.sub.Scalar()
		delta, _ := jsonscan.Decimal(text, 3)
		p.advance(timeline.Nanos(delta))
	}
}
