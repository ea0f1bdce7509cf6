package readers

import (
	"encoding/json"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// ArgReader encodes JSON values as arguments.
type ArgReader struct {
	S   *jsonscan.Scanner // reads the values
	Enc *timeline.ArgsEncoder
	// MaxDepth is the number of levels that are encoded as structure; deeper values are kept as text.
	MaxDepth int
	// BigInts counts the integers of more than 64 bits since Reset; TooDeep counts the values deeper than MaxDepth.
	BigInts, TooDeep int

	keys jsonscan.KeyCache // keys of members, with their ids in the timeline
}

// Reset starts the arguments of another event.
func (a *ArgReader) Reset() {
	a.Enc.Reset()
	a.BigInts, a.TooDeep = 0, 0
}

// Count counts the problems with the arguments. The parameter detail locates duplicate keys.
func (a *ArgReader) Count(log *problem.Log, at problem.Position, detail string) {
	log.AddN(problem.JSONDuplicateKey, uint64(a.Enc.Duplicates()), at, detail)
	log.AddN(problem.JSONBigInteger, uint64(a.BigInts), at, "")
	log.AddN(problem.ArgDepthLimit, uint64(a.TooDeep), at, "")
}

// Members encodes the members of the outermost object, whose bracket has been read.
func (a *ArgReader) Members() {
	a.keys.Start()
	for a.nextKey() {
		a.EncodeNext(1)
	}
}

// nextKey reads the next key of a dictionary and uses it for the next value. It returns false at the end of the dictionary.
func (a *ArgReader) nextKey() bool {
	if id := a.S.CachedKey(&a.keys); id != 0 {
		a.Enc.KeyWithID(timeline.KeyID(id))
		return true
	}
	key, ok := a.S.Key()
	if !ok {
		return false
	}
	a.Enc.Key(key)
	if id := a.Enc.KeyID(); id != 0 {
		a.S.RememberKey(&a.keys, uint32(id))
	}
	return true
}

// Encode encodes a value; kind and text are the results of the scanner's Value. It omits null and encodes words that
// are not JSON as strings.
func (a *ArgReader) Encode(kind jsonscan.Kind, text []byte, depth int) {
	switch kind {
	case jsonscan.Null:
		a.Enc.Null()
	case jsonscan.String:
		a.Enc.String(text)
	case jsonscan.Integer:
		a.EncodeInteger(text)
	case jsonscan.Number:
		f, finite := jsonscan.Float64(text)
		if !finite {
			a.S.Notes.Nonstandard++
		}
		a.Enc.Double(f)
	case jsonscan.True, jsonscan.False:
		a.Enc.Bool(kind == jsonscan.True)
	case jsonscan.Word:
		a.encodeWord(text)
	case jsonscan.Object:
		a.Enc.BeginDict()
		for a.nextKey() {
			a.EncodeNext(depth + 1)
		}
		a.Enc.EndDict()
	case jsonscan.Array:
		a.Enc.BeginArray()
		for a.S.Elem() {
			a.EncodeNext(depth + 1)
		}
		a.Enc.EndArray()
	}
}

// EncodeNext reads and encodes a nested value. Arrays and objects deeper than MaxDepth are kept as text.
func (a *ArgReader) EncodeNext(depth int) {
	if depth <= a.MaxDepth {
		kind, text := a.S.Value()
		if v, ok := a.S.Int(); ok && kind == jsonscan.Integer {
			a.Enc.Int(v)
			return
		}
		a.Encode(kind, text, depth)
		return
	}
	kind, text := a.S.Scalar()
	if kind == jsonscan.Object || kind == jsonscan.Array {
		a.TooDeep++
		a.EncodeText(text)
		return
	}
	a.Encode(kind, text, depth)
}

// EncodeText encodes an array or object as text: as JSON if it is strictly valid, so that Perfetto can parse it,
// otherwise as a string. It replaces only invalid UTF-8 bytes; other deviations from JSON stay and are not
// counted.
func (a *ArgReader) EncodeText(raw []byte) {
	text := a.S.ValidText(raw)
	if json.Valid(text) {
		a.Enc.JSON(text)
		return
	}
	a.Enc.String(text)
}

// EncodeInteger encodes signed and unsigned 64-bit integers exactly, and rounds larger ones to the nearest double.
func (a *ArgReader) EncodeInteger(text []byte) {
	if v, ok := jsonscan.Int64(text); ok {
		a.Enc.Int(v)
		return
	}
	if v, ok := jsonscan.Uint64(text); ok {
		a.Enc.Uint(v)
		return
	}
	a.BigInts++
	f, _ := jsonscan.Float64(text)
	a.Enc.Double(f)
}

// encodeWord encodes a word that is not JSON.
func (a *ArgReader) encodeWord(text []byte) {
	switch string(text) {
	case "NaN", "Infinity", "-Infinity":
		f, _ := jsonscan.Float64(text)
		a.Enc.Double(f)
	default:
		a.Enc.String(text)
	}
}
