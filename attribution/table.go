package attribution

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/timeline"
)

// Types that tables know beside those of contexts: groups of contexts.
const (
	TypePage   = "Page"   // frames, by the root of their tree
	TypeEntity = "Entity" // scripts, by registrable domain or extension
)

// SplitBy says into what the row of a context is divided.
type SplitBy uint8

// What rows can be divided by.
const (
	SplitNone SplitBy = iota
	SplitProcess
	SplitThread
	SplitCategory
)

var splits = [...]string{SplitNone: "context", SplitProcess: "process", SplitThread: "thread", SplitCategory: "category"}

// String returns "context", "process", "thread" or "category".
func (s SplitBy) String() string {
	if int(s) < len(splits) {
		return splits[s]
	}
	return "SplitBy(" + strconv.Itoa(int(s)) + ")"
}

// ParseSplitBy is the inverse of String.
func ParseSplitBy(name string) (SplitBy, error) {
	if i := slices.Index(splits[:], name); i >= 0 {
		return SplitBy(i), nil
	}
	return 0, fmt.Errorf("unknown division %q; use context, process, thread or category", name)
}

// TableOptions say what a table shows.
type TableOptions struct {
	Type  string // one of Result.Types
	Split SplitBy
	Limit int // of rows; 0: none. The row of what is unattributed stays, unless rows are divided
}

// Table says what each context of a type cost. The self times of all rows together are the busy time.
type Table struct {
	Type         string         `json:"type"`
	Split        string         `json:"by"`
	Busy         timeline.Nanos `json:"busy_ns"` // time in which threads ran slices
	Unattributed timeline.Nanos `json:"unattributed_ns"`
	Omitted      int            `json:"omitted,omitempty"` // rows beyond the limit
	Rows         []Row          `json:"rows"`              // the most expensive first
}

// Row is what one context cost, or a part of it.
type Row struct {
	ID      string   `json:"id"` // scope/id, with @pid if it is local; "(unattributed)" for what has no context
	Name    string   `json:"name"`
	Part    string   `json:"part,omitempty"` // the process, thread or category, if rows are divided
	Class   string   `json:"class,omitempty"`
	Parent  string   `json:"parent,omitempty"`
	Members []string `json:"members,omitempty"` // identities, if several objects are this context

	Self       timeline.Nanos `json:"self_ns"`
	Total      timeline.Nanos `json:"total_ns"`            // with all contexts below it in the tree
	SelfCPU    timeline.Nanos `json:"self_cpu_ns"`         // of the slices that tell
	WithoutCPU timeline.Nanos `json:"self_without_cpu_ns"` // self time of those that do not
	Slices     int64          `json:"slices"`
	Instants   int64          `json:"instants"`

	GCProvoked     timeline.Nanos `json:"gc_provoked_ns"` // garbage collections in the middle of its work
	Freed          int64          `json:"freed_bytes"`    // by garbage collections; of isolates
	ForcedStyle    timeline.Nanos `json:"forced_style_ns"`
	ForcedLayout   timeline.Nanos `json:"forced_layout_ns"`
	ForcedStyles   int64          `json:"forced_styles"`
	ForcedLayouts  int64          `json:"forced_layouts"`
	NetworkBytes   int64          `json:"network_bytes"`
	Requests       int64          `json:"requests"`
	RequestTime    timeline.Nanos `json:"request_ns"` // from the sending to the finish, all added up
	Async          timeline.Nanos `json:"async_ns"`   // asynchronous slices; no busy time
	LongTasks      int64          `json:"long_tasks"` // of 50 ms and more, of which it has the largest part
	Inputs         int64          `json:"inputs"`
	WorstLatency   timeline.Nanos `json:"worst_input_latency_ns"`
	SelfByCategory ByCategory     `json:"self_by_category_ns"`
}

// ByCategory is a time for each category.
type ByCategory [CategoryCount]timeline.Nanos

// MarshalJSON writes the categories that have time, by name.
func (b ByCategory) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for c, ns := range b {
		if ns == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strconv.AppendQuote(out, Category(c).String())
		out = strconv.AppendInt(append(out, ':'), int64(ns), 10)
	}
	return append(out, '}'), nil
}

// Types returns the types of which there are contexts, and the groups of these, by name.
func (r *Result) Types() []string {
	found := map[TypeID]bool{}
	note := func(set SetID) {
		for _, id := range r.sets.sets[set] {
			found[r.sets.entries[id].typ] = true
		}
	}
	for i := range r.costs.cells {
		note(r.costs.cells[i].set)
	}
	for key := range r.costs.asyncs {
		note(key.set)
	}
	for i := range r.requests {
		note(r.requests[i].Set)
	}
	var names []string
	for typ := range found {
		names = append(names, r.c.types[typ])
	}
	if found[TypeFrame] {
		names = append(names, TypePage)
	}
	if found[TypeScript] {
		names = append(names, TypeEntity)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// rowKey is a context, or a group of contexts, and a part of it.
type rowKey struct {
	node  NodeID // 0: unattributed, or a group by name
	group string
	part  uint64
}

// tabulator fills a table.
type tabulator struct {
	*Result
	opts   TableOptions
	typ    TypeID
	group  func(NodeID, timeline.Nanos) rowKey
	table  *Table
	rows   map[rowKey]*Row
	inputs map[rowKey]map[NodeID]bool
}

// Table returns the costs of the contexts of a type. Contexts without cost have rows as well.
func (r *Result) Table(opts TableOptions) *Table {
	b := &tabulator{
		Result: r, opts: opts, table: &Table{Type: opts.Type, Split: opts.Split.String()},
		rows: map[rowKey]*Row{}, inputs: map[rowKey]map[NodeID]bool{},
	}
	b.typ, b.group = r.c.byType[opts.Type], func(n NodeID, _ timeline.Nanos) rowKey { return rowKey{node: n} }
	switch opts.Type {
	case TypePage:
		b.typ, b.group = TypeFrame, r.pageOf
	case TypeEntity:
		b.typ, b.group = TypeScript, r.entityOf
	}
	b.cells()
	if opts.Split == SplitNone {
		b.row(0, 0, lastTime) // what has no context is a row, even if that is nothing
		b.others()
	}
	b.finish()
	return b.table
}

// row returns the row of a context.
func (b *tabulator) row(node NodeID, part uint64, ts timeline.Nanos) (*Row, rowKey) {
	key := rowKey{}
	if node != 0 {
		key = b.group(node, ts)
	}
	key.part = part
	row := b.rows[key]
	if row == nil {
		row = &Row{ID: unattributed, Name: unattributed}
		if key.group != "" {
			row.ID, row.Name = key.group, key.group
		} else if key.node != 0 {
			b.name(row, key.node)
		}
		b.rows[key] = row
	}
	return row, key
}

// name says who a row is of, as far as it is known in the end.
func (b *tabulator) name(row *Row, node NodeID) {
	row.ID, row.Name = b.c.nodes[node].Identity.String(), b.c.label(node, lastTime)
	row.Class = b.c.class(node, lastTime)
	if parent := b.c.parent(node, lastTime); parent != 0 {
		row.Parent = b.c.nodes[parent].Identity.String()
	}
	if members := b.c.membersOf(node); len(members) > 1 {
		for _, m := range members {
			row.Members = append(row.Members, b.c.nodes[m].Identity.String())
		}
	}
}

// of returns the logical node that a set has of the type; 0 if none.
func (b *tabulator) of(set SetID, typ TypeID) NodeID {
	if e := b.sets.of(set, typ); e != 0 {
		return b.c.logicalOf(b.sets.entries[e].node)
	}
	return 0
}

// epochStart returns a time in an epoch.
func (b *tabulator) epochStart(epoch int32) timeline.Nanos {
	if epoch == 0 || int(epoch) > len(b.c.epochs) {
		return math.MinInt64
	}
	return b.c.epochs[epoch-1]
}

// part returns the part of a row to which a cell belongs.
func (b *tabulator) part(c *cell) uint64 {
	switch b.opts.Split {
	case SplitProcess:
		return uint64(b.t.TrackParent(c.thread)) + 1
	case SplitThread:
		return uint64(c.thread) + 1
	case SplitCategory:
		return uint64(c.category)
	}
	return 0
}

// cells adds up the times of threads.
func (b *tabulator) cells() {
	for i := range b.costs.cells {
		c := &b.costs.cells[i]
		ts, part := b.epochStart(c.epoch), b.part(c)
		node := b.of(c.set, b.typ)
		row, key := b.row(node, part, ts)
		row.Part = b.partName(c)
		row.add(c)
		b.table.Busy += c.wall
		if node == 0 {
			b.table.Unattributed += c.wall
			row.Total += c.wall
		} else {
			b.addTotals(node, c, part, ts)
		}
		if input := b.of(c.set, TypeInputEvent); input != 0 {
			if b.inputs[key] == nil {
				b.inputs[key] = map[NodeID]bool{}
			}
			b.inputs[key][input] = true
		}
		if trigger := b.of(c.set, TypeTrigger); trigger != 0 && b.typ == TypeFrame {
			by, _ := b.row(trigger, part, ts)
			by.Part = row.Part
			by.GCProvoked += c.wall
		}
	}
}

// addTotals adds a cell to a context and all above it. A group counts once, however many of its contexts are above.
func (b *tabulator) addTotals(node NodeID, c *cell, part uint64, ts timeline.Nanos) {
	var last rowKey
	for i, n := range slices.Clone(b.c.ancestors(node, ts)) {
		row, key := b.row(n, part, ts)
		if i == 0 || key != last {
			row.Total += c.wall
			row.Part = b.partName(c)
		}
		last = key
	}
}

// add adds a cell to the row of its context.
func (r *Row) add(c *cell) {
	r.Self += c.wall
	r.SelfCPU += c.cpu
	r.WithoutCPU += c.withoutCPU
	r.Slices += c.slices
	r.Instants += c.instants
	r.Freed += c.freed
	r.ForcedStyle += c.forced[0]
	r.ForcedLayout += c.forced[1]
	r.ForcedStyles += c.forcedN[0]
	r.ForcedLayouts += c.forcedN[1]
	r.SelfByCategory[c.category] += c.wall
}

// partName is what a part of a row is called.
func (b *tabulator) partName(c *cell) string {
	switch b.opts.Split {
	case SplitProcess:
		p := b.t.Track(b.t.TrackParent(c.thread))
		return fmt.Sprintf("%s %d", p.Name, p.PID)
	case SplitThread:
		t := b.t.Track(c.thread)
		return fmt.Sprintf("%s %d/%d", t.Name, t.PID, t.TID)
	case SplitCategory:
		return c.category.String()
	}
	return ""
}

// others adds what is not on threads, or concerns a trace as a whole.
func (b *tabulator) others() {
	for key, wall := range b.costs.asyncs {
		row, _ := b.row(b.of(key.set, b.typ), 0, lastTime)
		row.Async += wall
	}
	for i := range b.requests {
		r := &b.requests[i]
		if from, to := b.costs.window.clip(r.Start, r.Start+1); r.Start == timeline.NoTime || from == to {
			continue
		}
		row, _ := b.row(b.of(r.Set, b.typ), 0, r.Start)
		row.Requests++
		row.NetworkBytes += r.Bytes
		if r.End != timeline.NoTime {
			row.RequestTime += max(r.End-r.Start, 0)
		}
	}
	for i := range b.costs.tasks {
		b.longTask(&b.costs.tasks[i])
	}
	for key, found := range b.inputs {
		row := b.rows[key]
		row.Inputs = int64(len(found))
		for node := range found {
			if in, ok := b.inputOf(node); ok && in.Latency != timeline.NoTime {
				row.WorstLatency = max(row.WorstLatency, in.Latency)
			}
		}
	}
	b.empty()
}

// longTask counts a long task for the context that has the largest part of it.
func (b *tabulator) longTask(t *LongTask) {
	sums := map[NodeID]timeline.Nanos{}
	for _, s := range t.shares {
		sums[b.of(s.set, b.typ)] += s.wall
	}
	best := NodeID(0)
	for node, wall := range sums {
		if node != 0 && (best == 0 || wall > sums[best] || wall == sums[best] && node < best) {
			best = node
		}
	}
	row, _ := b.row(best, 0, t.Start)
	row.LongTasks++
}

// empty makes rows for contexts that cost nothing: frames, and for types of explicit events the objects.
func (b *tabulator) empty() {
	explicit := b.typ >= numBuiltIn
	for id := range b.c.nodes {
		n := &b.c.nodes[id]
		object := int(id) < len(b.c.states) && len(b.c.states[id]) > 0 && !n.isFrame
		if id == 0 || !n.context || b.c.logicalOf(NodeID(id)) != NodeID(id) {
			continue
		}
		if explicit && object || b.typ == TypeFrame && n.isFrame {
			b.row(NodeID(id), 0, lastTime)
		}
	}
}

// finish sorts the rows.
func (b *tabulator) finish() {
	for _, row := range b.rows {
		b.table.Rows = append(b.table.Rows, *row)
	}
	slices.SortFunc(b.table.Rows, func(x, y Row) int {
		return cmp.Or(cmp.Compare(y.Self, x.Self), cmp.Compare(y.Total, x.Total), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Part, y.Part))
	})
	if n := b.opts.Limit; n > 0 && len(b.table.Rows) > n {
		kept := b.table.Rows[:n]
		for _, row := range b.table.Rows[n:] {
			if row.ID == unattributed && b.opts.Split == SplitNone {
				kept = append(kept, row)
			}
		}
		b.table.Omitted = len(b.table.Rows) - len(kept)
		b.table.Rows = kept
	}
	if b.table.Rows == nil {
		b.table.Rows = []Row{}
	}
}

// Sum returns the table with all contexts in one row.
func (t *Table) Sum() *Table {
	out := &Table{Type: t.Type, Split: "type", Busy: t.Busy, Unattributed: t.Unattributed}
	all, none := Row{ID: "(all contexts)", Name: "(all contexts)"}, Row{ID: unattributed, Name: unattributed}
	for i := range t.Rows {
		if r := &t.Rows[i]; r.ID == unattributed {
			none.join(r)
		} else {
			all.join(r)
		}
	}
	all.Total, none.Total = all.Self, none.Self
	out.Rows = []Row{all, none}
	return out
}

// join adds another row, but not its total, which may have parts in common.
func (r *Row) join(o *Row) {
	r.Self += o.Self
	r.SelfCPU += o.SelfCPU
	r.WithoutCPU += o.WithoutCPU
	r.Slices += o.Slices
	r.Instants += o.Instants
	r.GCProvoked += o.GCProvoked
	r.Freed += o.Freed
	r.ForcedStyle += o.ForcedStyle
	r.ForcedLayout += o.ForcedLayout
	r.ForcedStyles += o.ForcedStyles
	r.ForcedLayouts += o.ForcedLayouts
	r.NetworkBytes += o.NetworkBytes
	r.Requests += o.Requests
	r.RequestTime += o.RequestTime
	r.Async += o.Async
	r.LongTasks += o.LongTasks
	r.Inputs += o.Inputs
	r.WorstLatency = max(r.WorstLatency, o.WorstLatency)
	for c := range r.SelfByCategory {
		r.SelfByCategory[c] += o.SelfByCategory[c]
	}
}
