package chromejson

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxDepth is the maximum depth of nested arguments that are encoded as structure (section 16).
const maxDepth = 512

func newArgReader(s *jsonscan.Scanner, enc *timeline.ArgsEncoder) readers.ArgReader {
	return readers.ArgReader{S: s, Enc: enc, MaxDepth: maxDepth}
}

// scanArgs reads the value of args and encodes it at once. Chrome writes args before the phase, so this also encodes
// the args of counters and metadata, which use only the text. It costs less than reading all args twice.
func (es *eventScanner) scanArgs() {
	s, ev := es.S, &es.ev
	v := &ev.Values[fieldArgs]
	es.Reset() // of duplicate args, the last counts
	ev.deferred = false
	if es.args.KeepsNone() || isDump(s.Window()) || es.tracing && isProfile(ev, s.Window()) {
		ev.set(fieldArgs, s)
		ev.deferred = !es.args.KeepsNone()
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

// isDump reports whether args look like a memory dump's. They can run to megabytes that are not kept as arguments, so
// they are encoded only when the phase requires it.
func isDump(args []byte) bool { return bytes.HasPrefix(args, []byte(`{"dumps":`)) }

// isProfile reports whether args look like a piece of a V8 profile, which the Assembler reads. In many traces,
// these pieces contain most of the numbers. Chrome writes args before the phase, Node after it.
func isProfile(ev *event, args []byte) bool {
	if ev.has(fieldPh) {
		return string(ev.Values[fieldPh].Text) == "P"
	}
	data, ok := bytes.CutPrefix(args, []byte(`{"data":{"`))
	return ok && (bytes.HasPrefix(data, []byte(`cpuProfile"`)) || bytes.HasPrefix(data, []byte(`lines"`)))
}

// encodeArgs encodes args; kind and text are the results of Value.
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

// isDropped marks the keys in dropped.
const isDropped = 1

// keptKey returns the next key of args whose value is kept, skipping the others. It returns false at the end of args.
func (es *eventScanner) keptKey() (key []byte, ok bool) {
	s := es.S
	if es.args.KeepsAll() {
		return s.Key()
	}
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

// encodeAgain re-encodes the args of an already scanned event with fn.
func (rd *reader) encodeAgain(fn func(kind jsonscan.Kind, text []byte)) {
	ev := &rd.ev
	outer := rd.S
	rd.sub.Reset(ev.Values[fieldArgs].Text)
	rd.S = &rd.sub
	rd.Reset()
	ev.deferred = false
	fn(rd.S.Value())
	rd.S = outer
}

// encodeDeferred encodes args that scanArgs deferred.
func (rd *reader) encodeDeferred() {
	if rd.ev.deferred {
		rd.encodeAgain(rd.encodeArgs)
		rd.countNotes(&rd.sub.Notes)
	}
}

// weftKey opens the dictionary of arguments that weft adds, unless it is already open, and names the next value in it
// (section 5).
func (rd *reader) weftKey(name string) {
	if !rd.inWeft {
		rd.inWeft = true
		rd.Enc.OwnKey([]byte(timeline.OwnArgs))
		rd.Enc.ExtendDict() // the event may already have one
	}
	rd.Enc.Key([]byte(name))
}

// closeWeft closes the dictionary that weftKey opened, so that other arguments can follow.
func (rd *reader) closeWeft() {
	if rd.inWeft {
		rd.inWeft = false
		rd.Enc.EndDict()
	}
}

// weftValue adds an unchanged value from the input.
func (rd *reader) weftValue(name string, v value) {
	switch v.kind {
	case jsonscan.Invalid, jsonscan.Null, jsonscan.Object, jsonscan.Array:
		return
	}
	rd.weftKey(name)
	rd.Encode(v.kind, v.text, 1)
}

// encoded returns the event's arguments with weft's additions and counts their problems.
func (rd *reader) encoded() timeline.Args {
	rd.closeWeft()
	rd.Count(rd.log, rd.position(), "in args")
	return rd.Enc.Args()
}
