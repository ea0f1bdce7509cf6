package har

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"net/url"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// address is a hash of the address of a request; the zero address means no address. Addresses may be long, and all of an archive are compared.
type address struct{ high, low uint64 }

// addressOf returns the address that a text is, without its fragment, which is not sent.
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

// maxRedirect bounds the addresses to which redirects are followed.
const maxRedirect = 64 << 10

// redirectOf returns the address to which a response leads from another one: redirectURL may be relative.
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

// initiatorOf reads the member _initiator: the address of what made a request. In browsers it is an object with a url, or with the stack of a
// script; other programs write the address alone. The value is written as argument if it is kept.
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

// maxParents bounds the stacks that are parents of stacks.
const maxParents = 32

// findInitiator returns the url of an initiator, or of the innermost function in its stack or that stack's parent.
func findInitiator(s *jsonscan.Scanner, depth int) (from []byte) {
	kind, text := s.Value()
	if kind == jsonscan.String {
		return text
	}
	if kind != jsonscan.Object {
		s.SkipRest(kind)
		return nil
	}
	var own, frames, outer []byte
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch name := string(key); {
		case name == "url":
			if kind, text := s.Value(); kind == jsonscan.String {
				own = bytes.Clone(text)
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
	for _, found := range [][]byte{own, frames, outer} {
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// innermost returns the url of the first of the frames that has one.
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

// mention is a request, or what refers to one, under the address of the request.
type mention struct {
	address
	ts     timeline.Nanos
	offset int64
	event  uint32 // of the request that it is, or that refers
	page   uint32
	track  timeline.TrackID
	kind   mentionKind
}

// mentionKind says what a mention is. At one time, redirects to a request come before it, and what it initiates comes after it.
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

// joiner draws the arrows between requests.
type joiner struct {
	b        *timeline.Builder
	log      *problem.Log
	mentions *extsort.Sorter[mention]
	flows    uint64

	now     address
	seen    []mention // requests of the address, in the order of time
	waiting []mention // redirects to it whose request has not come
}

// maxSame bounds the requests of one address that are remembered, and the redirects to it: the latest count.
const maxSame = 64

func newJoiner(r *reader) *joiner {
	return &joiner{b: r.b, log: r.Log, mentions: extsort.New(mentionOrder, r.opts.Budget(8), r.opts.TempDir)}
}

// run draws all arrows.
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
		if !ok || m.address != j.now {
			for i := range j.waiting {
				j.unknown(&j.waiting[i], afterRedirect)
			}
			j.now, j.seen, j.waiting = m.address, j.seen[:0], j.waiting[:0]
		}
		if !ok {
			return nil
		}
		if err := j.mention(&m); err != nil {
			return err
		}
	}
}

// mention handles the next mention of an address.
func (j *joiner) mention(m *mention) error {
	switch m.kind {
	case redirectsTo:
		if len(j.waiting) == maxSame {
			j.unknown(&j.waiting[0], afterRedirect)
		}
		j.waiting = j.keep(j.waiting, m)
	case isRequest:
		j.seen = j.keep(j.seen, m)
		if i := j.redirect(m); i >= 0 {
			from := j.waiting[i]
			j.waiting = append(j.waiting[:i], j.waiting[i+1:]...)
			return j.arrow(&from, m)
		}
	case initiatedBy:
		if from := j.initiator(m); from != nil {
			return j.arrow(from, m)
		}
		j.unknown(m, "the initiator")
	}
	return nil
}

// keep adds a mention to a list.
func (j *joiner) keep(list []mention, m *mention) []mention {
	if len(list) == maxSame {
		list = list[:copy(list, list[1:])]
	}
	return append(list, *m)
}

// redirect returns the redirect that a request follows: the first one of its page that no other has followed, otherwise of another
// page; -1 if there is none.
func (j *joiner) redirect(m *mention) int {
	found := -1
	for i := range j.waiting {
		switch from := &j.waiting[i]; {
		case from.event == m.event:
		case from.page == m.page:
			return i
		case found < 0:
			found = i
		}
	}
	return found
}

// initiator returns the request that made another one: the only one of its address in the page, or in the archive; nil if there is none, or
// several.
func (j *joiner) initiator(m *mention) *mention {
	var inPage, other *mention
	pages, others := 0, 0
	for i := range j.seen {
		switch from := &j.seen[i]; {
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

// afterRedirect is the text of unknown for a redirect.
const afterRedirect = "the request after a redirect"

// unknown counts that a request to which another one refers was not found.
func (j *joiner) unknown(m *mention, how string) {
	j.log.Add(problem.HARRequestUnknown, problem.Position{Event: -1, Offset: m.offset}, how)
}

// arrow draws an arrow between two requests.
func (j *joiner) arrow(from, to *mention) error {
	if from.ts == to.ts && from.event > to.event { // arrows lead forward
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
