package compare_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/report"
)

// treeOf builds a tree from lines: two spaces for each level, a function, its total and self time.
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

// sumsOfTrees returns the sums of a recording with these trees.
func sumsOfTrees(byThread bool, trees ...report.StackTree) *compare.Sums {
	s := &compare.Sums{Values: map[compare.Key]compare.Value{}}
	s.AddTrees(trees, byThread)
	return s
}

// lines formats the rows of a tree: names, times and own times of both sides, and positions.
func lines(r *compare.Result) (list []string) {
	for i := range r.Rows {
		row := &r.Rows[i]
		list = append(list, fmt.Sprintf("%s%s %d→%d own %d→%d line %d", strings.Repeat("  ", row.Depth), row.Name, row.BaseMedian, row.NewMedian, row.Own[0], row.Own[1], row.Line))
	}
	return list
}

// Two recordings of base, whose median is their mean; in the new recording, b is missing, c is new, and a has a different line.
func TestTrees(t *testing.T) {
	for byThread, want := range map[bool][]string{
		true: {
			"main 10→12 own 0→0 line 0",
			"  a 10→9 own 3→1 line 2",
			"    c 0→8 own 0→8 line 3",
			"    b 7→0 own 7→0 line 2",
			"  d 0→3 own 0→3 line 1",
			"worker 0→5 own 0→0 line 0",
			"  a 0→5 own 0→5 line 1",
		},
		false: {
			"a 10→14 own 3→6 line 2",
			"  c 0→8 own 0→8 line 3",
			"  b 7→0 own 7→0 line 2",
			"d 0→3 own 0→3 line 1",
		},
	} {
		c := compare.NewComparison(3)
		c.Add(compare.Base, "1", sumsOfTrees(byThread, treeOf("main", "a 8 2\n  b 6 6\nd 1 1")))
		c.Add(compare.Base, "2", sumsOfTrees(byThread, treeOf("main", "a 12 4\n  b 8 8\n")))
		c.Add(compare.New, "3", sumsOfTrees(byThread, treeOf("main", "d 3 3\na 9 1\n  c 8 8"), treeOf("worker", "a 5 5")))
		r := c.Result(compare.Options{})
		r.Tree((*compare.Row).Longest)
		if diff := cmp.Diff(want, lines(r)); diff != "" {
			t.Errorf("by thread %v; -want +got:\n%s", byThread, diff)
		}
	}
}

// If there are too many calls, the shortest ones count only for their callers. Every remaining call has its caller.
func TestManyCalls(t *testing.T) {
	c := compare.NewComparison(1 << 20) // 4 rows
	sums := sumsOfTrees(false, treeOf("main", "z 9 0\n  y 9 1\n    x 4 4\n    w 3 3\n    a 1 1\nb 2 1\n  c 1 1"))
	c.Add(compare.Base, "1", sums)
	c.Add(compare.New, "2", sums)
	r := c.Result(compare.Options{})
	r.Tree((*compare.Row).Longest)
	want := []string{"z 9→9 own 0→0 line 1", "  y 9→9 own 1→1 line 2", "    x 4→4 own 4→4 line 3", "    w 3→3 own 3→3 line 4", "(others) 2→2 own 1→1 line 6"}
	if diff := cmp.Diff(want, lines(r)); diff != "" || r.Others != 6 {
		t.Errorf("%d others; -want +got:\n%s", r.Others, diff)
	}
}
