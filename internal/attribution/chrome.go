package attribution

import (
	"bytes"
	"strconv"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// chromeFrames finds the frame that an event of Chrome names, the isolates in which frames run their scripts, and the
// tree of frames (attribution.md, The types).
type chromeFrames struct {
	known   map[NodeID]knownFrame
	waiting map[pseudoID][]SnapshotID // states of frames in processes that have no pid yet
	waits   int                       // how many these are
}

// pseudoID is what a process is called that has no pid yet.
type pseudoID struct{ idSpace, id string }

// knownFrame is what is known of a frame from the events so far.
type knownFrame struct {
	parent      string // its id; "": none is known
	fromBrowser bool   // the browser said so, which counts more than what a renderer says
	url         string
	byScript    bool // the url comes from a script in the document, so any other event overrides it
}

// knownSize is what a knownFrame takes, with its place.
const knownSize = 96

// maxWaiting bounds the states of frames whose process is not known yet.
const maxWaiting = 1 << 12

func (p *chromeFrames) see(c *collecting, s *event) error {
	switch s.name.event {
	case producers.TracingStartedInBrowser, producers.FrameCommittedInBrowser, producers.CommitLoad, producers.FrameDeletedInBrowser, producers.ProcessReadyInBrowser:
		p.tree(c, s)
	case producers.ParseHTML, producers.NavigationStart:
		p.address(c, s, s.facts.url, false)
	case producers.ResourceSendRequest:
		if was := p.known[c.frameOf(s)]; was.url == "" || was.byScript { // what says the url itself counts more
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
		frame = c.frameNode(f.frame, s.place.pid, s.place.idSpace)
	}
	if f.isolate != nil {
		p.isolate(c, s, frame)
	}
	if frame == 0 || s.place.Place == placeOther || s.place.Place == placeObjects {
		return nil
	}
	return c.own(s, TypeFrame, frame)
}

// frameNode returns the context of a frame. Addresses, which old versions of Chrome wrote, mean something in their
// process only.
func (c *collecting) frameNode(frame []byte, pid int64, idSpace string) NodeID {
	if !isPointer(frame) {
		pid = Global
	}
	n := c.node(ScopeFrame, frame, pid, idSpace)
	c.contexts.Nodes[n].IsFrame, c.contexts.Nodes[n].Context = n != 0, n != 0
	return n
}

// isolate notes in which isolate a thread, its process and a frame run scripts.
func (p *chromeFrames) isolate(c *collecting, s *event, frame NodeID) {
	isolate := c.node(ScopeIsolate, s.facts.isolate, s.place.pid, s.place.idSpace)
	if isolate == 0 {
		return
	}
	c.contexts.Nodes[isolate].Context = true
	if s.place.Place == PlaceThread {
		c.isolateOf[s.place.Thread] = c.isolateOf[s.place.Thread].with(isolate)
	}
	c.isolateOf[s.place.process] = c.isolateOf[s.place.process].with(isolate)
	if frame != 0 && c.frames[frame] == 0 && (s.name.event == producers.FunctionCall || s.name.event == producers.ScriptCatchup) {
		c.frames[frame] = isolate
	}
}

// tree reads an event that says which frames there are (attribution.md, The types).
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

// frameFacts are the members of what an event says about one frame.
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

// frame reads what an event says about one frame.
func (p *chromeFrames) frame(c *collecting, s *event, dict timeline.Arg) {
	if dict.Kind != timeline.ArgDict {
		return
	}
	f := p.factsOf(c, dict, s.place.idSpace)
	if s.name.event == producers.ProcessReadyInBrowser {
		p.ready(c, &f, s.place.idSpace)
		return
	}
	if s.name.event == producers.CommitLoad {
		f.pid = s.place.pid // the process of the frame says so itself
	}
	if f.id == nil || isPointer(f.id) && f.pid == Global {
		return // an address means something in the process of the frame only
	}
	node := c.frameNode(f.id, f.pid, s.place.idSpace)
	if s.name.event == producers.FrameDeletedInBrowser {
		delete(p.known, node)
		c.contexts.addState(Snapshot{Node: node, TS: s.TS, Event: s.Event, change: deleted})
		return
	}
	was, now := p.known[node], knownFrame{url: c.contexts.Keep(f.url)}
	switch {
	case s.name.event != producers.CommitLoad:
		now.parent, now.fromBrowser = c.contexts.Keep(f.parent), true
	case was.fromBrowser || f.parent == nil:
		now.parent, now.fromBrowser = was.parent, was.fromBrowser
	default:
		now.parent = c.contexts.Keep(f.parent)
	}
	state := p.add(c, s, node, now, f.pid)
	if f.pid == Global && f.pseudo != nil && state != 0 && p.waits < maxWaiting {
		if p.waiting == nil {
			p.waiting = map[pseudoID][]SnapshotID{}
		}
		of := pseudoID{s.place.idSpace, string(f.pseudo)}
		p.waiting[of] = append(p.waiting[of], state)
		p.waits++
	}
}

// add adds a state of a frame in the process with a pid, or Global.
func (p *chromeFrames) add(c *collecting, s *event, node NodeID, now knownFrame, pid int64) SnapshotID {
	if node == 0 {
		return 0
	}
	if p.known == nil {
		p.known = map[NodeID]knownFrame{}
	}
	if _, ok := p.known[node]; ok || c.contexts.hasRoom(knownSize) {
		p.known[node] = now
	}
	state := c.contexts.addState(Snapshot{Node: node, TS: s.TS, Event: s.Event, change: followed, Url: now.url, Pid: pid})
	if now.parent != "" {
		process := c.contexts.Nodes[node].Process // of an address; Global otherwise
		c.frameNode([]byte(now.parent), process, s.place.idSpace)
		c.contexts.refer(state, reference{Scope: ScopeFrame, Id: now.parent, process: process, IDSpace: s.place.idSpace}, false)
	}
	return state
}

// ready says which process a pseudo id stands for.
func (p *chromeFrames) ready(c *collecting, f *frameFacts, idSpace string) {
	if f.pid == Global || f.pseudo == nil {
		return
	}
	of := pseudoID{idSpace, string(f.pseudo)}
	list := p.waiting[of]
	for _, state := range list {
		c.contexts.Snapshots[state].Pid = f.pid
	}
	delete(p.waiting, of)
	p.waits -= len(list)
}

// address takes the url of a frame from an event that happens to say it: many recordings have none of the events that are
// made for that.
func (p *chromeFrames) address(c *collecting, s *event, url []byte, byScript bool) {
	if len(url) == 0 || s.isEnd() {
		return
	}
	node := c.frameOf(s)
	if node == 0 {
		return
	}
	was := p.known[node]
	kept := c.contexts.Keep(url)
	same := was.url == kept
	was.url, was.byScript = kept, byScript
	if !same {
		p.add(c, s, node, was, s.place.pid)
	} else if _, ok := p.known[node]; ok {
		p.known[node] = was
	}
}

// isInline reports whether the script of an event is certainly written in the document of its frame, so that it has the document's
// url: it starts after the start of its file, as no script with a file of its own does, or the file has the name of a document.
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

// isDocumentName reports whether the path of a url looks like a document's: it ends in .html, .htm or a slash.
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

// frameOf returns the context of the frame that an event names by its id; 0 if it names none, or an address.
func (c *collecting) frameOf(s *event) NodeID {
	if f := s.facts.frame; f != nil && !isPointer(f) {
		return c.frameNode(f, Global, s.place.idSpace)
	}
	return 0
}

// documentURL returns the url of the document that a request of a frame is for, from its arguments; nil if it is for something else. What has
// begun the request says nothing of the document: that may be a style sheet.
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

// chromeGraphics finds the frame of an animation for which an event of Chrome's compositor works: the number of the
// begin-frame and the layer tree. A number in data.frameId is that, and no frame of a document (attribution.md, The types).
type chromeGraphics struct{}

func (chromeGraphics) see(c *collecting, s *event) error {
	f := s.facts
	pid := s.place.pid
	if pid == Global && s.Thread != 0 { // asynchronous slices of no process
		pid = c.found.tracks[s.Thread].pid
	}
	if !f.hasSequence || !f.hasLayerTree || pid == Global {
		return nil
	}
	id := strconv.AppendInt(nil, f.layerTree, 10)
	id = strconv.AppendInt(append(id, '.'), f.sequence, 10)
	return c.own(s, TypeGraphicsFrame, c.contexts.nodeOf(scopeGraphics, id, pid))
}

// gcSlices finds the slices that collect garbage, and how much they freed.
type gcSlices struct {
	before map[uint64]int64 // size of the heap where a collection began that has not ended, by its ordinal
}

func (p *gcSlices) see(c *collecting, s *event) error {
	f := s.facts
	if !s.name.collector || s.place.Place != PlaceThread || s.Kind == timeline.ItemInstant {
		return nil
	}
	if s.Kind == timeline.ItemBegin {
		c.found.isolates[s.place.Thread] = 0 // which one is known at the end
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

// maxOpenCollections bounds the garbage collections of which the end is awaited.
const maxOpenCollections = 1 << 12

// appendThreadName appends the id of the isolate that stands for a thread.
func appendThreadName(b []byte, pid int64, tid timeline.InputID) []byte {
	b = append(b, "thread:"...)
	b = strconv.AppendInt(b, pid, 10)
	return append(append(b, '/'), tid.String()...)
}

// scripts finds the script of an event that runs or compiles one, and of profile calls.
type scripts struct{}

func (scripts) see(c *collecting, s *event) error {
	url := s.facts.url
	if s.call {
		url = s.facts.ownURL
	} else if !s.name.script {
		return nil
	}
	if url == nil || s.place.Place != PlaceThread || s.isEnd() && s.call {
		return nil
	}
	return c.own(s, TypeScript, c.contexts.nodeOf(scopeScript, url, Global))
}
