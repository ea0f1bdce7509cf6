package table

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// row is a row of the tables of these tests.
type row struct {
	Name  string          `json:"name"`
	N     int             `json:"n"`
	Time  timeline.Nanos  `json:"ms_ns"`
	P50   *timeline.Nanos `json:"p50_ns"`
	Where string          `json:"where"`
}

func newTable(list ...row) *Table {
	return New(Table{Name: "rows", Title: "Functions, by self time", Key: "ms_ns"}, list,
		Texts("name", "function", func(r *row) string { return r.Name }),
		Counts("n", "samples", func(r *row) int { return r.N }).DropOrder(1),
		Times("ms_ns", "self ms", func(r *row) timeline.Nanos { return r.Time }),
		OptionalTimes("p50_ns", "p50 ms", func(r *row) *timeline.Nanos { return r.P50 }).DropOrder(2).IfAny(),
		Texts("where", "where", func(r *row) string { return r.Where }),
	)
}

func text(t *Table, columns int) string {
	var b bytes.Buffer
	(&Report{Sections: []Section{{Tables: []*Table{t}}}}).WriteText(&b, Terminal{Columns: columns}, "")
	return b.String()
}

// Numbers are aligned whatever script the names are in: wide characters take two columns, combining marks none. A column
// without values is hidden.
func TestWideNames(t *testing.T) {
	got := text(newTable(row{"layout", 9, 0, nil, "a.js"}, row{"計算量", 144, 0, nil, "a.js"}, row{"gro\u0308ße", 2304, 0, nil, "a.js"}, row{"テスト", 36864, 1, nil, "b.js"}), 0)
	const want = `
  Functions, by self time
  function  samples  self ms  where
  layout          9    0.000  a.js
  計算量        144    0.000  a.js
  gro` + "\u0308" + `ße       2,304    0.000  a.js
  テスト     36,864    0.000  b.js
`
	if got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A table drops dispensable columns and shortens the widest texts.
func TestFit(t *testing.T) {
	p50 := timeline.Nanos(1000)
	for columns, want := range map[int]string{
		0: "function samples self ms p50 ms where the first of two long names 12 0.002 0.001 a thread with a name",
		// 2 columns before each, and the width of the widest cell: 29 + 9 + 9 + 8 + 22.
		77: "function samples self ms p50 ms where the first of two long names 12 0.002 0.001 a thread with a name",
		76: "function samples self ms where the first of two long names 12 0.002 a thread with a name 1 more column in a wider terminal, or with --columns or --csv",
		61: "function self ms where the first of two long names 0.002 a thread with a name 2 more columns in a wider terminal, or with --columns or --csv",
		50: "function self ms where the first o… names 0.002 a thread wit…a name 2 more columns in a wider terminal, or with --columns or --csv",
	} {
		got := strings.Join(strings.Fields(text(newTable(row{"the first of two long names", 12, 2000, &p50, "a thread with a name"}), columns)), " ")
		if want := "Functions, by self time " + want; got != want {
			t.Errorf("in %d columns:\n%s\nwant\n%s", columns, got, want)
		}
	}
}

// Rows are sorted and limited, and columns selected, on the model: the row for the rest comes last and stays, and absent
// values come last.
func TestOrder(t *testing.T) {
	p50 := []timeline.Nanos{5, 3}
	rows := []row{{"b", 1, 10, nil, ""}, {"(rest)", 9, 90, nil, ""}, {"a", 3, 20, &p50[0], ""}, {"c", 2, 30, &p50[1], ""}}
	for _, test := range []struct {
		order Order
		want  string
	}{
		{Order{}, "b (rest) a c"}, {Order{Rows: 2}, "b (rest)"}, {Order{Rows: 1}, "b (rest)"}, {Order{Sort: "n"}, "a c b (rest)"},
		{Order{Sort: "-samples", Rows: 1}, "b (rest)"}, {Order{Sort: "name"}, "a b c (rest)"}, {Order{Sort: "p50"}, "a c b (rest)"}, {Order{Sort: "-p50_ns"}, "c a b (rest)"},
		{Order{Sort: "nothing"}, "b (rest) a c"},
	} {
		table := newTable(slices.Clone(rows)...)
		table.Rows[1].Last = true
		test.order.Apply(table)
		var got []string
		for _, r := range table.Rows {
			got = append(got, r.Cells()[0].Text)
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %s, want %s", test.order, got, test.want)
		}
	}
	for order, want := range map[string]string{"n": "", "N": "", "self": "", "p51": `--sort: unknown column "p51"; did you mean p50?`} {
		err := (&Order{Sort: order}).Check([]*Table{newTable()}, "")
		if err == nil != (want == "") || err != nil && err.Error() != want {
			t.Errorf("--sort %s: %v, want %s", order, err, want)
		}
	}
}

// CSV and JSON of the same table are complete and have no control characters.
func TestPrograms(t *testing.T) {
	report := &Report{Lines: true, Head: []Record{JSON(map[string]int{"rows": 2})}, Sections: []Section{{Tables: []*Table{newTable(row{"=a\n", 1, 1_000_000, nil, "<x>"}, row{"b,\u009b", 2, 0, nil, ""})}}}}
	var csv, lines bytes.Buffer
	if err := report.WriteCSV(&csv, newTable()); err != nil || csv.String() != "name,n,ms_ns,p50_ns,where\n'=a\\n,1,1000000,,<x>\n\"b,\\u009b\",2,0,,\n" {
		t.Errorf("%q, %v", csv.String(), err)
	}
	const want = `{"rows":2}
{"table":"rows","name":"=a\n","n":1,"ms_ns":1000000,"p50_ns":null,"where":"<x>"}
{"table":"rows","name":"b,\u009b","n":2,"ms_ns":0,"p50_ns":null,"where":""}
`
	if err := report.WriteJSON(&lines, ""); err != nil || lines.String() != want {
		t.Errorf("%s, %v", lines.String(), err)
	}
	for line := range strings.Lines(lines.String()) {
		if !json.Valid([]byte(line)) {
			t.Error(line)
		}
	}
}

// Quiet sections are replaced by one line, unless there are no others.
func TestJoinQuiet(t *testing.T) {
	r := Report{Sections: []Section{{Title: "busy"}, {Title: "1", Quiet: "pool"}, {Title: "2", Quiet: "pool"}, {Title: "3", Quiet: "io"}}}
	say := func(n int, names string) string { return Thousands(n) + " threads: " + names }
	if r.JoinQuiet(say); len(r.Sections) != 2 || r.Sections[1].Lines[0] != "3 threads: io, pool ×2" {
		t.Errorf("%+v", r.Sections)
	}
	quiet := Report{Sections: r.Sections[:0:0]}
	quiet.Sections = append(quiet.Sections, Section{Quiet: "io"})
	if quiet.JoinQuiet(say); len(quiet.Sections) != 1 || quiet.Sections[0].Quiet == "" {
		t.Errorf("%+v", quiet.Sections)
	}
}

// On a terminal with color, shares have bars, numbers over a threshold are red, and ids are dim; other output has only the
// text.
func TestColors(t *testing.T) {
	type line struct {
		name       string
		time, part timeline.Nanos
	}
	rows := []line{{"main [tid 7]", 60e6, 50}, {"other", 40e6, 3}, {"CpuProfiler::Start", 1e6, 100}}
	report := func() *Report {
		return &Report{Sections: []Section{{Tables: []*Table{New(Table{Name: "t", Flush: true}, rows,
			Names("name", "name", 40, func(r *line) string { return r.name }).Noted(producers.RecorderNote),
			Times("ms", "ms", func(r *line) timeline.Nanos { return r.time }).Over(50e6),
			Shares("share", func(r *line) (part, all timeline.Nanos) { return r.part, 100 }),
		)}}}}
	}
	for name, test := range map[string]struct {
		on   Terminal
		want []string
	}{
		"plain": {Terminal{}, []string{"name                                   ms    share", "main [tid 7]                       60.000   50.0 %"}},
		"color": {Terminal{Columns: 80, Color: true}, []string{
			"main \x1b[2m[tid 7]\x1b[0m                       \x1b[31m60.000\x1b[0m  ████      50.0 %", "other                              40.000  ▎          3.0 %",
			"CpuProfiler::Start (the recorder)   1.000  ████████ 100.0 %",
		}},
		"narrow": {Terminal{Columns: 38, Color: true}, []string{"CpuProfil…Start (the recorder)   1.000"}},
	} {
		var b strings.Builder
		if err := report().WriteText(&b, test.on, ""); err != nil {
			t.Fatal(err)
		}
		for _, line := range test.want {
			if !strings.Contains(b.String(), line) {
				t.Errorf("%s: no line %q in\n%s", name, line, b.String())
			}
		}
	}
	if got := (Terminal{Color: true}).Spark([]timeline.Nanos{0, 1, 4, 8}); got != " ▁▄█" {
		t.Errorf("%q", got)
	}
	if got := (Terminal{}).Spark([]timeline.Nanos{0, 1}); got != "" {
		t.Errorf("%q without color", got)
	}
}
