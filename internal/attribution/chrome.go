package attribution

import (
	"bytes"
	"strconv"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// chromeFrames finds the frame that a Chrome event names, the isolates in which frames run their scripts, and the frame tree
// (attribution.md, The types).
type chromeFrames struct {
	known   map[NodeID]knownFrame
	waiting map[pseudoID][]SnapshotID // states of frames in processes that have no pid yet
	waits   int                       // number of states in waiting
}

// pseudoID identifies a process that has no pid yet.
type pseudoID struct{ idSpace, id string }

// knownFrame is the state of a frame after the events so far.
type knownFrame struct {
	parent      string // id of the parent frame; "": unknown
	fromBrowser bool   // the parent comes from the browser process and overrides a renderer's
	url         string
	byScript    bool // the url comes from a script in the document, so any other event overrides it
}

// knownFrameSize is the size of a knownFrame, with its map entry.
const knownFrameSize = 96

// maxWaiting bounds the number of frame states whose process is still unknown.
const maxWaiting = 1 << 12

func (p *chromeFrames) observe(c *collecting, s *event) error {
	switch s.name.event {
	case producers.TracingStartedInBrowser, producers.FrameCommittedInBrowser, producers.CommitLoad, producers.FrameDeletedInBrowser, producers.ProcessReadyInBrowser:
		p.tree(c, s)
	case producers.ParseHTML, producers.NavigationStart:
		p.address(c, s, s.facts.url, false)
	case producers.ResourceSendRequest:
		if known := p.known[c.frameOf(s)]; known.url == "" || known.byScript { // events about the url itself take precedence
			p.address(c, s, documentURL(c.t, s.Args), false)
		}
	case producers.FunctionCall, producers.EvaluateScript:
		if p.known[c.frameOf(s)].url == "" && isInline(c.t, s) {
			p.address(c, s, s.facts.url, true)
		}
	}
	f := s.facts
	if f.frame == nil && f.isolate == nil {
		return nil
	}
	var frame NodeID
	if f.frame != nil {
		frame = c.frameNode(f.frame, s.track.pid, s.track.idSpace)
	}
	if f.isolate != nil {
		p.isolate(c, s, frame)
	}
	if frame == 0 || s.track.Place == placeOther || s.track.Place == placeObjects {
		return nil
	}
	return c.addContext(s, TypeFrame, frame)
}

// frameNode returns the context of a frame. Addresses, which old Chrome versions used as ids, are local to their process.
func (c *collecting) frameNode(frame []byte, pid int64, idSpace string) NodeID {
	if !isPointer(frame) {
		pid = Global
	}
	n := c.node(ScopeFrame, frame, pid, idSpace)
	c.contexts.Nodes[n].IsFrame, c.contexts.Nodes[n].Context = n != 0, n != 0
	return n
}

// isolate records the isolate in which a thread, its process and a frame run scripts.
func (p *chromeFrames) isolate(c *collecting, s *event, frame NodeID) {
	isolate := c.node(ScopeIsolate, s.facts.isolate, s.track.pid, s.track.idSpace)
	if isolate == 0 {
		return
	}
	c.contexts.Nodes[isolate].Context = true
	if s.track.Place == PlaceThread {
		c.isolateOf[s.track.Thread] = c.isolateOf[s.track.Thread].with(isolate)
	}
	c.isolateOf[s.track.process] = c.isolateOf[s.track.process].with(isolate)
	if frame != 0 && c.frames[frame] == 0 && (s.name.event == producers.FunctionCall || s.name.event == producers.ScriptCatchup) {
		c.frames[frame] = isolate
	}
}

// tree reads an event that lists or changes frames (attribution.md, The types).
func (p *chromeFrames) tree(c *collecting, s *event) {
	for a := range c.t.ArgList(s.Args) {
		if string(a.Key) != "data" || a.Kind != timeline.ArgDict {
			continue
		}
		if s.name.event != producers.TracingStartedInBrowser {
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

// frameFacts holds the members of an event's description of a frame.
type frameFacts struct {
	id, url, parent, pseudo []byte
	pid                     int64 // Global: unknown
}

func (p *chromeFrames) factsOf(c *collecting, dict timeline.Arg, idSpace string) frameFacts {
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
				f.pid = c.pidOf(idSpace, pid)
			}
		case "processPseudoId":
			f.pseudo = text(&a)
		}
	}
	return f
}

// frame reads an event's description of one frame and adds the state of the frame.
func (p *chromeFrames) frame(c *collecting, s *event, dict timeline.Arg) {
	if dict.Kind != timeline.ArgDict {
		return
	}
	f := p.factsOf(c, dict, s.track.idSpace)
	if s.name.event == producers.ProcessReadyInBrowser {
		p.ready(c, &f, s.track.idSpace)
		return
	}
	if s.name.event == producers.CommitLoad {
		f.pid = s.track.pid // the frame's own process writes this event
	}
	if f.id == nil || isPointer(f.id) && f.pid == Global {
		return // an address is local to the frame's process
	}
	node := c.frameNode(f.id, f.pid, s.track.idSpace)
	if s.name.event == producers.FrameDeletedInBrowser {
		delete(p.known, node)
		c.contexts.addState(Snapshot{Node: node, TS: s.TS, Event: s.Event, change: deleted})
		return
	}
	old, frame := p.known[node], knownFrame{url: c.contexts.Keep(f.url)}
	switch {
	case s.name.event != producers.CommitLoad:
		frame.parent, frame.fromBrowser = c.contexts.Keep(f.parent), true
	case old.fromBrowser || f.parent == nil:
		frame.parent, frame.fromBrowser = old.parent, old.fromBrowser
	default:
		frame.parent = c.contexts.Keep(f.parent)
	}
	state := p.add(c, s, node, frame, f.pid)
	if f.pid == Global && f.pseudo != nil && state != 0 && p.waits < maxWaiting {
		if p.waiting == nil {
			p.waiting = map[pseudoID][]SnapshotID{}
		}
		process := pseudoID{s.track.idSpace, string(f.pseudo)}
		p.waiting[process] = append(p.waiting[process], state)
		p.waits++
	}
}

// add adds a state of a frame. The parameter pid is the pid of the frame's process, or Global.
func (p *chromeFrames) add(c *collecting, s *event, node NodeID, frame knownFrame, pid int64) SnapshotID {
	if node == 0 {
		return 0
	}
	if p.known == nil {
		p.known = map[NodeID]knownFrame{}
	}
	if _, ok := p.known[node]; ok || c.contexts.reserve(knownFrameSize) {
		p.known[node] = frame
	}
	state := c.contexts.addState(Snapshot{Node: node, TS: s.TS, Event: s.Event, change: followed, Url: frame.url, Pid: pid})
	if frame.parent != "" {
		process := c.contexts.Nodes[node].Process // the pid if the id is an address, otherwise Global
		c.frameNode([]byte(frame.parent), process, s.track.idSpace)
		c.contexts.refer(state, reference{Scope: ScopeFrame, Id: frame.parent, process: process, IDSpace: s.track.idSpace}, false)
	}
	return state
}

// ready sets the pid of frames in a process that was known only by its pseudo id.
func (p *chromeFrames) ready(c *collecting, f *frameFacts, idSpace string) {
	if f.pid == Global || f.pseudo == nil {
		return
	}
	process := pseudoID{idSpace, string(f.pseudo)}
	list := p.waiting[process]
	for _, state := range list {
		c.contexts.Snapshots[state].Pid = f.pid
	}
	delete(p.waiting, process)
	p.waits -= len(list)
}

// address sets the url of a frame from an event that happens to contain the url: many recordings lack the events that should
// report it.
func (p *chromeFrames) address(c *collecting, s *event, url []byte, byScript bool) {
	if len(url) == 0 || s.isEnd() {
		return
	}
	node := c.frameOf(s)
	if node == 0 {
		return
	}
	frame, known := p.known[node]
	old := frame.url
	frame.url, frame.byScript = c.contexts.Keep(url), byScript
	if frame.url != old {
		p.add(c, s, node, frame, s.track.pid)
	} else if known {
		p.known[node] = frame
	}
}

// isInline reports whether an event's script is certainly part of its frame's document, so that the script's url is the
// document's. This is so if the script starts after the start of its file, unlike scripts in separate files, or if the file has
// the name of a document.
func isInline(t *timeline.Timeline, s *event) bool {
	if isDocumentName(s.facts.url) {
		return true
	}
	if s.name.event != producers.EvaluateScript || !bytes.Contains(s.facts.url, []byte("://")) {
		return false
	}
	for data := range t.ArgList(s.Args) {
		if string(data.Key) != "data" || data.Kind != timeline.ArgDict {
			continue
		}
		for a := range t.Members(data) {
			if key := string(a.Key); key == "lineNumber" || key == "columnNumber" { // these count from 1
				if n, ok := integer(&a); ok && n > 1 {
					return true
				}
			}
		}
	}
	return false
}

// isDocumentName reports whether a url looks like a document's: its path ends in .html, .htm or a slash.
func isDocumentName(url []byte) bool {
	scheme, _, path := producers.SplitURL(url)
	if len(scheme) == 0 {
		return false
	}
	for _, end := range []string{"/", ".html", ".htm"} {
		if n := len(path) - len(end); n >= 0 && bytes.EqualFold(path[n:], []byte(end)) {
			return true
		}
	}
	return false
}

// frameOf returns the context of the frame that an event names by its id, or 0 if the event has no frame id or the id is an
// address.
func (c *collecting) frameOf(s *event) NodeID {
	if f := s.facts.frame; f != nil && !isPointer(f) {
		return c.frameNode(f, Global, s.track.idSpace)
	}
	return 0
}

// documentURL returns the url of a request from its arguments if the request is for a document; otherwise nil. The
// initiator of a request does not help: it may be a style sheet.
func documentURL(t *timeline.Timeline, args timeline.Args) (url []byte) {
	isDocument := false
	for data := range t.ArgList(args) {
		if string(data.Key) != "data" || data.Kind != timeline.ArgDict {
			continue
		}
		for a := range t.Members(data) {
			switch string(a.Key) {
			case "resourceType":
				isDocument = string(text(&a)) == "Document"
			case "url":
				url = text(&a)
			}
		}
	}
	if !isDocument {
		return nil
	}
	return url
}

// chromeGraphics finds the animation frame that a Chrome compositor event works on, identified by its BeginFrame number and
// layer tree. A number in data.frameId identifies an animation frame, not a document frame (attribution.md, The types).
type chromeGraphics struct{}

func (chromeGraphics) observe(c *collecting, s *event) error {
	f := s.facts
	pid := s.track.pid
	if pid == Global && s.Thread != 0 { // asynchronous slices outside any process
		pid = c.found.tracks[s.Thread].pid
	}
	if !f.hasSequence || !f.hasLayerTree || pid == Global {
		return nil
	}
	id := strconv.AppendInt(nil, f.layerTree, 10)
	id = strconv.AppendInt(append(id, '.'), f.sequence, 10)
	return c.addContext(s, TypeGraphicsFrame, c.contexts.nodeOf(scopeGraphics, id, pid))
}

// gcSlices finds the slices that collect garbage, and the number of bytes that they freed.
type gcSlices struct {
	before map[uint64]int64 // heap size at the start of open collections, by ordinal
}

func (p *gcSlices) observe(c *collecting, s *event) error {
	f := s.facts
	if !s.name.collector || s.track.Place != PlaceThread || s.Kind == timeline.ItemInstant {
		return nil
	}
	if s.Kind == timeline.ItemBegin {
		c.found.isolates[s.track.Thread] = 0 // run sets the isolate
		if err := c.add(Evidence{ordinal: s.ordinal, kind: collects}); err != nil {
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
	return c.add(Evidence{ordinal: s.ordinal, kind: Freed, value: before - f.heapAfter})
}

// maxOpenCollections bounds gcSlices.before.
const maxOpenCollections = 1 << 12

// appendThreadName appends the id of an isolate invented for a thread.
func appendThreadName(b []byte, pid int64, tid timeline.InputID) []byte {
	b = append(b, "thread:"...)
	b = strconv.AppendInt(b, pid, 10)
	return append(append(b, '/'), tid.String()...)
}

// scripts finds the script of profile calls and of events that run or compile a script.
type scripts struct{}

func (scripts) observe(c *collecting, s *event) error {
	url := s.facts.url
	if s.call {
		url = s.facts.ownURL
	} else if !s.name.script {
		return nil
	}
	if url == nil || s.track.Place != PlaceThread || s.isEnd() && s.call {
		return nil
	}
	return c.addContext(s, TypeScript, c.contexts.nodeOf(scopeScript, url, Global))
}
