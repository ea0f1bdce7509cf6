package timeline

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Args holds the encoded arguments of one event. They are a sequence of debug_annotations fields of a Perfetto TrackEvent, with
// argument names as KeyIDs of their timeline. The text passed to Correlate, if any, precedes them. An ArgsEncoder encodes the
// arguments, and they stay encoded on their way to the output. Timeline.ArgList decodes them.
type Args []byte

// ArgsEncoder encodes the arguments of events. A value at the top level or in a dictionary needs a preceding Key; null has no
// representation, see Null. Empty dictionaries and arrays vanish, because Perfetto cannot represent them; inside arrays, however,
// they keep their positions. Among values with the same key in a dictionary, the last one wins.
type ArgsEncoder struct {
	keys        *stringTable
	values      *stringTable // for InternedString; nil: strings are written inline
	correlated  *stringTable // for Correlate; nil: Correlate does nothing
	buf         []byte
	open        []container // the first one is the top level
	entries     []entry     // of all open dictionaries
	key         KeyID
	keyInline   []byte
	underscores int // see asInInput
	duplicates  int
	extended    int    // calls of ExtendDict that found an earlier value
	removed     bool   // a value has been removed since Reset, see arrayAsText
	text        []byte // scratch for arrayAsText
	inline      []byte // keys since Reset that are not interned
	fixed       bool   // do not add new names to keys
	missed      bool
	omitted     int // array values omitted since Reset, see maxArrayArgs
}

// container is the top level or an open dictionary or array.
type container struct {
	array bool

	keepsPlaces bool   // an outermost array that contains an empty member, see arrayAsText
	start       int    // start of the container's own field in buf
	mark        int    // for wire.EndMessage; 0 at the top level
	firstEntry  int    // index of its first member in entries
	size        int    // number of values inside
	last        int    // start in buf of the last value of an array
	seen        uint64 // keyBits of all keys, to recognize most new keys without a search
}

// entry is a member of an open dictionary: its key and its range in buf.
type entry struct {
	key         KeyID
	text        []byte // for a key that is not interned
	underscores int    // see asInInput
	start, end  int    // end is 0 while the member is the last in its dictionary
}

// Keys is a snapshot of a Builder's argument names. It never changes, so other goroutines can encode arguments with it.
type Keys struct{ table *stringTable }

// Keys returns the current argument names. The call is free unless names were added since the last call.
func (b *Builder) Keys() Keys {
	if b.snapshot.table == nil || b.snapshot.table.len() != b.keys.len() {
		b.snapshot = Keys{b.keys.snapshot()}
	}
	return b.snapshot
}

// NewArgsEncoder returns an encoder that knows only the argument names passed to ResetKeys.
func NewArgsEncoder() *ArgsEncoder { return &ArgsEncoder{fixed: true} }

// ResetKeys is like Reset, but also replaces the argument names.
func (e *ArgsEncoder) ResetKeys(k Keys) {
	e.keys = k.table
	e.Reset()
}

// Missed reports whether a name used since Reset is missing from the Keys. The arguments are then unusable.
func (e *ArgsEncoder) Missed() bool { return e.missed }

// Load starts the arguments of the next event with arguments that were encoded earlier for the same Builder. It does not detect
// later duplicates of their keys.
func (e *ArgsEncoder) Load(args Args) {
	e.Reset()
	e.buf = append(e.buf, args...)
}

// Reset starts the arguments of the next event.
func (e *ArgsEncoder) Reset() {
	e.buf = e.buf[:0]
	e.open = append(e.open[:0], container{})
	e.entries = e.entries[:0]
	e.key, e.keyInline, e.inline = 0, nil, e.inline[:0]
	e.duplicates, e.extended, e.removed = 0, 0, false
	e.missed, e.omitted = false, 0
}

// Args returns the arguments encoded since Reset. They are valid until the next Reset.
func (e *ArgsEncoder) Args() Args { return Args(e.buf) }

// Duplicates returns the number of values replaced since Reset because of a repeated key.
func (e *ArgsEncoder) Duplicates() int { return e.duplicates }

// Depth returns the number of open dictionaries and arrays.
func (e *ArgsEncoder) Depth() int { return len(e.open) - 1 }

// Key sets the name of the next value. An empty name becomes "_", because Perfetto has no nameless annotations; in a dictionary
// with both names, the second one gets one more underscore. At the top level, a name reserved for weft (IsOwnName) gets a leading
// underscore.
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

// KeyID returns the id of the current key for KeyWithID, or 0 if the key has no id. Names reserved for weft have no id, because
// Key changes them depending on the level.
func (e *ArgsEncoder) KeyID() KeyID {
	if e.underscores != asInInput || IsOwnName(bytes.TrimLeft(e.keys.get(uint32(e.key)), "_")) {
		return 0
	}
	return e.key
}

// KeyWithID is Key without the lookup, for an id that KeyID returned for the same Builder.
func (e *ArgsEncoder) KeyWithID(id KeyID) { e.key, e.keyInline, e.underscores = id, nil, asInInput }

// maxArrayArgs limits the size, in bytes, of the arguments of an event with long arrays: two bytes of JSON can take four here.
// Beyond the limit, each array value replaces the previous one.
const maxArrayArgs = 64 << 20

// Omitted returns the number of array values omitted since Reset.
func (e *ArgsEncoder) Omitted() int { return e.omitted }

// CountOmitted counts the omitted array values as one problem, once. Builder.Add calls it for its own encoder.
func (e *ArgsEncoder) CountOmitted(log *problem.Log, at problem.Position) {
	if e.omitted > 0 {
		log.Add(problem.EventSizeLimit, at, fmt.Sprintf("%d values of an array", e.omitted))
		e.omitted = 0
	}
}

// asInInput marks a key that is written as in the input. For any other key, which consists of underscores, the stored value is
// the number of underscores in the input.
const asInInput = -1

// intern makes name the current key. Numbers are not interned: they are ids that mostly occur once, and a table of the ids would
// be larger than the references to the table.
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

// setInline makes name the current key without interning it.
func (e *ArgsEncoder) setInline(name []byte) {
	at := len(e.inline)
	e.inline = append(e.inline, name...)
	e.key, e.keyInline = 0, e.inline[at:len(e.inline):len(e.inline)]
}

// minIDLength is the minimum length at which an all-digit key counts as an id. Shorter keys are few and are interned.
const minIDLength = 3

// isID reports whether a key is an id: digits only, and not short.
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

// keyBit returns the current key's bit, one of 64.
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

// begin appends the tag, a length byte and the name of the next value. It returns the start of the value and the mark for
// wire.EndMessage.
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
		e.omitted++
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

// maxRememberedKeys limits the search for repeated keys, which is quadratic in the size of a dictionary. Beyond the limit, both
// values are written, and Perfetto uses the last one.
const maxRememberedKeys = 512

// remember adds the key of the next value to its dictionary and removes an earlier value with the same key.
func (e *ArgsEncoder) remember(c *container) {
	members := e.entries[c.firstEntry:]
	if len(members) > 0 && members[len(members)-1].end == 0 {
		members[len(members)-1].end = len(e.buf)
	}
	if c.seen&e.keyBit() != 0 {
		if i := e.locate(members); i >= 0 {
			e.remove(c, c.firstEntry+i)
		}
	}
	c.seen |= e.keyBit() // locate may have changed the current key
	if len(e.entries)-c.firstEntry < maxRememberedKeys {
		e.entries = append(e.entries, entry{key: e.key, text: e.keyInline, underscores: e.underscores, start: len(e.buf)})
	}
}

// find returns the index of the entry with the current key, or -1.
func (e *ArgsEncoder) find(members []entry) int {
	return slices.IndexFunc(members, func(m entry) bool { return e.isKey(&m) })
}

// isKey reports whether an entry has the current key.
func (e *ArgsEncoder) isKey(m *entry) bool {
	return m.key == e.key && (e.key != 0 || bytes.Equal(m.text, e.keyInline))
}

// locate returns the index of the entry that the next value replaces, or -1. If an empty name and another key have the same name
// in the output, the later one gets one more underscore.
func (e *ArgsEncoder) locate(members []entry) int {
	i := e.find(members)
	if i < 0 || members[i].underscores == e.underscores {
		return i
	}
	if e.underscores == asInInput {
		e.underscores = len(e.keyInline)
		if e.keyInline == nil {
			e.underscores = len(e.keys.get(uint32(e.key)))
		}
	}
	for n := range members {
		e.intern(bytes.Repeat(emptyKey, n+2))
		if i = e.find(members); i < 0 || members[i].underscores == e.underscores {
			break
		}
	}
	return i
}

// remove removes the complete value of entry i from the open dictionary c.
func (e *ArgsEncoder) remove(c *container, i int) {
	start, end := e.entries[i].start, e.entries[i].end
	e.buf = slices.Delete(e.buf, start, end)
	e.entries = slices.Delete(e.entries, i, i+1)
	for j := i; j < len(e.entries); j++ {
		e.entries[j].start -= end - start
		e.entries[j].end -= end - start
	}
	c.size--
	e.duplicates++
	e.removed = true
}

// Null discards an earlier value of the current key. In an array, it writes the text "null", so that later members keep their
// positions.
func (e *ArgsEncoder) Null() {
	c := &e.open[len(e.open)-1]
	if c.array {
		e.String(nullText)
		return
	}
	members := e.entries[c.firstEntry:]
	if len(members) == 0 {
		return
	}
	if i := e.locate(members); i >= 0 {
		if last := &members[len(members)-1]; last.end == 0 {
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

// Uint writes an unsigned integer. Values that fit into an int64 are written like those from Int.
func (e *ArgsEncoder) Uint(v uint64) {
	if v <= math.MaxInt64 {
		e.Int(int64(v))
		return
	}
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendUint(e.buf, schema.DebugAnnotation_UintValue, v), mark)
}

// Double writes a floating-point number, including infinities and NaN.
func (e *ArgsEncoder) Double(v float64) {
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendDouble(e.buf, schema.DebugAnnotation_DoubleValue, v), mark)
}

// Bool writes a boolean.
func (e *ArgsEncoder) Bool(v bool) {
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendBool(e.buf, schema.DebugAnnotation_BoolValue, v), mark)
}

// String writes a string, which must be valid UTF-8.
func (e *ArgsEncoder) String(v []byte) {
	_, mark := e.begin()
	e.buf = wire.EndMessage(wire.AppendBytes(e.buf, schema.DebugAnnotation_StringValue, v), mark)
}

// Correlate groups the slice with all others that have the same text: viewers show them in one color. The text is not an argument
// and must precede all arguments. Encoders from NewArgsEncoder ignore it.
func (e *ArgsEncoder) Correlate(text string) {
	if e.correlated == nil || text == "" {
		return
	}
	if id, ok := e.correlated.intern([]byte(text)); ok {
		e.buf = wire.AppendUint(e.buf, schema.TrackEvent_CorrelationIDStrIID, uint64(id))
	}
}

// CorrelateFunction gives the calls of a function their own color, see Correlate. Viewers derive a slice's color from its name
// without digits, so this matters for functions without a name or with digits in it.
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

// InternedString is String for repeated texts. The encoders of a Builder and those from Timeline.NewArgs write each text only
// once per trace.
func (e *ArgsEncoder) InternedString(v string) { e.InternedText([]byte(v)) }

// InternedText is InternedString for bytes.
func (e *ArgsEncoder) InternedText(v []byte) {
	id := uint32(0)
	if e.values != nil {
		id, _ = e.values.intern(v)
	}
	if id == 0 { // the text is empty or the table is full
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

// JSON writes a value as JSON text, which Perfetto itself parses.
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

// maxExtended limits how often ExtendDict copies an earlier value per event.
const maxExtended = 64

// ExtendDict opens a dictionary like BeginDict. If the open dictionary already has a value with the same key, the new dictionary
// replaces that value. It starts with the value's members or, if the value is not a dictionary, with the value itself as a member
// of the same name. After maxExtended such cases in one event, the new dictionary starts empty.
func (e *ArgsEncoder) ExtendDict() {
	var before []byte
	if e.extended < maxExtended {
		before = e.removeEarlier()
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

// removeEarlier removes the current key's earlier value from the open dictionary and returns it, or nil if there is none.
func (e *ArgsEncoder) removeEarlier() []byte {
	c := &e.open[len(e.open)-1]
	if c.array || c.seen>>(e.key&63)&1 == 0 {
		return nil
	}
	i := e.find(e.entries[c.firstEntry:])
	if i < 0 {
		return nil
	}
	m := &e.entries[c.firstEntry+i]
	if m.end == 0 {
		m.end = len(e.buf)
	}
	r := wire.NewReader(e.buf[m.start:m.end])
	r.Next()
	value := bytes.Clone(r.Bytes())
	e.remove(c, c.firstEntry+i)
	e.duplicates-- // the caller adds the value to the new dictionary
	return value
}

// member adds an encoded value, under its own name, to the open dictionary.
func (e *ArgsEncoder) member(value []byte) {
	var a message.Annotation
	a.ParseHead(value)
	e.key, e.keyInline, e.underscores = KeyID(a.NameIID), a.Name, asInInput
	e.appendMember(value)
}

// appendMember adds an encoded value under the current key.
func (e *ArgsEncoder) appendMember(value []byte) {
	c := &e.open[len(e.open)-1]
	e.remember(c)
	c.size++
	e.buf = wire.AppendBytes(e.buf, schema.DebugAnnotation_DictEntries, value)
}

// EndDict closes the innermost dictionary.
func (e *ArgsEncoder) EndDict() { e.endContainer() }

// EndArray closes the innermost array.
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

// AppendWithout appends a to dst, omitting the encoded arguments for which drop returns true.
func (a Args) AppendWithout(dst []byte, drop func(arg []byte) bool) []byte {
	for r := wire.NewReader(a); r.Next(); {
		if r.Field() != schema.TrackEvent_DebugAnnotations || !drop(r.Bytes()) {
			dst = append(dst, r.Raw()...)
		}
	}
	return dst
}
