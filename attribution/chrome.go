package attribution

import (
	"strconv"

	"github.com/weft-trace/weft/timeline"
)

// chromeFrames finds the frame that an event of Chrome names, the isolates in which frames run their scripts, and the
// tree of frames (spec contexts.md S11, 8).
type chromeFrames struct {
	parents map[NodeID]string // what the browser said last; a renderer does not repeat it
	urls    map[NodeID]string // the latest url that is known
}

func (p *chromeFrames) see(c *collector, s *seen) error {
	switch s.name.event {
	case tracingStarted, frameCommitted, commitLoad:
		p.tree(c, s)
	case parseHTML, navigationStart:
		p.address(c, s)
	}
	f := &s.facts
	if f.frame == nil && f.isolate == nil {
		return nil
	}
	var frame NodeID
	if f.frame != nil {
		frame = c.frameNode(f.frame, s.place.pid)
	}
	if f.isolate != nil {
		p.isolate(c, s, frame)
	}
	if frame == 0 || s.place.role == roleOther || s.place.role == roleObjects {
		return nil
	}
	return c.own(s, TypeFrame, frame)
}

// frameNode returns the context of a frame. Addresses, which old versions of Chrome wrote, mean something in their
// process only.
func (c *collector) frameNode(frame []byte, pid int64) NodeID {
	if !isPointer(frame) {
		pid = Global
	}
	n := c.node(ScopeFrame, frame, pid)
	c.nodes[n].isFrame, c.nodes[n].context = n != 0, n != 0
	return n
}

// isolate notes in which isolate a thread, its process and a frame run scripts.
func (p *chromeFrames) isolate(c *collector, s *seen, frame NodeID) {
	isolate := c.node(ScopeIsolate, s.facts.isolate, s.place.pid)
	if isolate == 0 {
		return
	}
	c.nodes[isolate].context = true
	if s.place.role == roleThread {
		c.isolateOf[s.place.thread] = c.isolateOf[s.place.thread].with(isolate)
	}
	c.isolateOf[s.place.process] = c.isolateOf[s.place.process].with(isolate)
	if frame != 0 && c.frames[frame] == 0 && (s.name.event == functionCall || s.name.event == scriptCatchup) {
		c.frames[frame] = isolate
	}
}

// tree reads an event that says which frames there are.
func (p *chromeFrames) tree(c *collector, s *seen) {
	for a := range c.t.ArgList(s.Args) {
		if string(a.Key) != "data" || a.Kind != timeline.ArgDict {
			continue
		}
		if s.name.event != tracingStarted {
			p.frame(c, s, a)
			continue
		}
		for list := range c.t.Members(a) {
			if string(list.Key) != "frames" || list.Kind != timeline.ArgArray {
				continue
			}
			for frame := range c.t.Members(list) {
				p.frame(c, s, frame)
			}
		}
	}
}

// frame reads what an event says about one frame.
func (p *chromeFrames) frame(c *collector, s *seen, dict timeline.Arg) {
	if dict.Kind != timeline.ArgDict {
		return
	}
	var id, url, parent []byte
	for a := range c.t.Members(dict) {
		switch string(a.Key) {
		case "frame":
			id = text(&a)
		case "url":
			url = text(&a)
		case "parent":
			parent = text(&a)
		}
	}
	if id == nil || isPointer(id) {
		return
	}
	node := c.frameNode(id, Global)
	if p.parents == nil {
		p.parents = map[NodeID]string{}
	}
	if parent == nil && s.name.event == commitLoad {
		parent = []byte(p.parents[node])
	} else {
		p.parents[node] = c.keep(parent)
	}
	if p.urls == nil {
		p.urls = map[NodeID]string{}
	}
	p.urls[node] = c.keep(url)
	state := c.catalogue.add(snapshot{node: node, ts: s.TS, event: s.Event, change: followed, url: c.keep(url)})
	if len(parent) > 0 {
		c.frameNode(parent, Global)
		c.refer(state, reference{scope: ScopeFrame, id: string(parent), process: Global}, false)
	}
}

// address takes the url of a frame from an event that happens to say it: many recordings have none of the events that are
// made for that.
func (p *chromeFrames) address(c *collector, s *seen) {
	f := &s.facts
	if f.frame == nil || isPointer(f.frame) || len(f.url) == 0 || s.isEnd() {
		return
	}
	node := c.frameNode(f.frame, Global)
	if p.urls == nil {
		p.urls = map[NodeID]string{}
	}
	if url := c.keep(f.url); p.urls[node] != url {
		p.urls[node] = url
		state := c.catalogue.add(snapshot{node: node, ts: s.TS, event: s.Event, change: followed, url: url})
		if parent := p.parents[node]; parent != "" {
			c.refer(state, reference{scope: ScopeFrame, id: parent, process: Global}, false)
		}
	}
}

// chromeGraphics finds the frame of an animation for which an event of Chrome's compositor works: the number of the
// begin-frame and the layer tree. A number in data.frameId is that, and no frame of a document (spec contexts.md S11).
type chromeGraphics struct{}

func (chromeGraphics) see(c *collector, s *seen) error {
	f := &s.facts
	if !f.hasSequence || !f.hasLayerTree || s.place.pid == Global {
		return nil
	}
	id := strconv.AppendInt(nil, f.layerTree, 10)
	id = strconv.AppendInt(append(id, '.'), f.sequence, 10)
	return c.own(s, TypeGraphicsFrame, c.node(ScopeGraphics, id, s.place.pid))
}

// collections finds the slices that collect garbage, and how much they freed.
type collections struct {
	before map[uint64]int64 // size of the heap where a collection began that has not ended, by its ordinal
}

func (p *collections) see(c *collector, s *seen) error {
	f := &s.facts
	if !s.name.collector || s.place.role != roleThread || s.Kind == timeline.OccursInstant {
		return nil
	}
	if s.Kind == timeline.OccursSlice {
		c.isolates[s.place.thread] = 0 // which one is known at the end
		if err := c.add(evidence{ordinal: s.ordinal, kind: collects}); err != nil {
			return err
		}
	}
	before, known := f.heapBefore, f.hasBefore
	switch {
	case !known:
		before, known = p.before[s.ordinal]
		delete(p.before, s.ordinal)
	case !f.hasAfter && !s.isEnd() && len(p.before) < maxOpenCollections:
		if p.before == nil {
			p.before = map[uint64]int64{}
		}
		p.before[s.ordinal] = before
	}
	if !known || !f.hasAfter || before <= f.heapAfter {
		return nil
	}
	return c.add(evidence{ordinal: s.ordinal, kind: freed, value: before - f.heapAfter})
}

// maxOpenCollections bounds the garbage collections of which the end is awaited.
const maxOpenCollections = 1 << 12

// appendThreadName appends the id of an isolate that is made up for a thread.
func appendThreadName(b []byte, pid, tid int64) []byte {
	b = append(b, "thread:"...)
	b = strconv.AppendInt(b, pid, 10)
	return strconv.AppendInt(append(b, '/'), tid, 10)
}

// scripts finds the script of an event that runs or compiles one, and of profile calls.
type scripts struct{}

func (scripts) see(c *collector, s *seen) error {
	url := s.facts.url
	if s.call {
		url = s.facts.ownURL
	} else if !s.name.script {
		return nil
	}
	if url == nil || s.place.role != roleThread || s.isEnd() && s.call {
		return nil
	}
	return c.own(s, TypeScript, c.node(ScopeScript, url, Global))
}
