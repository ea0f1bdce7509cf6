package firefox

import (
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// Up to five markers describe a message between processes: one at each endpoint, and three along the way (section 5). The
// message's identity connects them across threads. If both endpoints are known, each endpoint has a marker that lasts from the
// sending to the receiving endpoint and includes the intermediate stages.
type message struct {
	points [numPoints]markerRef
	known  [numPoints]bool
	times  [numPoints]float64 // times of the stages between the endpoints; NaN if unknown
	sync   bool
	joined bool // both endpoints are known and in order
}

// markerRef identifies a marker of a thread.
type markerRef struct {
	thread int32
	marker int32
}

// point is a stage of a message.
type point uint8

const (
	pointSent point = iota
	pointTransferStart
	pointTransferEnd
	pointArrived // the transfer, recorded by the receiver
	pointReceived
	numPoints
)

// pointKeys holds the keys of the times between the endpoints in the annotation weft.ipc.
var pointKeys = [numPoints]argKey{
	pointTransferStart: keyTransferStart, pointTransferEnd: keyTransferEnd, pointArrived: keyArrived,
}

// messages collects the messages of all threads.
type messages struct {
	list  []message
	byKey map[string]int32 // by the pids of sender and receiver, number and kind
	key   []byte           // scratch
}

// collectMessages finds the markers of a thread that describe messages, and records them in their messages.
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
		at, found := c.ipc.byKey[string(key)]
		if !found || c.ipc.list[at].known[p] { // the number was reused
			at = int32(len(c.ipc.list))
			c.ipc.list = append(c.ipc.list, message{sync: sync})
			c.ipc.byKey[string(key)] = at
		}
		msg := &c.ipc.list[at]
		msg.points[p], msg.known[p] = markerRef{int32(index), int32(i)}, true
		m.message = at
	}
}

// messageOf reads the message and stage that a marker describes. The key is valid until the next call.
func (c *converter) messageOf(th *threadState, row int32) (key []byte, p point, sync, ok bool) {
	var other, kind, number, direction, stage []byte
	c.eachMember(th.payload(row), func(name []byte, v value) {
		switch string(name) {
		case "otherPid":
			other = v.text
		case "messageType":
			kind = v.text
		case "messageSeqno":
			number = v.text
		case "direction":
			direction = v.text
		case "phase":
			stage = v.text
		case "sync":
			sync = v.kind == jsonscan.True
		}
	})
	from, to := []byte(th.th.pid.text), other
	sending := string(direction) == "sending"
	if !sending {
		from, to = to, from
	}
	switch {
	case !sending && string(direction) != "receiving" || len(kind) == 0 || len(number) == 0:
		return nil, 0, false, false
	case string(stage) == "endpoint" && sending:
		p = pointSent
	case string(stage) == "endpoint":
		p = pointReceived
	case string(stage) == "transferStart":
		p = pointTransferStart
	case string(stage) == "transferEnd" && sending:
		p = pointTransferEnd
	case string(stage) == "transferEnd":
		p = pointArrived
	default:
		return nil, 0, false, false
	}
	key = c.ipc.key[:0]
	for _, part := range [...][]byte{from, to, number, kind} {
		key = append(append(key, part...), 0)
	}
	c.ipc.key = key
	return key, p, sync, true
}

// joinMessages extends the markers of both endpoints to the time from the sending to the receiving endpoint, and suppresses the
// markers of the intermediate stages.
func (c *converter) joinMessages() {
	for i := range c.ipc.list {
		msg := &c.ipc.list[i]
		if !msg.known[pointSent] || !msg.known[pointReceived] {
			continue
		}
		sent, received := c.markerAt(msg.points[pointSent]), c.markerAt(msg.points[pointReceived])
		start, end := sent.start, received.start
		if end < start {
			continue // clocks of two machines, or two messages with the same number
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

func (c *converter) markerAt(p markerRef) *marker { return &c.threads[p.thread].markers[p.marker] }

// messageNames holds the names of message markers, by whether the sender waits and by direction.
var messageNames = map[bool]map[markerState][]byte{
	false: {markerSent: []byte("IPCOut"), markerReceived: []byte("IPCIn")},
	true:  {markerSent: []byte("SyncIPCOut"), markerReceived: []byte("SyncIPCIn")},
}

// messageName returns the name of an endpoint's marker.
func (c *converter) messageName(m *marker) []byte {
	return messageNames[c.ipc.list[m.message].sync][m.state&(markerSent|markerReceived)]
}
