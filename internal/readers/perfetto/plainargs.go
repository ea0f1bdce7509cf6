package perfetto

import (
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// maxPlainDepth is the number of levels of arguments that are encoded in one pass. Deeper ones are rare.
const maxPlainDepth = 16

// encodePlain encodes the debug annotations of the current event if all of them are plain: named by interned texts with nothing
// unusual about them, with one value each. That is the form in which weft writes arguments, and nearly the one in which the Builder
// keeps them; names and interned texts get other ids, which are remembered by their iids.
//
// It returns false if anything else is there. What it has encoded is of no use then, and it has counted no problem: encodeAnnotation does
// all of it again.
func (r *reader) encodePlain(args *timeline.ArgsEncoder) bool {
	if r.seq == nil {
		return false
	}
	texts := r.sequenceTexts()
	for _, msg := range r.ev.Annotations {
		a := &r.plain[0]
		if !a.ParseNamed(msg) {
			return false
		}
		key := r.argKey(texts, a.NameIID)
		if key == nil {
			return false
		}
		var ids *uint64
		if r.profiles != nil && key.trace != noTraceID {
			isText := a.Kind == message.TextAnnotation || a.Kind == message.JSONAnnotation
			if isText && key.trace != ownTraceID || key.unwanted {
				return false
			}
			ids = r.traceIDOf(key, a)
		}
		if key.unwanted {
			continue
		}
		if key.own && !r.isOwnDict(a) || !r.nameArg(args, key, a.NameIID) || !r.encodePlainValue(texts, args, 0, ids) {
			return false
		}
	}
	return true
}

// isOwnDict reports whether an argument named timeline.OwnArgs is what weft says of the event, all of which is kept with it.
func (r *reader) isOwnDict(a *message.PlainAnnotation) bool {
	return r.own.ofWeft && a.Kind == message.DictAnnotation && !r.fields.DidNotEnd && r.ev.async == nil
}

// traceIDOf notes the id of a recorded stack as seeTraceID does. It returns where the one in the members of a goes, nil if it has none.
func (r *reader) traceIDOf(key *argKey, a *message.PlainAnnotation) *uint64 {
	ids := &r.traceIDs
	switch key.trace {
	case beginDataTraceID:
		ids.HasBeginData, ids.BeginData = true, 0
		return &ids.BeginData
	case dataTraceID:
		ids.Data = 0
		return &ids.Data
	}
	ids.Own = unsigned(a.Scalar)
	return nil
}

// encodePlainValue encodes the value of r.plain[depth], whose key was named. ids takes the id of a stack among its members; nil if there
// is none.
func (r *reader) encodePlainValue(texts *sequenceTexts, args *timeline.ArgsEncoder, depth int, ids *uint64) bool {
	a := &r.plain[depth]
	switch a.Kind {
	case message.TextAnnotation:
		if a.TextIID != 0 {
			return r.encodePlainText(texts, args, a.TextIID)
		}
		if !utf8.Valid(a.Bytes) {
			return false
		}
		args.String(a.Bytes)
		return true
	case message.JSONAnnotation:
		if !utf8.Valid(a.Bytes) {
			return false
		}
		args.JSON(a.Bytes)
		return true
	case message.DictAnnotation:
		args.ExtendDict()
		if depth == maxPlainDepth || !r.encodePlainEntries(texts, args, depth, ids) {
			return false
		}
		args.EndDict()
		return true
	case message.ArrayAnnotation:
		args.BeginArray()
		if depth == maxPlainDepth {
			return false
		}
		for msg := a.Next(); msg != nil; msg = a.Next() {
			if !r.plain[depth+1].ParseElement(msg) || !r.encodePlainValue(texts, args, depth+1, nil) {
				return false
			}
		}
		args.EndArray()
		return a.Complete()
	}
	encodeScalar(args, a.Scalar)
	return true
}

// encodePlainEntries encodes the entries of the dictionary r.plain[depth].
func (r *reader) encodePlainEntries(texts *sequenceTexts, args *timeline.ArgsEncoder, depth int, ids *uint64) bool {
	a, entry := &r.plain[depth], &r.plain[depth+1]
	for msg := a.Next(); msg != nil; msg = a.Next() {
		if !entry.ParseNamed(msg) {
			return false
		}
		key := r.argKey(texts, entry.NameIID)
		if key == nil || key.own {
			return false
		}
		if ids != nil && key.trace == ownTraceID {
			*ids = unsigned(entry.Scalar)
		}
		if !r.nameArg(args, key, entry.NameIID) || !r.encodePlainValue(texts, args, depth+1, nil) {
			return false
		}
	}
	return a.Complete()
}

// encodePlainText encodes an interned text.
func (r *reader) encodePlainText(texts *sequenceTexts, args *timeline.ArgsEncoder, iid uint64) bool {
	if iid < uint64(len(texts.values)) && texts.values[iid] != 0 {
		args.TextWithID(texts.values[iid])
		return true
	}
	text, ok := r.seq.Interned.Text(message.InternedStringValues, iid)
	if !ok || !isPlainText(text) {
		return false
	}
	id := args.TextID(text)
	if id == 0 {
		args.String(text)
		return true
	}
	if n := r.seq.Interned.Dense(message.InternedStringValues); iid < uint64(n) {
		texts.values = grown(texts.values, n)
		texts.values[iid] = id
	}
	args.TextWithID(id)
	return true
}

// argKey is what an interned name of an argument is for the Builder.
type argKey struct {
	id       timeline.KeyID // 0: the name has not been used so far
	plain    bool           // it is not long, empty, reserved for weft (but for own) or no UTF-8
	own      bool           // it is timeline.OwnArgs
	unwanted bool           // as the name of a top-level argument: the caller of Read does not want that
	trace    traceIDName
}

// traceIDName says where an argument has the id of a recorded stack.
type traceIDName uint8

const (
	noTraceID traceIDName = iota
	beginDataTraceID
	dataTraceID
	ownTraceID
)

var traceIDNames = map[string]traceIDName{
	v8profile.BeginDataKey: beginDataTraceID, v8profile.DataKey: dataTraceID, v8profile.TraceIDKey: ownTraceID,
}

var ownArgs = []byte(timeline.OwnArgs)

// argKey returns the key for an interned name, nil if that is not plain.
func (r *reader) argKey(texts *sequenceTexts, iid uint64) *argKey {
	if iid < uint64(len(texts.keys)) && texts.keys[iid].plain {
		return &texts.keys[iid]
	}
	n := r.seq.Interned.Dense(message.InternedAnnotationNames)
	text, ok := r.seq.Interned.Text(message.InternedAnnotationNames, iid)
	own := string(text) == timeline.OwnArgs
	if !ok || iid >= uint64(n) || len(text) == 0 || timeline.IsOwnName(text) && !own || !isPlainText(text) {
		return nil
	}
	texts.keys = grown(texts.keys, n)
	key := &texts.keys[iid]
	key.plain, key.own, key.trace = true, own, traceIDNames[string(text)]
	key.unwanted = !own && !r.args.Keeps(text)
	return key
}

// nameArg names the next value. It returns false if the table of names has no room.
func (r *reader) nameArg(args *timeline.ArgsEncoder, key *argKey, iid uint64) bool {
	if key.own {
		args.OwnKey(ownArgs)
		return true
	}
	if key.id == 0 {
		text, _ := r.seq.Interned.Text(message.InternedAnnotationNames, iid)
		args.Key(text)
		key.id = args.KeyID()
	}
	args.KeyWithID(key.id)
	return key.id != 0
}

// sequenceTexts are the ids that the Builder has for interned texts of a sequence, by their iids.
type sequenceTexts struct {
	keys       []argKey
	values     []timeline.TextID
	names      []nameText
	categories []categoryText // by the first iid
}

// nameText is an interned name of events.
type nameText struct {
	text []byte // nil: not known
	ref  timeline.TextRef
}

// categoryText are the categories of an event, all of them interned, joined.
type categoryText struct {
	iids []uint64
	text []byte // nil: not known
	ref  timeline.TextRef
}

// maxRememberedIIDs bounds the categories of an event that are remembered.
const maxRememberedIIDs = 8

// isPlainText reports whether an interned text can be used as it is: it is not long and UTF-8.
func isPlainText(text []byte) bool { return len(text) <= shortText && utf8.Valid(text) }

// sequenceTexts returns the ids of the current sequence, emptied if that has started anew.
func (r *reader) sequenceTexts() *sequenceTexts {
	if own := r.own; own.texts == nil || own.textsOf != r.seq.Interned {
		own.texts, own.textsOf = new(sequenceTexts), r.seq.Interned
	}
	return r.own.texts
}

// grown returns a list with n elements at least, of which the new ones are zero.
func grown[T any](list []T, n int) []T {
	if n > len(list) {
		list = append(list, make([]T, n-len(list))...)
	}
	return list
}
