package flowbind_test

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// Memory budgets for the tests: everything in memory, and everything that can be on disk.
const (
	largeMemory = timeline.DefaultMemory
	smallMemory = 1
)

// resolve builds a timeline from its text form (package testkit), nests it and resolves its flows.
func resolve(t testing.TB, memory int64, text string) (*timeline.Timeline, *problem.Log) {
	t.Helper()
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Memory: memory, TempDir: t.TempDir(), Problems: log})
	if err := testkit.Add(b, text); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tl.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := flowbind.NestAndResolve(context.Background(), tl); err != nil {
		t.Fatal(err)
	}
	return tl, log
}

// arrow is a line that Perfetto draws between two slices or instants, identified by their events.
type arrow struct{ from, to uint32 }

// drawer draws arrows from items as Perfetto does (perfetto.md 8): an inactive id starts a flow at its item; an active id draws
// an arrow between its item and the item where the id occurred last. The arrow starts at the earlier item.
type drawer struct {
	active  map[uint64]place
	arrows  []arrow
	ignored []uint32 // events with a terminating id that is not active
	twice   []uint32 // events that have an id twice
	names   map[uint32]string
}

type place struct {
	event uint32
	ts    timeline.Nanos
}

func draw(t testing.TB, tl *timeline.Timeline) *drawer {
	t.Helper()
	d := &drawer{active: map[uint64]place{}, names: map[uint32]string{}}
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		d.item(it)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *drawer) item(it *timeline.Item) {
	if it.Kind == timeline.ItemBegin || it.Kind == timeline.ItemInstant && len(it.Name) > 0 {
		d.names[it.Event] = string(it.Name)
	}
	here := place{it.Event, it.TS}
	seen := map[uint64]bool{}
	for _, terminating := range []bool{false, true} {
		for _, f := range it.Flows {
			if f.Terminating != terminating || f.ID == 0 {
				continue
			}
			if seen[f.ID] {
				d.twice = append(d.twice, it.Event)
			}
			seen[f.ID] = true
			from, active := d.active[f.ID]
			switch {
			case active && from.ts > here.ts:
				d.arrows = append(d.arrows, arrow{here.event, from.event})
			case active:
				d.arrows = append(d.arrows, arrow{from.event, here.event})
			case terminating:
				d.ignored = append(d.ignored, it.Event)
			}
			d.active[f.ID] = here
			if terminating {
				delete(d.active, f.ID)
			}
		}
	}
}

// text returns the arrows as names, sorted: "A>B A>C".
func (d *drawer) text() string {
	var all []string
	for _, a := range d.arrows {
		all = append(all, d.names[a.from]+">"+d.names[a.to])
	}
	sort.Strings(all)
	return strings.Join(all, " ")
}

// flowProblems formats the problem counts, without positions: "flow_fan_out 1".
func flowProblems(log *problem.Log) string {
	var all []string
	for _, total := range log.Totals() {
		if strings.HasPrefix(total.Kind.Name(), "flow_") {
			all = append(all, fmt.Sprintf("%s %d", total.Kind, total.Count))
		}
	}
	return strings.Join(all, ", ")
}

// check compares arrows and problems, and checks that the output has no ids that Perfetto ignores.
func check(t *testing.T, text, arrows, problems string) {
	t.Helper()
	for _, memory := range []int64{largeMemory, smallMemory} {
		tl, log := resolve(t, memory, text)
		d := draw(t, tl)
		if got := d.text(); got != arrows {
			t.Errorf("arrows %q, want %q", got, arrows)
		}
		if got := flowProblems(log); got != problems {
			t.Errorf("problems %q, want %q", got, problems)
		}
		if len(d.ignored) > 0 || len(d.twice) > 0 {
			t.Errorf("ends of events %v are ignored, ids of events %v are there twice", d.ignored, d.twice)
		}
	}
}

// The slices for the state machine tests: one after the other, on different threads.
var slicesInARow = map[string]struct{ thread, ts int }{"A": {1, 0}, "B": {2, 20}, "C": {1, 40}, "D": {3, 60}, "E": {2, 80}}

// v1 writes steps like "sA tB fC" as s, t and f events in the middle of their slices.
func v1(steps string) string {
	var text strings.Builder
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		s := slicesInARow[name]
		fmt.Fprintf(&text, "X 1/%d %s %d 10\n", s.thread, name, s.ts)
	}
	for step := range strings.FieldsSeq(steps) {
		s := slicesInARow[step[1:]]
		fmt.Fprintf(&text, "%c 1/%d 1 %d bp=e\n", step[0], s.thread, s.ts+5)
	}
	return text.String()
}

// v2 writes the same steps as slices with a bind_id.
func v2(steps string) string {
	var text strings.Builder
	for _, name := range []string{"A", "B", "C", "D", "E"} {
		s := slicesInARow[name]
		fmt.Fprintf(&text, "X 1/%d %s %d 10", s.thread, name, s.ts)
		for step := range strings.FieldsSeq(steps) {
			if step[1:] == name {
				text.WriteString(map[byte]string{'s': " out=1", 't': " step=1", 'f': " in=1"}[step[0]])
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}

// TestStateMachine tests every cell of the table in chrome-json.md 15, for both forms of flows.
func TestStateMachine(t *testing.T) {
	tests := []struct{ steps, arrows, problems string }{
		// none
		{"sA", "", "flow_unfinished 1"},
		{"tA", "", "flow_step_without_start 1"},
		{"fA", "", "flow_end_without_start 1"},
		{"tA fB", "", "flow_end_without_start 1, flow_step_without_start 1"},
		{"tA sB fC", "B>C", "flow_step_without_start 1"},
		{"fA sB fC", "B>C", "flow_end_without_start 1"},
		// open
		{"sA sB fC", "A>C", "flow_duplicate_start 1"},
		{"sA sB", "", "flow_duplicate_start 1, flow_unfinished 1"},
		{"sA tB", "A>B", ""},
		{"sA tB tC", "A>B B>C", ""},
		{"sA tB sC fD", "A>B B>D", "flow_duplicate_start 1"},
		{"sA fB", "A>B", ""},
		{"sA tB fC", "A>B B>C", ""},
		{"sA tB tC tD fE", "A>B B>C C>D D>E", ""},
		// closed
		{"sA fB sC", "A>B", "flow_unfinished 1"},
		{"sA fB sC fD", "A>B C>D", ""},
		{"sA fB tC", "A>B A>C", ""},
		{"sA fB tC fD", "A>B A>C C>D", "flow_fan_out 1"},
		{"sA fB tC sD fE", "A>B A>C D>E", ""},
		{"sA fB fC", "A>B A>C", "flow_fan_out 1"},
		{"sA fB fC fD sE", "A>B A>C A>D", "flow_fan_out 2, flow_unfinished 1"},
		{"sA tB fC fD", "A>B B>C B>D", "flow_fan_out 1"},
	}
	for _, test := range tests {
		t.Run(test.steps, func(t *testing.T) {
			check(t, v1(test.steps), test.arrows, test.problems)
			check(t, v2(test.steps), test.arrows, test.problems)
		})
	}
}

// A chain has one id, which ends with its last member; every further arrow from a producer has its own id (chrome-json.md 15).
func TestIDs(t *testing.T) {
	tests := []struct{ steps, want string }{
		{"sA fB", "A flow=1, B end=1"},
		{"sA tB tC fD", "A flow=1, B flow=1, C flow=1, D end=1"},
		{"sA tB", "A flow=1, B end=1"},
		{"sA fB fC fD", "A flow=1 flow=2 flow=3, B end=1, C end=2, D end=3"},
		{"sA tB fC fD", "A flow=1, B flow=1 flow=2, C end=1, D end=2"},
		{"sA fB sC fD", "A flow=1, B end=1, C flow=2, D end=2"},
		{"sA fB tC fD", "A flow=1 flow=2, B end=1, C flow=2, D end=2"},
	}
	for _, test := range tests {
		for _, text := range []string{v1(test.steps), v2(test.steps)} {
			tl, _ := resolve(t, largeMemory, text)
			var got []string
			err := tl.Walk(context.Background(), func(it *timeline.Item) error {
				if len(it.Flows) > 0 {
					ids := string(it.Name)
					for _, f := range it.Flows {
						ids += fmt.Sprintf(" %s=%d", map[bool]string{false: "flow", true: "end"}[f.Terminating], f.ID)
					}
					got = append(got, ids)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(got, ", ") != test.want {
				t.Errorf("%s: got %s, want %s", test.steps, strings.Join(got, ", "), test.want)
			}
		}
	}
}

// TestBinding shows the slices to which flow ends bind (chrome-json.md 15). In every input, the other end of the flow is P, or Q
// for ends that are bound first.
func TestBinding(t *testing.T) {
	const producer, consumer = "X 9/9 P 0 1\ns 9/9 1 0\n", "X 9/9 Q 900 1\nf 9/9 1 900 bp=e\n"
	tests := []struct{ name, text, arrows, problems string }{
		{"innermost by latest start", "X 1/1 A 10 50\nX 1/1 B 20 20\nf 1/1 1 25 bp=e\n" + producer, "P>B", ""},
		{"after the inner slice", "X 1/1 A 10 50\nX 1/1 B 20 20\nf 1/1 1 45 bp=e\n" + producer, "P>A", ""},
		{"the end of an X is included", "X 1/1 A 10 10\nf 1/1 1 20 bp=e\n" + producer, "P>A", ""},
		{"after the end", "X 1/1 A 10 10\nf 1/1 1 21 bp=e\n" + producer, "", "flow_no_enclosing_slice 1, flow_unfinished 1"},
		{"between touching slices the later one", "X 1/1 A 10 10\nX 1/1 B 20 10\nf 1/1 1 20 bp=e\n" + producer, "P>B", ""},
		{"the start of an X counts wherever it is in the file", "f 1/1 1 10 bp=e\nX 1/1 A 10 10\n" + producer, "P>A", ""},
		{"a begin at the time must come earlier in the file", "B 1/1 A 10\nf 1/1 1 10 bp=e\nE 1/1 A 20\n" + producer, "P>A", ""},
		{"a begin that comes later does not count", "f 1/1 1 10 bp=e\nB 1/1 A 10\nE 1/1 A 20\n" + producer, "",
			"flow_no_enclosing_slice 1, flow_unfinished 1"},
		{"an instant at the time, earlier in the file", "X 1/1 A 5 10\nI 1/1 i 10\nf 1/1 1 10 bp=e\n" + producer, "P>i", ""},
		{"an instant at the time, later in the file", "X 1/1 A 5 10\nf 1/1 1 10 bp=e\nI 1/1 i 10\n" + producer, "P>A", ""},
		{"an X of length 0 at the time, later in the file", "X 1/1 A 5 10\nf 1/1 1 10 bp=e\nX 1/1 z 10 0\n" + producer, "P>A", ""},
		{"an instant is over one ns later", "X 1/1 A 5 10\nI 1/1 i 10\nf 1/1 1 11 bp=e\n" + producer, "P>A", ""},
		{"an end at the time must come later in the file", "B 1/1 A 10\nf 1/1 1 20 bp=e\nE 1/1 A 20\n" + producer, "P>A", ""},
		{"an end that comes earlier has ended its slice", "B 1/1 A 10\nE 1/1 A 20\nf 1/1 1 20 bp=e\n" + producer, "",
			"flow_no_enclosing_slice 1, flow_unfinished 1"},
		{"an open slice contains everything after it", "B 1/1 A 10\nf 1/1 1 500 bp=e\n" + producer, "P>A", ""},
		{"a slice closed by its parent ends with it", "X 1/1 A 10 10\nB 1/1 b 15\nf 1/1 1 20 bp=e\n" + producer, "P>b", ""},
		{"slices on lanes take part", "X 1/1 A 10 20\nX 1/1 B 20 20\nf 1/1 1 25 bp=e\n" + producer, "P>B", ""},
		{"a slice that ended on top of one that goes on", "X 1/1 A 10 90\nX 1/1 B 20 5\nX 1/1 C 22 40\nf 1/1 1 70 bp=e\n" + producer, "P>A", ""},
		{"never a slice of another thread or an asynchronous one", "X 1/2 A 10 90\nB 1/id:0x1 b 10\nf 1/1 1 20 bp=e\n" + producer, "",
			"flow_no_enclosing_slice 1, flow_unfinished 1"},
		{"s binds like f with bp e", "X 1/1 A 10 50\nX 1/1 B 20 20\ns 1/1 1 25\n" + consumer, "B>Q", ""},
		{"s without slice leaves its id without start", "s 1/1 1 25\n" + consumer, "", "flow_end_without_start 1, flow_no_enclosing_slice 1"},

		{"f without bp is bound to the next start", "X 1/1 A 10 50\nX 1/1 B 20 20\nf 1/1 1 15\n" + producer, "P>B", ""},
		{"next is on its own thread", "X 1/2 A 10 50\nX 1/1 B 20 20\nf 1/1 1 5\n" + producer, "P>B", ""},
		{"next is not an X that starts now", "X 1/1 Y 10 5\nf 1/1 1 10\nX 1/1 Z 30 5\n" + producer, "P>Z", ""},
		{"nor one that comes later in the file", "f 1/1 1 10\nX 1/1 Y 10 5\nX 1/1 Z 30 5\n" + producer, "P>Z", ""},
		{"a begin now is next if it comes later in the file", "f 1/1 1 10\nB 1/1 Y 10\nE 1/1 Y 20\n" + producer, "P>Y", ""},
		{"a begin now that comes earlier is not", "B 1/1 Y 10\nf 1/1 1 10\nE 1/1 Y 20\nI 1/1 Z 30\n" + producer, "P>Z", ""},
		{"of several that start next the first by order", "f 1/1 1 10\nX 1/1 Y 20 5\nX 1/1 Z 20 9\n" + producer, "P>Z", ""},
		{"nothing is next", "X 1/1 A 10 50\nf 1/1 1 15\n" + producer, "", "flow_no_next_slice 1, flow_unfinished 1"},
		{"several wait for one start", "X 9/8 O 0 1\ns 9/8 2 0\nf 1/1 1 15\nf 1/1 2 16\nX 1/1 B 20 20\n" + producer, "O>B P>B", ""},

		{"a carrier is the endpoint, not what is around it", "X 1/1 A 10 50 out=5\nX 1/1 B 20 20 in=5\n", "A>B", ""},
		{"an asynchronous carrier", "B 1/id:0x1 A 10 out=5\nI 1/id:0x1 n 20 in=5\n", "A>n", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { check(t, test.text, test.arrows, test.problems) })
	}
}

// A start or step outside all slices draws no arrow, but if its id has ended, later ends do not belong to the previous flow: no
// flow starts there (chrome-json.md 15).
func TestStartsInNoSlice(t *testing.T) {
	const slices = "X 1/1 A 0 10\nX 1/2 B 20 10\nX 1/1 C 40 10\nX 1/2 D 60 10\n"
	const first = slices + "s 1/1 1 5\nf 1/2 1 25 bp=e\n"
	const carriers = "X 1/1 A 0 10 out=1\nX 1/2 B 20 10 in=1\n"
	tests := []struct{ name, text, arrows, problems string }{
		{"s, then f", first + "s 1/1 1 35\nf 1/2 1 65 bp=e\n", "A>B",
			"flow_end_without_start 1, flow_no_enclosing_slice 1"},
		{"s, then t and f", first + "s 1/1 1 35\nt 1/1 1 45\nf 1/2 1 65 bp=e\n", "A>B",
			"flow_end_without_start 1, flow_no_enclosing_slice 1, flow_step_without_start 1"},
		{"s, then two f", first + "s 1/1 1 35\nf 1/1 1 45 bp=e\nf 1/2 1 65 bp=e\n", "A>B",
			"flow_end_without_start 2, flow_no_enclosing_slice 1"},
		{"s, then a flow of its own", first + "s 1/1 1 35\ns 1/1 1 45\nf 1/2 1 65 bp=e\n", "A>B C>D", "flow_no_enclosing_slice 1"},
		{"another id", first + "s 1/1 2 35\nf 1/2 1 65 bp=e\n", "A>B A>D", "flow_no_enclosing_slice 1, flow_fan_out 1"},
		{"another name", first + "s 1/1 1 35 name=n\nf 1/2 1 65 bp=e\n", "A>B A>D", "flow_no_enclosing_slice 1, flow_fan_out 1"},
		{"t of a flow that has ended", first + "t 1/1 1 35\nf 1/2 1 65 bp=e\n", "A>B",
			"flow_end_without_start 1, flow_no_enclosing_slice 1"},
		{"f of a flow that has ended", first + "f 1/1 1 35 bp=e\nf 1/2 1 65 bp=e\n", "A>B A>D",
			"flow_no_enclosing_slice 1, flow_fan_out 1"},
		{"s of an open flow is ignored, as in a slice", slices + "s 1/1 1 5\ns 1/1 1 35\nf 1/2 1 65 bp=e\n", "A>D", "flow_no_enclosing_slice 1"},
		{"t of an open flow", slices + "s 1/1 1 5\nt 1/1 1 35\nf 1/2 1 65 bp=e\n", "A>D", "flow_no_enclosing_slice 1"},
		{"s before anything", slices + "s 1/1 1 15\nf 1/2 1 65 bp=e\n", "", "flow_end_without_start 1, flow_no_enclosing_slice 1"},

		{"a dropped carrier", carriers + "D 1/1 x 35 out=1\nX 1/2 D 60 10 in=1\n", "A>B", "flow_end_without_start 1"},
		{"a dropped carrier of a step", carriers + "D 1/1 x 35 step=1\nX 1/2 D 60 10 in=1\n", "A>B", "flow_end_without_start 1"},
		{"a dropped carrier of an end", carriers + "D 1/1 x 35 in=1\nX 1/2 D 60 10 in=1\n", "A>B A>D", "flow_fan_out 1"},
		{"an event that carries nothing", carriers + "E 1/1 x 35 out=1\nX 1/2 D 60 10 in=1\n", "A>B",
			"flow_end_without_start 1, flow_no_enclosing_slice 1"},
		{"a dropped carrier and its end at one time", carriers + "D 1/1 x 60 out=1\nX 1/2 D 60 10 in=1\n", "A>B", "flow_end_without_start 1"},
		{"a dropped carrier after the end at its time", "X 1/1 A 0 10 out=1\nX 1/2 B 20 10 in=1\nD 1/1 x 20 out=1\nX 1/2 D 60 10 in=1\n",
			"A>B", "flow_end_without_start 1"},
		{"a text as id", "X 1/1 A 0 10 out=x\nX 1/2 B 20 10 in=x\nD 1/1 x 35 out=x\nX 1/2 D 60 10 in=x\n", "A>B", "flow_end_without_start 1"},
		{"a dropped carrier of Perfetto's flows", "X 1/1 A 0 10 flow=1\nX 1/2 B 20 10 flow=1\nD 1/1 x 35 flow=1\nX 1/2 D 60 10 end=1\n", "A>B B>D", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { check(t, test.text, test.arrows, test.problems) })
	}
}

// TestKeys shows which ends belong together (chrome-json.md 15).
func TestKeys(t *testing.T) {
	const slices = "X 1/1 A 0 10\nX 1/2 B 20 10\n"
	const none = "flow_end_without_start 1, flow_unfinished 1"
	tests := []struct{ name, text, arrows, problems string }{
		{"id, category and name are equal", "s 1/1 1 5 cat=c name=n\nf 1/2 1 25 bp=e cat=c name=n\n", "A>B", ""},
		{"other ids", "s 1/1 1 5\nf 1/2 2 25 bp=e\n", "", none},
		{"other names", "s 1/1 1 5 name=n\nf 1/2 1 25 bp=e name=m\n", "", none},
		{"other categories", "s 1/1 1 5 cat=c\nf 1/2 1 25 bp=e cat=d\n", "", none},
		{"ids that are texts", "s 1/1 text 5\nf 1/2 text 25 bp=e\n", "A>B", ""},
		{"a text is not a number", "s 1/1 text 5\nf 1/2 1 25 bp=e\n", "", none},
		{"the forms of flows do not mix", "s 1/1 1 5\nX 1/3 C 40 10 in=1\nI 1/3 D 60 end=1\n", "",
			"flow_end_without_start 2, flow_unfinished 1"},
		{"over all processes", "X 2/2 C 40 10\ns 1/1 1 5\nf 2/2 1 45 bp=e\n", "A>C", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { check(t, slices+test.text, test.arrows, test.problems) })
	}
}

// TestBackwards shows arrows whose consumer starts first, and arrows that lead to their own slice (chrome-json.md 15).
func TestBackwards(t *testing.T) {
	tests := []struct{ name, text, arrows, problems string }{
		{"into a long outer slice", "X 1/1 A 0 100\nX 1/2 B 50 10\ns 1/2 1 55\nf 1/1 1 70 bp=e\n", "A>B", "flow_backwards 1"},
		{"in the middle of a chain", "X 1/1 A 0 100\nX 1/2 B 50 10\nX 1/3 C 200 9\ns 1/2 1 55\nt 1/1 1 70\nf 1/3 1 205 bp=e\n",
			"A>B A>C", "flow_backwards 1"},
		{"into the slice around it", "X 1/1 A 0 100\nX 1/1 B 50 10\ns 1/1 1 55\nf 1/1 1 70 bp=e\n", "A>B", "flow_backwards 1"},
		{"into the slice around it, which starts at the same time", "X 1/1 A 0 100\nX 1/1 B 0 10\ns 1/1 1 5\nf 1/1 1 70 bp=e\n", "A>B",
			"flow_backwards 1"},
		{"there and back", "X 1/1 A 0 100\nX 1/2 B 50 10\ns 1/1 1 5\nt 1/2 1 55\nf 1/1 1 70 bp=e\n", "A>B A>B", "flow_backwards 1"},
		{"to itself", "X 1/1 A 0 100\ns 1/1 1 5\nf 1/1 1 70 bp=e\n", "", "flow_self 1"},
		{"to itself and on", "X 1/1 A 0 100\nX 1/2 B 200 9\ns 1/1 1 5\nt 1/1 1 70\nf 1/2 1 205 bp=e\n", "A>B", "flow_self 1"},
		{"to itself, then a further end", "X 1/1 A 0 100\nX 1/2 B 200 9\ns 1/1 1 5\nf 1/1 1 70 bp=e\nf 1/2 1 205 bp=e\n", "A>B",
			"flow_self 1, flow_fan_out 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { check(t, test.text, test.arrows, test.problems) })
	}
}

// TestAtOneTime shows that, at one timestamp, producers are written before their consumers if possible, whatever the order of the
// tracks (chrome-json.md 15, perfetto.md 6).
func TestAtOneTime(t *testing.T) {
	tests := []struct{ name, text, arrows, problems string }{
		{"the consumer is on an earlier track", "X 1/1 C 0 9 in=1\nX 1/2 P 0 9 out=1\n", "", "flow_end_without_start 1, flow_unfinished 1"},
		{"the producer is bound first by its time", "X 1/1 C 0 9\nX 1/2 P 0 9\ns 1/2 1 1\nf 1/1 1 2 bp=e\n", "P>C", ""},
		{"a chain against the order of tracks", "X 1/1 C 0 9\nX 1/2 B 0 9\nX 1/3 A 0 9\ns 1/3 1 1\nt 1/2 1 2\nf 1/1 1 3 bp=e\n", "A>B B>C", ""},
		{"the producer has a slice around it", "X 1/1 C 0 9\nX 1/2 O 0 9\nX 1/2 P 0 5\ns 1/2 1 1\nf 1/1 1 2 bp=e\n", "P>C", ""},
		{"what is around the producer consumes as well",
			"X 1/1 C 0 9\nX 1/2 Q 0 9\nX 1/3 O 0 9\nX 1/3 P 0 5\ns 1/3 1 1\nf 1/1 1 2 bp=e\ns 1/2 2 1\nf 1/3 2 7 bp=e\n", "P>C Q>O", ""},
		{"in a circle", "X 1/1 A 0 9\nX 1/2 B 0 9\ns 1/1 1 1\nf 1/2 1 2 bp=e\ns 1/2 2 1\nf 1/1 2 2 bp=e\n", "B>A B>A", "flow_backwards 1"},
		{"in a circle of one flow", "X 1/1 A 0 9\nX 1/2 B 0 9\ns 1/1 1 1\nt 1/2 1 2\nf 1/1 1 3 bp=e\n", "B>A B>A", "flow_backwards 1"},
		{"in a circle by way of the slices around",
			"X 1/1 C 0 9\nX 1/1 c 0 5\nX 1/2 P 0 9\nX 1/2 p 0 5\ns 1/2 1 1\nf 1/1 1 7 bp=e\ns 1/1 2 1\nf 1/2 2 7 bp=e\n",
			"P>c p>C", "flow_backwards 1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { check(t, test.text, test.arrows, test.problems) })
	}
}

// TestNative shows Perfetto's own flow ids (perfetto.md 8).
func TestNative(t *testing.T) {
	tests := []struct{ name, text, arrows, problems string }{
		{"a chain", "X 1/1 A 0 5 flow=1\nX 1/2 B 10 5 flow=1\nX 1/3 C 20 5 end=1\n", "A>B B>C", ""},
		{"a chain that is never ended", "X 1/1 A 0 5 flow=1\nX 1/2 B 10 5 flow=1\n", "A>B", ""},
		{"an id is free again when it ended", "X 1/1 A 0 5 flow=1\nX 1/2 B 10 5 end=1\nX 1/1 C 20 5 flow=1\nX 1/2 D 30 5 end=1\n", "A>B C>D", ""},
		{"an end without start", "X 1/1 A 0 5 end=1\nX 1/2 B 10 5 flow=1\nX 1/2 C 20 5 end=1\n", "B>C", "flow_end_without_start 1"},
		{"a single member", "X 1/1 A 0 5 flow=1\n", "", "flow_unfinished 1"},
		{"several ids", "X 1/1 A 0 5 flow=1,2\nX 1/2 B 10 5 end=1\nX 1/3 C 20 5 end=2\n", "A>B A>C", ""},
		{"ids on ends take effect at the end",
			"B 1/1 A 0\nX 1/2 B 20 5 flow=1\nX 1/3 C 50 10 flow=1\nE 1/1 A 100 flow=1\n", "A>C B>C", "flow_backwards 1"},
		{"from the end of a slice", "B 1/1 A 0\nE 1/1 A 100 flow=1\nX 1/2 B 200 5 end=1\n", "A>B", ""},
		{"on the end of a slice of the first event", "B 1/1 A 0\nE 1/1 none 5 flow=1\nX 1/2 B 10 5 end=1\n", "",
			"flow_end_without_start 1, flow_no_enclosing_slice 1"},
		{"instants", "I 1/1 i 0 flow=1\nI global j 5 end=1\n", "i>j", ""},
		{"to itself", "X 1/1 A 0 9 flow=1 end=1\n", "", "flow_self 1"},
		{"at one time in file order", "X 1/2 A 0 5 flow=1\nX 1/1 B 0 5 end=1\n", "A>B", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { check(t, test.text, test.arrows, test.problems) })
	}
}

// Ends that bind to nothing become instants on a separate track of their thread.
func TestUnboundEndsAreShown(t *testing.T) {
	tl, log := resolve(t, largeMemory, "s 1/1 7 5\nf 1/1 text 9\n")
	got, err := testkit.Dump(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	want := `5 instant 1/1/track:Other_events - args={weft={ph="s" flow_id=7}} flow=0
9 instant 1/1/track:Other_events - args={weft={ph="f"}} flow=0
`
	want = strings.ReplaceAll(want, " flow=0", "")
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := flowProblems(log); got != "flow_no_enclosing_slice 1, flow_no_next_slice 1" {
		t.Error(got)
	}
}

// A timeline without flows has no arrows and no problems.
func TestNoFlows(t *testing.T) {
	check(t, "X 1/1 A 0 5\n", "", "")
	check(t, "", "", "")
}
