package pftrace

import (
	"fmt"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// schemaMessage describes a message for the structural check. It is a table rather than a descriptor because every field of every
// packet is looked up in the table.
type schemaMessage struct {
	name   string
	fields []schemaField       // by number, for numbers below maxDenseField
	rest   map[int]schemaField // by number, for the other numbers
	open   bool                // has extension ranges, in which unknown numbers are not reported
}

// schemaField describes a field. The zero value is a field that weft's part of the schema lacks.
type schemaField struct {
	known    bool
	wireType uint8
	packable bool           // a repeated number, which can be packed
	single   bool           // a message that must not be repeated
	sub      *schemaMessage // of a message field
}

const (
	maxDenseField = 160
	// The range of TrackEvent extensions (perfetto.md 9), whose types are described only in the trace, if at all.
	firstExtension, lastExtension = 1000, 9999
	// maxMessageDepth is the maximum nesting depth of messages that is checked. Arguments may be nested 512 levels deep
	// (chrome-json.md 3); the messages around them need a few more levels.
	maxMessageDepth = 600
)

// newSchema returns the table for TracePacket.
func newSchema() *schemaMessage {
	var all [len(schema.Messages)]schemaMessage
	for i := range all {
		all[i].set(&schema.Messages[i], &all)
	}
	return &all[schema.MessageTracePacket]
}

// set fills m from its description. The parameter all contains all messages, by index in schema.Messages.
func (m *schemaMessage) set(described *schema.Message, all *[len(schema.Messages)]schemaMessage) {
	m.name, m.open = described.Name, described == &schema.Messages[schema.MessageTrackEvent]
	largest := 0
	for _, f := range described.Fields {
		if n := int(f.Number); n < maxDenseField {
			largest = max(largest, n)
		}
	}
	m.fields = make([]schemaField, largest+1)
	for _, d := range described.Fields {
		f := schemaField{known: true, wireType: d.WireType, packable: d.Repeated && d.WireType != wire.Len, single: d.Message != 0 && !d.Repeated}
		if d.Message != 0 {
			f.sub = &all[d.Message]
		}
		if n := int(d.Number); n < maxDenseField {
			m.fields[n] = f
		} else {
			if m.rest == nil {
				m.rest = make(map[int]schemaField)
			}
			m.rest[n] = f
		}
	}
}

func (m *schemaMessage) field(number int) schemaField {
	if number < len(m.fields) {
		return m.fields[number]
	}
	return m.rest[number]
}

// checkStructure checks the structure of a packet and all messages in it. It reports whether everything parses, so that the
// contents can be checked. It only counts unknown fields, because a trace from another producer may have one in every packet.
func (v *verifier) checkStructure(packet []byte) bool {
	var seen [maxDenseField]bool
	r := wire.NewReader(packet)
	ok := true
	for r.Next() {
		f := v.schema.field(r.Field())
		if f.single && r.Field() < len(seen) {
			if seen[r.Field()] {
				v.found(ruleRepeatedField, "field %d comes twice in the packet", r.Field())
			}
			seen[r.Field()] = true
		}
		ok = v.checkField(v.schema, f, &r, 1) && ok
	}
	return v.checkRead(v.schema, &r) && ok
}

func (v *verifier) checkMessage(m *schemaMessage, msg []byte, depth int) bool {
	if depth > maxMessageDepth {
		v.found(ruleMessageDepth, "%s is nested more than %d levels deep", m.name, maxMessageDepth)
		return false
	}
	r := wire.NewReader(msg)
	ok := true
	for r.Next() {
		ok = v.checkField(m, m.field(r.Field()), &r, depth) && ok
	}
	return v.checkRead(m, &r) && ok
}

// checkRead reports the error, if any, that stopped the reading of a message.
func (v *verifier) checkRead(m *schemaMessage, r *wire.Reader) bool {
	if err := r.Err(); err != nil {
		v.found(ruleMalformed, "%s: at byte %d of it: %v", m.name, r.Offset(), err)
		return false
	}
	return true
}

// checkField checks the current field of r, which belongs to message m.
func (v *verifier) checkField(m *schemaMessage, f schemaField, r *wire.Reader, depth int) bool {
	switch {
	case !f.known:
		if !m.open || r.Field() < firstExtension || r.Field() > lastExtension {
			v.countUnknown(m, r.Field())
		}
		return true
	case f.packable && r.Type() == wire.Len:
		return v.checkPacked(m, f, r)
	case int(f.wireType) != r.Type():
		v.found(ruleFieldType, "field %d of %s has wire type %d, not %d", r.Field(), m.name, r.Type(), f.wireType)
		return false
	case f.sub != nil:
		return v.checkMessage(f.sub, r.Bytes(), depth+1)
	}
	return true
}

func (v *verifier) checkPacked(m *schemaMessage, f schemaField, r *wire.Reader) bool {
	var err error
	switch f.wireType {
	case wire.Varint:
		p := wire.NewPacked(r.Bytes())
		for p.Next() {
		}
		err = p.Err()
	case wire.Fixed64:
		if len(r.Bytes())%8 != 0 {
			err = wire.ErrTruncated
		}
	case wire.Fixed32:
		if len(r.Bytes())%4 != 0 {
			err = wire.ErrTruncated
		}
	}
	if err != nil {
		v.found(ruleMalformed, "packed field %d of %s: %v", r.Field(), m.name, err)
	}
	return err == nil
}

// unknownField identifies a field that the schema lacks.
type unknownField struct {
	message *schemaMessage
	number  int
}

// unknownUse records how often an unknown field occurred, and where first.
type unknownUse struct {
	count uint64
	first position
}

// maxUnknownFields limits how many unknown fields are counted separately; a hostile file may have many.
const maxUnknownFields = 1 << 12

func (v *verifier) countUnknown(m *schemaMessage, number int) {
	key := unknownField{m, number}
	use := v.unknown[key]
	if use == nil {
		if len(v.unknown) >= maxUnknownFields {
			v.found(ruleUnknownField, "field %d of %s", number, m.name)
			return
		}
		use = &unknownUse{first: v.at}
		v.unknown[key] = use
	}
	use.count++
}

// maxUnknownCases is the maximum number of unknown fields in the report.
const maxUnknownCases = 50

// reportUnknown reports one case per unknown field, at its first position.
func (v *verifier) reportUnknown() {
	if len(v.unknown) == 0 {
		return
	}
	key := tallyKey{rule: ruleUnknownField}
	t := v.tallies[key]
	if t == nil {
		t = new(tally)
		v.tallies[key] = t
	}
	for field, use := range v.unknown {
		t.count += use.count
		t.cases = append(t.cases, VerifyCase{Packet: use.first.packet, Offset: use.first.offset,
			Detail: fmt.Sprintf("field %d of %s, %d times", field.number, field.message.name, use.count)})
	}
}
