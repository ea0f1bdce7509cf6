package firefox

import (
	"github.com/weft-trace/weft/internal/jsonscan"
)

// format says what the values of a field are (spec 6).
type format uint8

const (
	formatOther           format = iota // as it stands: strings, urls, integers, decimals, pids, and what is not known
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

// Units of values, as they stand in the annotation weft.units.
var (
	unitMillis   = []byte("ms")
	unitMicros   = []byte("µs")
	unitNanos    = []byte("ns")
	unitBytes    = []byte("bytes")
	unitFraction = []byte("fraction")
)

// unit returns the unit of values of a format; nil if there is none.
func (f format) unit() []byte {
	switch f {
	case formatTime, formatMillis:
		return unitMillis
	case formatMicros:
		return unitMicros
	case formatNanos:
		return unitNanos
	case formatBytes:
		return unitBytes
	case formatPercentage:
		return unitFraction
	}
	return nil
}

// isIndex reports whether values of a format are indexes into the table of strings.
func (f format) isIndex() bool {
	return f == formatUnique || f == formatFlow || f == formatTerminatingFlow
}

// isFlow reports whether values of a format are ids of flows.
func (f format) isFlow() bool { return f == formatFlow || f == formatTerminatingFlow }

// schema describes the markers of one type.
type schema struct {
	name                 string
	chart, tooltip, list template // labels: chartLabel, tooltipLabel, tableLabel
	stackBased           bool
	fields               []field

	byKey map[string]int // of fields, and of keys that only labels use
	flows []int          // the fields that are ids of flows, in order
}

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
	var chart, tooltip, list string
	err := d.object(func(key string) error {
		switch key {
		case "name":
			return d.text(&s.name)
		case "chartLabel":
			return d.text(&chart)
		case "tooltipLabel":
			return d.text(&tooltip)
		case "tableLabel":
			return d.text(&list)
		case "isStackBased":
			return d.truth(&s.stackBased)
		case "fields", "data":
			return d.array(func() error { return d.readField(s) })
		}
		return d.skip()
	})
	if err != nil {
		return err
	}
	s.finish(chart, tooltip, list)
	*schemas = append(*schemas, s)
	return nil
}

// readField reads one element of fields. Those without a key are texts for people.
func (d *decoder) readField(s *schema) error {
	var f field
	err := d.object(func(key string) error {
		switch key {
		case "key":
			return d.text(&f.key)
		case "format":
			return d.readFormat(&f)
		}
		return d.skip()
	})
	if err == nil && f.key != "" {
		s.fields = append(s.fields, f)
	}
	return err
}

// readFormat reads a format: its name, or an object that describes a table.
func (d *decoder) readFormat(f *field) error {
	c, err := d.peek()
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
					return d.skip()
				})
				f.columns = append(f.columns, label)
				return err
			})
		}
		return d.skip()
	})
}

// finish makes what is derived from the fields and labels.
func (s *schema) finish(chart, tooltip, list string) {
	s.byKey = make(map[string]int, len(s.fields))
	for i := range s.fields {
		if _, ok := s.byKey[s.fields[i].key]; !ok {
			s.byKey[s.fields[i].key] = i
		}
		if s.fields[i].format.isFlow() {
			s.flows = append(s.flows, i)
		}
	}
	s.chart, s.tooltip, s.list = s.template(chart), s.template(tooltip), s.template(list)
}

// slot returns the index of a field. It makes one for a key that is no field, so that its value is at hand.
func (s *schema) slot(key string) int {
	i, ok := s.byKey[key]
	if !ok {
		i = len(s.fields)
		s.fields = append(s.fields, field{key: key})
		s.byKey[key] = i
	}
	return i
}

// schemas finds the schema of a marker.
type schemas struct {
	byName map[string]*schema
	// stacks says that the profile knows which markers are stack-based. Older ones do not.
	stacks bool
}

// add adds the schemas of a process; of several with one name the first counts.
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
