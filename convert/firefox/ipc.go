package firefox

import (
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// A message between processes is told by up to five markers: one at each endpoint, and three on the way (spec 5.2). They
// are found by what identifies the message, over all threads. If both endpoints are known, there is one marker at each,
// from the one to the other, and what lies between is a part of these.
type message struct {
	points [numPoints]place
	known  [numPoints]bool
	times  [numPoints]float64 // of the stages between the endpoints; NaN if unknown
	sync   bool
	joined bool // both endpoints are known
}

// place is a marker of a thread.
type place struct {
	thread int32
	marker int32
}

// point is a stage of a message.
type point uint8

const (
	pointSent point = iota
	pointTransferStart
	pointTransferEnd
	pointArrived // the transfer, seen by the receiver
	pointReceived
	numPoints
)

// pointNames are the keys of the times in the annotation weft.ipc.
var pointNames = [numPoints]string{"sent", "transfer_start", "transfer_end", "arrived", "received"}

// messageKey identifies a message.
type messageKey struct {
	from, to string
	number   string
	kind     string
}

// messages finds the messages of all threads.
type messages struct {
	list  []message
	byKey map[messageKey]int32
}

// collect notes the markers of a thread that tell of messages.
func (c *converter) collectMessages(index int, th *threadState) {
	for i := range th.markers {
		m := &th.markers[i]
		if c.types[th.types[m.row]].special != specialIPC {
			continue
		}
		key, p, sync, ok := c.messageOf(th, m.row)
		if !ok {
			continue
		}
		at, found := c.ipc.byKey[key]
		if !found || c.ipc.list[at].known[p] { // the number was used again
			at = int32(len(c.ipc.list))
			c.ipc.list = append(c.ipc.list, message{sync: sync})
			c.ipc.byKey[key] = at
		}
		msg := &c.ipc.list[at]
		msg.points[p], msg.known[p] = place{int32(index), int32(i)}, true
		m.message = at
	}
}

// messageOf reads which message a marker tells of, and which stage.
func (c *converter) messageOf(th *threadState, row int32) (key messageKey, p point, sync, ok bool) {
	var other, direction, stage string
	c.eachMember(th.payload(row), func(name []byte, v value) {
		switch string(name) {
		case "otherPid":
			other = string(v.text)
		case "messageType":
			key.kind = string(v.text)
		case "messageSeqno":
			key.number = string(v.text)
		case "direction":
			direction = string(v.text)
		case "phase":
			stage = string(v.text)
		case "sync":
			sync = v.kind == jsonscan.True
		}
	})
	own := th.th.pid.text
	switch direction {
	case "sending":
		key.from, key.to = own, other
	case "receiving":
		key.from, key.to = other, own
	default:
		return key, 0, false, false
	}
	switch {
	case stage == "endpoint" && direction == "sending":
		p = pointSent
	case stage == "endpoint":
		p = pointReceived
	case stage == "transferStart":
		p = pointTransferStart
	case stage == "transferEnd" && direction == "sending":
		p = pointTransferEnd
	case stage == "transferEnd":
		p = pointArrived
	default:
		return key, 0, false, false
	}
	return key, p, sync, key.kind != "" && key.number != ""
}

// joinMessages makes the markers of both endpoints last from the one to the other, and leaves out those between them.
func (c *converter) joinMessages() {
	for i := range c.ipc.list {
		msg := &c.ipc.list[i]
		if !msg.known[pointSent] || !msg.known[pointReceived] {
			continue
		}
		sent, received := c.markerAt(msg.points[pointSent]), c.markerAt(msg.points[pointReceived])
		start, end := sent.start, received.start
		if end < start {
			continue // clocks of two machines, or two messages with one number
		}
		sent.start, sent.end, sent.state = start, end, sent.state|markerSent
		received.start, received.end, received.state = start, end, received.state|markerReceived
		for p := pointTransferStart; p <= pointArrived; p++ {
			if msg.known[p] {
				m := c.markerAt(msg.points[p])
				m.state |= markerSuppressed
				msg.times[p] = m.start
			} else {
				msg.times[p] = math.NaN()
			}
		}
		msg.joined = true
	}
}

func (c *converter) markerAt(p place) *marker { return &c.threads[p.thread].markers[p.marker] }

// messageNames are the names of markers that tell of messages, by direction and whether the sender waits.
var messageNames = map[bool]map[markerState][]byte{
	false: {markerSent: []byte("IPCOut"), markerReceived: []byte("IPCIn")},
	true:  {markerSent: []byte("SyncIPCOut"), markerReceived: []byte("SyncIPCIn")},
}

// messageName names a marker of an endpoint by its direction.
func (c *converter) messageName(m *marker) []byte {
	return messageNames[c.ipc.list[m.message].sync][m.state&(markerSent|markerReceived)]
}
