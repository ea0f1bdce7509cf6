package har

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/url"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// address is a hash of a request's address; zero means none. Addresses can be long, and all addresses in an archive are
// compared.
type address struct{ high, low uint64 }

// addressOf returns the address in text, ignoring the fragment, which is not sent.
func addressOf(text []byte) address {
	if i := bytes.IndexByte(text, '#'); i >= 0 {
		text = text[:i]
	}
	if len(text) == 0 {
		return address{}
	}
	sum := sha256.Sum256(text)
	return address{binary.BigEndian.Uint64(sum[:]), binary.BigEndian.Uint64(sum[8:])}
}

// maxRedirect limits the total length of a redirect's two addresses; the targets of longer redirects are not resolved.
const maxRedirect = 64 << 10

// redirectOf returns the target of a redirect. The parameter to is the value of redirectURL, which may be relative.
func redirectOf(from, to []byte) address {
	if len(to) == 0 || len(from)+len(to) > maxRedirect {
		return address{}
	}
	if base, err := url.Parse(string(from)); err == nil {
		if resolved, err := base.Parse(string(to)); err == nil {
			return addressOf([]byte(resolved.String()))
		}
	}
	return addressOf(to)
}

// initiatorOf reads the member _initiator and returns the address that initiated a request. Browsers write an object
// with a url or a script's stack; other programs write only the address. If kept, the value becomes an argument.
func (r *reader) initiatorOf(kept bool) (from []byte) {
	raw := r.S.Raw()
	if raw == nil {
		return nil
	}
	if kept {
		r.encodeText(raw, 1)
	}
	r.sub.Reset(raw)
	from = findInitiator(&r.sub, 0)
	return bytes.Clone(from)
}

// maxParents limits the length of a chain of parent stacks.
const maxParents = 32

// findInitiator returns the url of an initiator, or the url of the innermost function with a url in the initiator's stack or
// its parent stacks.
func findInitiator(s *jsonscan.Scanner, depth int) (from []byte) {
	kind, text := s.Value()
	if kind == jsonscan.String {
		return text
	}
	if kind != jsonscan.Object {
		s.SkipRest(kind)
		return nil
	}
	var direct, frames, outer []byte
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch name := string(key); {
		case name == "url":
			if kind, text := s.Value(); kind == jsonscan.String {
				direct = bytes.Clone(text)
			} else {
				s.SkipRest(kind)
			}
		case name == "callFrames":
			frames = innermost(s)
		case (name == "stack" || name == "parent") && depth < maxParents:
			outer = bytes.Clone(findInitiator(s, depth+1))
		default:
			s.Skip()
		}
	}
	for _, found := range [][]byte{direct, frames, outer} {
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// innermost returns the first url in a list of frames.
func innermost(s *jsonscan.Scanner) (from []byte) {
	kind, _ := s.Value()
	if kind != jsonscan.Array {
		s.SkipRest(kind)
		return nil
	}
	for s.Elem() {
		kind, _ := s.Value()
		if kind != jsonscan.Object || from != nil {
			s.SkipRest(kind)
			continue
		}
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			if string(key) != "url" {
				s.Skip()
				continue
			}
			if kind, text := s.Value(); kind == jsonscan.String && len(text) > 0 {
				from = bytes.Clone(text)
			} else {
				s.SkipRest(kind)
			}
		}
	}
	return from
}

// mention is a request, or a reference to one, sorted by the request's address.
type mention struct {
	address
	ts     timeline.Nanos
	offset int64
	event  uint32 // event of the request, or of the request that refers to it
	page   uint32
	track  timeline.TrackID
	kind   mentionKind
}

// mentionKind is the kind of a mention. At equal times, redirects to a request come before the request, and requests that it
// initiates come after it.
type mentionKind uint32

const (
	redirectsTo mentionKind = iota
	isRequest
	initiatedBy
)

var mentionOrder = extsort.Order[mention]{
	Compare: func(a, b *mention) int {
		return cmp.Or(
			cmp.Compare(a.high, b.high), cmp.Compare(a.low, b.low), cmp.Compare(a.ts, b.ts), cmp.Compare(a.kind, b.kind), cmp.Compare(a.event, b.event),
		)
	},
	Key: func(m *mention) uint64 { return m.high },
}

// joiner adds the arrows between requests.
type joiner struct {
	b        *timeline.Builder
	log      *problem.Log
	mentions *extsort.Sorter[mention]
	flows    uint64

	current   address
	requests  []mention // requests for the address, in time order
	redirects []mention // redirects to the address, until a request follows them
}

// maxPerAddress limits the number of stored requests for an address, and the number of stored redirects to the address. The
// latest are kept.
const maxPerAddress = 64

func (j *joiner) run(ctx context.Context) error {
	var m mention
	for n := 0; ; n++ {
		if n%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		ok, err := j.mentions.Next(&m)
		if err != nil {
			return err
		}
		if !ok || m.address != j.current {
			for i := range j.redirects {
				j.countUnknown(&j.redirects[i], afterRedirect)
			}
			j.current, j.requests, j.redirects = m.address, j.requests[:0], j.redirects[:0]
		}
		if !ok {
			return nil
		}
		if err := j.mention(&m); err != nil {
			return err
		}
	}
}

// mention processes the next mention of an address: it stores redirects and requests, and adds the arrows to requests.
func (j *joiner) mention(m *mention) error {
	switch m.kind {
	case redirectsTo:
		if len(j.redirects) == maxPerAddress {
			j.countUnknown(&j.redirects[0], afterRedirect)
		}
		j.redirects = appendRecent(j.redirects, m)
	case isRequest:
		j.requests = appendRecent(j.requests, m)
		if i := j.redirect(m); i >= 0 {
			from := j.redirects[i]
			j.redirects = slices.Delete(j.redirects, i, i+1)
			return j.arrow(&from, m)
		}
	case initiatedBy:
		if from := j.initiator(m); from != nil {
			return j.arrow(from, m)
		}
		j.countUnknown(m, "the initiator")
	}
	return nil
}

// appendRecent appends a mention to a list and drops the oldest beyond maxPerAddress.
func appendRecent(list []mention, m *mention) []mention {
	if len(list) == maxPerAddress {
		list = list[:copy(list, list[1:])]
	}
	return append(list, *m)
}

// redirect returns the index of the redirect that a request follows: the first pending redirect on its page, otherwise the first
// one on another page, or -1.
func (j *joiner) redirect(m *mention) int {
	found := -1
	for i := range j.redirects {
		switch from := &j.redirects[i]; {
		case from.event == m.event:
		case from.page == m.page:
			return i
		case found < 0:
			found = i
		}
	}
	return found
}

// initiator returns the request that initiated m: the only request for the initiator's address on the same page or, if the page
// has no such request, in the archive. It returns nil if that request is missing or ambiguous.
func (j *joiner) initiator(m *mention) *mention {
	var inPage, other *mention
	pages, others := 0, 0
	for i := range j.requests {
		switch from := &j.requests[i]; {
		case from.event == m.event:
		case from.page == m.page:
			inPage = from
			pages++
		default:
			other = from
			others++
		}
	}
	switch {
	case pages == 1:
		return inPage
	case pages == 0 && others == 1:
		return other
	}
	return nil
}

// afterRedirect describes a missing target of a redirect.
const afterRedirect = "the request after a redirect"

// countUnknown counts a reference to a request that was not found.
func (j *joiner) countUnknown(m *mention, how string) {
	j.log.Add(problem.HARRequestUnknown, problem.Position{Event: -1, Offset: m.offset}, how)
}

// arrow adds an arrow between two requests.
func (j *joiner) arrow(from, to *mention) error {
	if from.ts == to.ts && from.event > to.event { // arrows point forward in time
		from, to = to, from
	}
	j.flows++
	return errors.Join(j.end(from, timeline.FlowStart), j.end(to, timeline.FlowEnd))
}

func (j *joiner) end(m *mention, role timeline.FlowRole) error {
	return j.b.AddFlow(&timeline.FlowEvent{
		Space: timeline.FlowNative, Role: role, Binding: timeline.BindCarrier, Track: m.track, Event: m.event, Offset: m.offset,
		TS: m.ts, ID: j.flows,
	})
}
