package reportpage_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/reportpage"
	"github.com/weft-trace/weft/internal/timeline"
)

// The flame graph of a difference shows how the self time of each function changed. The heading states the largest change.
// However many boxes there are, the page stays small.
func TestDifference(t *testing.T) {
	const ms = 1000 * timeline.Microsecond
	node := func(name string, depth int, total, self timeline.Nanos) report.TreeNode {
		return report.TreeNode{Frame: report.Frame{Function: name}, Depth: depth, Total: total, Self: self}
	}
	tree := func(nodes ...report.TreeNode) []report.StackTree {
		return []report.StackTree{{ThreadID: report.ThreadID{Thread: "main"}, Total: nodes[0].Total, Nodes: nodes}}
	}
	write := func(base, fresh []report.StackTree) string {
		c, flame := compare.NewComparison(2), compare.NewComparison(2)
		for side, list := range [][]report.StackTree{base, fresh} {
			sums := &compare.Sums{Length: 100 * ms, Values: map[compare.Key]compare.Value{}}
			for _, n := range list[0].Nodes {
				sums.Values[compare.Key{Name: n.Function}] = compare.Value{Time: n.Self, Count: 1}
			}
			c.Add(compare.Side(side), "x", sums)
			stacks := &compare.Sums{Values: map[compare.Key]compare.Value{}}
			stacks.AddTrees(list, true)
			flame.Add(compare.Side(side), "x", stacks)
		}
		var page bytes.Buffer
		if err := reportpage.WriteComparison(&page, &reportpage.Comparison{Title: "x", Per: "recording", Result: c.Result(compare.Options{}), Stacks: flame.Result(compare.Options{})}); err != nil {
			t.Fatal(err)
		}
		return page.String()
	}
	// A box is as wide as the boxes inside it: b from one side beside c from the other. The longest possible times do not
	// overflow.
	page := write(tree(node("a", 0, 10*ms, 3*ms), node("b", 1, 7*ms, 7*ms)), tree(node("a", 0, 9*ms, 1*ms), node("c", 1, 8*ms, 8*ms), node("d", 0, 3*ms, 3*ms)))
	for _, want := range []string{
		"<rect class=other x=0 y=0 width=10000 height=17><title>main: 10.0 ms before, 9.00 ms now</title></rect>",
		"<rect class=painting x=0 y=18 width=8333 height=17><title>a: 10.0 ms before, 9.00 ms now; itself 3.00 ms before, 1.00 ms now</title></rect>",
		"<rect class=gc x=0 y=36 width=4444 height=17><title>c: ",
		"<rect class=painting x=4444 y=36 width=3889 height=17><title>b: ",
		"<rect class=gc x=8333 y=18 width=1667 height=17><title>d: ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	longest := tree(node("a", 0, math.MaxInt64, math.MaxInt64), node("b", 0, math.MaxInt64, math.MaxInt64))
	if page := write(longest, longest); !strings.Contains(page, "<rect class=other x=0 y=18 width=10000 ") {
		t.Error("the page lacks the longest time")
	}
	page = write(tree(node("a", 0, 50*ms, 10*ms), node("b<", 1, 30*ms, 30*ms), node("c", 1, 10*ms, 10*ms)), tree(node("a", 0, 65*ms, 10*ms), node("b<", 1, 50*ms, 50*ms), node("c", 1, 5*ms, 5*ms)))
	for _, want := range []string{
		"<h1><b>b&lt;</b> takes 67 % longer: 50.0 ms instead of 30.0 ms.</h1>",
		"<rect class=gc x=0 y=36 width=7692 height=17><title>b&lt;: 30.0 ms before, 50.0 ms now; itself 30.0 ms before, 50.0 ms now</title></rect>",
		"<rect class=painting x=7692 y=36 width=1539 height=17><title>c: 10.0 ms before, 5.00 ms now; itself 10.0 ms before, 5.00 ms now</title></rect>",
		"<rect class=other x=0 y=18 width=10000 height=17><title>a: 50.0 ms before, 65.0 ms now; itself 10.0 ms before, 10.0 ms now</title></rect>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	many := []report.TreeNode{node("a", 0, 30_000*ms, 0)}
	for i := range 30_000 {
		many = append(many, node(fmt.Sprint("function ", i), 1+i%30, 1000*ms, 0))
	}
	if page := write(tree(many...), tree(many...)); len(page) > 1_500_000 || strings.Contains(page, "takes 0") {
		t.Errorf("a page of %d bytes", len(page))
	}
}
