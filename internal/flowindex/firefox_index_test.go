package flowindex_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/timeline"
)

// firefoxCase is a file in testdata/conformance/firefox-flows/cases: markers, and the flows that the reference implementation
// computes from them.
type firefoxCase struct {
	Schemas []struct {
		Name         string
		IsStackBased bool
		Fields       []struct{ Key, Format string }
	}
	Threads []struct {
		Markers []firefoxMarker
	}
	Expected struct {
		Flows []struct {
			ID            string
			Start, EndMax float64
			Members       [][2]json.RawMessage
			Direct        []int
			Incoming      []int
			Outgoing      []int
		}
		Membership [][3]json.RawMessage
		Lookups    []struct {
			ID   string
			Time float64
			Flow *int
		}
	}
}

type firefoxMarker struct {
	Label, Type string
	Start       float64
	End         *float64
	Fields      map[string]*string
	thread      int
}

func nanos(ms float64) timeline.Nanos { return timeline.Nanos(ms * 1e6) }

// fill adds the markers: instants, and markers with stack-based schemas, on their threads, and other markers on separate tracks,
// because the latter need not nest. Their events are numbered in the order that the rule uses: by start, thread and position.
func (c *firefoxCase) fill(b *timeline.Builder) ([]firefoxMarker, error) {
	var markers []firefoxMarker
	for thread := range c.Threads {
		for _, m := range c.Threads[thread].Markers {
			m.thread = thread
			markers = append(markers, m)
		}
	}
	slices.SortStableFunc(markers, func(a, b firefoxMarker) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.thread, b.thread))
	})
	process := b.Process(timeline.ProcessKey{Num: 1})
	for i, m := range markers {
		thread := b.Thread(process, timeline.ThreadKey{Num: int64(m.thread + 1)})
		ev := timeline.Event{
			Kind: timeline.Instant, Track: thread, Event: uint32(i), TS: nanos(m.Start),
			Name: []byte(m.Label),
		}
		if m.End != nil {
			ev.Kind, ev.Dur = timeline.Slice, nanos(*m.End)-ev.TS
			if !c.stackBased(m.Type) {
				ev.Track = b.Child(thread, fmt.Sprint("marker ", i))
			}
		}
		if err := b.Add(&ev); err != nil {
			return nil, err
		}
		if err := c.addFlows(b, &m, &ev); err != nil {
			return nil, err
		}
	}
	return markers, nil
}

func (c *firefoxCase) stackBased(typ string) bool {
	for _, schema := range c.Schemas {
		if schema.Name == typ {
			return schema.IsStackBased
		}
	}
	return false
}

func (c *firefoxCase) addFlows(b *timeline.Builder, m *firefoxMarker, ev *timeline.Event) error {
	for _, schema := range c.Schemas {
		if schema.Name != m.Type {
			continue
		}
		for _, field := range schema.Fields {
			roles := map[string]timeline.FlowRole{"flow-id": timeline.FlowContinue, "terminating-flow-id": timeline.FlowEnd}
			role, id := roles[field.Format], m.Fields[field.Key]
			if role == 0 || id == nil {
				continue
			}
			err := b.AddFlow(&timeline.FlowEvent{
				Space: timeline.FlowFirefox, Role: role, Binding: timeline.BindCarrier,
				Track: ev.Track, Event: ev.Event, TS: ev.TS, IDText: []byte(*id),
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// name returns the name of a marker in the expected results.
func name(thread int, label string) string { return fmt.Sprintf("%d/%s", thread, label) }

func rawName(thread, label json.RawMessage) string {
	return string(thread) + "/" + strings.Trim(string(label), `"`)
}

// TestFirefoxConformance compares the index with the results of the reference implementation: flows with their members in order,
// the flows of each marker, the flows that share a marker, and the flow with an id at a given time.
func TestFirefoxConformance(t *testing.T) {
	paths, err := filepath.Glob("../../testdata/conformance/firefox-flows/cases/*.json")
	if err != nil || len(paths) < 20 {
		t.Fatalf("%d cases, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var c firefoxCase
			if err := json.Unmarshal(text, &c); err != nil {
				t.Fatal(err)
			}
			var markers []firefoxMarker
			x := indexOf(t, largeMemory, func(b *timeline.Builder) (err error) {
				markers, err = c.fill(b)
				return err
			})
			c.compare(t, x, markers)
		})
	}
}

func (c *firefoxCase) compare(t *testing.T, x *flowindex.Index, markers []firefoxMarker) {
	ctx := context.Background()
	var want, got []string
	for _, f := range c.Expected.Flows {
		line := fmt.Sprintf("%s [%d,%d]", f.ID, nanos(f.Start), nanos(f.EndMax))
		for _, m := range f.Members {
			line += " " + rawName(m[0], m[1])
		}
		want = append(want, line)
	}
	numbers := map[string]int{} // by line: number in the index
	ofMarker := map[string][]int{}
	for number := range x.Len() {
		f, err := x.Flow(number)
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("%s [%d,%d]", f.ID, f.Start, f.End)
		err = x.Members(ctx, f, func(m flowindex.Member) error {
			marker := name(markers[m.Event].thread, markers[m.Event].Label)
			line += " " + marker
			ofMarker[marker] = append(ofMarker[marker], number)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		numbers[line] = number
		got = append(got, line)
	}
	slices.Sort(got)
	if diff := gocmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
		t.Fatalf("flows (-want +got):\n%s", diff)
	}
	for _, m := range c.Expected.Membership {
		var flows []int
		if err := json.Unmarshal(m[2], &flows); err != nil {
			t.Fatal(err)
		}
		for i := range flows {
			flows[i] = numbers[want[flows[i]]]
		}
		slices.Sort(flows)
		if marker := rawName(m[0], m[1]); !slices.Equal(flows, ofMarker[marker]) {
			t.Errorf("marker %s is in the flows %v, want %v", marker, ofMarker[marker], flows)
		}
	}
	for i, f := range c.Expected.Flows {
		number := func(expected []int) (numbered []int) {
			for _, e := range expected {
				numbered = append(numbered, numbers[want[e]])
			}
			slices.Sort(numbered)
			return numbered
		}
		direct, around, inside := neighbours(t, x, numbers[want[i]])
		if want := number(f.Direct); !slices.Equal(direct, want) {
			t.Errorf("%s shares markers with %v, want %v", f.ID, direct, want)
		}
		if want := number(f.Outgoing); !slices.Equal(inside, want) {
			t.Errorf("%s leads to %v, want %v", f.ID, inside, want)
		}
		// In the reference, an interval that is not stack-based is inside a stack-based one, but the outgoing flows of the
		// stack-based interval do not include it. Here, the interval that is not stack-based is on a separate track.
		if want := number(f.Incoming); !slices.Equal(around, want) && !c.beside(f.Members) {
			t.Errorf("%s comes from %v, want %v", f.ID, around, want)
		}
	}
	for _, l := range c.Expected.Lookups {
		found, err := x.Find(ctx, l.ID, nanos(l.Time))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case l.Flow == nil && len(found) > 0, l.Flow != nil && (len(found) != 1 || found[0].Number != numbers[want[*l.Flow]]):
			t.Errorf("%s at %v finds %v", l.ID, l.Time, found)
		}
	}
}

// neighbours returns the flows that are one step away: through the same markers, and through markers around and inside these.
func neighbours(t *testing.T, x *flowindex.Index, number int) (direct, around, inside []int) {
	start, err := x.Flow(number)
	if err != nil {
		t.Fatal(err)
	}
	err = x.Connected(context.Background(), []flowindex.Flow{start}, true, func(c flowindex.Connection) error {
		if c.Distance > 1 {
			return nil
		}
		list := map[flowindex.Link]*[]int{flowindex.Shared: &direct, flowindex.Around: &around, flowindex.Inside: &inside}[c.Link]
		*list = append(*list, c.Flow.Number)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]int{direct, around, inside} {
		slices.Sort(list)
	}
	return direct, around, inside
}

// beside reports whether a member is an interval that is not stack-based.
func (c *firefoxCase) beside(members [][2]json.RawMessage) bool {
	for thread := range c.Threads {
		for _, m := range c.Threads[thread].Markers {
			for _, member := range members {
				if rawName(member[0], member[1]) == name(thread, m.Label) && m.End != nil && !c.stackBased(m.Type) {
					return true
				}
			}
		}
	}
	return false
}
