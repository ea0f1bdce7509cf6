package profileexport

import (
	"strconv"
	"testing"
)

// A stack that is too deep is truncated, and frames beyond the limit are merged.
func TestStackLimits(t *testing.T) {
	table := newStackTable()
	var stack StackID
	truncated := 0
	for i := range maxDepth + 10 {
		var whole bool
		if stack, whole = table.push(stack, table.frame(Frame{Name: strconv.Itoa(i)})); !whole {
			truncated++
		}
	}
	if n := len(table.appendList(nil, stack)); n != maxDepth || truncated != 10 {
		t.Errorf("%d frames, %d truncated stacks; want %d, 10", n, truncated, maxDepth)
	}
	table.text = maxFrameText
	if a, b := table.frame(Frame{Name: "a"}), table.frame(Frame{Name: "b"}); a != b || table.frames[a] != others {
		t.Errorf("%v and %v; want one frame", table.frames[a], table.frames[b])
	}
}

// Sums beyond the limit are added to their thread's sum for the empty stack.
func TestSumLimit(t *testing.T) {
	p := &Profile{}
	c := &collector{p: p, sums: map[sumKey]int{}}
	p.Sums = make([]Sum, maxSums)
	grow(&c.sum(&sumKey{thread: 1, stack: 2}).Time, 5)
	grow(&c.sum(&sumKey{thread: 1, stack: 3}).Time, 6)
	if n := len(p.Sums); n != maxSums+1 || p.Sums[maxSums].Time != 11 || p.Folded != 2 {
		t.Errorf("%d sums, the last of %d ns, %d folded", n, p.Sums[maxSums].Time, p.Folded)
	}
}
