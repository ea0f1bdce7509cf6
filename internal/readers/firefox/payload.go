package firefox

import (
	"bytes"
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// payloadState is the state while encoding the current marker's payload.
type payloadState struct {
	s      jsonscan.Scanner
	nested jsonscan.Scanner // reads values within values

	th         *threadState
	row        int32
	kind       *markerType
	values     []value // by slot of the schema, for labels and flows; strings are resolved
	next       int     // probable index of the next member
	rare       member  // a member beyond maxMembers
	cause      cause
	window     int64
	label      []byte  // scratch for label
	categories []byte  // scratch for categoryName
	shift      float64 // offset from times in the payload to the profile's clock
	inWeft     bool    // the weft dictionary is open

	screenshot []byte // the picture, or nil
}

// begin resets the state for the arguments of a marker.
func (p *payloadState) begin(th *threadState, row int32, kind *markerType) {
	p.th, p.row, p.kind = th, row, kind
	p.values = p.values[:0]
	if kind.schema != nil {
		for range kind.schema.slots {
			p.values = append(p.values, value{})
		}
	}
	p.cause, p.window, p.screenshot = cause{}, 0, nil
	p.shift, p.inWeft = 0, false
	if th.raw {
		p.shift = th.delta
	}
}

// member describes one member in the payloads of a type.
type member struct {
	key      string
	field    field
	slot     int            // index in payloadState.values; none if not needed
	id       timeline.KeyID // 0: unknown
	isTime   bool           // a time on the process's clock in any schema (section 4)
	isTiming bool           // a time in requests, see timings
	isCause  bool           // can be a call stack
	isWindow bool
	keep     bool
}

// maxMembers limits the number of cached members per type.
const maxMembers = 64

// member returns the member with a key, from the cache if possible. Members nearly always come in the same order, so the function
// first tries the cached member after the previous one.
func (c *converter) member(key []byte) *member {
	p := &c.payload
	known := p.kind.members
	if p.next < len(known) && known[p.next].key == string(key) {
		p.next++
		return &known[p.next-1]
	}
	for i := range known {
		if known[i].key == string(key) {
			p.next = i + 1
			return &known[i]
		}
	}
	m := c.newMember(string(key))
	if len(known) < maxMembers {
		p.kind.members = append(known, m)
		p.next = len(known) + 1
		return &p.kind.members[len(known)]
	}
	p.rare = m
	return &p.rare
}

// newMember returns a member of the current type that is not cached yet.
func (c *converter) newMember(key string) member {
	kind := c.payload.kind
	m := member{key: key, slot: none, keep: c.opts.Args.KeepsText(key)}
	if kind.schema != nil {
		if i, ok := kind.schema.byKey[key]; ok {
			m.field = kind.schema.fields[i]
		}
		if i, ok := kind.schema.bySlot[key]; ok {
			m.slot = i
		}
	}
	switch key {
	case "startTime", "endTime":
		m.isTime = true
	case "stack", "cause":
		m.isCause = true
	case "innerWindowID":
		m.isWindow = true
	}
	m.isTiming = kind.special == specialNetwork && timings[key]
	return m
}

// encodePayload encodes the members of a payload under their keys, in the formats of their fields. For a marker with two rows,
// the payload of the second row overrides the payload of the first.
func (c *converter) encodePayload(text []byte) {
	if len(text) == 0 {
		return
	}
	p := &c.payload
	s := &p.s
	if len(p.values) > 0 && s.Decoded() {
		// Decoding the second row overwrites the decoded strings of the first row.
		for i := range p.values {
			p.values[i].text = bytes.Clone(p.values[i].text)
		}
	}
	p.next = 0
	s.Reset(text)
	if kind, _ := s.Value(); kind != jsonscan.Object {
		c.log.Add(problem.FirefoxValueInvalid, p.th.at(p.row), "a payload that is not an object")
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		m := c.member(key)
		kind, text := s.Scalar()
		if kind == jsonscan.Invalid || m.isCause && kind == jsonscan.Object && c.readCause(text) {
			continue
		}
		c.encodeMember(m, value{kind, text})
	}
	if s.Notes != (jsonscan.Notes{}) {
		countNotes(c.log, &s.Notes, p.th.at(p.row))
	}
}

// encodeMember encodes a value in the format of its field if the member is kept, and stores the value if labels, flows or the
// conversion need it.
func (c *converter) encodeMember(m *member, v value) {
	p := &c.payload
	f := &m.field
	if f.format.isIndex() || p.kind.special == specialScreenshot && v.kind == jsonscan.Integer && m.key == "url" {
		v = c.resolveIndex(m, v)
	}
	if m.slot >= 0 {
		p.values[m.slot] = v
	}
	if m.isWindow {
		p.window, _ = jsonscan.Int64(v.text)
	}
	if p.kind.special == specialScreenshot && m.key == "url" && c.setScreenshot(v) || !m.keep {
		return
	}
	if m.id != 0 {
		c.enc.KeyWithID(m.id)
	} else {
		c.enc.Key([]byte(m.key))
		m.id = c.enc.KeyID()
	}
	if (m.isTime || m.isTiming || f.format.isDouble()) && c.encodeQuantity(m, v) {
		return
	}
	switch {
	case f.format == formatID && v.kind == jsonscan.String && isInteger(v.text):
		v.kind = jsonscan.Integer // a number in the raw form, a string in the processed form
	case f.format == formatTable && v.kind == jsonscan.Array:
		c.encodeTable(f, v.text)
		return
	}
	c.encodeValue(v, 1)
}

// isInteger reports whether a text is a canonical JSON integer.
func isInteger(text []byte) bool {
	n, ok := jsonscan.Int64(text)
	var digits [20]byte
	return ok && string(strconv.AppendInt(digits[:0], n, 10)) == string(text)
}

// resolveIndex replaces an index with its string. It keeps invalid indexes.
func (c *converter) resolveIndex(m *member, v value) value {
	p := &c.payload
	if v.kind == jsonscan.Null {
		return v
	}
	index, ok := int64(0), false
	if v.kind == jsonscan.Integer {
		index, ok = jsonscan.Int64(v.text)
	}
	if !ok || index < 0 || index > math.MaxInt32 {
		return c.mismatch(m, v)
	}
	text, ok := p.th.tables.strings.at(int32(index))
	if !ok {
		return c.mismatch(m, v)
	}
	return value{jsonscan.String, c.bounded(text)}
}

const (
	// maxResolved limits the total length of long texts from the string table in events. Further long texts are truncated to
	// shortText, so that a small input with many references to one long text does not become a huge output.
	maxResolved = 1 << 30
	shortText   = 256
)

// setScreenshot decodes the picture of a screenshot for the event. It returns false if the value stays an argument.
func (c *converter) setScreenshot(v value) bool {
	if v.kind != jsonscan.String {
		return false
	}
	if c.opts.NoScreenshots {
		return true
	}
	p := &c.payload
	if string(v.text) == string(imageStub) {
		c.log.Add(problem.ScreenshotOmitted, p.th.at(p.row), "")
		return true
	}
	picture, reason, ok := readers.DecodeScreenshot(c.picture[:0], v.text)
	if !ok {
		c.log.Add(reason, p.th.at(p.row), "")
		return readers.IsOmitted(reason)
	}
	c.picture, p.screenshot = picture, picture
	return true
}

// bounded returns a text from the string table, truncated if long texts exceed maxResolved.
func (c *converter) bounded(text []byte) []byte {
	if len(text) <= shortText {
		return text
	}
	if c.resolved += len(text); c.resolved <= maxResolved {
		return text
	}
	c.log.Add(problem.FirefoxValueInvalid, problem.NoPosition, "long texts with many uses were truncated")
	return bytes.ToValidUTF8(text[:shortText], nil)
}

// mismatch counts and returns a value that contradicts its format.
func (c *converter) mismatch(m *member, v value) value {
	p := &c.payload
	detail := ""
	if c.log.Wants(problem.MarkerFieldMismatch) {
		detail = p.kind.name + "." + m.key
	}
	c.log.Add(problem.MarkerFieldMismatch, p.th.at(p.row), detail)
	return v
}

// encodeQuantity encodes a number with a unit as a double. It returns false if the value is not a number.
func (c *converter) encodeQuantity(m *member, v value) bool {
	p := &c.payload
	n, ok := 0.0, v.kind == jsonscan.Integer || v.kind == jsonscan.Number
	if ok {
		n, ok = jsonscan.Float64(v.text)
	}
	if !ok {
		if v.kind != jsonscan.Null && m.field.format.isDouble() {
			c.mismatch(m, v)
		}
		return false
	}
	switch {
	case m.isTime:
		n += p.shift
	case m.isTiming:
		n += p.th.requestShift
	}
	c.enc.Double(n)
	return true
}

// maxArgDepth is the depth down to which values keep their structure; deeper values become text.
const maxArgDepth = 64

// encodeValue encodes a nested value without conversion, and counts its problems.
func (c *converter) encodeValue(v value, depth int) {
	a := &c.args
	a.BigInts, a.TooDeep = 0, 0
	if v.kind == jsonscan.Object || v.kind == jsonscan.Array {
		a.S.Reset(v.text)
		v.kind, v.text = a.S.Value()
	}
	a.Encode(v.kind, v.text, depth)
	if a.BigInts+a.TooDeep == 0 && a.S.Notes == (jsonscan.Notes{}) {
		return
	}
	at := c.payload.th.at(c.payload.row)
	c.log.AddN(problem.JSONBigInteger, uint64(a.BigInts), at, "")
	c.log.AddN(problem.ArgDepthLimit, uint64(a.TooDeep), at, "")
	countNotes(c.log, &a.S.Notes, at)
}

// encodeTable encodes rows as dictionaries whose keys are the column labels.
func (c *converter) encodeTable(f *field, rows []byte) {
	s := &c.payload.nested
	s.Reset(rows)
	s.Value()
	c.enc.BeginArray()
	defer c.enc.EndArray()
	for s.Elem() {
		kind, text := s.Scalar()
		if kind != jsonscan.Array {
			c.encodeValue(value{kind, text}, 2)
			continue
		}
		c.enc.BeginDict()
		var cells jsonscan.Scanner
		cells.Reset(text)
		cells.Value()
		for i := 0; cells.Elem(); i++ {
			label := strconv.Itoa(i)
			if i < len(f.columns) && f.columns[i] != "" {
				label = f.columns[i]
			}
			c.enc.Key([]byte(label))
			kind, text := cells.Scalar()
			c.encodeValue(value{kind, text}, 3)
		}
		c.enc.EndDict()
	}
}
