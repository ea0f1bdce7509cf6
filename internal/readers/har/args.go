package har

import (
	"bytes"
	"cmp"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxDepth is the depth of nesting to which values are taken apart (json.md); an initiator's stack takes some levels.
const maxDepth = 64

// encodeText encodes a value that was read over.
func (r *reader) encodeText(raw []byte, depth int) {
	r.sub.Reset(raw)
	r.args.S = &r.sub
	kind, text := r.sub.Value()
	r.args.Encode(kind, text, depth)
	r.args.S = r.S
}

// maxHeaders bounds the headers of a message that are written by their names.
const maxHeaders = 1000

// header is a header of a request or response.
type header struct{ name, value []byte }

// headersOf reads a list of headers and writes it as a dictionary, by their names in lower case: names are the same in any case, and browsers
// write both. Of several with one name the values are a list. A list that has anything else than names and values stays a list.
//
// It returns the key of the span that the headers name, "" if they name none, and writes nothing if they are not kept.
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
			continue // written with an earlier one
		}
		r.args.Enc.Key(h.name)
		r.encodeSame(h, headers[i+1:])
	}
	r.args.Enc.EndDict()
	return key
}

// traceContext returns the key of the span that headers name: in traceparent or traceresponse, or in a metric of server-timing.
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

// encodeSame writes the value of a header with the values of later ones that have its name.
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

// readHeaders reads a list of objects with a name and a value each; false if it is anything else.
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

// statusName is used for requests without an address.
func statusName(status int64) string { return "status " + strconv.FormatInt(status, 10) }
