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
	formatOther           format = iota // as written: strings, urls, integers, decimals, pids, unknown formats
	formatUnique                        // index of a string
	formatFlow                          // index of the id of a flow
	formatTerminatingFlow               // … that ends with this marker
	formatTime                          // a point in time, ms
	formatMillis                        // a duration, ms; "seconds" are ms as well
	formatMicros
	formatNanos
	formatBytes
	formatPercentage // 0 to 1
	formatHex
	formatID // a pid or tid: a number, or a text that may hold one
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

// isDouble reports whether numbers of a format are written as doubles: those that have a unit.
func (f format) isDouble() bool {
	switch f {
	case formatTime, formatMillis, formatMicros, formatNanos, formatBytes, formatPercentage:
		return true
	}
	return false
}

// isIndex reports whether values of a format are indexes into the table of strings.
func (f format) isIndex() bool {
	return f == formatUnique || f == formatFlow || f == formatTerminatingFlow
}

// isFlow reports whether values of a format are ids of flows.
func (f format) isFlow() bool { return f == formatFlow || f == formatTerminatingFlow }

// schema describes the markers of one type.
type schema struct {
	name       string
	chart      template // the label that names events, see finish
	stackBased bool
	fields     []field

	byKey  map[string]int // of fields
	slots  []field        // the fields and other members whose values conversion needs
	bySlot map[string]int // of slots
	flows  []int          // the slots that are ids of flows, in the order of the fields
}

// maxSlots bounds the values that each marker keeps for labels and flows. Real schemas need a few.
const maxSlots = 64

// field is one member of the payload.
type field struct {
	key     string
	format  format
	columns []string // of formatTable
}

// readSchema reads one element of markerSchema.
func (d *decoder) readSchema(schemas *[]*schema) error {
	if ok, err := d.room(len(*schemas)); !ok {
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

// readFormat reads a format: its name, or an object that describes a table.
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

// finish derives slots and flows from the fields and the labels: the chartLabel, which the tracks of the Firefox Profiler show,
// and the tableLabel of its table of markers. It returns false if there are too many.
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

// labelOf returns the label that names events: the chartLabel. Where that says no more than the name of markers with flows,
// as "IPC", it is the tableLabel without the id of the flow at its end, which says what was sent.
func (s *schema) labelOf(chart, table string) string {
	if len(s.flows) == 0 || strings.TrimSpace(chart) != "{marker.name}" {
		return chart
	}
	for _, slot := range s.flows {
		if what, ok := strings.CutSuffix(strings.TrimSpace(table), "(flow={marker.data."+s.slots[slot].key+"})"); ok {
			return what
		}
	}
	return chart
}

// showsFlow reports whether a label has the id of a flow in it. Each marker with such a label would have a different
// name, for what arrows already show (section 6).
func (s *schema) showsFlow(label template) bool {
	return slices.ContainsFunc(label, func(p part) bool { return p.kind == partField && s.slots[p.slot].format.isFlow() })
}

// findFlows notes which fields are ids of flows; false if these are too many.
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

// slot returns the index of the value of a member in payloadState.values.
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

// schemas finds the schema of a marker.
type schemas struct {
	byName map[string]*schema
	// stacks is set if the profile marks stack-based markers, which older ones do not.
	stacks bool
}

// add adds the schemas of a process; the first of several with one name counts.
func (s *schemas) add(list []*schema) {
	for _, one := range list {
		if _, ok := s.byName[one.name]; !ok {
			s.byName[one.name] = one
		}
		s.stacks = s.stacks || one.stackBased
	}
}

// value is the value of a member of a payload.
type value struct {
	kind jsonscan.Kind
	text []byte
}
