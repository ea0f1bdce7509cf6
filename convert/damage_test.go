package convert_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
)

// damageDocuments contains one document for each JSON format, with marks for damage: ‹open› and ‹close› are after the first and
// before the last bracket of a document, ‹member› is the comma between two of its members, ‹twice› is a member that already
// exists, ‹first›, ‹comma› and ‹last› are positions in a list of objects where commas can be, ‹text› is inside a string, ‹number›
// is a number in the second object, and ‹after› is at the very end.
var damageDocuments = []struct {
	format   convert.Format
	document string
	twice    string
}{
	{
		convert.FormatChromeJSON,
		`{‹open›"displayTimeUnit":"ms"‹twice›‹member›"traceEvents":[‹first›
			{"ph":"X","pid":1,"tid":1,"ts":1,"dur":2,"name":"a"}‹comma›
			{"ph":"X","pid":1,"tid":1,"ts":5,"name":"‹text›","dur":‹number›}‹last›]‹close›}‹after›`,
		`,"displayTimeUnit":"ns"`,
	},
	{
		convert.FormatFirefox,
		`{‹open›"meta":{"version":34,"startTime":1000‹twice›}‹member›"threads":[],"libs":[‹first›
			{"start":1,"end":2,"offset":0,"name":"a"}‹comma›
			{"start":2,"name":"‹text›","end":‹number›}‹last›]‹close›}‹after›`,
		`,"startTime":1000`,
	},
	{
		convert.FormatCPUProfile,
		`{‹open›"startTime":1‹twice›‹member›"samples":[1,1],"timeDeltas":[1,1],"nodes":[‹first›
			{"id":1,"callFrame":{"functionName":"(root)"}}‹comma›
			{"id":2,"parent":1,"callFrame":{"functionName":"‹text›","lineNumber":‹number›}}‹last›]‹close›}‹after›`,
		`,"startTime":1`,
	},
	{
		convert.FormatJSProfile,
		`{‹open›"sampleInterval":10‹twice›‹member›"samples":[{"timestamp":1},{"timestamp":11}],"resources":[],"stacks":[],"frames":[‹first›
			{"name":"a","line":1}‹comma›
			{"name":"‹text›","line":‹number›}‹last›]‹close›}‹after›`,
		`,"sampleInterval":10`,
	},
	{
		convert.FormatOTLP,
		`{‹open›"resourceSpans":[{"schemaUrl":"a"‹twice›‹member›"scopeSpans":[{"spans":[‹first›
			{"name":"a","startTimeUnixNano":1,"endTimeUnixNano":2}‹comma›
			{"name":"‹text›","startTimeUnixNano":1,"endTimeUnixNano":‹number›}‹last›]}]}]‹close›}‹after›`,
		`,"schemaUrl":"b"`,
	},
	{
		convert.FormatHAR,
		`{"log":{‹open›"version":"1.2"‹twice›‹member›"entries":[‹first›
			{"startedDateTime":"2024-01-01T00:00:00Z","time":1}‹comma›
			{"startedDateTime":"2024-01-01T00:00:00Z","comment":"‹text›","time":‹number›}‹last›]}‹close›}‹after›`,
		`,"version":"1.3"`,
	},
}

// damage is a change to a document, and the JSON problems that it causes. Replace fills some of the marks; the document ends at
// cut. Problems are ordered by name; those concerning values are specific to the format.
type damage struct {
	name     string
	replace  map[string]string
	cut      string
	problems string
}

var damages = []damage{
	{"none", nil, "", ""},
	{"a byte order mark", map[string]string{"bom": "\ufeff"}, "", ""},
	{"a leading comma among members", map[string]string{"open": ","}, "", "json_trailing_comma 1"},
	{"a trailing comma among members", map[string]string{"close": ","}, "", "json_trailing_comma 1"},
	{"two commas between members", map[string]string{"member": ",,"}, "", "json_trailing_comma 1"},
	{"no comma between members", map[string]string{"member": " "}, "", "json_trailing_comma 1"},
	{"a leading comma in a list", map[string]string{"first": ","}, "", "json_trailing_comma 1"},
	{"a trailing comma in a list", map[string]string{"last": ","}, "", "json_trailing_comma 1"},
	{"two commas in a list", map[string]string{"comma": ",\n,"}, "", "json_trailing_comma 1"},
	{"no comma in a list", map[string]string{"comma": ""}, "", "json_trailing_comma 1"},
	{
		"stray commas everywhere", map[string]string{"open": ",", "first": ",", "comma": ",,,", "last": ",", "close": ","}, "",
		"json_trailing_comma 1",
	},
	{"a key twice", map[string]string{"twice": "twice"}, "", "json_duplicate_key 1"},
	{"a control character", map[string]string{"text": "a\tb"}, "", "json_control_character 1"},
	{"bytes that are no UTF-8", map[string]string{"text": "a\xff\xc3b"}, "", "json_invalid_utf8 2"},
	{"lone surrogates", map[string]string{"text": `\ud800 \udc00`}, "", "json_lone_surrogate 2"},
	{"an unknown escape", map[string]string{"text": `a\qb`}, "", "json_bad_escape 1"},
	{"NaN", map[string]string{"number": "NaN"}, "", "json_nonstandard_number 1"},
	{"an infinity", map[string]string{"number": "-Infinity"}, "", "json_nonstandard_number 1"},
	{"a number in hex", map[string]string{"number": "0x10"}, "", "json_nonstandard_number 1"},
	{"a number beyond 64 bits", map[string]string{"number": "123456789012345678901234567890"}, "", ""},
	{"a text for a number", map[string]string{"number": `"x"`}, "", ""},
	{"a list for a number", map[string]string{"number": `[[[1]]]`}, "", ""},
	{"nesting", map[string]string{"number": strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)}, "", ""},
	{"bytes after the end", map[string]string{"after": "\n<html>"}, "", "json_trailing_data 6"},
	{"white space after the end", map[string]string{"after": "\n \r\n"}, "", ""},
	{"the end is missing after a value", nil, "comma", "json_unterminated 1"},
	{"the end is missing after a list", nil, "close", "json_unterminated 1"},
	{"the end is missing in a text", nil, "text", "json_partial_event 1 json_unterminated 1"},
	{"the end is missing in an element", nil, "number", "json_partial_event 1 json_unterminated 1"},
	{"the wrong bracket", map[string]string{"close": "]"}, "", "json_malformed_event 1 json_trailing_data 2"},
	{"text that is no JSON", map[string]string{"close": ",@"}, "", "json_malformed_event 1 json_trailing_data 2"},
	{"a member without a value", map[string]string{"close": `,"x":`}, "", "json_malformed_event 1 json_trailing_data 1"},
}

// apply damages a document.
func (d *damage) apply(document, twice string) string {
	document = "‹bom›" + document
	for place, plain := range map[string]string{
		"bom": "", "open": "", "member": ",", "twice": "", "first": "", "comma": ",", "last": "", "text": "b", "number": "3", "close": "", "after": "",
	} {
		mark := "‹" + place + "›"
		if place == d.cut {
			continue
		}
		text, ok := d.replace[place]
		switch {
		case !ok:
			text = plain
		case place == "twice":
			text = twice
		}
		document = strings.Replace(document, mark, text, 1)
	}
	if d.cut != "" {
		document, _, _ = strings.Cut(document, "‹"+d.cut+"›")
	}
	return document
}

// TestDamage damages a document in each JSON format in the same ways and expects the same JSON problems.
func TestDamage(t *testing.T) {
	for _, d := range damages {
		for _, format := range damageDocuments {
			t.Run(fmt.Sprint(d.name, " in ", format.format), func(t *testing.T) {
				input := d.apply(format.document, format.twice)
				tl, report, err := convert.Load(t.Context(), bytes.NewReader([]byte(input)), convert.Options{From: format.format, Workers: 1})
				if err != nil {
					t.Fatal(err)
				}
				defer tl.Close()
				var got []string
				for _, p := range report.Problems {
					if !strings.HasPrefix(p.Name, "json_") {
						continue
					}
					got = append(got, fmt.Sprint(p.Name, " ", p.Count))
					for _, c := range p.Cases {
						if c.Byte == nil || *c.Byte > int64(len(input)) {
							t.Errorf("%s has no place in the input", p.Name)
						}
					}
				}
				slices.Sort(got)
				want := d.problems
				if format.format == convert.FormatHAR && d.name == "a number beyond 64 bits" {
					want = "json_big_integer 1" // in HAR, this is an argument, which becomes a double
				}
				if got := strings.Join(got, " "); got != want {
					t.Errorf("problems %q, want %q", got, want)
				}
			})
		}
	}
}

// probeLineProblems lists the problems of damages that have different effects in a probe line. A line that is not one complete
// object is a bad line, like other lines (probes.md 1); invalid UTF-8 bytes are kept as \xHH (probes.md 3); a newline starts
// another line.
var probeLineProblems = map[string]string{
	"a byte order mark":                "unknown_line 1",
	"no comma between members":         "bad_line 1",
	"two commas in a list":             "bad_line 1 unknown_line 1",
	"no comma in a list":               "bad_line 1",
	"a key twice":                      "", // in small objects, the last value counts
	"bytes that are no UTF-8":          "",
	"bytes after the end":              "unknown_line 1",
	"white space after the end":        "unknown_line 1",
	"the end is missing after a value": "bad_line 1",
	"the end is missing after a list":  "bad_line 1",
	"the end is missing in a text":     "bad_line 1",
	"the end is missing in an element": "bad_line 1",
	"the wrong bracket":                "bad_line 1",
	"text that is no JSON":             "bad_line 1",
	"a member without a value":         "bad_line 1",
}

// TestDamageOfProbeLines damages one line of bpftrace's JSON. Unlike the documents in TestDamage, each line is a small object
// that is read at once, so damage does not affect other lines. Deviations from JSON within a line are counted as in documents.
func TestDamageOfProbeLines(t *testing.T) {
	const line = `{‹open›"type":"value"‹twice›‹member›"data":[‹first›"P1",2,1,1,0,"p:b"‹comma›"‹text›",‹number›‹last›]‹close›}‹after›`
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			input := "P1\t1\t1\t1\t0\tp:a\n" + d.apply(line, `,"type":"value"`) + "\nP1\t3\t1\t1\t0\tp:c\n"
			tl, report, err := convert.Load(t.Context(), strings.NewReader(input), convert.Options{From: convert.FormatProbes, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer tl.Close()
			want, other := probeLineProblems[d.name]
			if !other {
				want = d.problems
			}
			var got []string
			for _, p := range report.Problems {
				got = append(got, fmt.Sprint(p.Name, " ", p.Count))
			}
			slices.Sort(got)
			if got := strings.Join(got, " "); got != want {
				t.Errorf("problems %q, want %q", got, want)
			}
			if n := report.Events.Instants; n < 2 || n < 3 && !strings.Contains(want, "_line") {
				t.Errorf("%d of 3 probes were read", n)
			}
		})
	}
}
