package har

import (
	"bytes"
	"cmp"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxDepth is the maximum depth of nested values that are encoded as structure (json.md); an initiator's stack needs
// several levels.
const maxDepth = 64

// encodeText encodes a value that has already been skipped.
func (r *reader) encodeText(raw []byte, depth int) {
	r.sub.Reset(raw)
	r.args.S = &r.sub
	kind, text := r.sub.Value()
	r.args.Encode(kind, text, depth)
	r.args.S = r.S
}

// maxHeaders limits the number of headers of a message that are written by name.
const maxHeaders = 1000

// header is a header of a request or response.
type header struct{ name, value []byte }

// headersOf reads a list of headers and, if kept, writes it as a dictionary with lower-case names: names are
// case-insensitive, and browsers write upper and lower case. Headers with the same name become a list of values. A list
// that contains anything other than names and values stays a list.
//
// It returns the key of the span that the headers refer to, or "".
func (r *reader) headersOf(kept bool) (key string) {
	raw := r.S.Raw()
	if raw == nil {
		return ""
	}
	r.sub.Reset(raw)
	headers, ok := r.readHeaders()
	if !ok {
		if kept {
			r.encodeText(raw, 2)
		}
		return ""
	}
	key = traceContext(headers)
	if !kept {
		return key
	}
	r.args.Enc.BeginDict()
	for i, h := range headers {
		if h.name == nil {
			continue // already written
		}
		r.args.Enc.Key(h.name)
		r.encodeSame(h, headers[i+1:])
	}
	r.args.Enc.EndDict()
	return key
}

// traceContext returns the key of the span that headers refer to: in traceparent or traceresponse, or in a metric of
// server-timing.
func traceContext(headers []header) (key string) {
	for _, h := range headers {
		text := ""
		switch string(h.name) {
		case "traceparent", "traceresponse":
			text = string(h.value)
		case "server-timing":
			text = producers.ServerTiming(string(h.value))
		}
		key = cmp.Or(timeline.TraceparentKey(text), key)
	}
	return key
}

// encodeSame writes the value of a header together with the values of later headers with the same name.
func (r *reader) encodeSame(h header, later []header) {
	several := false
	for i := range later {
		if later[i].name == nil || !bytes.Equal(later[i].name, h.name) {
			continue
		}
		if !several {
			several = true
			r.args.Enc.BeginArray()
			r.args.Enc.String(h.value)
		}
		r.args.Enc.String(later[i].value)
		later[i].name = nil
	}
	if several {
		r.args.Enc.EndArray()
		return
	}
	r.args.Enc.String(h.value)
}

// readHeaders reads a list of objects that each have a name and a value. It returns false for anything else.
func (r *reader) readHeaders() ([]header, bool) {
	s := &r.sub
	if kind, _ := s.Value(); kind != jsonscan.Array {
		return nil, false
	}
	r.headers = r.headers[:0]
	for s.Elem() {
		if kind, _ := s.Value(); kind != jsonscan.Object || len(r.headers) == maxHeaders {
			return nil, false
		}
		var h header
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			kind, text := s.Value()
			switch {
			case kind != jsonscan.String:
				return nil, false
			case string(key) == "name" && h.name == nil && len(text) > 0:
				h.name = bytes.ToLower(text)
			case string(key) == "value" && h.value == nil:
				h.value = append([]byte{}, text...)
			default:
				return nil, false
			}
		}
		if h.name == nil || h.value == nil {
			return nil, false
		}
		r.headers = append(r.headers, h)
	}
	return r.headers, s.Err() == nil
}
