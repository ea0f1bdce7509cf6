package timeline

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Args are the arguments of one event, encoded by an ArgsEncoder. They stay encoded on their way to the output:
// the bytes are a sequence of debug_annotations fields of a Perfetto TrackEvent, with argument names as KeyIDs of the
// timeline that they belong to, perhaps preceded by the text given to Correlate. Timeline.ArgList reads them.
type Args []byte

// ArgsEncoder encodes the arguments of events. A value inside a dictionary, or at the top level, needs a Key before it;
// null has no representation, see Null. Dictionaries and arrays that end up empty vanish, because Perfetto
// cannot hold them, except in arrays, where they keep their places. Of two values with one key in the same dictionary the
// last one counts.
type ArgsEncoder struct {
	keys        *stringTable
	values      *stringTable // of InternedString; nil: texts are written as they are
	correlated  *stringTable // of Correlate; nil: it does nothing
	buf         []byte
	open        []container // the top level first
	entries     []entry     // of all open dictionaries
	key         KeyID
	keyInline   []byte
	underscores int // see asInInput
	duplicates  int
	extended    int    // calls of ExtendDict that found something
	removed     bool   // since Reset a value was removed, see arrayAsText
	text        []byte // of arrayAsText
	inline      []byte // the keys since Reset that are not interned
	fixed       bool   // keys does not grow
	missed      bool
	cut         int // values of arrays that were left out since Reset, see maxArrayArgs
}

// container is the top level, a dictionary or an array that is not yet complete.
type container struct {
	array bool

	keepsPlaces bool   // an outermost array with an empty member inside, see arrayAsText
	start       int    // where its own field starts in buf
	mark        int    // for wire.EndMessage; 0 at the top level
	firstEntry  int    // index of its first member in entries
	size        int    // number of values inside
	last        int    // where the last value of an array starts in buf
	seen        uint64 // the keyBit of every key that was used: nearly all keys are seen to be new by it
}

// entry is one member of an open dictionary: its key and the bytes of buf that hold it.
type entry struct {
	key         KeyID
	text        []byte // of a key that is not interned
	underscores int    // see asInInput
	start, end  int    // end is 0 while the member is the last of its dictionary
}

// Keys are the argument names that a Builder knew at some time. They never change, so that other goroutines may encode
// arguments with them.
type Keys struct{ table *stringTable }

// Keys returns the argument names that are known now. It costs nothing if there are no new ones since the last call.
func (b *Builder) Keys() Keys {
	if b.snapshot.table == nil || b.snapshot.table.len() != b.keys.len() {
		b.snapshot = Keys{b.keys.snapshot()}
	}
	return b.snapshot
}

// NewArgsEncoder returns an encoder that knows certain argument names only, see ResetKeys.
func NewArgsEncoder() *ArgsEncoder { return &ArgsEncoder{fixed: true} }

// ResetKeys is Reset with other known argument names.
func (e *ArgsEncoder) ResetKeys(k Keys) {
	e.keys = k.table
	e.Reset()
}

// Missed reports whether a name since Reset is not among the Keys. The arguments are of no use then.
func (e *ArgsEncoder) Missed() bool { return e.missed }

// Load begins the arguments of the next event with some that were encoded before, for the same Builder. Their keys are
// not known to the search for duplicates.
func (e *ArgsEncoder) Load(args Args) {
	e.Reset()
	e.buf = append(e.buf, args...)
}

// Reset begins the arguments of the next event.
func (e *ArgsEncoder) Reset() {
	e.buf = e.buf[:0]
	e.open = append(e.open[:0], container{})
	e.entries = e.entries[:0]
	e.key, e.keyInline, e.inline = 0, nil, e.inline[:0]
	e.duplicates, e.extended, e.removed = 0, 0, false
	e.missed, e.cut = false, 0
}

// Args returns what was encoded since Reset. It is valid until the next Reset.
func (e *ArgsEncoder) Args() Args { return Args(e.buf) }

// Duplicates returns how many values were replaced since Reset because their key came again.
func (e *ArgsEncoder) Duplicates() int { return e.duplicates }

// Depth returns how many dictionaries and arrays are open.
func (e *ArgsEncoder) Depth() int { return len(e.open) - 1 }

// Key names the next value. An empty name becomes "_", because Perfetto has no nameless annotations. Where one dictionary
// has both, the second one gets one more underscore. At the top level, a name that is reserved for weft (IsOwnName) gets an
// leading underscore.
func (e *ArgsEncoder) Key(name []byte) {
	e.underscores = asInInput
	switch {
	case len(name) == 0:
		name, e.underscores = emptyKey, 0
	case len(e.open) == 1:
		name = inputName(name)
	}
	e.intern(name)
}

// KeyID returns the id of the current key if KeyWithID can name other values by it, otherwise 0. Names reserved for weft have no
// id: what Key makes of them depends on where they are.
func (e *ArgsEncoder) KeyID() KeyID {
	if e.underscores != asInInput || IsOwnName(bytes.TrimLeft(e.keys.get(uint32(e.key)), "_")) {
		return 0
	}
	return e.key
}

// KeyWithID is Key for a name whose id is known: one that KeyID gave for the same Builder. It need not be looked up.
func (e *ArgsEncoder) KeyWithID(id KeyID) { e.key, e.keyInline, e.underscores = id, nil, asInInput }

// maxArrayArgs bounds the arguments of one event that has long arrays: a value of two bytes of JSON takes four here. Beyond it, each value
// of an array takes the place of the one before.
const maxArrayArgs = 64 << 20

// Cut returns how many values of arrays were left out since Reset.
func (e *ArgsEncoder) Cut() int { return e.cut }

// CountCut counts, once, that there are such values. Builder.Add does so for arguments that its own encoder has just encoded.
func (e *ArgsEncoder) CountCut(log *problem.Log, at problem.Position) {
	if e.cut > 0 {
		log.Add(problem.EventSizeLimit, at, fmt.Sprintf("%d values of an array", e.cut))
		e.cut = 0
	}
}

// asInInput means a key written as in the input. Otherwise a key is underscores, and their number in the input is kept.
const asInInput = -1

// intern makes name the current key. A number is not interned: it is not a name but data, an id that is mostly used once, and a
// table of all of them would be longer than what refers to it.
func (e *ArgsEncoder) intern(name []byte) {
	if isID(name) {
		e.setInline(name)
		return
	}
	id, ok := e.keys.intern(name)
	e.key, e.keyInline = KeyID(id), nil
	if !ok {
		e.missed = e.missed || e.fixed
		e.setInline(name)
	}
}

// setInline makes name the current key, which is written as it is.
func (e *ArgsEncoder) setInline(name []byte) {
	at := len(e.inline)
	e.inline = append(e.inline, name...)
	e.key, e.keyInline = 0, e.inline[at:len(e.inline):len(e.inline)]
}

// minIDLength is the length from which on a key of digits is an id. Shorter ones, of which there are few, are interned.
const minIDLength = 3

// isID reports whether a key consists of digits, and is not short.
func isID(name []byte) bool {
	if len(name) < minIDLength {
		return false
	}
	for _, c := range name {
		if c-'0' > 9 {
			return false
		}
	}
	return true
}

// keyBit returns one of 64 bits for the current key.
func (e *ArgsEncoder) keyBit() uint64 {
	if n := len(e.keyInline); n >= minIDLength {
		return 1 << ((10*e.keyInline[n-2] + e.keyInline[n-1]) & 63)
	}
	return 1 << (e.key & 63)
}

var (
	emptyKey = []byte("_")
	nullText = []byte("null")
)

// begin appends the tag of the next value, one byte for its length and its name. It returns where the value starts
// and the mark for wire.EndMessage.
func (e *ArgsEncoder) begin() (start, mark int) {
	c := &e.open[len(e.open)-1]
	field := schema.DebugAnnotation_DictEntries
	switch {
	case len(e.open) == 1:
		field = schema.TrackEvent_DebugAnnotations
	case c.array:
		field = schema.DebugAnnotation_ArrayValues
	}
	switch {
	case !c.array:
		e.remember(c)
	case c.size > 0 && len(e.buf) >= maxArrayArgs:
		e.buf = e.buf[:c.last]
		c.size--
		e.cut++
	}
	c.size++
	start = len(e.buf)
	c.last = start
	e.buf, mark = wire.BeginMessage(e.buf, field)
	if c.array {
		return start, mark
	}
	if e.keyInline != nil {
		e.buf = wire.AppendBytes(e.buf, schema.DebugAnnotation_Name, e.keyInline)
		return start, mark
	}
	e.buf = wire.AppendUint(e.buf, schema.DebugAnnotation_NameIID, uint64(e.key))
	return start, mark
}

// maxRememberedKeys bounds the search for duplicate keys, which is quadratic in the size of a dictionary. Beyond it
// both values are written; in Perfetto the last one wins.
const maxRememberedKeys = 512

// remember enters the key of the next value in its dictionary and removes an earlier value with this key.
func (e *ArgsEncoder) remember(c *container) {
	own := e.entries[c.firstEntry:]
	if len(own) > 0 && own[len(own)-1].end == 0 {
		own[len(own)-1].end = len(e.buf)
	}
	if c.seen&e.keyBit() != 0 {
		if i := e.locate(own); i >= 0 {
			e.remove(c, c.firstEntry+i)
		}
	}
	c.seen |= e.keyBit() // of the key that locate has left
	if len(e.entries)-c.firstEntry < maxRememberedKeys {
		e.entries = append(e.entries, entry{key: e.key, text: e.keyInline, underscores: e.underscores, start: len(e.buf)})
	}
}

// find returns the index of the entry that has the current key; -1 if there is none.
func (e *ArgsEncoder) find(own []entry) int {
	for i := range own {
		if e.isKey(&own[i]) {
			return i
		}
	}
	return -1
}

// isKey reports whether an entry has the current key.
func (e *ArgsEncoder) isKey(own *entry) bool {
	return own.key == e.key && (e.key != 0 || bytes.Equal(own.text, e.keyInline))
}

// locate returns the index of the entry that the next value replaces; -1 if there is none. A key whose name in the output
// equals another key's gets one more underscore: one of the two is the empty name.
func (e *ArgsEncoder) locate(own []entry) int {
	i := e.find(own)
	if i < 0 || own[i].underscores == e.underscores {
		return i
	}
	if e.underscores == asInInput {
		e.underscores = len(e.keyInline)
		if e.keyInline == nil {
			e.underscores = len(e.keys.get(uint32(e.key)))
		}
	}
	for n := range own {
		e.intern(bytes.Repeat(emptyKey, n+2))
		if i = e.find(own); i < 0 || own[i].underscores == e.underscores {
			break
		}
	}
	return i
}

// remove takes the value of entry i, which is complete, out of the open dictionary c.
func (e *ArgsEncoder) remove(c *container, i int) {
	start, end := e.entries[i].start, e.entries[i].end
	e.buf = append(e.buf[:start], e.buf[end:]...)
	e.entries = append(e.entries[:i], e.entries[i+1:]...)
	for j := i; j < len(e.entries); j++ {
		e.entries[j].start -= end - start
		e.entries[j].end -= end - start
	}
	c.size--
	e.duplicates++
	e.removed = true
}

// Null sets the value of the current key to nothing: an earlier value of that key no longer counts. In an array it is the text
// "null", so that what follows keeps its place.
func (e *ArgsEncoder) Null() {
	c := &e.open[len(e.open)-1]
	if c.array {
		e.String(nullText)
		return
	}
	own := e.entries[c.firstEntry:]
	if len(own) == 0 {
		return
	}
	if i := e.locate(own); i >= 0 {
		if last := &own[len(own)-1]; last.end == 0 {
			last.end = len(e.buf)
		}
		e.remove(c, c.firstEntry+i)
	}
}

// Int writes an integer.
func (e *ArgsEncoder) Int(v int64) {
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendInt(e.buf, schema.DebugAnnotation_IntValue, v), mark)
}

// Uint writes an unsigned integer. Values that fit an int64 are written as by Int.
func (e *ArgsEncoder) Uint(v uint64) {
	if v <= math.MaxInt64 {
		e.Int(int64(v))
		return
	}
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendUint(e.buf, schema.DebugAnnotation_UintValue, v), mark)
}

// Double writes a floating point number; infinities and NaN are allowed.
func (e *ArgsEncoder) Double(v float64) {
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendDouble(e.buf, schema.DebugAnnotation_DoubleValue, v), mark)
}

// Bool writes a truth value.
func (e *ArgsEncoder) Bool(v bool) {
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendBool(e.buf, schema.DebugAnnotation_BoolValue, v), mark)
}

// String writes a text, which must be UTF-8.
func (e *ArgsEncoder) String(v []byte) {
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendBytes(e.buf, schema.DebugAnnotation_StringValue, v), mark)
}

// Correlate groups the slice with all others of the same text: viewers show them in one color. It is not an argument, and must come
// before all arguments. Encoders made by NewArgsEncoder leave it out.
func (e *ArgsEncoder) Correlate(text string) {
	if e.correlated == nil || text == "" {
		return
	}
	if id, ok := e.correlated.intern([]byte(text)); ok {
		e.buf = wire.AppendUint(e.buf, schema.TrackEvent_CorrelationIDStrIID, uint64(id))
	}
}

// CorrelateFunction gives the calls of a function a color of their own, see Correlate. Viewers choose the color of a slice by its
// name without digits, so this matters for functions without a name, and for those whose name has digits.
func (e *ArgsEncoder) CorrelateFunction(name, file string, line, column int64) {
	switch {
	case name == "" && line > 0:
		e.Correlate(fmt.Sprintf("%s:%d:%d", file, line, column))
	case name == "":
		e.Correlate(file)
	case strings.ContainsAny(name, "0123456789"):
		e.Correlate(name)
	}
}

// InternedString is String for texts that come again and again. The encoders of a Builder and those made by
// Timeline.NewArgs write them once for the whole trace.
func (e *ArgsEncoder) InternedString(v string) { e.InternedText([]byte(v)) }

// InternedText is InternedString for bytes.
func (e *ArgsEncoder) InternedText(v []byte) {
	id := uint32(0)
	if e.values != nil {
		id, _ = e.values.intern(v)
	}
	if id == 0 { // it is empty, or has no room
		e.String(v)
		return
	}
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendUint(e.buf, schema.DebugAnnotation_StringValueIID, uint64(id)), mark)
}

// Pointer writes an address.
func (e *ArgsEncoder) Pointer(v uint64) {
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendUint(e.buf, schema.DebugAnnotation_PointerValue, v), mark)
}

// JSON writes a value as JSON text, which Perfetto parses itself.
func (e *ArgsEncoder) JSON(raw []byte) {
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendBytes(e.buf, schema.DebugAnnotation_LegacyJSONValue, raw), mark)
}

// BeginDict opens a dictionary.
func (e *ArgsEncoder) BeginDict() { e.beginContainer(false) }

// BeginArray opens an array; its values have no keys.
func (e *ArgsEncoder) BeginArray() { e.beginContainer(true) }

func (e *ArgsEncoder) beginContainer(array bool) {
	start, mark := e.begin()
	e.open = append(e.open, container{array: array, start: start, mark: mark, firstEntry: len(e.entries)})
}

// maxExtended bounds how often ExtendDict copies what was there before, for one event.
const maxExtended = 64

// ExtendDict opens a dictionary like BeginDict. If its key was there before, it begins with what that had: the members
// of a dictionary, or any other value as a member of the same name.
func (e *ArgsEncoder) ExtendDict() {
	var before []byte
	if e.extended < maxExtended {
		before = e.take()
	}
	key, keyInline := e.key, e.keyInline
	e.BeginDict()
	if before == nil {
		return
	}
	e.extended++
	var value message.Annotation
	value.ParseHead(before)
	if value.Kind == message.DictAnnotation {
		for m := value.Members(); m.Next(); {
			e.member(m.Bytes())
		}
	} else {
		e.key, e.keyInline = key, keyInline
		e.appendMember(before)
	}
}

// take removes the earlier value of the current key from the open dictionary and returns it; nil if there is none.
func (e *ArgsEncoder) take() []byte {
	c := &e.open[len(e.open)-1]
	if c.array {
		return nil
	}
	if c.seen>>(e.key&63)&1 == 0 {
		return nil
	}
	own := e.entries[c.firstEntry:]
	for i := range own {
		if !e.isKey(&own[i]) {
			continue
		}
		if own[i].end == 0 {
			own[i].end = len(e.buf)
		}
		r := wire.NewReader(e.buf[own[i].start:own[i].end])
		r.Next()
		value := bytes.Clone(r.Bytes())
		e.remove(c, c.firstEntry+i)
		e.duplicates-- // nothing is replaced
		return value
	}
	return nil
}

// member adds an encoded value, which has a name, to the open dictionary.
func (e *ArgsEncoder) member(value []byte) {
	var a message.Annotation
	a.ParseHead(value)
	e.key, e.keyInline, e.underscores = KeyID(a.NameIID), a.Name, asInInput
	e.appendMember(value)
}

// appendMember adds an encoded value that has the current key.
func (e *ArgsEncoder) appendMember(value []byte) {
	c := &e.open[len(e.open)-1]
	e.remember(c)
	c.size++
	e.buf = wire.AppendBytes(e.buf, schema.DebugAnnotation_DictEntries, value)
}

// EndDict closes the dictionary opened last.
func (e *ArgsEncoder) EndDict() { e.endContainer() }

// EndArray closes the array opened last.
func (e *ArgsEncoder) EndArray() { e.endContainer() }

func (e *ArgsEncoder) endContainer() {
	if len(e.open) < 2 {
		return
	}
	c := e.open[len(e.open)-1]
	e.open = e.open[:len(e.open)-1]
	e.entries = e.entries[:c.firstEntry]
	if c.size > 0 {
		e.buf = wire.EndMessage(e.buf, c.mark)
		if c.keepsPlaces {
			e.arrayAsText(c.start)
		}
		return
	}
	e.buf = e.buf[:c.start]
	parent := &e.open[len(e.open)-1]
	if parent.array {
		e.emptyMember(c.array)
		return
	}
	parent.size--
	if n := len(e.entries); n > parent.firstEntry && e.entries[n-1].start == c.start {
		e.entries = e.entries[:n-1]
	}
}

// AppendWithout appends to dst what is encoded in a without the arguments, each as it is encoded, that drop reports.
func (a Args) AppendWithout(dst []byte, drop func(arg []byte) bool) []byte {
	for r := wire.NewReader(a); r.Next(); {
		if r.Field() != schema.TrackEvent_DebugAnnotations || !drop(r.Bytes()) {
			dst = append(dst, r.Raw()...)
		}
	}
	return dst
}
