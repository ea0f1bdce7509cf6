package jsprofile

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// spanTracks maps the lists of intervals in Datadog's wrapper to the names of their tracks.
var spanTracks = map[string]string{"longTasks": "Long tasks", "actions": "Actions", "views": viewsTrack}

const viewsTrack = "Views"

// wrapperMember reads a member that a wrapper adds to the API's trace.
func (r *reader) wrapperMember(p *profile, key string, c byte) error {
	if track := spanTracks[key]; track != "" && c == '[' {
		return r.Elements(func(c byte) error { return r.span(p, track, c) })
	}
	switch key {
	case "sampleInterval":
		interval, ok, err := r.time()
		switch {
		case err != nil:
			return err
		case ok && interval > 0:
			p.interval = interval
		default:
			r.problem(problem.MetadataInvalid, key)
		}
		return nil
	case "clocksOrigin":
		return r.clocks(key, c, func(ck clocks) { p.origin = ck.origin() })
	case "startClocks":
		return r.clocks(key, c, func(ck clocks) { p.started = ck.origin() })
	case "endClocks":
		return r.clocks(key, c, func(ck clocks) { p.end = ck.relative })
	}
	if c == '{' || c == '[' {
		r.problem(problem.TopLevelMemberSkipped, key)
		return r.Skip()
	}
	return r.attribute(p, key)
}

// time reads a time in milliseconds outside the lists.
func (r *reader) time() (ts timeline.Nanos, ok bool, err error) {
	err = r.Unit(func() { ts, ok = r.millis() })
	return ts, ok, err
}

// clocks is one moment on two clocks; nil means unknown.
type clocks struct {
	relative *timeline.Nanos // relative to the time origin of the page
	epoch    *timeline.Nanos // relative to 1970
}

// origin returns the moment at which the relative clock was 0, or nil if unknown.
func (c clocks) origin() *timeline.Nanos {
	if c.epoch == nil || c.relative == nil {
		return c.epoch
	}
	origin, ok := shift(*c.epoch, -*c.relative)
	if !ok {
		return nil
	}
	return &origin
}

// clocks reads a moment on two clocks in Datadog's format.
func (r *reader) clocks(key string, c byte, use func(clocks)) error {
	if c != '{' {
		r.problem(problem.MetadataInvalid, key)
		return r.Skip()
	}
	var read clocks
	if err := r.Unit(func() { r.StartObject(); read = r.clockMembers(r.Key) }); err != nil {
		return err
	}
	if read == (clocks{}) {
		r.problem(problem.MetadataInvalid, key)
	}
	use(read)
	return nil
}

// clockMembers reads the members of a moment on two clocks. The callback next reads the keys.
func (r *reader) clockMembers(next func() ([]byte, bool)) (c clocks) {
	for key, ok := next(); ok; key, ok = next() {
		var to **timeline.Nanos
		switch string(key) {
		case "relative":
			to = &c.relative
		case "timeStamp":
			to = &c.epoch
		default:
			r.Unknown(key, r.Position())
			r.S.Skip()
			continue
		}
		if ts, ok := r.millis(); ok {
			*to = &ts
		}
	}
	return c
}

// attribute reads a scalar and makes it an attribute of the trace.
func (r *reader) attribute(p *profile, key string) error {
	var kind jsonscan.Kind
	a := attribute{key: key}
	err := r.Unit(func() {
		var text []byte
		kind, text = r.S.Scalar()
		a.text = string(r.S.ValidText(text[:min(len(text), readers.MaxAttribute+1)]))
	})
	if err != nil || kind == jsonscan.Null {
		return err
	}
	if len(a.text) > readers.MaxAttribute {
		r.problem(problem.MetadataValueOmitted, key)
		return nil
	}
	switch kind {
	case jsonscan.True, jsonscan.False:
		a.isInt = true
		if kind == jsonscan.True {
			a.number = 1
		}
	case jsonscan.Integer:
		a.number, a.isInt = jsonscan.Int64([]byte(a.text))
	}
	p.attributes = append(p.attributes, a)
	return r.reserve(sizeOfAttribute + len(a.key) + len(a.text))
}

// span reads an element of longTasks, actions or views. Members other than the start, the duration and the name become
// arguments.
func (r *reader) span(p *profile, track string, c byte) error {
	at := r.Position()
	if c != '{' {
		r.problem(problem.JSONNotAnEvent, "in "+track)
		return r.Skip()
	}
	var out span
	var timed bool
	if err := r.Unit(func() { out, timed = r.spanValue() }); err != nil {
		return err
	}
	if !timed {
		r.Log.Add(problem.EventInvalidTimestamp, at, "in "+track)
		return nil
	}
	out.track, out.offset = track, at.Offset
	p.spans.Append(out)
	return r.reserve(sizeOfSpan + len(out.name) + len(out.args))
}

// spanNames are the members that can name a span, in order of preference.
var spanNames = [...]string{"viewName", "label", "name", "entryType", "viewId", "id"}

// spanValue reads the object of a span.
func (r *reader) spanValue() (out span, timed bool) {
	out.dur = timeline.NoTime
	best := len(spanNames)
	r.args.Reset()
	r.StartObject()
	for key, ok := r.Key(); ok; key, ok = r.Key() {
		switch string(key) {
		case "startClocks":
			kind, _ := r.S.Value()
			if kind != jsonscan.Object {
				r.S.SkipRest(kind)
			} else if ck := r.clockMembers(r.S.Key); ck.relative != nil {
				out.start, timed = *ck.relative, true
			}
			continue
		case "startTime":
			out.start, timed = r.millis()
			continue
		case "duration":
			if d, ok := r.millis(); ok && d >= 0 && d <= maxTime {
				out.dur = d
			}
			continue
		}
		kind, text := r.S.Scalar()
		if rank := slices.Index(spanNames[:best], string(key)); rank >= 0 && kind == jsonscan.String && len(text) > 0 {
			best, out.name = rank, string(text)
		}
		if r.keep.Keeps(key) {
			r.args.Enc.Key(key)
			if kind == jsonscan.Object || kind == jsonscan.Array {
				r.args.Enc.String(r.S.ValidText(text))
			} else {
				r.args.Encode(kind, text, 1)
			}
		}
	}
	out.args = bytes.Clone(r.args.Enc.Args())
	return out, timed
}

// name returns the key of the attribute in the trace; if a file contains several profiles, each profile has its own
// keys.
func (a *attribute) name(index, profiles int) string {
	if profiles == 1 {
		return a.key
	}
	return fmt.Sprintf("profiles[%d].%s", index, a.key)
}
