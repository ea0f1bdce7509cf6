package attribution

import (
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// firefoxWindows finds the document of a Firefox marker or call by its innerWindowID, and the tab of the document. The pages of
// the trace provide the tree and the urls (firefox.md 10).
type firefoxWindows struct{}

// start adds the pages as contexts.
func (firefoxWindows) start(c *collecting) {
	for _, page := range c.t.Pages() {
		node := c.windowNode(page.Window, page.IDSpace)
		state := c.contexts.addState(Snapshot{Node: node, TS: c.t.Start(), change: followed, Url: c.contexts.Keep([]byte(page.URL))})
		if page.Embedder != 0 {
			c.windowNode(page.Embedder, page.IDSpace)
			outer := strconv.FormatInt(page.Embedder, 10)
			c.contexts.refer(state, reference{Scope: ScopeWindow, Id: outer, process: Global, IDSpace: page.IDSpace}, false)
		}
	}
}

// windowNode returns the context of a window.
func (c *collecting) windowNode(window int64, idSpace string) NodeID {
	n := c.node(ScopeWindow, strconv.AppendInt(nil, window, 10), Global, idSpace)
	c.contexts.Nodes[n].IsFrame, c.contexts.Nodes[n].Context = n != 0, n != 0
	return n
}

func (firefoxWindows) observe(c *collecting, s *event) error {
	f := s.facts
	if f.window == 0 {
		return nil
	}
	if f.tab != 0 {
		tab := c.node(scopeTab, strconv.AppendInt(nil, f.tab, 10), Global, s.track.idSpace)
		if err := c.addContext(s, TypeTab, tab); err != nil {
			return err
		}
	}
	return c.addContext(s, TypeFrame, c.windowNode(f.window, s.track.idSpace))
}

// firefoxInput finds input events among Firefox's DOMEvent markers. These have no id; the markers of one system input event have
// the same time once their latency is subtracted.
type firefoxInput struct{}

// inputTypes holds the types of DOM events that user input causes.
var inputTypes = map[string]bool{
	"mousedown": true, "mouseup": true, "mousemove": true, "click": true, "auxclick": true, "dblclick": true, "contextmenu": true,
	"wheel": true, "DOMMouseScroll": true, "MozMousePixelScroll": true, "pointerdown": true, "pointerup": true, "pointermove": true,
	"keydown": true, "keyup": true, "keypress": true, "beforeinput": true, "input": true,
	"touchstart": true, "touchend": true, "touchmove": true, "dragstart": true, "drop": true,
}

func (firefoxInput) observe(c *collecting, s *event) error {
	f := s.facts
	if s.name.event != producers.DOMEvent || !f.hasLatency || s.Kind != timeline.ItemBegin || !inputTypes[string(f.domType)] || !(f.latency >= 0 && f.latency < 1e9) {
		return nil
	}
	start := s.TS - timeline.Nanos(math.Round(f.latency*1e3))*timeline.Microsecond
	start -= start % timeline.Microsecond
	node := c.node(scopeDOMEvent, strconv.AppendInt(nil, int64(start/timeline.Microsecond), 10), s.track.pid, s.track.idSpace)
	if node == 0 {
		return nil
	}
	i := Input{ID: c.contexts.Nodes[node].Identity, Type: c.contexts.Keep(f.domType), Start: start, Latency: timeline.NoTime, node: node, from: fromTiming}
	if s.End != timeline.NoTime {
		i.Latency = Add(s.End, -start)
	}
	c.found.inputs.add(c, i)
	return c.addContext(s, TypeInputEvent, node)
}
