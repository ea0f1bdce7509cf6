package tracegen

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/weft-trace/weft/internal/wire"
)

// Spans configures WriteSpans.
type Spans struct {
	Seed     uint64
	Requests int  // number of requests, which have several spans in four services
	Protobuf bool // messages, each preceded by its length in four bytes; otherwise JSON lines. The Collector's file exporter writes both
}

// requestsOfMessage is the number of requests in a message. Exporters write spans when they end, so children come before parents.
const requestsOfMessage = 16

// spanStart is the start of a generated file, in nanoseconds since 1970.
const spanStart = 1_700_000_000_000_000_000

// genSpan is a span of a generated request.
type genSpan struct {
	service    int
	id, parent uint64
	name       string
	kind       int
	start, end int64
	texts      [][2]string
	numbers    [][2]string // decimal
}

// services lists the services of the generated shop: users call the first one, which calls the others.
var services = [...]string{"shop", "prices", "stock", "users"}

// WriteSpans writes the spans of a shop with four services in the form that OpenTelemetry exporters use: each request calls the
// first service, which calls the others.
func WriteSpans(w io.Writer, s Spans) error {
	out := bufio.NewWriterSize(w, 1<<20)
	rnd := newRand(s.Seed)
	var message []byte
	for first := 0; first < s.Requests; first += requestsOfMessage {
		var all [len(services)][]byte
		for request := first; request < min(first+requestsOfMessage, s.Requests); request++ {
			high, low := rnd.Uint64(), rnd.Uint64()
			for _, span := range requestSpans(request, rnd.Uint64()|1, rnd.IntN(1000)) {
				spans := &all[span.service]
				if s.Protobuf {
					*spans = wire.AppendBytes(*spans, 2, span.proto(high, low))
				} else {
					*spans = span.json(*spans, high, low)
				}
			}
		}
		message = message[:0]
		for service, spans := range all {
			if s.Protobuf {
				message = wire.AppendBytes(message, 1, protoResource(service, spans))
			} else {
				message = jsonResource(message, service, spans)
			}
		}
		if s.Protobuf {
			message = append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
		} else {
			message = fmt.Appendf(nil, "{\"resourceSpans\":[%s]}\n", message[1:])
		}
		if _, err := out.Write(message); err != nil {
			return err
		}
	}
	return out.Flush()
}

// requestSpans returns the spans of a request in the order of their ends. Requests overlap: each takes 20 ms, and one starts every
// millisecond.
func requestSpans(request int, id uint64, item int) (spans []genSpan) {
	const ms = 1_000_000
	at := spanStart + int64(request)*ms
	path := fmt.Sprintf("/item/%d", item)
	root := genSpan{service: 0, id: id, name: "GET /item/{id}", kind: 2, start: at, end: at + 20*ms}
	root.texts = [][2]string{{"http.request.method", "GET"}, {"http.route", "/item/{id}"}, {"url.path", path}, {"server.address", "shop.example.org"}}
	root.numbers = [][2]string{{"http.response.status_code", "200"}, {"http.response.body.size", strconv.Itoa(1000 + item)}}
	for i := 1; i < len(services); i++ {
		begin := at + int64(i)*5*ms
		client := genSpan{service: 0, id: id + uint64(i)<<32, parent: id, name: "GET", kind: 3, start: begin, end: begin + 4*ms}
		client.texts = [][2]string{{"http.request.method", "GET"}, {"server.address", services[i] + ".example.org"}, {"url.full", "http://" + services[i] + ".example.org" + path}}
		server := genSpan{service: i, id: client.id + 1<<48, parent: client.id, name: "GET /" + services[i], kind: 2, start: begin + ms/2, end: begin + 3*ms}
		server.texts = [][2]string{{"http.route", "/" + services[i]}, {"url.path", path}}
		server.numbers = [][2]string{{"http.response.status_code", "200"}}
		query := genSpan{service: i, id: server.id + 1<<48, parent: server.id, name: "SELECT", kind: 3, start: begin + ms, end: begin + 2*ms}
		query.texts = [][2]string{{"db.system.name", "postgresql"}, {"db.query.text", "SELECT * FROM " + services[i] + " WHERE item = $1"}}
		spans = append(spans, query, server, client)
	}
	return append(spans, root)
}

func (s *genSpan) json(to []byte, high, low uint64) []byte {
	to = fmt.Appendf(to, `,{"traceId":"%016x%016x","spanId":"%016x",`, high, low, s.id)
	if s.parent != 0 {
		to = fmt.Appendf(to, `"parentSpanId":"%016x",`, s.parent)
	}
	to = fmt.Appendf(to, `"flags":257,"name":%q,"kind":%d,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[`, s.name, s.kind, s.start, s.end)
	for i, a := range s.texts {
		if i > 0 {
			to = append(to, ',')
		}
		to = fmt.Appendf(to, `{"key":%q,"value":{"stringValue":%q}}`, a[0], a[1])
	}
	for _, a := range s.numbers {
		to = fmt.Appendf(to, `,{"key":%q,"value":{"intValue":"%s"}}`, a[0], a[1])
	}
	return append(to, `],"status":{}}`...)
}

// proto encodes a span with the field numbers of opentelemetry.proto.trace.v1.
func (s *genSpan) proto(high, low uint64) (b []byte) {
	b = wire.AppendBytes(b, 1, binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, high), low))
	b = wire.AppendBytes(b, 2, binary.BigEndian.AppendUint64(nil, s.id))
	if s.parent != 0 {
		b = wire.AppendBytes(b, 4, binary.BigEndian.AppendUint64(nil, s.parent))
	}
	b = wire.AppendUint(wire.AppendString(b, 5, s.name), 6, uint64(s.kind))
	b = wire.AppendFixed64(wire.AppendFixed64(b, 7, uint64(s.start)), 8, uint64(s.end))
	for _, a := range s.texts {
		b = wire.AppendBytes(b, 9, protoText(a[0], a[1]))
	}
	for _, a := range s.numbers {
		v, _ := strconv.ParseInt(a[1], 10, 64)
		b = wire.AppendBytes(b, 9, wire.AppendBytes(wire.AppendString(nil, 1, a[0]), 2, wire.AppendInt(nil, 3, v)))
	}
	return wire.AppendFixed32(wire.AppendBytes(b, 15, nil), 16, 257)
}

func protoText(key, value string) []byte {
	return wire.AppendBytes(wire.AppendString(nil, 1, key), 2, wire.AppendString(nil, 1, value))
}

func protoResource(service int, spans []byte) []byte {
	resource := wire.AppendBytes(nil, 1, protoText("service.name", services[service]))
	resource = wire.AppendBytes(resource, 1, protoText("host.name", "node-1"))
	scope := append(wire.AppendBytes(nil, 1, wire.AppendString(nil, 1, "example.org/http")), spans...)
	return wire.AppendBytes(wire.AppendBytes(nil, 1, resource), 2, scope)
}

func jsonResource(to []byte, service int, spans []byte) []byte {
	return fmt.Appendf(to, `,{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":%q}},{"key":"host.name","value":{"stringValue":"node-1"}}]},`+
		`"scopeSpans":[{"scope":{"name":"example.org/http"},"spans":[%s]}]}`, services[service], spans[1:])
}
