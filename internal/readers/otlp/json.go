package otlp

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
)

// jsonReader reads OTLP JSON documents: one, several in sequence as in JSON lines, or an array of them.
type jsonReader struct {
	*readers.Document
	c   *collector
	out transcoder

	other string // name of the first list of another signal
}

func newJSONReader(in io.Reader, c *collector) *jsonReader {
	s := jsonscan.NewSize(in, cmp.Or(c.opts.Window, jsonscan.DefaultWindow))
	r := &jsonReader{Document: readers.NewDocument(s, c.log), c: c}
	r.Numbered = true
	return r
}

// readJSON reads a JSON input message by message.
func readJSON(in *bufio.Reader, c *collector) error {
	m := newMessages(in)
	r := newJSONReader(m, c)
	for first := true; first || m.next(); first = false {
		if !first {
			r.S.Attach(m, m.at)
			r.Restart()
		}
		err := r.document()
		if errors.Is(err, errNoObject) && r.Trailing() == nil && m.atBorder {
			continue // the input starts inside a message
		}
		if err != nil && err != readers.ErrEnded {
			return err
		}
	}
	if !c.hasSpans {
		err := r.Malformed()
		if err == nil && r.other != "" {
			err = fmt.Errorf("%w, only %s; weft converts traces only", ErrNoSpans, r.other)
		}
		return r.Failed(cmp.Or(err, ErrNoSpans))
	}
	return nil
}

// errNoObject reports a document that is neither an object nor an array.
var errNoObject = errors.New("not OTLP traces")

// document reads a message, or several that were not separated, up to the end of the scanner's input.
func (r *jsonReader) document() error {
	c, err := r.Begin()
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		switch {
		case c == '{':
			err = r.traces()
		case c == '[' && n == 0:
			err = r.Elements(func(c byte) error { return r.object(c, r.traces) })
		case n == 0:
			return r.Failed(fmt.Errorf("%w: found %q instead of an object", errNoObject, c))
		default:
			return r.Trailing()
		}
		if err != nil {
			return err
		}
		if c, err = r.S.Peek(); err == io.EOF {
			return nil
		} else if err != nil {
			return r.Failed(err)
		}
	}
}

// object calls read for a list element that is an object, and skips any other.
func (r *jsonReader) object(first byte, read func() error) error {
	if first == '{' {
		return read()
	}
	r.Log.Add(problem.JSONNotAnEvent, r.Position(), "")
	return r.Skip()
}

// list reads a list of objects; it skips any other value.
func (r *jsonReader) list(first byte, read func() error) error {
	switch first {
	case '[':
		return r.Elements(func(c byte) error { return r.object(c, read) })
	case '{':
		r.Log.Add(problem.OTLPValueInvalid, r.Position(), "an object instead of a list")
	}
	return r.Skip()
}

// traces reads an object with resourceSpans. Tempo may nest it in an object named trace, Jaeger in an object named
// result. Neither nests it deeper.
func (r *jsonReader) traces() error {
	return r.Members(func(key []byte, c byte) error {
		if name := string(key); c == '{' && (name == "trace" || name == "result") {
			return r.Members(r.tracesMember)
		}
		return r.tracesMember(key, c)
	})
}

// tracesMember reads a member of an object with resourceSpans, which Tempo calls batches.
func (r *jsonReader) tracesMember(key []byte, c byte) error {
	switch string(key) {
	case "resourceSpans", "resource_spans", "batches":
		r.c.hasSpans = true
		return r.list(c, r.resourceSpans)
	case "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics", "resourceProfiles", "resource_profiles":
		r.Log.Add(problem.OTLPSignalSkipped, r.Position(), string(key))
		r.other = cmp.Or(r.other, string(key))
		return r.Skip()
	}
	return r.skipUnknown(key)
}

// skipUnknown counts and skips an unknown member.
func (r *jsonReader) skipUnknown(key []byte) error {
	r.Unknown(key, r.Position())
	return r.Skip()
}

// resourceSpans reads the spans of a resource.
func (r *jsonReader) resourceSpans() error {
	res := &pending{table: &r.c.resources}
	defer res.end()
	return r.Members(func(key []byte, c byte) error {
		switch string(key) {
		case "resource":
			return r.message(c, resourceMessage, res.set)
		case "scopeSpans", "scope_spans", "instrumentationLibrarySpans", "instrumentation_library_spans":
			return r.list(c, func() error { return r.scopeSpans(res) })
		case "schemaUrl", "schema_url":
			return r.schemaURL(res)
		}
		return r.skipUnknown(key)
	})
}

// scopeSpans reads the spans of a scope.
func (r *jsonReader) scopeSpans(res *pending) error {
	scope := &pending{table: &r.c.scopes}
	defer scope.end()
	return r.Members(func(key []byte, c byte) error {
		switch string(key) {
		case "scope", "instrumentationLibrary", "instrumentation_library":
			return r.message(c, scopeMessage, scope.set)
		case "spans":
			return r.list(c, func() error {
				at := r.Position()
				return r.unit(spanMessage, func(encoded []byte) error { return r.c.span(at.Offset, res.use(), scope.use(), encoded) })
			})
		case "schemaUrl", "schema_url":
			return r.schemaURL(scope)
		}
		return r.skipUnknown(key)
	})
}

func (r *jsonReader) schemaURL(p *pending) error {
	kind, text, err := r.Scalar()
	if err != nil || kind != jsonscan.String {
		return err
	}
	return p.setSchema(text)
}

// message reads an object as a message; it skips any other value.
func (r *jsonReader) message(first byte, m *message, take func(encoded []byte) error) error {
	switch first {
	case '{':
		return r.unit(m, take)
	case 'n': // null
	default:
		r.Log.Add(problem.OTLPValueInvalid, r.Position(), "not an object")
	}
	return r.Skip()
}

// unit reads an object as one unit and passes it, encoded as a message, to take.
func (r *jsonReader) unit(m *message, take func(encoded []byte) error) error {
	at := r.Position()
	if err := r.transcode(m); err != nil {
		return err
	}
	r.countFindings(at)
	return take(r.out.buf)
}

// transcode reads an object as one unit and encodes it as a message.
func (r *jsonReader) transcode(m *message) error {
	return r.Unit(func() {
		r.out.start(r.S)
		r.StartObject()
		r.out.members(m, r.Key, 0)
	})
}

// countFindings counts the problems found in the last unit.
func (r *jsonReader) countFindings(at problem.Position) {
	for _, f := range r.out.findings {
		if f.kind == problem.EventUnknownMember {
			r.Unknown([]byte(f.detail), at)
			continue
		}
		r.Log.Add(f.kind, at, f.detail)
	}
}
