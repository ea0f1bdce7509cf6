package har

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxDepth is the depth of nesting to which values are taken apart (json.md); that of an initiator's stack is some levels.
const maxDepth = 64

// encode writes a value whose key was set; kind and text are those that Value returned.
func (r *reader) encode(kind jsonscan.Kind, text []byte, depth int) {
	s, enc := r.S, r.enc
	switch kind {
	case jsonscan.Null:
		enc.Null()
	case jsonscan.String, jsonscan.Word:
		enc.String(text)
	case jsonscan.Integer, jsonscan.Number:
		r.encodeNumber(text)
	case jsonscan.True, jsonscan.False:
		enc.Bool(kind == jsonscan.True)
	case jsonscan.Object:
		enc.BeginDict()
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			enc.Key(key)
			r.encodeNext(depth + 1)
		}
		enc.EndDict()
	case jsonscan.Array:
		enc.BeginArray()
		for s.Elem() {
			r.encodeNext(depth + 1)
		}
		enc.EndArray()
	}
}

// encodeNext reads and writes a value inside another one. Below maxDepth it is kept as text.
func (r *reader) encodeNext(depth int) {
	if depth <= maxDepth {
		kind, text := r.S.Value()
		r.encode(kind, text, depth)
		return
	}
	kind, text := r.S.Scalar()
	if kind != jsonscan.Object && kind != jsonscan.Array {
		r.encode(kind, text, depth)
		return
	}
	r.now.found = append(r.now.found, finding{problem.ArgDepthLimit, ""})
	if text = r.S.ValidText(text); json.Valid(text) {
		r.enc.JSON(text)
	} else {
		r.enc.String(text)
	}
}

// encodeNumber keeps all 64 bits of an integer, and takes the nearest double beyond them.
func (r *reader) encodeNumber(text []byte) {
	if v, ok := jsonscan.Int64(text); ok {
		r.enc.Int(v)
		return
	}
	if v, ok := jsonscan.Uint64(text); ok {
		r.enc.Uint(v)
		return
	}
	f, _ := jsonscan.Float64(text)
	r.enc.Double(f)
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
	outer := r.S
	r.S = &r.sub
	defer func() { r.S = outer }()
	r.sub.Reset(raw)
	headers, ok := r.readHeaders()
	if !ok {
		if kept {
			r.sub.Reset(raw)
			kind, text := r.sub.Value()
			r.encode(kind, text, 2)
		}
		return ""
	}
	key = traceContext(headers)
	if !kept {
		return key
	}
	r.enc.BeginDict()
	for i, h := range headers {
		if h.name == nil {
			continue // written with an earlier one
		}
		r.enc.Key(h.name)
		r.encodeSame(h, headers[i+1:])
	}
	r.enc.EndDict()
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

// encodeSame writes the value of a header with those of later ones that have its name.
func (r *reader) encodeSame(h header, later []header) {
	several := false
	for i := range later {
		if later[i].name == nil || !bytes.Equal(later[i].name, h.name) {
			continue
		}
		if !several {
			several = true
			r.enc.BeginArray()
			r.enc.String(h.value)
		}
		r.enc.String(later[i].value)
		later[i].name = nil
	}
	if several {
		r.enc.EndArray()
		return
	}
	r.enc.String(h.value)
}

// readHeaders reads a list of objects with a name and a value each; false if it is anything else.
func (r *reader) readHeaders() ([]header, bool) {
	s := r.S
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

// nameOf returns the name of a request: its method and the address without what differs from request to request.
func nameOf(to, method, url []byte) []byte {
	to = append(append(to, method...), ' ')
	if rest, ok := bytes.CutPrefix(url, []byte("data:")); ok {
		if i := bytes.IndexAny(rest, ",;"); i >= 0 {
			url = url[:len("data:")+i]
		}
	} else if i := bytes.IndexAny(url, "?#"); i >= 0 {
		url = url[:i]
	}
	if len(url) > maxName {
		url = bytes.ToValidUTF8(url[:maxName], nil)
	}
	return bytes.TrimSpace(append(to, url...))
}

// maxName bounds the address in the name of a request. The whole address is an argument.
const maxName = 512

// statusName is used for requests without an address.
func statusName(status int64) string { return "status " + strconv.FormatInt(status, 10) }
