package otlp

import (
	"bytes"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/wire"
)

// After damage inside a message, reading goes on at the next object of a list that is a span, or the spans of a scope or a resource, by the
// name of its first member (section 6). Spans are then of the resource and the scope that were being read. Whatever else is there up to the
// next such object is skipped.

// element is what begins at a place of a message.
type element uint8

const (
	noElement element = iota
	elementSpan
	elementScopeSpans
	elementResourceSpans
	elementTraces
)

// elements are the elements by the names that only they have as members, if it is not one of a span. A scope and a resource have such names
// as well, but they are values of members.
var elements = map[string]element{
	"resourceSpans": elementTraces, "resource_spans": elementTraces, "batches": elementTraces,
	"resource": elementResourceSpans, "scopeSpans": elementResourceSpans, "scope_spans": elementResourceSpans,
	"instrumentationLibrarySpans": elementResourceSpans, "instrumentation_library_spans": elementResourceSpans,
	"scope": elementScopeSpans, "spans": elementScopeSpans,
	"instrumentationLibrary": elementScopeSpans, "instrumentation_library": elementScopeSpans,
}

const (
	// A damaged span is searched for what begins in it, as it may have swallowed other ones. To keep this linear, the sum of what is read
	// again may reach resumeFactor times the input so far, plus resumeCredit bytes.
	resumeFactor = 8
	resumeCredit = 64 << 20
	// maxMember is more than the length of the name of a member that begins an element, with the space around it, and with a URL of a schema
	// before it.
	maxMember = maxSpace + 512
)

// resume reads what follows damage in a message, up to its end.
func (r *jsonReader) resume() error {
	for {
		at, failed := r.Position(), r.S.Offset()
		from := at.Offset + 1
		if r.reread += failed - at.Offset; r.reread > resumeCredit+resumeFactor*failed {
			from = failed
		}
		r.S.SeekTo(from)
		next, err := r.nextElement()
		if err == io.EOF {
			r.Log.Add(problem.JSONMalformedEvent, problem.Position{Event: at.Event, Offset: failed}, "")
			if skipped := r.S.Offset() - failed; skipped > 0 {
				r.Log.AddN(problem.JSONTrailingData, uint64(skipped), problem.Position{Event: -1, Offset: failed}, "")
			}
			return jsondoc.ErrEnded
		} else if err != nil {
			return r.Failed(err)
		}
		r.Log.Add(problem.JSONMalformedEvent, problem.Position{Event: at.Event, Offset: failed}, fmt.Sprintf("%d bytes skipped", r.S.Offset()-at.Offset))
		for err == nil {
			r.Restart()
			if err = r.element(next); err != nil {
				break
			}
			if next, err = r.nextElement(); err == io.EOF {
				return jsondoc.ErrEnded
			} else if err != nil {
				return r.Failed(err)
			}
		}
		if err != jsondoc.ErrBroken {
			return err
		}
	}
}

// element reads an element of a list that was left.
func (r *jsonReader) element(what element) error {
	if r.res == nil {
		r.res = &pending{of: &r.c.resources}
	}
	if r.scope == nil {
		r.scope = &pending{of: &r.c.scopes}
	}
	switch what {
	case elementTraces:
		return r.traces()
	case elementResourceSpans:
		return r.resourceSpans()
	case elementScopeSpans:
		return r.scopeSpans(r.res)
	}
	at := r.Position()
	if err := r.transcode(spanMessage); err != nil {
		return err
	}
	if !isTimed(r.out.buf) {
		return nil // an event or a link of the damaged span
	}
	r.countFindings(at)
	return r.c.span(at.Offset, r.res.use(), r.scope.use(), r.out.buf)
}

// isTimed reports whether a message is a span with a time.
func isTimed(encoded []byte) bool {
	for f := wire.NewReader(encoded); f.Next(); {
		if f.Tag() == wire.Tag(spanStart, wire.Fixed64) || f.Tag() == wire.Tag(spanEnd, wire.Fixed64) {
			return true
		}
	}
	return false
}

// nextElement goes to the next element; io.EOF if the message has none.
func (r *jsonReader) nextElement() (element, error) {
	before := byte(0) // the last byte that is not white space
	for s := r.S; ; {
		window := s.Window()
		i := bytes.IndexByte(window, '{')
		if i < 0 {
			i = len(window)
		}
		if text := bytes.TrimRight(window[:i], whiteSpace); len(text) > 0 {
			before = text[len(text)-1]
		}
		s.Advance(i)
		s.Mark()
		if window = s.Window(); len(window) < maxMember {
			if err := s.Fill(); err == nil {
				continue
			} else if err != io.EOF {
				return noElement, err
			}
			if window = s.Window(); len(window) == 0 {
				return noElement, io.EOF
			}
		}
		if before == ',' || before == '[' || before == '}' { // there may be no comma
			if what := elementOf(window); what != noElement {
				return what, nil
			}
		}
		before = '{'
		s.Advance(1)
	}
}

// elementOf returns which element begins with a text that begins with a bracket. Its first member may be the URL of its schema, which says
// nothing.
func elementOf(text []byte) element {
	name, value := cutName(text[1:min(len(text), maxMember)])
	if string(name) == "schemaUrl" || string(name) == "schema_url" {
		if _, rest, ok := cutText(value); ok {
			if rest = bytes.TrimLeft(rest, whiteSpace); bytes.HasPrefix(rest, []byte(",")) {
				name, _ = cutName(rest[1:])
			}
		}
	}
	if what, ok := elements[string(name)]; ok {
		return what
	}
	if _, ok := spanMessage.find(name); ok {
		return elementSpan
	}
	return noElement
}

// cutName returns the name of the member with which a text begins, and what follows its colon; nil if there is none.
func cutName(text []byte) (name, value []byte) {
	name, rest, ok := cutText(text)
	value, colon := bytes.CutPrefix(bytes.TrimLeft(rest, whiteSpace), []byte(":"))
	if !ok || !colon {
		return nil, nil
	}
	return name, value
}

// cutText returns the text in quotes with which a text begins, and what follows it. Names and URLs have no quotes in them.
func cutText(text []byte) (content, rest []byte, ok bool) {
	text, ok = bytes.CutPrefix(bytes.TrimLeft(text, whiteSpace), []byte(`"`))
	if !ok {
		return nil, nil, false
	}
	return bytes.Cut(text, []byte(`"`))
}

// transcode reads an object as one unit, encoded as a message.
func (r *jsonReader) transcode(m *message) error {
	return r.Unit(func() {
		r.out.start(r.S)
		r.StartObject()
		r.out.members(m, r.Key, 0)
	})
}

// countFindings counts what was wrong in the last unit.
func (r *jsonReader) countFindings(at problem.Position) {
	for _, f := range r.out.found {
		if f.kind == problem.EventUnknownMember {
			r.countUnknown(f.detail, at)
			continue
		}
		r.Log.Add(f.kind, at, f.detail)
	}
}
