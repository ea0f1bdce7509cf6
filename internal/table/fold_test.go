package table

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// foldRow is a row of the tables of these tests.
type foldRow struct {
	Name, place string
	count       int64
	self        timeline.Nanos
}

// foldReport returns a report on one file with a table; the parameter all is the total time of the file; 0: the total of its
// rows.
func foldReport(folding Folding, all timeline.Nanos, rows ...foldRow) *Report {
	return &Report{Sections: []Section{{Tables: []*Table{New(Table{
		Name: "t", RowNoun: "rows", Key: "self_ns", Folding: folding, Total: int64(all), Worst: "longest",
		Summary: func(t *Totals) string { return fmt.Sprintf("%d rows, %d more", t.Count, t.Uncounted) },
	}, rows,
		Texts("name", "name", func(r *foldRow) string { return r.Name }).WithRole(Group),
		Texts("place", "place", func(r *foldRow) string { return r.place }).WithRole(Group),
		Counts("count", "count", func(r *foldRow) int64 { return r.count }).WithRole(Sum),
		Times("self_ns", "self ms", func(r *foldRow) timeline.Nanos { return r.self }).WithRole(Main),
		Texts("other", "other", func(*foldRow) string { return "of one file" }),
	)}}}}
}

// fold combines the tables of files, which are named by number.
func fold(t *testing.T, folding Folding, reports ...*Report) (*Fold, string) {
	t.Helper()
	f := NewFold(foldReport(folding, 0).Sections[0].Tables, 1<<20, t.TempDir())
	for i, r := range reports {
		if err := f.Add(fmt.Sprint(i+1), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	out := Report{Sections: []Section{{Tables: f.Tables()}}}
	var b bytes.Buffer
	if err := out.WriteCSV(&b, out.Sections[0].Tables[0]); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return f, b.String()
}

// Rows with equal names are combined, whatever the thread; shares are parts of the time of each file, averaged over all files.
func TestFold(t *testing.T) {
	twice := foldReport(Grouped, 40, foldRow{"f", "a.js:1", 1, 10}, foldRow{"f", "b.js:1", 1, 10})
	twice.Sections = append(twice.Sections, foldReport(Grouped, 0, foldRow{"f", "a.js:1", 2, 20}).Sections...) // on another thread
	twice.Sections[1].Tables[0].Total = 0
	twice.Sections[0].Tables[0].Total = 20
	_, got := fold(t, Grouped, twice, foldReport(Grouped, 40, foldRow{"f", "a.js:1", 1, 30}),
		foldReport(Grouped, 100), // a total time without rows
		foldReport(Grouped, 0, foldRow{"f", "b.js:1", 1, 0}))
	want := `name,place,recordings,count,self_ns,mean_share_ppb,max_share_ppb,max_share_in
f,a.js:1,2,4,60,375000000,750000000,1
f,b.js:1,2,2,10,62500000,250000000,1
`
	if got != want {
		t.Error(got)
	}
}

// Percentiles are computed over the individual rows of all files.
func TestFoldRanks(t *testing.T) {
	var reports []*Report
	for file := range 7 {
		var rows []foldRow
		for i := range 1000 {
			if i*i%7 == file {
				rows = append(rows, foldRow{"f", "", 1, timeline.Nanos(i * 617 % 1000)})
			}
		}
		reports = append(reports, foldReport(Ranked, 0, rows...))
	}
	if _, got := fold(t, Ranked, reports...); !strings.Contains(got, "self_ns,p50_ns,p75_ns,p95_ns,p99_ns,max_ns,") || !strings.Contains(got, ",499500,499,749,949,989,999,") {
		t.Error(got)
	}
}

// The result does not depend on the order of files.
func TestFoldOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	want := ""
	for range 5 {
		var reports []*Report
		for _, file := range r.Perm(30) {
			var rows []foldRow
			for i := range 20 {
				rows = append(rows, foldRow{fmt.Sprint(i % 7), "", 1, timeline.Nanos(file*i*617 + i)})
			}
			reports = append(reports, foldReport(Grouped, 0, rows...))
		}
		_, got := fold(t, Grouped, reports...)
		lines := strings.Split(got, "\n")
		for i := range lines { // files are named by their index
			lines[i] = lines[i][:strings.LastIndexByte(lines[i], ',')+1]
		}
		if got = strings.Join(lines, "\n"); want == "" {
			want = got
		}
		if got != want || len(lines) != 9 {
			t.Fatalf("%s\n%s", got, want)
		}
	}
}

// The number of rows is bounded, however many names there are, and the row for the others has the remaining counts and times.
func TestFoldLimit(t *testing.T) {
	rows := make([]foldRow, maxRows+1000)
	for i := range rows {
		rows[i] = foldRow{fmt.Sprint(i), "", 1, 1}
	}
	f, got := fold(t, Grouped, foldReport(Grouped, 0, rows...))
	if n := len(f.tables[0].list); n != maxRows+1 || !strings.Contains(got, "\n(others),,1,1000,1000,") {
		t.Errorf("%d rows: %.200s", n, got)
	}
}

// A list keeps the worst rows, and the earliest of equal ones, up to its limit.
func TestFoldList(t *testing.T) {
	var reports []*Report
	for _, length := range []timeline.Nanos{60, 70, 60, 80} {
		rows := make([]foldRow, maxListed/2)
		for i := range rows {
			rows[i] = foldRow{"f", "", 1, length}
		}
		r := foldReport(Listed, 0, rows...)
		r.Sections[0].Tables[0].Totals = Totals{Uncounted: 1, Blocking: 10, Omitted: map[string]int64{"move": 1}}
		reports = append(reports, r)
	}
	none := foldReport(Listed, 0) // has no rows
	none.Sections[0].Tables[0].Totals = Totals{Uncounted: 6, Blocking: 60, Omitted: map[string]int64{"move": 2}}
	f, got := fold(t, Listed, append(reports, none)...)
	if strings.Count(got, "\n4,f,") != maxListed/2 || strings.Count(got, "\n2,f,") != maxListed/2 || !strings.HasPrefix(got, "file,name,place,count,self_ns,other\n4,") {
		t.Errorf("%.200s", got)
	}
	if sums := f.List("t"); sums.Count != 2*maxListed || sums.Recordings != 4 || sums.Uncounted != 10 || sums.Blocking != 100 || sums.Omitted["move"] != 6 {
		t.Errorf("%+v", sums)
	}
	if text := f.Summary(); text != "; 8192 rows, 10 more" {
		t.Error(text)
	}
	list := f.Tables()[0]
	(&Order{Rows: maxListed}).Apply(list)
	if strings.Join(list.Notes, "\n") != "the 4,096 longest of 8,192 rows" { // --limit could not show more
		t.Errorf("%q", list.Notes)
	}
	long := foldReport(Listed, 0, foldRow{strings.Repeat("x", maxRowText), "", 1, 2}, foldRow{"click", "", 1, 1})
	if f, got := fold(t, Listed, long); !strings.Contains(got, "\n1,click,") || len(f.tables[0].rows) != 1 || f.tables[0].totals.Count != 2 {
		t.Errorf("%d rows, %.200s", len(f.tables[0].rows), got)
	}
}
