package chromejson

import (
	"bytes"
	"encoding/json"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxDepth is the depth of nesting to which arguments are taken apart (section 3).
const maxDepth = 512

// scanArgs reads the value of args and encodes it at once. Chrome writes args first; reading them again once the phase
// is known would cost more than encoding those of counters and metadata for nothing. The text is kept for those.
func (es *eventScanner) scanArgs() {
	s, ev := es.s, &es.ev
	v := &ev.Values[fieldArgs]
	es.enc.Reset() // of two args the last one counts
	ev.bigInts, ev.tooDeep, ev.later = 0, 0, false
	if es.args.KeepsNone() || isDump(s.Window()) || es.tracing && isProfile(ev, s.Window()) {
		ev.set(fieldArgs, s)
		ev.later = !es.args.KeepsNone()
		ev.traced = es.tracing && holdsTraceID(v.Text)
		return
	}
	before := s.Window()
	kind, text := s.Value()
	es.encodeArgs(kind, text)
	if kind == jsonscan.Object || kind == jsonscan.Array {
		text = before[:len(before)-len(s.Window())]
	}
	*v = jsonscan.Token{Kind: kind, Text: text}
	ev.traced = es.tracing && holdsTraceID(text)
}

// isDump reports whether args look like those of a memory dump. They can be megabytes, none of it kept as arguments, so
// encoding them waits until the phase is known.
func isDump(args []byte) bool { return bytes.HasPrefix(args, []byte(`{"dumps":`)) }

// isProfile reports whether args look like those of a piece of a V8 profile, which then go to the Assembler instead of
// becoming arguments. In many traces they hold most of the numbers. Chrome writes args before the phase, Node after it.
func isProfile(ev *event, args []byte) bool {
	if ev.has(fieldPh) {
		return string(ev.Values[fieldPh].Text) == "P"
	}
	data, ok := bytes.CutPrefix(args, []byte(`{"data":{"`))
	return ok && (bytes.HasPrefix(data, []byte(`cpuProfile"`)) || bytes.HasPrefix(data, []byte(`lines"`)))
}

// encodeArgs encodes args; kind and text are those that Value returned.
func (es *eventScanner) encodeArgs(kind jsonscan.Kind, text []byte) {
	s := es.s
	es.keys.Start()
	switch {
	case kind == jsonscan.Object && es.args.KeepsAll():
		for es.argKey() {
			es.encodeNext(1)
		}
	case kind == jsonscan.Object:
		es.dropped.Start()
		for key, ok := es.keptKey(); ok; key, ok = es.keptKey() {
			es.odd = es.odd || isOwnKey(key)
			es.enc.Key(key)
			es.encodeNext(1)
		}
	case kind != jsonscan.Null && kind != jsonscan.Invalid && es.args.KeepsText("args"):
		es.enc.Key([]byte("args"))
		es.encode(kind, text, 1)
	case kind == jsonscan.Array:
		for s.Elem() {
			s.Skip()
		}
	}
}

// argKey reads the next key of a dictionary and names the next value by it; false at the end.
func (es *eventScanner) argKey() bool {
	if id := es.s.CachedKey(&es.keys); id != 0 {
		es.enc.KeyWithID(timeline.KeyID(id))
		return true
	}
	key, ok := es.s.Key()
	if !ok {
		return false
	}
	es.enc.Key(key)
	if isOwnKey(key) { // matters for top-level arguments only, but scanning an event again for others does no harm
		es.odd = true
	} else if id := es.enc.KeyID(); id != 0 {
		es.s.RememberKey(&es.keys, uint32(id))
	}
	return true
}

// isDropped is the number of the keys of dropped.
const isDropped = 1

// keptKey reads the next key of args whose value is kept, over those that are not; false at the end.
func (es *eventScanner) keptKey() (key []byte, ok bool) {
	s := es.s
	for {
		if s.CachedKey(es.dropped) == 0 {
			if key, ok = s.Key(); !ok || es.args.Keeps(key) {
				return key, ok
			}
			s.RememberKey(es.dropped, isDropped)
		}
		s.Skip()
	}
}

// isOwnKey reports whether weft adds an argument with this name, which the producer may use as well.
func isOwnKey(key []byte) bool {
	switch string(key) {
	case "ticount", "tidelta":
		return true
	}
	return false
}

// encodeLater encodes the args of an already scanned event again, with fn.
func (rd *reader) encodeLater(fn func(kind jsonscan.Kind, text []byte)) {
	ev := &rd.ev
	outer := rd.s
	rd.sub.Reset(ev.Values[fieldArgs].Text)
	rd.s = &rd.sub
	rd.enc.Reset()
	ev.bigInts, ev.tooDeep, ev.later = 0, 0, false
	fn(rd.s.Value())
	rd.s = outer
}

// encodeWaiting encodes args that scanArgs left for later.
func (rd *reader) encodeWaiting() {
	if rd.ev.later {
		rd.encodeLater(rd.encodeArgs)
		rd.countNotes(&rd.sub.Notes)
	}
}

// encode encodes a value; kind and text are those that Value returned. null is omitted (section 16).
func (es *eventScanner) encode(kind jsonscan.Kind, text []byte, depth int) {
	s, enc := es.s, es.enc
	switch kind {
	case jsonscan.Null:
		enc.Null()
	case jsonscan.String:
		enc.String(text)
	case jsonscan.Integer:
		es.encodeInteger(text)
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
		es.encodeWord(text)
	case jsonscan.Object:
		enc.BeginDict()
		for es.argKey() {
			es.encodeNext(depth + 1)
		}
		enc.EndDict()
	case jsonscan.Array:
		enc.BeginArray()
		for s.Elem() {
			es.encodeNext(depth + 1)
		}
		enc.EndArray()
	}
}

// encodeNext reads and encodes a value inside another one. Below maxDepth it is kept as text.
func (es *eventScanner) encodeNext(depth int) {
	if depth <= maxDepth {
		kind, text := es.s.Value()
		if v, ok := es.s.Int(); ok && kind == jsonscan.Integer {
			es.enc.Int(v)
			return
		}
		es.encode(kind, text, depth)
		return
	}
	kind, text := es.s.Scalar()
	if kind == jsonscan.Object || kind == jsonscan.Array {
		es.ev.tooDeep++
		es.encodeText(text)
		return
	}
	es.encode(kind, text, depth)
}

// encodeText encodes an array or object as its text: as JSON if it is strictly valid, so that Perfetto can read it,
// else as a string. Only bytes that are not UTF-8 are replaced; other oddities stay in the text and are not counted.
func (es *eventScanner) encodeText(raw []byte) {
	text := es.s.ValidText(raw)
	if json.Valid(text) {
		es.enc.JSON(text)
		return
	}
	es.enc.String(text)
}

// encodeInteger keeps all 64 bits, signed or not, and takes the nearest double beyond them.
func (es *eventScanner) encodeInteger(text []byte) {
	if v, ok := jsonscan.Int64(text); ok {
		es.enc.Int(v)
		return
	}
	if v, ok := jsonscan.Uint64(text); ok {
		es.enc.Uint(v)
		return
	}
	es.ev.bigInts++
	f, _ := jsonscan.Float64(text)
	es.enc.Double(f)
}

// encodeWord encodes a word that is not JSON (section 3).
func (es *eventScanner) encodeWord(text []byte) {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
		f, _ := jsonscan.Float64(text)
		es.enc.Double(f)
	default:
		es.enc.String(text)
	}
}

// ownKey opens the dictionary of what weft adds, if it is not open, and names the next value in it (section 5).
func (rd *reader) ownKey(name string) {
	if !rd.own {
		rd.own = true
		rd.enc.OwnKey([]byte(timeline.OwnArgs))
		rd.enc.ExtendDict() // it may have been open before
	}
	rd.enc.Key([]byte(name))
}

// closeOwn closes the dictionary, so that other arguments may follow.
func (rd *reader) closeOwn() {
	if rd.own {
		rd.own = false
		rd.enc.EndDict()
	}
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
	rd.closeOwn()
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
