package firefox

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/jsonscan"
)

func TestLabels(t *testing.T) {
	s := &schema{fields: []field{{key: "d", format: formatMillis}, {key: "b", format: formatBytes}, {key: "t"}}}
	s.finish("", "", "")
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
		{"{marker.data.t ? 'x'}{marker.x}{x ? 'a' : 'b'}{", "", "", `1`, "{"},
		{"{marker.start}-{marker.end}={marker.duration}", "", "", "", "1.5ms-3.75ms=2.25ms"},
		{"{marker.data.unknown}|", "", "", "", "|"},
	} {
		m := labelled{name: []byte("name"), category: []byte("cat"), start: 1.5, end: 3.75}
		template := s.template(test.template)
		m.fields = s.fields
		for _, text := range []string{test.d, test.b, test.t} {
			var scanner jsonscan.Scanner
			scanner.Reset([]byte(text + " "))
			var v value
			if text != "" {
				v.kind, v.text = scanner.Scalar()
			}
			m.values = append(m.values, v)
		}
		m.values = append(m.values, make([]value, len(s.fields)-len(m.values))...)
		if got := string(template.appendLabel(nil, &m)); got != test.want {
			t.Errorf("%s with %q %q %q: %q, want %q", test.template, test.d, test.b, test.t, got, test.want)
		}
	}
	instant := labelled{start: 1, end: math.NaN()}
	if got := string(s.template("{marker.end}{marker.duration}").appendLabel(nil, &instant)); got != "" {
		t.Errorf("an instant has the end and duration %q", got)
	}
}

// A label ends, however often its template puts in a text.
func TestLongLabel(t *testing.T) {
	s := &schema{}
	s.finish(strings.Repeat("{marker.name}", 1000), "", "")
	m := labelled{name: []byte(strings.Repeat("x", 100)), fields: s.fields}
	if got := len(s.chart.appendLabel(nil, &m)); got < maxLabel || got > maxLabel+100 {
		t.Errorf("%d bytes", got)
	}
}
