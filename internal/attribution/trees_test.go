package attribution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// The tables of contexts have limits. Entries beyond them are counted, and stored contexts can still be found.
func TestTableLimits(t *testing.T) {
	long := bytes.Repeat([]byte("x"), maxIDText)
	table := newCatalogue(LimitsFor(Full))
	first := table.nodeOf("scope", long, 1)
	for i := range MaxTableSize/maxIDText + 100 {
		table.nodeOf("scope", append(fmt.Appendf(nil, "%d-", i), long...), 1)
		table.Keep(append(fmt.Appendf(nil, "%d+", i), long...))
	}
	if table.Size > MaxTableSize || table.dropped == 0 {
		t.Errorf("%d bytes, want at most %d; %d were counted", table.Size, MaxTableSize, table.dropped)
	}
	if n := table.nodeOf("scope", append(long, "more"...), 1); n != first {
		t.Errorf("node %d, want %d", n, first)
	}
	if n := table.nodeOf(strings.Repeat("s", maxIDText+1), []byte("id"), 1); n != 0 {
		t.Errorf("a scope that is too long made node %d", n)
	}

	table = newCatalogue(LimitsFor(Full))
	for i := range MaxNodes + 10 {
		table.nodeOf("", fmt.Append(nil, i), 1)
	}
	if len(table.Nodes) != MaxNodes || table.dropped != 11 { // node 0 is unused
		t.Errorf("%d nodes, %d were counted", len(table.Nodes), table.dropped)
	}
	a, b := table.nodeOf("", []byte("17"), 1), table.nodeOf("", []byte("18"), 1)
	if x, ok := table.Find("", "17", 1); !ok || x != a || a == b {
		t.Errorf("nodes %d and %d; found %d", a, b, x)
	}
	if _, ok := table.Find("", "17", 2); ok {
		t.Error("found a node of another process")
	}
}

// Objects with very many creations and deletions and no snapshot are processed in linear time.
func TestObjectsWithoutSnapshots(t *testing.T) {
	c := newCatalogue(LimitsFor(Full))
	n := c.nodeOf("ptr", []byte("0x1"), 1)
	c.Nodes[n].Context = true
	const lives = maxSnapshots / 4
	for i := range lives {
		c.addState(Snapshot{Node: n, TS: timeline.Nanos(2 * i), change: created})
		c.addState(Snapshot{Node: n, TS: timeline.Nanos(2*i + 1), change: deleted})
	}
	c.Finish()
	c.classify()
	if at := c.At(n, LastTime); at != 0 || len(c.States[n]) != 2*lives {
		t.Errorf("snapshot %d and %d states, want none and %d", at, len(c.States[n]), 2*lives)
	}
}

// Building the tree stops when its context is cancelled.
func TestTreeIsCancelled(t *testing.T) {
	c := newCatalogue(LimitsFor(Full))
	for i := range 10 {
		n := c.nodeOf("ptr", fmt.Append(nil, i), 1)
		c.refer(c.addState(Snapshot{Node: n, change: changed}), reference{Scope: "ptr", Id: "0", process: 1}, false)
	}
	c.Finish()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.build(ctx, new(problem.Log)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// Among the objects of one context, the object in a main process comes first, whichever browser the process belongs to.
func TestMembersOfMainProcessesFirst(t *testing.T) {
	const browsers, frames = 1 << 10, 500
	c := newCatalogue(LimitsFor(Full))
	for i := range browsers {
		c.mainPIDs[fmt.Sprint("input", i)] = int64(1_000_000 + i)
	}
	var renderers, mains []NodeID
	for i := range frames {
		id := fmt.Append(nil, i)
		renderer, main := c.nodeOf("frame", id, 7), c.nodeOf("frame", id, int64(1_000_000+i))
		renderers, mains = append(renderers, renderer), append(mains, main)
		c.addState(Snapshot{Node: main, change: changed})
		c.refer(c.addState(Snapshot{Node: renderer, change: changed}), reference{Scope: "frame", Id: string(id), process: int64(1_000_000 + i)}, true)
	}
	c.Finish()
	if err := c.build(t.Context(), new(problem.Log)); err != nil {
		t.Fatal(err)
	}
	for i := range mains {
		if got := c.LogicalOf(renderers[i]); got != mains[i] || len(c.MembersOf(got)) != 2 {
			t.Fatalf("frame %d: its first member is node %d, want %d of the main process", i, got, mains[i])
		}
	}
}
