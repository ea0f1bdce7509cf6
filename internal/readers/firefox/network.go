package firefox

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// timings are the keys of the times in a request's payload (section 5).
var timings = map[string]bool{
	"fetchStart": true, "domainLookupStart": true, "domainLookupEnd": true, "connectStart": true, "tcpConnectEnd": true,
	"secureConnectionStart": true, "connectEnd": true, "requestStart": true, "responseStart": true, "responseEnd": true,
}

// requestPhases are the slices within a request, each between two of its times.
var requestPhases = [...]struct {
	name     string
	from, to string
}{
	{"DNS", "domainLookupStart", "domainLookupEnd"},
	{"connect", "connectStart", "tcpConnectEnd"},
	{"TLS", "secureConnectionStart", "connectEnd"},
	{"request", "requestStart", "responseStart"},
	{producers.FirefoxAnswer, "responseStart", "responseEnd"},
}

// builtinSchemas returns the schemas that the front end uses for types without a schema in the file (section 6).
func builtinSchemas() []*schema {
	network := &schema{name: "Network", fields: []field{{key: "count", format: formatBytes}}}
	network.finish("", "")
	ipc := &schema{name: "IPC", fields: []field{{key: "otherPid", format: formatID}}}
	ipc.finish("{marker.data.messageType}", "")
	return []*schema{network, ipc}
}

// addRequestSlots adds slots for the members that requests need.
func (s *schema) addRequestSlots() {
	for _, p := range requestPhases {
		s.slot(p.from)
		s.slot(p.to)
	}
	for _, key := range []string{"id", "redirectId", "URI", "requestMethod"} {
		s.slot(key)
	}
}

// requestName returns a name with the method and address of a request. If the payload has no address, it uses the address in
// the marker's name, "Load ID: address".
func (p *payloadState) requestName(marker []byte) []byte {
	slots := p.kind.schema.bySlot
	text := func(key string) []byte {
		if slot, ok := slots[key]; ok {
			return p.values[slot].text
		}
		return nil
	}
	url := text("URI")
	if rest, ok := bytes.CutPrefix(marker, []byte("Load ")); ok && len(url) == 0 {
		if rest = bytes.TrimLeft(rest, "0123456789"); bytes.HasPrefix(rest, []byte(": ")) {
			url = rest[len(": "):]
		}
	}
	if len(url) == 0 {
		return nil
	}
	p.label = producers.AppendRequestName(p.label[:0], text("requestMethod"), url)
	return p.label
}

// redirect identifies the target of a redirected request: its id and thread.
type redirect struct {
	thread int
	id     string
}

// addRedirect links the request added last to the target of its redirect, and to an earlier request that redirected
// to it.
func (c *converter) addRedirect(th *threadState) error {
	p := &c.payload
	if id := p.values[p.kind.schema.slot("id")].text; len(id) > 0 {
		if at := (redirect{th.index, string(id)}); c.redirects[at] != 0 {
			flow := c.redirects[at]
			delete(c.redirects, at)
			if err := c.addFlow(timeline.FlowNative, timeline.FlowEnd, nil, flow); err != nil {
				return err
			}
		}
	}
	to := p.values[p.kind.schema.slot("redirectId")]
	if to.kind != jsonscan.Integer || string(to.text) == "0" {
		return nil
	}
	at := redirect{th.index, string(to.text)}
	if c.redirects[at] == 0 {
		c.lastFlow++
		c.redirects[at] = c.lastFlow
	}
	return c.addFlow(timeline.FlowNative, timeline.FlowStart, nil, c.redirects[at])
}

// encodeFetchStart adds the start time of the request's second row, which is the time of the first response.
func (c *converter) encodeFetchStart(th *threadState, m *marker) {
	if !c.wants(keyFetchStart) {
		return
	}
	c.key(keyFetchStart)
	c.enc.Double(th.th.markers.start[m.row] + th.delta)
}

// addPhases adds slices for the phases of the request added last.
func (c *converter) addPhases(m *marker) error {
	p := &c.payload
	request := c.out
	for _, phase := range requestPhases {
		from, ok := p.timing(phase.from)
		to, ok2 := p.timing(phase.to)
		if !ok || !ok2 || from < m.start || to > m.end || to < from {
			continue
		}
		start, _ := c.nanos(from)
		end, _ := c.nanos(to)
		c.out = timeline.Event{
			Kind: timeline.Slice, Track: request.Track, Event: c.event, Offset: request.Offset, TS: start, Dur: end - start,
			Name: []byte(phase.name), Category: request.Category,
		}
		if err := c.b.Add(&c.out); err != nil {
			return err
		}
		c.event++
	}
	return nil
}

// timing returns a time in the current payload on the profile's clock.
func (p *payloadState) timing(key string) (float64, bool) {
	slot, ok := p.kind.schema.bySlot[key]
	if !ok {
		return 0, false
	}
	v := &p.values[slot]
	if v.kind != jsonscan.Integer && v.kind != jsonscan.Number {
		return 0, false
	}
	t, ok := jsonscan.Float64(v.text)
	return t + p.th.requestShift, ok
}
