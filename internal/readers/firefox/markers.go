package firefox

import (
	"bytes"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// addMarker adds the event of a marker, its flows and, for a request, its redirect and phases. It skips suppressed
// markers.
func (c *converter) addMarker(th *threadState, m *marker) error {
	if m.state&markerSuppressed != 0 {
		return nil
	}
	rows := &th.th.markers
	kind := &c.types[th.types[m.row]]
	start, ok := c.nanos(m.start)
	if !ok {
		c.log.Add(timeProblem(m.start), th.at(m.row), th.name(m.row))
		return nil
	}
	name, ok := th.tables.strings.at(rows.name[m.row])
	if !ok && rows.name[m.row] != none {
		c.log.Add(problem.FirefoxIndexInvalid, th.at(m.row), "the name of a marker")
	}
	name = c.bounded(name)
	category := rows.category.at(int(m.row))
	if !c.isCategory(category) && category != none {
		c.log.Add(problem.FirefoxIndexInvalid, th.at(m.row), "the category of a marker")
	}
	if m.state&(markerSent|markerReceived) != 0 {
		name = c.messageName(m)
	}
	out := &c.out
	*out = timeline.Event{
		Kind: timeline.Instant, Track: m.track, Event: c.event, Offset: th.at(m.row).Offset, TS: start,
		Name:     name,
		Category: c.categoryName(category, none),
	}
	if !m.isInstant() {
		end, ok := c.nanos(m.end)
		if !ok { // outside the range of a trace
			c.log.Add(problem.EventInvalidTimestamp, th.at(m.row), th.name(m.row))
			m.state |= markerIncomplete
			end = start
		}
		out.Kind, out.Dur = timeline.Slice, end-start
		out.LoopTask = kind.special == specialLongTask
	}
	if kind.special == specialNetwork { // the event can be on the process's track for requests
		out.Sampling = timeline.Sampling{Thread: th.track, Skip: true}
	}
	c.encodeArgs(th, m, kind, out)
	if err := c.b.Add(out); err != nil {
		return err
	}
	if err := c.addFlows(th, m, kind); err != nil {
		return err
	}
	if kind.special == specialNetwork {
		if err := c.addRedirect(th); err != nil {
			return err
		}
	}
	c.event++
	if kind.special == specialNetwork && !m.isInstant() {
		return c.addPhases(m)
	}
	return nil
}

// encodeArgs encodes a marker's payload and weft's additions. It also sets the event's name, category and picture if they
// differ from the marker's.
func (c *converter) encodeArgs(th *threadState, m *marker, kind *markerType, out *timeline.Event) {
	c.enc.Reset()
	p := &c.payload
	p.begin(th, m.row, kind)
	if m.first != none {
		c.encodePayload(th.payload(m.first))
	}
	first := p.cause
	c.encodePayload(th.payload(m.row))
	if !p.cause.known || kind.special == specialNetwork && first.known {
		p.cause = first
	}
	if kind.special == specialNetwork && m.first != none {
		c.encodeFetchStart(th, m)
	}
	if p.screenshot == nil {
		c.encodeLabel(m, out)
	}
	c.payload.categories = appendType(out.Category, kind.name)
	out.Category = c.payload.categories
	if p.screenshot != nil { // viewers recognize pictures by their name and category
		c.weftKey(keyMarker)
		c.enc.String(out.Name)
		c.weftKey(keyCategory)
		c.enc.String(out.Category)
		out.Name, out.Category, out.Screenshot = []byte(readers.ScreenshotName), []byte(readers.ScreenshotCategory), p.screenshot
	}
	if p.cause.known {
		out.Callstack = th.stacks.callstack(p.cause.stack)
		if at, ok := c.nanos(p.cause.time); ok {
			c.weftKey(keyCauseTime)
			c.enc.Int(int64(at))
		}
	}
	if p.window != 0 {
		c.useWindow(th, p.window)
		c.encodePage(p.window)
	}
	if id := th.th.markers.threadID.at(int(m.row)); id != none { // the table contains several threads
		c.weftKey(keyThreadID)
		c.enc.Int(id)
	}
	if m.state&markerIncomplete != 0 {
		c.weftKey(keyIncomplete)
		c.enc.Bool(true)
	}
	if m.message != none && c.ipc.list[m.message].joined {
		c.encodeMessage(&c.ipc.list[m.message])
	}
	c.closeWeft()
	out.Args = c.enc.Args()
}

// encodeLabel uses the schema's label as the name of the event, or the address for a request, and keeps the marker's
// name as an argument.
func (c *converter) encodeLabel(m *marker, out *timeline.Event) {
	p := &c.payload
	sch := p.kind.schema
	var label []byte
	switch {
	case sch == nil:
	case p.kind.special == specialNetwork:
		label = p.requestName(out.Name)
	case len(sch.chart) > 0:
		values := labelled{name: out.Name, category: out.Category, start: m.start, end: m.end, slots: sch.slots, values: p.values}
		p.label = sch.chart.appendLabel(p.label[:0], &values)
		label = bytes.TrimSpace(p.label)
	}
	if len(label) == 0 || bytes.Equal(label, out.Name) {
		return
	}
	c.weftKey(keyMarker)
	c.enc.String(out.Name)
	out.Name = label
}

// appendType appends a marker's type to its categories. It skips an empty type, a type equal to the categories, and a type with a
// comma, because commas separate categories.
func appendType(categories []byte, kind string) []byte {
	if kind == "" || strings.IndexByte(kind, ',') >= 0 || string(categories) == kind {
		return categories
	}
	if len(categories) > 0 {
		categories = append(categories, ',')
	}
	return append(categories, kind...)
}

// encodePage adds the tab that contains a window to the arguments.
func (c *converter) encodePage(window int64) {
	page := c.pages.page(window)
	if page == nil {
		c.log.Add(problem.PageUnknown, c.payload.th.at(c.payload.row), "")
		return
	}
	if page.Tab != 0 {
		c.weftKey(keyTab)
		c.enc.Int(page.Tab)
	}
}

// encodeMessage adds the times of a message's intermediate stages to the arguments.
func (c *converter) encodeMessage(msg *message) {
	open := false
	for p := pointTransferStart; p <= pointArrived; p++ {
		at, ok := c.nanos(msg.times[p])
		if !ok {
			continue
		}
		if !open {
			c.weftKey(keyIPC)
			c.enc.BeginDict()
			open = true
		}
		c.key(pointKeys[p])
		c.enc.Int(int64(at))
	}
	if open {
		c.enc.EndDict()
	}
}

// isCategory reports whether a category index is valid; in profiles without categories, all are.
func (c *converter) isCategory(i int32) bool {
	n := len(c.root.meta.categories)
	return n == 0 || i >= 0 && int(i) < n
}

// categoryName returns the name of a category, with any subcategory: "cat,cat/sub".
func (c *converter) categoryName(category, subcategory int32) []byte {
	list := c.root.meta.categories
	if category < 0 || int(category) >= len(list) {
		return nil
	}
	one := &list[category]
	c.payload.categories = append(c.payload.categories[:0], one.name...)
	if subcategory > 0 && int(subcategory) < len(one.subcategories) {
		c.payload.categories = append(append(append(append(c.payload.categories, ','), one.name...), '/'), one.subcategories[subcategory]...)
	}
	return c.payload.categories
}

// addFlows adds the flow ends in a marker's fields, in schema order (section 7), and the flow end of the message that the
// marker sent or received.
func (c *converter) addFlows(th *threadState, m *marker, kind *markerType) error {
	if kind.schema != nil {
		for _, slot := range kind.schema.flows {
			v := &c.payload.values[slot]
			if v.kind != jsonscan.String || len(v.text) == 0 { // an invalid index is not an id
				continue
			}
			role := timeline.FlowContinue
			if kind.schema.slots[slot].format == formatTerminatingFlow {
				role = timeline.FlowEnd
			}
			if err := c.addFlow(timeline.FlowFirefox, role, v.text, 0); err != nil {
				return err
			}
		}
	}
	if m.state&(markerSent|markerReceived) != 0 {
		role := timeline.FlowStart
		if m.state&markerReceived != 0 {
			role = timeline.FlowEnd
		}
		return c.addFlow(timeline.FlowNative, role, nil, uint64(m.message)+1)
	}
	return nil
}

// addFlow attaches a flow end to the event added last.
func (c *converter) addFlow(space timeline.FlowSpace, role timeline.FlowRole, text []byte, id uint64) error {
	c.flo = timeline.FlowEvent{
		Space: space, Role: role, Binding: timeline.BindCarrier, Track: c.out.Track, Event: c.event, Offset: c.out.Offset,
		TS: c.out.TS, ID: id, IDText: text,
	}
	return c.b.AddFlow(&c.flo)
}
