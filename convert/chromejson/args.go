package chromejson

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// maxDepth is the depth of nesting to which arguments are taken apart (spec 3).
const maxDepth = 512

// scanArgs reads the value of args and encodes it at once: Chrome writes args first, and to read them again when the
// phase is known would cost more than what is encoded in vain for counters and metadata. The text is kept for those.
func (rd *reader) scanArgs() {
	s, ev := rd.s, &rd.ev
	v := &ev.values[fieldArgs]
	rd.enc.Reset() // of two args the last one counts
	ev.bigInts, ev.tooDeep, ev.later = 0, 0, false
	if rd.opts.Args.keepsNone() || isDump(s.Window()) {
		v.kind, v.text = s.Scalar()
		ev.later = !rd.opts.Args.keepsNone()
		return
	}
	before := s.Window()
	kind, text := s.Value()
	rd.encodeArgs(kind, text)
	if kind == jsonscan.Object || kind == jsonscan.Array {
		text = before[:len(before)-len(s.Window())]
	}
	v.kind, v.text = kind, text
}

// isDump reports whether args look like those of a memory dump. They can be megabytes of which nothing is kept as an
// argument, so encoding them waits until the phase is known.
func isDump(args []byte) bool { return bytes.HasPrefix(args, []byte(`{"dumps":`)) }

// encodeArgs encodes args, of which Value returned kind and text.
func (rd *reader) encodeArgs(kind jsonscan.Kind, text []byte) {
	s := rd.s
	switch {
	case kind == jsonscan.Object:
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			if !rd.opts.Args.keeps(key) {
				s.Skip()
				continue
			}
			rd.enc.Key(key)
			kind, text := s.Value()
			rd.encode(kind, text, 1)
		}
	case kind != jsonscan.Null && rd.opts.Args.keepsText("args"):
		rd.enc.Key([]byte("args"))
		rd.encode(kind, text, 1)
	case kind == jsonscan.Array:
		for s.Elem() {
			s.Skip()
		}
	}
}

// encodeLater encodes the args of an event again that was scanned already, as fn does it.
func (rd *reader) encodeLater(fn func(kind jsonscan.Kind, text []byte)) {
	ev := &rd.ev
	outer := rd.s
	rd.sub.Reset(ev.values[fieldArgs].text)
	rd.s = &rd.sub
	rd.enc.Reset()
	ev.bigInts, ev.tooDeep, ev.later = 0, 0, false
	fn(rd.s.Value())
	rd.s = outer
}

// encode encodes a value of which Value returned kind and text. null is nothing (spec 16).
func (rd *reader) encode(kind jsonscan.Kind, text []byte, depth int) {
	s, enc := rd.s, rd.enc
	switch kind {
	case jsonscan.String:
		enc.String(text)
	case jsonscan.Integer:
		rd.encodeInteger(text)
	case jsonscan.Number:
		f, finite := jsonscan.Float64(text)
		if !finite {
			s.Notes.Nonstandard++
		}
		enc.Double(f)
	case jsonscan.True:
		enc.Bool(true)
	case jsonscan.False:
		enc.Bool(false)
	case jsonscan.Word:
		rd.encodeWord(text)
	case jsonscan.Object:
		enc.BeginDict()
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			enc.Key(key)
			rd.encodeNext(depth + 1)
		}
		enc.EndDict()
	case jsonscan.Array:
		enc.BeginArray()
		for s.Elem() {
			rd.encodeNext(depth + 1)
		}
		enc.EndArray()
	}
}

// encodeNext reads and encodes a value inside another one. Below maxDepth it is kept as text.
func (rd *reader) encodeNext(depth int) {
	if depth <= maxDepth {
		kind, text := rd.s.Value()
		rd.encode(kind, text, depth)
		return
	}
	kind, text := rd.s.Scalar()
	if kind == jsonscan.Object || kind == jsonscan.Array {
		rd.ev.tooDeep++
		rd.enc.JSON(validText(text))
		return
	}
	rd.encode(kind, text, depth)
}

// encodeInteger keeps all 64 bits, signed or not, and takes the nearest double beyond them.
func (rd *reader) encodeInteger(text []byte) {
	if v, ok := jsonscan.Int64(text); ok {
		rd.enc.Int(v)
		return
	}
	if v, ok := jsonscan.Uint64(text); ok {
		rd.enc.Uint(v)
		return
	}
	rd.ev.bigInts++
	f, _ := jsonscan.Float64(text)
	rd.enc.Double(f)
}

// encodeWord encodes a word that is no JSON (spec 3).
func (rd *reader) encodeWord(text []byte) {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
		f, _ := jsonscan.Float64(text)
		rd.enc.Double(f)
	default:
		rd.enc.String(text)
	}
}

// ownKey opens the dictionary of what weft adds, if it is not open, and names the next value in it (spec 5).
func (rd *reader) ownKey(name string) {
	if !rd.own {
		rd.own = true
		rd.enc.Key([]byte("weft"))
		rd.enc.BeginDict()
	}
	rd.enc.Key([]byte(name))
}

// ownValue adds a value as it was written.
func (rd *reader) ownValue(name string, v value) {
	switch v.kind {
	case jsonscan.Invalid, jsonscan.Null, jsonscan.Object, jsonscan.Array:
		return
	}
	rd.ownKey(name)
	rd.encode(v.kind, v.text, 1)
}

// encoded returns the arguments of the event with all that was added, and counts their problems.
func (rd *reader) encoded() timeline.Args {
	ev := &rd.ev
	if rd.own {
		rd.own = false
		rd.enc.EndDict()
	}
	if n := rd.enc.Duplicates(); n > 0 {
		rd.log.AddN(problem.JSONDuplicateKey, uint64(n), rd.position(), "in args")
	}
	if ev.bigInts > 0 {
		rd.log.AddN(problem.JSONBigInteger, uint64(ev.bigInts), rd.position(), "")
	}
	if ev.tooDeep > 0 {
		rd.log.AddN(problem.ArgDepthLimit, uint64(ev.tooDeep), rd.position(), "")
	}
	return rd.enc.Args()
}
