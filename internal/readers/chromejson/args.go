package chromejson

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxDepth is the depth of nesting to which arguments are taken apart (section 3).
const maxDepth = 512

func newArgReader(s *jsonscan.Scanner, enc *timeline.ArgsEncoder) readers.ArgReader {
	return readers.ArgReader{S: s, Enc: enc, MaxDepth: maxDepth}
}

// scanArgs reads the value of args and encodes it at once. Chrome writes args first; reading them again once the phase
// is known would cost more than encoding them for counters and metadata in vain, for which the text is kept.
func (es *eventScanner) scanArgs() {
	s, ev := es.S, &es.ev
	v := &ev.Values[fieldArgs]
	es.Reset() // of two args the last one counts
	ev.later = false
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

// isDump reports whether args look like a memory dump's. They can be megabytes, none of it kept as arguments, so
// encoding them waits until the phase is known.
func isDump(args []byte) bool { return bytes.HasPrefix(args, []byte(`{"dumps":`)) }

// isProfile reports whether args look like a piece of a V8 profile, which then go to the Assembler instead of
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
	switch {
	case kind == jsonscan.Object && es.args.KeepsAll():
		es.Members()
	case kind == jsonscan.Object:
		es.dropped.Start()
		for key, ok := es.keptKey(); ok; key, ok = es.keptKey() {
			es.Enc.Key(key)
			es.EncodeNext(1)
		}
	case kind != jsonscan.Null && kind != jsonscan.Invalid && es.args.KeepsText("args"):
		es.Enc.Key([]byte("args"))
		es.Encode(kind, text, 1)
	default:
		es.S.SkipRest(kind)
	}
}

// isDropped is the number of the keys of dropped.
const isDropped = 1

// keptKey reads the next key of args whose value is kept, over those that are not; false at the end.
func (es *eventScanner) keptKey() (key []byte, ok bool) {
	s := es.S
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

// encodeLater encodes the args of an already scanned event again, with fn.
func (rd *reader) encodeLater(fn func(kind jsonscan.Kind, text []byte)) {
	ev := &rd.ev
	outer := rd.S
	rd.sub.Reset(ev.Values[fieldArgs].Text)
	rd.S = &rd.sub
	rd.Reset()
	ev.later = false
	fn(rd.S.Value())
	rd.S = outer
}

// encodeWaiting encodes args that scanArgs left for later.
func (rd *reader) encodeWaiting() {
	if rd.ev.later {
		rd.encodeLater(rd.encodeArgs)
		rd.countNotes(&rd.sub.Notes)
	}
}

// ownKey opens the dictionary of what weft adds, if it is not open, and names the next value in it (section 5).
func (rd *reader) ownKey(name string) {
	if !rd.own {
		rd.own = true
		rd.Enc.OwnKey([]byte(timeline.OwnArgs))
		rd.Enc.ExtendDict() // it may have been open before
	}
	rd.Enc.Key([]byte(name))
}

// closeOwn closes the dictionary, so that other arguments may follow.
func (rd *reader) closeOwn() {
	if rd.own {
		rd.own = false
		rd.Enc.EndDict()
	}
}

// ownValue adds a value as it was written.
func (rd *reader) ownValue(name string, v value) {
	switch v.kind {
	case jsonscan.Invalid, jsonscan.Null, jsonscan.Object, jsonscan.Array:
		return
	}
	rd.ownKey(name)
	rd.Encode(v.kind, v.text, 1)
}

// encoded returns the arguments of the event with all that was added, and counts their problems.
func (rd *reader) encoded() timeline.Args {
	rd.closeOwn()
	rd.Count(rd.log, rd.position(), "in args")
	return rd.Enc.Args()
}
