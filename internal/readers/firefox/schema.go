package firefox

import (
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
)

// format is the format of a field's values (section 6).
type format uint8

const (
	formatOther           format = iota // unconverted: strings, urls, integers, decimals, unknown formats
	formatUnique                        // string index
	formatFlow                          // string index of a flow id
	formatTerminatingFlow               // string index of the id of a flow that ends here
	formatTime                          // a point in time, ms
	formatMillis                        // a duration, ms; also "seconds"
	formatMicros
	formatNanos
	formatBytes
	formatPercentage // 0 to 1
	formatHex
	formatID // a pid or tid: a number or a text
	formatList
	formatTable
)

var formats = map[string]format{
	"unique-string": formatUnique, "flow-id": formatFlow, "terminating-flow-id": formatTerminatingFlow,
	"time": formatTime, "duration": formatMillis, "milliseconds": formatMillis, "seconds": formatMillis,
	"microseconds": formatMicros, "nanoseconds": formatNanos, "bytes": formatBytes, "percentage": formatPercentage,
	"hexadecimal": formatHex, "list": formatList,
	"pid": formatID, "tid": formatID,
}

// isDouble reports whether numbers of a format have a unit and are written as doubles.
func (f format) isDouble() bool {
	switch f {
	case formatTime, formatMillis, formatMicros, formatNanos, formatBytes, formatPercentage:
		return true
	}
	return false
}

// isIndex reports whether values of a format are indexes into the string table.
func (f format) isIndex() bool {
	return f == formatUnique || f == formatFlow || f == formatTerminatingFlow
}

// isFlow reports whether values of a format are flow ids.
func (f format) isFlow() bool { return f == formatFlow || f == formatTerminatingFlow }

// schema describes the markers of one type.
type schema struct {
	name       string
	chart      template // template for event names, see finish
	stackBased bool
	fields     []field

	byKey  map[string]int // indexes of fields
	slots  []field        // fields and other members whose values the conversion needs
	bySlot map[string]int // indexes of slots
	flows  []int          // slots with flow ids, in the order of the fields
}

// maxSlots limits the number of values that each marker keeps for labels and flows. Real schemas need a few.
const maxSlots = 64

// field describes one member of a payload.
type field struct {
	key     string
	format  format
	columns []string // formatTable only
}

// readSchema reads one element of markerSchema.
func (d *decoder) readSchema(schemas *[]*schema) error {
	if ok, err := d.hasCapacity(len(*schemas)); !ok {
		return err
	}
	s := &schema{}
	var chart, table string
	err := d.object(func(key string) error {
		switch key {
		case "name":
			return d.text(&s.name)
		case "chartLabel":
			return d.text(&chart)
		case "tableLabel":
			return d.text(&table)
		case "isStackBased":
			return d.truth(&s.stackBased)
		case "fields", "data":
			return d.array(func() error { return d.readField(s) })
		}
		return d.Skip()
	})
	if err != nil {
		return err
	}
	if !s.finish(chart, table) {
		d.problem(problem.FirefoxValueInvalid, "a schema with too many flows or too long a label")
	}
	*schemas = append(*schemas, s)
	return nil
}

// readField reads one element of fields. Fields without a key are descriptions.
func (d *decoder) readField(s *schema) error {
	var f field
	err := d.object(func(key string) error {
		switch key {
		case "key":
			return d.text(&f.key)
		case "format":
			return d.readFormat(&f)
		}
		return d.Skip()
	})
	if err == nil && f.key != "" {
		s.fields = append(s.fields, f)
	}
	return err
}

// readFormat reads a format: a name, or an object that describes a table.
func (d *decoder) readFormat(f *field) error {
	c, err := d.Peek()
	if err != nil {
		return err
	}
	if c != '{' {
		var name string
		err := d.text(&name)
		f.format = formats[name]
		return err
	}
	return d.object(func(key string) error {
		switch key {
		case "type":
			var kind string
			err := d.text(&kind)
			if kind == "table" {
				f.format = formatTable
			}
			return err
		case "columns":
			return d.array(func() error {
				var label string
				err := d.object(func(key string) error {
					if key == "label" {
						return d.text(&label)
					}
					return d.Skip()
				})
				f.columns = append(f.columns, label)
				return err
			})
		}
		return d.Skip()
	})
}

// finish derives slots and flows from the fields and from two labels: chart, which the Firefox Profiler shows on tracks, and
// table, which it shows in its marker table. It returns false if there are too many slots, or if the label exceeds a limit.
func (s *schema) finish(chart, table string) bool {
	s.byKey = make(map[string]int, len(s.fields))
	for i := range s.fields {
		if _, ok := s.byKey[s.fields[i].key]; !ok {
			s.byKey[s.fields[i].key] = i
		}
	}
	ok := s.findFlows()
	label, whole := s.template(s.labelOf(chart, table))
	if !s.showsFlow(label) {
		s.chart = label
	}
	return ok && whole
}

// labelOf returns the label to use for event names. This is usually the label chart. But if the markers have flows, chart shows
// only their name, such as "IPC", and the label table ends with the flow id, labelOf returns the label table without the flow id,
// because that label describes the message.
func (s *schema) labelOf(chart, table string) string {
	if len(s.flows) == 0 || strings.TrimSpace(chart) != "{marker.name}" {
		return chart
	}
	for _, slot := range s.flows {
		if label, ok := strings.CutSuffix(strings.TrimSpace(table), "(flow={marker.data."+s.slots[slot].key+"})"); ok {
			return label
		}
	}
	return chart
}

// showsFlow reports whether a label contains a flow id. Such a label would give each marker a different name, only to show what
// arrows already show (section 6).
func (s *schema) showsFlow(label template) bool {
	return slices.ContainsFunc(label, func(p part) bool { return p.kind == partField && s.slots[p.slot].format.isFlow() })
}

// findFlows finds the fields with flow ids. It returns false if there are too many.
func (s *schema) findFlows() bool {
	for i := range s.fields {
		f := &s.fields[i]
		if !f.format.isFlow() || s.byKey[f.key] != i {
			continue
		}
		if len(s.slots) == maxSlots {
			return false
		}
		s.flows = append(s.flows, s.slot(f.key))
	}
	return true
}

// slot returns the index of a member's value in payloadState.values. It adds the slot if necessary.
func (s *schema) slot(key string) int {
	i, ok := s.bySlot[key]
	if !ok {
		f := field{key: key}
		if at, ok := s.byKey[key]; ok {
			f = s.fields[at]
		}
		i = len(s.slots)
		s.slots = append(s.slots, f)
		if s.bySlot == nil {
			s.bySlot = map[string]int{}
		}
		s.bySlot[key] = i
	}
	return i
}

// schemas finds marker schemas by name.
type schemas struct {
	byName map[string]*schema
	// stacks is set if the profile marks stack-based markers. Older profiles do not mark them.
	stacks bool
}

// add adds the schemas of a process. Of several schemas with the same name, the first counts.
func (s *schemas) add(list []*schema) {
	for _, schema := range list {
		if _, ok := s.byName[schema.name]; !ok {
			s.byName[schema.name] = schema
		}
		s.stacks = s.stacks || schema.stackBased
	}
}

// value is the value of a payload member, as unparsed text.
type value struct {
	kind jsonscan.Kind
	text []byte
}
