package compare_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/report"
)

// treeOf makes a tree of lines: two spaces for each depth, a function, its total and self time.
func treeOf(thread, text string) report.StackTree {
	tree := report.StackTree{ThreadID: report.ThreadID{Thread: thread}}
	for line := range strings.Lines(text) {
		name := strings.TrimLeft(line, " ")
		n := report.TreeNode{Depth: (len(line) - len(name)) / 2}
		fmt.Sscanf(name, "%s %d %d", &n.Function, &n.Total, &n.Self)
		if n.Line = int64(len(tree.Nodes)) + 1; n.Depth == 0 {
			tree.Total += n.Total
		}
		tree.Nodes = append(tree.Nodes, n)
	}
	return tree
}

// Two recordings of base take 10 each in the mean; in the new one b is gone, c is new, and a has another line.
func TestTrees(t *testing.T) {
	var trees compare.Trees
	trees.Add(compare.Base, []report.StackTree{treeOf("main", "a 8 2\n  b 6 6\nd 1 1")})
	trees.Add(compare.Base, []report.StackTree{treeOf("main", "a 12 4\n  b 8 8\n")})
	trees.Add(compare.New, []report.StackTree{treeOf("main", "d 3 3\na 9 1\n  c 8 8"), treeOf("worker", "w 5 5")})
	list, width := trees.Differences()
	var got []string
	for i := range list {
		d := &list[i]
		got = append(got, fmt.Sprintf("%s%s %d→%d self %d→%d at %d+%d", strings.Repeat("  ", d.Depth), d.Function, d.Total[0], d.Total[1], d.Self[0], d.Self[1], d.Start, d.Width))
	}
	want := []string{
		"main 10→12 self 0→0 at 0+18", // a and d
		"  a 10→9 self 3→1 at 0+15",   // b of the one, c of the other
		"    c 0→8 self 0→8 at 0+8",
		"    b 7→0 self 7→0 at 8+7",
		"  d 0→3 self 0→3 at 15+3",
		"worker 0→5 self 0→0 at 18+5",
		"  w 0→5 self 0→5 at 18+5",
	}
	if diff := cmp.Diff(want, got); diff != "" || width != 23 {
		t.Errorf("%d wide; -want +got:\n%s", width, diff)
	}
	var none compare.Trees
	none.Add(compare.New, []report.StackTree{{Total: math.MaxInt64}, {Total: math.MaxInt64}})
	if _, width := none.Differences(); width != math.MaxInt64 {
		t.Errorf("times add up to %d", width)
	}
}
