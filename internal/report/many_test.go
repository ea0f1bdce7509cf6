package report

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weft-trace/weft/internal/timeline"
)

func newMany(t *testing.T) *Many {
	m := NewMany(1<<20, t.TempDir())
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestMany(t *testing.T) {
	m := newMany(t)
	m.Begin("first")
	m.Add("functions", "f", "a.js:1", 1, 10, 20)
	m.Add("functions", "f", "a.js:1", 2, 20, 30) // on another thread
	m.Add("functions", "f", "b.js:1", 1, 10, 10)
	m.EndTable(40)
	m.Add("states", "idle", "", 7, 60, 60)
	m.EndTable(60)
	m.Begin("second")
	m.Add("functions", "f", "a.js:1", 1, 30, 30)
	m.EndTable(40)
	m.Begin("third") // is as long as the others together, and has neither
	m.EndTable(100)
	m.Begin("fourth")
	m.Add("functions", "f", "b.js:1", 1, 5, 5)
	m.EndTable(0) // no time, no share
	want := []ManyRow{
		{Table: "functions", Name: "f", Place: "a.js:1", Recordings: 2, Count: 4, Self: 60, Total: 80, MeanShare: 375_000_000, MaxShare: 750_000_000, MaxIn: "first"},
		{Table: "functions", Name: "f", Place: "b.js:1", Recordings: 2, Count: 2, Self: 15, Total: 15, MeanShare: 62_500_000, MaxShare: 250_000_000, MaxIn: "first"},
	}
	if diff := cmp.Diff(want, m.Rows("functions"), cmpopts.IgnoreUnexported(ManyRow{})); diff != "" {
		t.Error(diff)
	}
	if rows := m.Rows("states"); len(rows) != 1 || rows[0].MaxShare != 1_000_000_000 || rows[0].MeanShare != 250_000_000 {
		t.Errorf("%+v", rows)
	}
}

// The sums do not depend on the order in which recordings come.
func TestManyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	times := map[int][]timeline.Nanos{}
	for file := range 30 {
		for range 20 {
			times[file] = append(times[file], timeline.Nanos(r.Int64N(1_000_000_007)))
		}
	}
	var want []ManyRow
	for range 5 {
		m := newMany(t)
		for _, file := range r.Perm(30) {
			m.Begin(fmt.Sprint(file))
			all := timeline.Nanos(0)
			for i, self := range times[file] {
				all += self
				m.Add("t", fmt.Sprint(i%7), "", 1, self, self)
			}
			m.EndTable(all)
		}
		rows := m.Rows("t")
		if want == nil {
			want = rows
		}
		if diff := cmp.Diff(want, rows, cmpopts.IgnoreUnexported(ManyRow{})); diff != "" || len(rows) != 7 {
			t.Fatal(len(rows), diff)
		}
	}
}

// However many names there are, memory is bounded, and nothing is missing in the sum.
func TestManyLimit(t *testing.T) {
	m := newMany(t)
	const n = maxRows + 1000
	m.Begin("a")
	for i := range n {
		m.Add("t", fmt.Sprint(i), "", 1, 1, 1)
	}
	m.EndTable(n)
	rows, sum := m.Rows("t"), int64(0)
	for i := range rows {
		sum += rows[i].Count
	}
	if len(rows) != maxRows+1 || rows[0].Name != OthersGroup || rows[0].Count != 1000 || rows[0].Recordings != 1 || sum != n {
		t.Errorf("%d rows with %d, first %+v", len(rows), sum, rows[0])
	}
}

// Of all long tasks the longest stay, of several of one length those that came first, and no more than there is room for.
func TestManyWorst(t *testing.T) {
	m := newMany(t)
	for file, length := range []timeline.Nanos{60, 70, 60, 80} {
		tasks := &Tasks{Blocking: 2}
		for range maxTasks / 2 {
			tasks.Tasks = append(tasks.Tasks, Task{Name: "RunTask", Duration: length, Work: Work{Parts: []WorkPart{{Name: "f", Self: length / 2}, {Name: "g"}}}})
		}
		if err := m.AddTasks(fmt.Sprint(file), tasks); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.AddTasks("none", &Tasks{Uncounted: 3}); err != nil {
		t.Fatal(err)
	}
	if err := m.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	for i := range m.Tasks.Rows {
		files[m.Tasks.Rows[i].File]++
	}
	if diff := cmp.Diff(map[string]int{"3": maxTasks / 2, "1": maxTasks / 2}, files); diff != "" {
		t.Error(diff)
	}
	if m.Tasks.Rows[0].File != "3" || m.Tasks.Count != 2*maxTasks || m.Tasks.Recordings != 4 || m.Recordings != 5 || m.Blocking != 8 || m.UncountedTasks != 3 {
		t.Errorf("%d of %d tasks in %d of %d recordings", len(m.Tasks.Rows), m.Tasks.Count, m.Tasks.Recordings, m.Recordings)
	}
	f := m.Rows(ManyParts)[0]
	if want := (ManyLengths{Count: 2 * maxTasks, P50: 30, P75: 35, P95: 40, P99: 40, Max: 40}); f.Name != "f" || f.Count != 2*maxTasks || *f.Lengths != want {
		t.Errorf("%+v, %+v", f, *f.Lengths)
	}
	text := &Inputs{Inputs: []Interaction{{Type: string(make([]byte, maxRowText)), Latency: 2}, {Type: "click", Latency: 1}}}
	if err := m.AddInputs("long", text); err != nil || len(m.Inputs.Rows) != 1 || m.Inputs.Rows[0].Type != "click" || m.Inputs.Count != 2 {
		t.Errorf("%d of %d inputs, %v", len(m.Inputs.Rows), m.Inputs.Count, err)
	}
}
