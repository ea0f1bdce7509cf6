package firefox

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/jsonscan"
)

func TestLabels(t *testing.T) {
	s := &schema{fields: []field{{key: "d", format: formatMillis}, {key: "b", format: formatBytes}, {key: "t"}}}
	s.finish("", "")
	for _, test := range []struct{ template, d, b, t, want string }{
		{"plain", "", "", "", "plain"},
		{"{marker.name} [{marker.category}]", "", "", "", "name [cat]"},
		{"{marker.data.d}", "0", "", "", "0ms"},
		{"{marker.data.d}", "0.0005", "", "", "500ns"},
		{"{marker.data.d}", "0.25", "", "", "250µs"},
		{"{marker.data.d}", "-12.3456", "", "", "-12.346ms"},
		{"{marker.data.d}", "61000", "", "", "61s"},
		{"{marker.data.b}", "", "1023", "", "1023B"},
		{"{marker.data.b}", "", "1536", "", "1.5KB"},
		{"{marker.data.b}", "", "1e18", "", "909494.702TB"},
		{"{marker.data.t}", "", "", `true`, "true"},
		{"{marker.data.t}", "", "", `"text"`, "text"},
		{"{marker.data.t}", "", "", `null`, ""},
		{"{marker.data.t}", "", "", `1e999`, "1e999"},
		{"{marker.data.t ? 'yes' : 'no'}", "", "", `"x"`, "yes"},
		{"{marker.data.t ? 'yes' : 'no'}", "", "", `""`, "no"},
		{"{marker.data.t ? 'yes' : 'no'}", "", "", `0`, "no"},
		{"{marker.data.t ? 'yes' : 'no'}", "", "", `0.5`, "yes"},
		{"{marker.data.t ? 'yes' : 'no'}", "", "", `[]`, "yes"},
		{"{marker.data.t?yes:no}", "", "", `false`, "no"},
		{"{marker.data.t ? 'a:b' : 'c'}", "", "", `1`, "a:b"},
		{"{marker.data.t ? 'a?}' : \"it's\"}.", "", "", `1`, "a?}."},
		{"{marker.data.t ? 'a?}' : \"it's\"}.", "", "", `0`, "it's."},
		{"{marker.data.it's}{marker.name}", "", "", "", "name"},
		{"{marker.data.t ? 'x'}{marker.x}{x ? 'a' : 'b'}{", "", "", `1`, "{"},
		{"{marker.start}-{marker.end}={marker.duration}", "", "", "", "1.5ms-3.75ms=2.25ms"},
		{"{marker.data.unknown}|", "", "", "", "|"},
	} {
		m := labelled{name: []byte("name"), category: []byte("cat"), start: 1.5, end: 3.75}
		template, whole := s.template(test.template)
		m.slots, m.values = s.slots, make([]value, len(s.slots))
		for key, text := range map[string]string{"d": test.d, "b": test.b, "t": test.t} {
			slot, ok := s.bySlot[key]
			if !ok || text == "" {
				continue
			}
			var scanner jsonscan.Scanner
			scanner.Reset([]byte(text + " "))
			m.values[slot].kind, m.values[slot].text = scanner.Scalar()
		}
		if !whole {
			t.Errorf("%s is not used as a whole", test.template)
		}
		if got := string(template.appendLabel(nil, &m)); got != test.want {
			t.Errorf("%s with %q %q %q: %q, want %q", test.template, test.d, test.b, test.t, got, test.want)
		}
	}
	instant := labelled{start: 1, end: math.NaN()}
	template, _ := s.template("{marker.end}{marker.duration}")
	if got := string(template.appendLabel(nil, &instant)); got != "" {
		t.Errorf("an instant has the end and duration %q", got)
	}
}

// The length of a label is limited, however often its template repeats a text.
func TestLongLabel(t *testing.T) {
	s := &schema{}
	s.finish(strings.Repeat("{marker.name}", 1000), "")
	m := labelled{name: []byte(strings.Repeat("x", 100)), slots: s.slots}
	if got := len(s.chart.appendLabel(nil, &m)); got < maxLabel || got > maxLabel+100 {
		t.Errorf("%d bytes", got)
	}
}

// However long a schema is, its cost per marker is limited: label parts and stored values.
func TestHugeSchemas(t *testing.T) {
	var many strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&many, "{marker.data.k%d}", i)
	}
	flows := &schema{}
	for i := range 10_000 {
		flows.fields = append(flows.fields, field{key: strconv.Itoa(i), format: formatFlow})
	}
	for name, test := range map[string]struct {
		s     *schema
		label string
	}{
		"parts":            {&schema{}, strings.Repeat("{marker.end}", 10_000)},
		"unknown parts":    {&schema{}, strings.Repeat("{x}", 10_000)},
		"fields of labels": {&schema{}, many.String()},
		"flows":            {flows, ""},
		"text":             {&schema{}, strings.Repeat("é", 10_000)},
		"text before":      {&schema{}, strings.Repeat("é", 10_000) + "{marker.end}"},
		"ternary":          {&schema{}, "{marker.data.x ? '" + strings.Repeat("é", 10_000) + "' : ''}"},
	} {
		whole := test.s.finish(test.label, "")
		if whole && name != "ternary" {
			t.Errorf("%s: the excess is not reported", name)
		}
		if len(test.s.slots) > maxSlots || len(test.s.flows) > maxSlots || len(test.s.chart) > maxParts {
			t.Errorf("%s: %d values, %d flows, %d pieces", name, len(test.s.slots), len(test.s.flows), len(test.s.chart))
		}
		for _, p := range test.s.chart {
			if len(p.text) > maxLabel || !utf8.ValidString(p.text) {
				t.Errorf("%s: a text of %d bytes", name, len(p.text))
			}
		}
	}
	// Fields that neither labels nor flows need get no slots.
	plain := &schema{}
	for i := range 10_000 {
		plain.fields = append(plain.fields, field{key: strconv.Itoa(i)})
	}
	if plain.finish("{marker.data.77}", ""); len(plain.slots) != 1 {
		t.Errorf("%d values are kept of which one is needed", len(plain.slots))
	}
}

// A label with a flow id is not used, because it would give every marker a different name.
func TestLabelWithFlow(t *testing.T) {
	s := schema{fields: []field{{key: "flow", format: formatFlow}, {key: "url"}}}
	if s.finish("{marker.name} (flow={marker.data.flow})", ""); s.chart != nil {
		t.Errorf("the label is used: %v", s.chart)
	}
	if s.finish("{marker.name} {marker.data.url}", ""); s.chart == nil {
		t.Error("the label without the flow is not used")
	}
}

// If the markers have flows and the chart label shows only their name, the tableLabel replaces it, without the flow id at its
// end. In all other cases, the chart label is used.
func TestLabelOfTable(t *testing.T) {
	const plain, message = "{marker.name}", "{marker.data.name}(flow={marker.data.flow})"
	for _, test := range []struct {
		format             format
		chart, table, want string
	}{
		{formatFlow, plain, message, "PHttp::Msg_Start"},
		{formatTerminatingFlow, plain, message + " ", "PHttp::Msg_Start"},
		{formatUnique, plain, message, "IPC"},
		{formatFlow, "{marker.name} of {marker.data.name}", message, "IPC of PHttp::Msg_Start"},
		{formatFlow, plain, "{marker.data.flow} {marker.data.name}", "IPC"},
		{formatFlow, plain, "", "IPC"},
	} {
		s := schema{fields: []field{{key: "name"}, {key: "flow", format: test.format}}}
		s.finish(test.chart, test.table)
		values := make([]value, len(s.slots))
		for i := range s.slots {
			values[i] = value{jsonscan.String, []byte(map[string]string{"name": "PHttp::Msg_Start", "flow": "20"}[s.slots[i].key])}
		}
		m := labelled{name: []byte("IPC"), slots: s.slots, values: values}
		if got := string(s.chart.appendLabel(nil, &m)); got != test.want {
			t.Errorf("%s, %s: %q, want %q", test.chart, test.table, got, test.want)
		}
	}
}
