package v8profile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names returns the function names of nodes.
func (p *Profile) names(nodes []NodeIndex) string {
	var names []string
	for _, n := range nodes {
		names = append(names, p.FunctionOf(n).Name)
	}
	return strings.Join(names, " ")
}

// tree returns a document with nodes but no samples: each line is an id, a parent, a name, and hits.
func tree(lines ...string) string {
	var out strings.Builder
	for i, line := range lines {
		var id, parent, hits int
		var name string
		fmt.Sscan(line, &id, &parent, &name, &hits)
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"id":%d,"callFrame":{"functionName":%q},"hitCount":%d`, id, name, hits)
		if parent > 0 {
			fmt.Fprintf(&out, `,"parent":%d`, parent)
		}
		out.WriteByte('}')
	}
	return `{"nodes":[` + out.String() + `]}`
}

// TestTotals is case PM01: self and total hits.
func TestTotals(t *testing.T) {
	p, _ := read(t, strings.NewReader(tree("1 0 root 10", "2 1 A 0", "3 2 B 20", "4 2 C 10", "5 1 D 10", "6 5 E 20")))
	got := map[string]int64{}
	for n, total := range p.Totals() {
		got[p.FunctionOf(NodeIndex(n)).Name] = total
	}
	want := map[string]int64{"root": 70, "A": 30, "D": 30, "B": 20, "C": 10, "E": 20}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestDepth is case PM02: the depth of nodes.
func TestDepth(t *testing.T) {
	p, _ := read(t, strings.NewReader(tree("1 0 root", "2 1 A", "3 2 B", "4 2 C", "5 1 D", "6 5 E", "7 6 F")))
	got := map[string]int32{}
	for i := range p.NodeCount() {
		got[p.FunctionOf(NodeIndex(i)).Name] = p.Node(NodeIndex(i)).Depth
	}
	want := map[string]int32{"root": -1, "A": 0, "D": 0, "B": 1, "C": 1, "E": 1, "F": 2}
	if diff := cmp.Diff(want, got); diff != "" || p.MaxDepth() != 3 {
		t.Errorf("maximum depth %d, want 3; -want +got:\n%s", p.MaxDepth(), diff)
	}
}

// TestChildren is case PM03: children are in reverse order.
func TestChildren(t *testing.T) {
	p, _ := read(t, strings.NewReader(tree("1 0 n1", "2 1 n2", "3 1 n3", "4 2 n4", "5 2 n5", "6 3 n6", "7 6 n7")))
	want := map[string]string{"n1": "n3 n2", "n2": "n5 n4", "n3": "n6", "n4": "", "n5": "", "n6": "n7", "n7": ""}
	got := map[string]string{}
	for i := range p.NodeCount() {
		var children []NodeIndex
		for n := range NodeIndex(p.NodeCount()) {
			if p.Node(n).Parent == NodeIndex(i) {
				children = append(children, n)
			}
		}
		got[p.FunctionOf(NodeIndex(i)).Name] = p.names(children)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMeta checks that only children of the root are pseudo functions: the first of each name in tree order.
func TestMeta(t *testing.T) {
	p, _ := read(t, strings.NewReader(tree("1 0 (root)", "2 1 (idle)", "3 1 (idle)", "4 1 f", "5 4 (program)")))
	if id := p.Node(p.Idle).ID; id != 3 || p.Program != NoNode || p.Collector != NoNode {
		t.Errorf("idle is %d, want 3; program %d, collector %d", id, p.Program, p.Collector)
	}
	for i := range p.NodeCount() {
		n := NodeIndex(i)
		if want := p.Node(n).ID == 1 || p.Node(n).ID == 3; p.Meta(n) != want {
			t.Errorf("Meta(%d) is %v", p.Node(n).ID, p.Meta(n))
		}
	}
}

// TestRepair checks that isolated (program) samples are replaced, depending on the unrepaired samples around them.
func TestRepair(t *testing.T) {
	nodes := `"nodes":[{"id":1},{"id":2,"parent":1,"callFrame":{"functionName":"(program)"}},
		{"id":3,"parent":1,"callFrame":{"functionName":"(idle)"}},{"id":4,"parent":1},{"id":5,"parent":4},{"id":6,"parent":1}]`
	for _, c := range []struct{ name, samples, want string }{
		{"between samples of one bottom", "5 2 4", "5 5 4"},
		{"between different bottoms", "5 2 6", "5 2 6"},
		{"two in a row", "4 2 2 4", "4 2 2 4"},
		{"one after the other", "4 2 4 2 4", "4 4 4 4 4"},
		{"beside idle", "3 2 4", "3 2 4"},
		{"first and last", "2 4 2", "2 4 2"},
		{"an unknown sample in between", "4 2 9 4", "4 4 4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := strings.ReplaceAll(c.samples, " ", ",")
			deltas := strings.TrimSuffix(strings.Repeat("1,", strings.Count(list, ",")+1), ",")
			p, _ := read(t, strings.NewReader(fmt.Sprintf(`{%s,"samples":[%s],"timeDeltas":[%s]}`, nodes, list, deltas)))
			var got []string
			for i := range p.Len() {
				got = append(got, fmt.Sprint(p.Node(p.Samples().At(i)).ID))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
			got = got[:0]
			for i := range p.Len() {
				got = append(got, fmt.Sprint(p.Node(p.Samples().Recorded(i)).ID))
			}
			if seen := strings.Replace(c.samples, "9 ", "", 1); strings.Join(got, " ") != seen {
				t.Errorf("seen %v, want %s", got, seen)
			}
		})
	}
}

func TestWeight(t *testing.T) {
	p, _ := read(t, strings.NewReader(`{"nodes":[{"id":1}],"startTime":10,"samples":[1,1,1],"timeDeltas":[0,10,30]}`))
	for i, want := range []int64{10_000, 30_000, 20_000} {
		if got := int64(p.Samples().Weight(i)); got != want {
			t.Errorf("weight of sample %d is %d, want %d", i, got, want)
		}
	}
}
