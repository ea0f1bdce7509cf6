package attribution

import (
	"strconv"

	"github.com/weft-trace/weft/internal/timeline"
)

// chromeFrames finds the frame that an event of Chrome names, the isolates in which frames run their scripts, and the
// tree of frames (attribution.md, The types).
type chromeFrames struct {
	known   map[NodeID]knownFrame
	waiting map[string][]snapshotID // states of frames in processes that have no pid yet, by the pseudo id of the process
	waits   int                     // how many these are
}

// knownFrame is what events have said of a frame so far.
type knownFrame struct {
	parent      string // its id; "": none is known
	fromBrowser bool   // the browser said so, which counts more than what a renderer says
	url         string
}

// knownSize is what a knownFrame takes, with its place.
const knownSize = 96

// maxWaiting bounds the states of frames whose process is not known yet.
const maxWaiting = 1 << 12

func (p *chromeFrames) see(c *collector, s *seen) error {
	switch s.name.event {
	case tracingStarted, frameCommitted, commitLoad, frameDeleted, processReady:
		p.tree(c, s)
	case parseHTML, navigationStart:
		p.address(c, s)
	}
	f := s.facts
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
	n := c.contexts.node(ScopeFrame, frame, pid)
	c.contexts.nodes[n].isFrame, c.contexts.nodes[n].context = n != 0, n != 0
	return n
}

// isolate notes in which isolate a thread, its process and a frame run scripts.
func (p *chromeFrames) isolate(c *collector, s *seen, frame NodeID) {
	isolate := c.contexts.node(ScopeIsolate, s.facts.isolate, s.place.pid)
	if isolate == 0 {
		return
	}
	c.contexts.nodes[isolate].context = true
	if s.place.role == roleThread {
		c.isolateOf[s.place.thread] = c.isolateOf[s.place.thread].with(isolate)
	}
	c.isolateOf[s.place.process] = c.isolateOf[s.place.process].with(isolate)
	if frame != 0 && c.frames[frame] == 0 && (s.name.event == functionCall || s.name.event == scriptCatchup) {
		c.frames[frame] = isolate
	}
}

// tree reads an event that says which frames there are (attribution.md, The types).
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

// frameFacts are the members of what an event says about one frame.
type frameFacts struct {
	id, url, parent, pseudo []byte
	pid                     int64 // Global: unknown
}

func (p *chromeFrames) factsOf(c *collector, dict timeline.Arg) frameFacts {
	f := frameFacts{pid: Global}
	for a := range c.t.Members(dict) {
		switch string(a.Key) {
		case "frame":
			f.id = text(&a)
		case "url":
			f.url = text(&a)
		case "parent":
			f.parent = text(&a)
		case "processId":
			if pid, ok := integer(&a); ok {
				f.pid = pid
			}
		case "processPseudoId":
			f.pseudo = text(&a)
		}
	}
	return f
}

// frame reads what an event says about one frame.
func (p *chromeFrames) frame(c *collector, s *seen, dict timeline.Arg) {
	if dict.Kind != timeline.ArgDict {
		return
	}
	f := p.factsOf(c, dict)
	if s.name.event == processReady {
		p.ready(c, &f)
		return
	}
	if s.name.event == commitLoad {
		f.pid = s.place.pid // the process of the frame says so itself
	}
	if f.id == nil || isPointer(f.id) && f.pid == Global {
		return // an address means something in the process of the frame only
	}
	node := c.frameNode(f.id, f.pid)
	if s.name.event == frameDeleted {
		delete(p.known, node)
		c.contexts.add(snapshot{node: node, ts: s.TS, event: s.Event, change: deleted})
		return
	}
	was, now := p.known[node], knownFrame{url: c.contexts.keep(f.url)}
	switch {
	case s.name.event != commitLoad:
		now.parent, now.fromBrowser = c.contexts.keep(f.parent), true
	case was.fromBrowser || f.parent == nil:
		now.parent, now.fromBrowser = was.parent, was.fromBrowser
	default:
		now.parent = c.contexts.keep(f.parent)
	}
	state := p.add(c, s, node, now, f.pid)
	if f.pid == Global && f.pseudo != nil && state != 0 && p.waits < maxWaiting {
		if p.waiting == nil {
			p.waiting = map[string][]snapshotID{}
		}
		p.waiting[string(f.pseudo)] = append(p.waiting[string(f.pseudo)], state)
		p.waits++
	}
}

// add adds a state of a frame in the process with a pid, or Global.
func (p *chromeFrames) add(c *collector, s *seen, node NodeID, now knownFrame, pid int64) snapshotID {
	if node == 0 {
		return 0
	}
	if p.known == nil {
		p.known = map[NodeID]knownFrame{}
	}
	if _, ok := p.known[node]; ok || c.contexts.hasRoom(knownSize) {
		p.known[node] = now
	}
	state := c.contexts.add(snapshot{node: node, ts: s.TS, event: s.Event, change: followed, url: now.url, pid: pid})
	if now.parent != "" {
		process := c.contexts.nodes[node].Process // of an address; Global otherwise
		c.frameNode([]byte(now.parent), process)
		c.contexts.refer(state, reference{scope: ScopeFrame, id: now.parent, process: process}, false)
	}
	return state
}

// ready says which process a pseudo id stands for.
func (p *chromeFrames) ready(c *collector, f *frameFacts) {
	if f.pid == Global || f.pseudo == nil {
		return
	}
	list := p.waiting[string(f.pseudo)]
	for _, state := range list {
		c.contexts.snapshots[state].pid = f.pid
	}
	delete(p.waiting, string(f.pseudo))
	p.waits -= len(list)
}

// address takes the url of a frame from an event that happens to say it: many recordings have none of the events that are
// made for that.
func (p *chromeFrames) address(c *collector, s *seen) {
	f := s.facts
	if f.frame == nil || isPointer(f.frame) || len(f.url) == 0 || s.isEnd() {
		return
	}
	node := c.frameNode(f.frame, Global)
	was := p.known[node]
	if url := c.contexts.keep(f.url); was.url != url {
		was.url = url
		p.add(c, s, node, was, s.place.pid)
	}
}

// chromeGraphics finds the frame of an animation for which an event of Chrome's compositor works: the number of the
// begin-frame and the layer tree. A number in data.frameId is that, and no frame of a document (attribution.md, The types).
type chromeGraphics struct{}

func (chromeGraphics) see(c *collector, s *seen) error {
	f := s.facts
	pid := s.place.pid
	if pid == Global && s.Thread != 0 { // asynchronous slices of no process
		pid = c.found.places[s.Thread].pid
	}
	if !f.hasSequence || !f.hasLayerTree || pid == Global {
		return nil
	}
	id := strconv.AppendInt(nil, f.layerTree, 10)
	id = strconv.AppendInt(append(id, '.'), f.sequence, 10)
	return c.own(s, TypeGraphicsFrame, c.contexts.node(ScopeGraphics, id, pid))
}

// collections finds the slices that collect garbage, and how much they freed.
type collections struct {
	before map[uint64]int64 // size of the heap where a collection began that has not ended, by its ordinal
}

func (p *collections) see(c *collector, s *seen) error {
	f := s.facts
	if !s.name.collector || s.place.role != roleThread || s.Kind == timeline.OccursInstant {
		return nil
	}
	if s.Kind == timeline.OccursSlice {
		c.found.isolates[s.place.thread] = 0 // which one is known at the end
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
func appendThreadName(b []byte, pid int64, tid timeline.InputID) []byte {
	b = append(b, "thread:"...)
	b = strconv.AppendInt(b, pid, 10)
	return append(append(b, '/'), tid.String()...)
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
	return c.own(s, TypeScript, c.contexts.node(ScopeScript, url, Global))
}
