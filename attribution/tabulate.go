package attribution

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// tabulator fills a table.
type tabulator struct {
	result  *Result
	typ     TypeID
	tracks  SplitBy // SplitProcess, SplitThread: rows are these, whatever is in effect
	group   GroupBy
	split   SplitBy
	lacks   columnSet
	table   *Table
	rows    map[rowKey]*Row
	groups  []string           // names of groups, by groupID
	groupID map[string]groupID // of these
	maxRows int
	inputs  map[rowInput]struct{}
	counted []rowKey  // that have the time of a cell in their total
	chain   []NodeID  // the context of a cell and all above it
	byNode  []*Row    // rows of contexts and of what has none, where each has one row
	groupBy []groupID // of contexts, where that does not depend on the time; 0: not known yet
}

// Limits of a table, whatever the input says. Beyond maxTableRows everything that has a context is in one row, others; input events beyond
// maxRowInputs are not counted. Table.Limited counts both.
const (
	maxTableRows = 1 << 17
	maxRowInputs = 1 << 20 // of all rows together; each takes about 40 bytes
)

// rowInput says that what a row is about worked for an input event.
type rowInput struct {
	row   *Row
	input NodeID
}

// rowKey tells the rows of a table apart.
type rowKey struct {
	node  NodeID           // a context
	track timeline.TrackID // or a process or thread
	group groupID          // or a group
	part  uint32           // of what tabulator.split says
	other bool             // or everything that has no row of its own
}

// unattributed reports whether a row is of what has no context.
func (k *rowKey) unattributed() bool { return k.node == 0 && k.track == 0 && k.group == 0 && !k.other }

// groupID is the number of a group in a table; 0: none.
type groupID uint32

// named returns the group of a name.
func (b *tabulator) named(group string) groupID {
	id, ok := b.groupID[group]
	if !ok {
		if b.groupID == nil {
			b.groupID, b.groups = map[string]groupID{}, []string{""}
		}
		id = groupID(len(b.groups))
		b.groupID[group], b.groups = id, append(b.groups, group)
	}
	return id
}

// site is where something is done.
type site struct {
	process, thread timeline.TrackID // 0: unknown
	category        Category
}

// siteOf returns the site of a thread.
func (b *tabulator) siteOf(thread timeline.TrackID, category Category) site {
	if thread == 0 {
		return site{category: category}
	}
	return site{process: b.result.t.TrackParent(thread), thread: thread, category: category}
}

// missing returns the columns that cannot be had: asynchronous slices lie on no thread, requests and tasks have no
// category, and only frames provoke collections.
func (b *tabulator) missing() (lacks columnSet) {
	if b.split == SplitCategory {
		lacks |= 1<<taskColumn | 1<<requestColumn | 1<<asyncColumn
	}
	if b.split == SplitThread || b.tracks == SplitThread {
		lacks |= 1 << asyncColumn
	}
	if b.typ != TypeFrame {
		lacks |= 1 << provokedColumn
	}
	return lacks
}

// row returns the row of what is charged to a context at a site.
func (b *tabulator) row(node NodeID, at site, ts timeline.Nanos) (*Row, rowKey) {
	key := rowKey{}
	if int(node) < len(b.byNode) && b.byNode[node] != nil {
		return b.byNode[node], rowKey{node: node}
	}
	switch {
	case b.tracks == SplitProcess:
		key.track = at.process
	case b.tracks == SplitThread:
		key.track = at.thread
	case node != 0:
		key = b.groupOf(node, ts)
	}
	switch b.split {
	case SplitProcess:
		key.part = uint32(at.process)
	case SplitThread:
		key.part = uint32(at.thread)
	case SplitCategory:
		key.part = uint32(at.category)
	}
	row := b.rows[key]
	if row == nil && len(b.rows) >= b.maxRows && !key.unattributed() {
		b.table.Limited++
		key = rowKey{other: true}
		row = b.rows[key]
	}
	if row == nil {
		row = &Row{lacks: b.lacks}
		b.name(row, &key)
		b.rows[key] = row
	}
	if int(node) < len(b.byNode) && key.node == node {
		b.byNode[node] = row
	}
	return row, key
}

// name says who a row is of, as far as it is known in the end.
func (b *tabulator) name(row *Row, key *rowKey) {
	switch {
	case key.other:
	case b.split == SplitProcess, b.split == SplitThread:
		row.Part = b.trackName(timeline.TrackID(key.part))
	case b.split == SplitCategory:
		row.Part = Category(key.part).String()
	}
	switch {
	case key.other:
		row.ID, row.Name = others, others
	case key.unattributed():
		row.ID, row.Name, row.none = unattributed, unattributed, true
	case key.group != 0:
		row.ID, row.Name = b.groups[key.group], b.groups[key.group]
	case key.track != 0:
		b.nameTrack(row, key.track)
	default:
		b.nameContext(row, key.node)
	}
}

func (b *tabulator) nameContext(row *Row, node NodeID) {
	row.ID, row.Name = b.result.c.nodes[node].Identity.String(), b.result.c.label(node, lastTime)
	row.Class = b.result.c.class(node, lastTime)
	if in, ok := b.result.inputOf(node); ok {
		row.Input = in.info()
	}
	if parent := b.result.c.parent(node, lastTime); parent != 0 {
		row.Parent = b.result.c.nodes[parent].Identity.String()
	}
	if members := b.result.c.membersOf(node); len(members) > 1 {
		for _, m := range members {
			row.Members = append(row.Members, b.result.c.nodes[m].Identity.String())
		}
	}
}

// nameTrack names the row of a process or thread.
func (b *tabulator) nameTrack(row *Row, id timeline.TrackID) {
	row.Name = b.trackName(id)
	tr := b.result.t.Track(id)
	if tr.Kind != timeline.ThreadTrack {
		row.ID = "process/" + tr.InputID.String()
		return
	}
	row.ID = "thread/" + tr.InputID.String()
	if process := b.result.t.Track(tr.Parent); process.Kind == timeline.ProcessTrack {
		row.ID += "@" + process.InputID.String()
		row.Parent = "process/" + process.InputID.String()
	}
}

// trackName is what a process or thread is called: its name, and its ids.
func (b *tabulator) trackName(id timeline.TrackID) string {
	tr := b.result.t.Track(id)
	switch {
	case id == 0:
		return "(unknown)"
	case tr.Kind == timeline.ThreadTrack:
		process := b.result.t.Track(tr.Parent)
		return threadTitle(&tr, &process)
	case tr.Name == "" && tr.InputID.HasNumber():
		return "pid " + tr.InputID.String()
	}
	return strings.TrimSuffix(tr.FullName()+" "+tr.InputID.Number(), " ")
}

// threadTitle is the name of a thread with the ids that the input has for it and for its process; of those that have no
// number it says the name.
func threadTitle(thread, process *timeline.Track) string {
	pid, tid := process.InputID.Number(), thread.InputID.Number()
	switch {
	case pid != "" && tid != "":
		return strings.TrimPrefix(thread.Name+" "+pid+"/"+tid, " ")
	case pid != "":
		return thread.Name + " (pid " + pid + ")"
	}
	return thread.InputID.Title(thread.Name, "tid") + " of " + process.Name
}

// of returns the logical node that a set has of the type; 0 if none.
func (b *tabulator) of(set SetID, typ TypeID) NodeID {
	if e := b.result.sets.of(set, typ); e != 0 {
		return b.result.c.logicalOf(b.result.sets.entries[e].node)
	}
	return 0
}

// cells adds up the times of threads.
func (b *tabulator) cells() error {
	return b.result.costs.cells.each(func(c *cell) {
		ts, at := c.since, b.siteOf(c.thread, c.category)
		node := b.of(c.set, b.typ)
		row, key := b.row(node, at, ts)
		row.add(c)
		b.table.Busy += c.wall
		if key.unattributed() {
			b.table.Unattributed += c.wall
		}
		if node == 0 || b.tracks != SplitNone {
			row.Total += c.wall
		} else {
			b.addTotals(node, c.wall, at, ts)
		}
		if input := b.of(c.set, TypeInputEvent); input != 0 {
			b.hasInput(row, input)
		}
		if trigger := b.of(c.set, TypeTrigger); trigger != 0 && b.typ == TypeFrame {
			by, _ := b.row(trigger, at, ts)
			by.GCProvoked += c.wall
		}
	})
}

// hasInput counts an input event for a row, once.
func (b *tabulator) hasInput(row *Row, input NodeID) {
	key := rowInput{row, input}
	if _, ok := b.inputs[key]; ok {
		return
	}
	if len(b.inputs) >= b.result.c.most.rowInputs {
		b.table.Limited++
		return
	}
	b.inputs[key] = struct{}{}
	row.Inputs++
	if in, ok := b.result.inputOf(input); ok && in.Latency != timeline.NoTime {
		row.WorstLatency = max(row.WorstLatency, in.Latency)
	}
}

// addTotals adds a time to a context and all above it. A group, or the row of
// others, has it once, however many of its contexts are among these.
func (b *tabulator) addTotals(node NodeID, wall timeline.Nanos, at site, ts timeline.Nanos) {
	b.counted, b.chain = b.counted[:0], append(b.chain[:0], b.result.c.ancestors(node, ts)...)
	if b.group == GroupPage && len(b.chain) > 2 { // all between are of the page of the first, or like the last
		b.chain = append(b.chain[:1], b.chain[len(b.chain)-1])
	}
	for _, n := range b.chain {
		row, key := b.row(n, at, ts)
		if b.group != GroupNone || key.other {
			if slices.Contains(b.counted, key) {
				continue
			}
			b.counted = append(b.counted, key)
		}
		row.Total += wall
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

// others adds what is no time of threads.
func (b *tabulator) others() {
	if !b.lacks.has(asyncColumn) {
		for _, key := range slices.SortedFunc(maps.Keys(b.result.costs.asyncs), compareAsyncKeys) {
			wall := b.result.costs.asyncs[key]
			node := b.of(key.set, b.typ)
			row, _ := b.row(node, site{process: key.process}, lastTime)
			row.Async += wall
			if b.typ == TypeInputEvent && node != 0 { // also those for which no thread worked
				b.hasInput(row, node)
			}
		}
	}
	if !b.lacks.has(requestColumn) {
		for i := range b.result.requests {
			b.request(&b.result.requests[i])
		}
	}
	if !b.lacks.has(taskColumn) {
		for i := range b.result.costs.tasks {
			b.longTask(&b.result.costs.tasks[i])
		}
	}
}

// request counts a request that was sent in the window.
func (b *tabulator) request(r *Request) {
	if !b.result.sentInWindow(*r) {
		return
	}
	row, _ := b.row(b.of(r.Set, b.typ), b.siteOf(r.thread, CategoryNone), r.Start)
	row.Requests++
	row.NetworkBytes = int64(sum(timeline.Nanos(row.NetworkBytes), timeline.Nanos(r.Bytes)))
	if r.End != timeline.NoTime {
		row.RequestTime = sum(row.RequestTime, max(r.End-r.Start, 0))
	}
}

// longTask counts a long task for the row of contexts with the most self time in it (attribution.md, Cost): of several with
// the same time the one that worked first. What is unattributed is no context, and has the task only if there is none.
func (b *tabulator) longTask(t *LongTask) {
	at := b.siteOf(t.Thread, CategoryNone)
	sums := map[rowKey]timeline.Nanos{}
	var order []rowKey
	for _, s := range t.shares {
		_, key := b.row(b.of(s.set, b.typ), at, t.Start)
		if _, ok := sums[key]; !ok {
			order = append(order, key)
		}
		sums[key] += s.wall
	}
	best := -1
	for i := range order {
		if !order[i].unattributed() && (best < 0 || sums[order[i]] > sums[order[best]]) {
			best = i
		}
	}
	if best < 0 {
		best = 0 // the only one
	}
	b.rows[order[best]].LongTasks++
}

// empty makes rows for contexts that cost nothing: frames, and for types of explicit events the objects, unless they were
// entered as another type only; and for what has no context.
func (b *tabulator) empty() {
	if none := (rowKey{}); b.rows[none] == nil {
		b.rows[none] = &Row{ID: unattributed, Name: unattributed, lacks: b.lacks, none: true}
	}
	explicit := b.typ >= numBuiltIn
	if !explicit && b.typ != TypeFrame {
		return
	}
	entered := b.result.explicitTypes()
	isOf := func(node NodeID) bool {
		types, ok := entered[node]
		return !ok || types.has(b.typ)
	}
	for id := range b.result.c.nodes {
		n := &b.result.c.nodes[id]
		if id == 0 || !n.context || b.result.c.logicalOf(NodeID(id)) != NodeID(id) {
			continue
		}
		object := int(id) < len(b.result.c.states) && len(b.result.c.states[id]) > 0 && !n.isFrame
		if len(b.rows) < b.maxRows && (explicit && object && isOf(NodeID(id)) || !explicit && n.isFrame) {
			b.row(NodeID(id), site{}, lastTime)
		}
	}
}

// explicitTypes returns the types by which contexts were entered explicitly.
func (r *Result) explicitTypes() map[NodeID]typeSet {
	if r.enteredBy == nil {
		r.enteredBy = map[NodeID]typeSet{}
		for i := range r.sets.entries {
			if e := &r.sets.entries[i]; e.typ >= numBuiltIn {
				node := r.c.logicalOf(e.node)
				types := r.enteredBy[node]
				types.add(e.typ)
				r.enteredBy[node] = types
			}
		}
	}
	return r.enteredBy
}

// finish sorts the rows and cuts them off behind the limit.
func (b *tabulator) finish(limit int) {
	type keyed struct {
		*Row
		key rowKey
	}
	rows := make([]keyed, 0, len(b.rows))
	for key, row := range b.rows {
		rows = append(rows, keyed{row, key})
	}
	slices.SortFunc(rows, func(x, y keyed) int {
		if x.Self != y.Self {
			return cmp.Compare(y.Self, x.Self)
		}
		k, l := &x.key, &y.key
		return cmp.Or(
			cmp.Compare(y.Total, x.Total), cmp.Compare(x.ID, y.ID), cmp.Compare(x.Part, y.Part),
			cmp.Compare(k.node, l.node), cmp.Compare(k.track, l.track), cmp.Compare(k.group, l.group), cmp.Compare(k.part, l.part),
		)
	})
	for i, row := range rows {
		if limit > 0 && !b.table.keeps(i, row.Row, limit) {
			b.table.Omitted++
			continue
		}
		b.table.Rows = append(b.table.Rows, *row.Row)
	}
}
