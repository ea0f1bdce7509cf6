package har

import (
	"encoding/binary"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// socketMessage is a WebSocket message.
type socketMessage struct {
	ts    timeline.Nanos // below 1<<62, the year 2116
	index int            // position in the list
	sent  bool
}

// maxMessages limits the number of a request's messages that become instants. The argument contains all of them.
const maxMessages = 1 << 16

// socketMessages reads Chrome's member _webSocketMessages: a list of objects with type, time in seconds since
// 1970, opcode and data. If kept, the value becomes an argument.
func (r *reader) socketMessages(kept bool) {
	raw := r.S.Raw()
	if raw == nil {
		return
	}
	if kept {
		r.encodeText(raw, 1)
	}
	s := &r.sub
	s.Reset(raw)
	if kind, _ := s.Value(); kind != jsonscan.Array {
		if kind != jsonscan.Null {
			r.current.invalid("_webSocketMessages")
		}
		return
	}
	for index := 0; s.Elem(); index++ {
		kind, _ := s.Value()
		if kind != jsonscan.Object {
			s.SkipRest(kind)
			r.current.invalid("_webSocketMessages")
			continue
		}
		m, ok := readMessage(s)
		m.index = index
		switch {
		case !ok:
			r.current.findings = append(r.current.findings, finding{problem.HARValueInvalid, "_webSocketMessages.time"})
		case len(r.current.messages) < maxMessages:
			r.current.messages = append(r.current.messages, m)
		}
	}
}

// readMessage reads a message after its bracket. It returns false if the message has no usable time.
func readMessage(s *jsonscan.Scanner) (m socketMessage, ok bool) {
	for key, more := s.Key(); more; key, more = s.Key() {
		switch string(key) {
		case "type":
			kind, text := s.Value()
			m.sent = string(text) == "send" && kind == jsonscan.String
			s.SkipRest(kind)
		case "time":
			kind, text := s.Value()
			if kind == jsonscan.Integer || kind == jsonscan.Number {
				ns, exact := jsonscan.Decimal(text, 9)
				m.ts, ok = timeline.Nanos(ns), exact && ns >= 0 && ns < 1<<62
			}
			s.SkipRest(kind)
		default:
			s.Skip()
		}
	}
	return m, ok
}

// appendMessages appends messages to a payload, for emitter.messages.
func appendMessages(to []byte, all []socketMessage) []byte {
	to = binary.AppendUvarint(to, uint64(len(all)))
	for _, m := range all {
		sent := uint64(0)
		if m.sent {
			sent = 1
		}
		to = binary.AppendUvarint(binary.AppendUvarint(to, uint64(m.index)), uint64(m.ts)<<1|sent)
	}
	return to
}

// messages adds the messages in a payload as instants and returns the rest of the payload.
func (e *emitter) messages(h *head, track timeline.TrackID, payload []byte) ([]byte, error) {
	n, w := binary.Uvarint(payload)
	payload = payload[w:]
	for range n {
		index, w := binary.Uvarint(payload)
		v, w2 := binary.Uvarint(payload[w:])
		payload = payload[w+w2:]
		ts, err := e.shift(timeline.Nanos(v>>1), problem.Position{Event: -1, Offset: h.offset}, []byte("a message of a WebSocket"))
		if err != nil {
			continue
		}
		e.args.Enc.Reset()
		e.args.Enc.Key([]byte("index"))
		e.args.Enc.Uint(index)
		e.out = timeline.Event{Kind: timeline.Instant, TS: ts, Track: track, Name: []byte("WebSocket receive"), Category: []byte("network"), Args: e.args.Enc.Args()}
		if v&1 != 0 {
			e.out.Name = []byte("WebSocket send")
		}
		if err := e.add(h.offset); err != nil {
			return nil, err
		}
	}
	return payload, nil
}
