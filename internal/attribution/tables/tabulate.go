package tables

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// tabulator fills a table.
type tabulator struct {
	tables  *Tables
	result  *attribution.Result
	typ     attribution.TypeID
	tracks  SplitBy // SplitProcess or SplitThread: one row for each, whatever context is in effect
	group   GroupBy
	split   SplitBy
	lacks   columnSet
	table   *Table
	rows    map[rowKey]*Row
	groups  []string           // names of groups, by groupID
	groupID map[string]groupID // ids of groups, by name
	MaxRows int
	inputs  map[rowInput]struct{}

	unattributed map[timeline.TrackID]timeline.Nanos // unattributed time of threads
	attributed   map[timeline.TrackID]bool           // threads with attributed time

	counted []rowKey             // rows whose total already includes the cell
	chain   []attribution.NodeID // the context of a cell and its ancestors
	byNode  []*Row               // rows of contexts, and of unattributed work, if each has one row
	groupBy []groupID            // groups of contexts, if they do not depend on time; 0: not computed yet
}

// Limits of a table. Beyond maxTableRows all contexts share the row Others; beyond maxRowInputs input events are not
// counted. Table.Limited counts both.
const (
	maxTableRows = 1 << 17
	maxRowInputs = 1 << 20 // of all rows together; each needs about 40 bytes
)

// rowInput is an input event for which the context of a row worked.
type rowInput struct {
	row   *Row
	input attribution.NodeID
}

// rowKey identifies a row of a table: a context, track, group, or Others.
type rowKey struct {
	node  attribution.NodeID
	track timeline.TrackID
	group groupID
	part  uint32 // id of the process, thread or category, see tabulator.split
	other bool
}

// unattributed reports whether a row is for unattributed work.
func (k *rowKey) unattributed() bool { return k.node == 0 && k.track == 0 && k.group == 0 && !k.other }

// groupID is the number of a group in a table; 0: none.
type groupID uint32

// internGroup returns the id of a group.
func (b *tabulator) internGroup(group string) groupID {
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

// site is the thread and category of work.
type site struct {
	process, thread timeline.TrackID // 0: unknown
	category        producers.Category
}

// siteOf returns the site of work on a thread.
func (b *tabulator) siteOf(thread timeline.TrackID, category producers.Category) site {
	if thread == 0 {
		return site{category: category}
	}
	t := b.result.Timeline
	if t.Role(thread) == timeline.RoleSpans { // below its thread, or below the process if the spans name no thread
		if thread = t.TrackParent(thread); t.TrackKind(thread) == timeline.ProcessTrack {
			return site{process: thread, thread: thread, category: category}
		}
	}
	return site{process: t.TrackParent(thread), thread: thread, category: category}
}

// missing returns the columns that the table must omit: asynchronous slices have no thread, requests and tasks have no
// category, and only frames trigger collections.
func (b *tabulator) missing() (lacks columnSet) {
	if b.split == SplitCategory {
		lacks |= 1<<taskColumn | 1<<requestColumn | 1<<asyncColumn
	}
	if b.split == SplitThread || b.tracks == SplitThread {
		lacks |= 1 << asyncColumn
	}
	if b.typ != attribution.TypeFrame {
		lacks |= 1 << provokedColumn
	}
	return lacks
}

// row returns the row of a context at a site, and creates it if necessary.
func (b *tabulator) row(node attribution.NodeID, at site, ts timeline.Nanos) (*Row, rowKey) {
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
	if row == nil && len(b.rows) >= b.MaxRows && !key.unattributed() {
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

// name sets the fields that describe a row, as of the end of the trace.
func (b *tabulator) name(row *Row, key *rowKey) {
	switch {
	case key.other:
	case b.split == SplitProcess, b.split == SplitThread:
		row.Part = b.trackName(timeline.TrackID(key.part))
	case b.split == SplitCategory:
		row.Part = producers.Category(key.part).String()
	}
	switch {
	case key.other:
		row.ID, row.Name = Others, Others
	case key.unattributed():
		row.ID, row.Name, row.None = attribution.Unattributed, attribution.Unattributed, true
	case key.group != 0:
		row.ID, row.Name = b.groups[key.group], b.groups[key.group]
	case key.track != 0:
		b.nameTrack(row, key.track)
	default:
		b.nameContext(row, key.node)
	}
}

func (b *tabulator) nameContext(row *Row, node attribution.NodeID) {
	row.ID, row.Name = b.result.Contexts.Nodes[node].Identity.String(), b.result.Contexts.Label(node, attribution.LastTime)
	row.HasURL = b.result.Contexts.UrlOf(node) != ""
	row.Class = b.result.Contexts.Class(node, attribution.LastTime)
	if in, ok := b.result.InputOf(node); ok {
		row.Input = inputInfo(in)
	}
	if parent := b.result.Contexts.Parent(node, attribution.LastTime); parent != 0 {
		row.Parent = b.result.Contexts.Nodes[parent].Identity.String()
	}
	if members := b.result.Contexts.MembersOf(node); len(members) > 1 {
		for _, m := range members {
			row.Members = append(row.Members, b.result.Contexts.Nodes[m].Identity.String())
		}
	}
}

// nameTrack names the row of a process or thread.
func (b *tabulator) nameTrack(row *Row, id timeline.TrackID) {
	row.Name = b.trackName(id)
	tr := b.result.Timeline.Track(id)
	if tr.Kind != timeline.ThreadTrack {
		row.ID = "process/" + tr.InputID.String()
		return
	}
	row.ID = "thread/" + tr.InputID.String()
	if process := b.result.Timeline.Track(tr.Parent); process.Kind == timeline.ProcessTrack {
		row.ID += "@" + process.InputID.String()
		row.Parent = "process/" + process.InputID.String()
	}
}

// trackName returns the name and ids of a process or thread.
func (b *tabulator) trackName(id timeline.TrackID) string {
	tr := b.result.Timeline.Track(id)
	switch {
	case id == 0:
		return "(unknown)"
	case tr.Kind == timeline.ThreadTrack:
		process := b.result.Timeline.Track(tr.Parent)
		return threadTitle(&tr, &process)
	case tr.Name == "" && tr.InputID.HasNumber():
		return "pid " + tr.InputID.String()
	}
	return strings.TrimSuffix(tr.FullName()+" "+tr.InputID.Number(), " ")
}

// threadTitle returns the name of a thread with the pid and tid in the input, or with names if these are not numbers.
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

// nodeOf returns the logical node of a type in a set, or 0 if there is none.
func (b *tabulator) nodeOf(set attribution.SetID, typ attribution.TypeID) attribution.NodeID {
	if e := b.result.Sets.Of(set, typ); e != 0 {
		return b.result.Contexts.LogicalOf(b.result.Sets.Members[e].Node)
	}
	return 0
}

// cells adds the costs of the work on threads.
func (b *tabulator) cells() error {
	return b.result.Costs.Cells.Each(func(c *attribution.Cell) {
		ts, at := c.Since, b.siteOf(c.Thread, c.Category)
		node := b.nodeOf(c.Set, b.typ)
		row, key := b.row(node, at, ts)
		row.add(c)
		b.table.Busy += c.Wall
		if key.unattributed() {
			b.table.Unattributed += c.Wall
			b.unattributed[c.Thread] += c.Wall
		} else {
			b.attributed[c.Thread] = true
		}
		if node == 0 || b.tracks != SplitNone {
			row.Total += c.Wall
		} else {
			b.addTotals(node, c.Wall, at, ts)
		}
		if input := b.nodeOf(c.Set, attribution.TypeInputEvent); input != 0 {
			b.countInput(row, input)
		}
		if trigger := b.nodeOf(c.Set, attribution.TypeTrigger); trigger != 0 && b.typ == attribution.TypeFrame {
			provoker, _ := b.row(trigger, at, ts)
			provoker.GCProvoked += c.Wall
		}
	})
}

// countInput counts an input event for a row once.
func (b *tabulator) countInput(row *Row, input attribution.NodeID) {
	key := rowInput{row, input}
	if _, ok := b.inputs[key]; ok {
		return
	}
	if len(b.inputs) >= b.result.Contexts.Limits.Of(maxRowInputs) {
		b.table.Limited++
		return
	}
	b.inputs[key] = struct{}{}
	row.Inputs++
	if in, ok := b.result.InputOf(input); ok && in.Latency != timeline.NoTime {
		row.WorstLatency = max(row.WorstLatency, in.Latency)
	}
}

// addTotals adds an amount of time to the totals of a context and its ancestors. A row counts the amount only once, even if
// several of these contexts share the row.
func (b *tabulator) addTotals(node attribution.NodeID, wall timeline.Nanos, at site, ts timeline.Nanos) {
	b.counted, b.chain = b.counted[:0], append(b.chain[:0], b.result.Contexts.Ancestors(node, ts)...)
	if b.group == GroupPage && len(b.chain) > 2 { // all others share the row of the first or the last
		b.chain = append(b.chain[:1], b.chain[len(b.chain)-1])
	}
	for _, n := range b.chain {
		row, key := b.row(n, at, ts)
		if n != node && b.isEngine(key) {
			continue // the work of frames does not count for their isolates
		}
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
func (r *Row) add(c *attribution.Cell) {
	r.Self += c.Wall
	r.CPU += c.Cpu
	r.WithoutCPU += c.WithoutCPU
	r.Slices += c.Slices
	r.Instants += c.Instants
	r.Freed += c.Freed
	r.ForcedStyle += c.Forced[0]
	r.ForcedLayout += c.Forced[1]
	r.ForcedStyles += c.ForcedN[0]
	r.ForcedLayouts += c.ForcedN[1]
	r.SelfByCategory[c.Category] += c.Wall
}

// others adds the asynchronous slices, the requests and the long tasks.
func (b *tabulator) others() {
	if !b.lacks.has(asyncColumn) {
		for _, key := range slices.SortedFunc(maps.Keys(b.result.Costs.Asyncs), attribution.CompareAsyncKeys) {
			wall := b.result.Costs.Asyncs[key]
			node := b.nodeOf(key.Set, b.typ)
			row, _ := b.row(node, site{process: key.Process}, attribution.LastTime)
			row.Async += wall
			if b.typ == attribution.TypeInputEvent && node != 0 { // count input events without work on a thread too
				b.countInput(row, node)
			}
		}
	}
	if !b.lacks.has(requestColumn) {
		for i := range b.result.Requests {
			b.request(&b.result.Requests[i])
		}
	}
	if !b.lacks.has(taskColumn) {
		for i := range b.result.Costs.Tasks {
			b.longTask(&b.result.Costs.Tasks[i])
		}
	}
}

// request counts a request that was sent in the window.
func (b *tabulator) request(r *attribution.Request) {
	if !b.result.SentInWindow(*r) {
		return
	}
	row, _ := b.row(b.nodeOf(r.Set, b.typ), b.siteOf(r.Thread, producers.CategoryNone), r.Start)
	row.Requests++
	row.NetworkBytes = int64(attribution.Add(timeline.Nanos(row.NetworkBytes), timeline.Nanos(r.Bytes)))
	if r.End != timeline.NoTime {
		row.RequestTime = attribution.Add(row.RequestTime, max(r.End-r.Start, 0))
	}
}

// longTask counts a long task for the row with the most self time in it, or for the first of several rows with equal times
// (attribution.md, Cost). The unattributed row gets the task only if no other has self time.
func (b *tabulator) longTask(t *attribution.LongTask) {
	at := b.siteOf(t.Thread, producers.CategoryNone)
	sums := map[rowKey]timeline.Nanos{}
	var order []rowKey
	for _, s := range t.Shares {
		_, key := b.row(b.nodeOf(s.Set, b.typ), at, t.Start)
		if _, ok := sums[key]; !ok {
			order = append(order, key)
		}
		sums[key] += s.Wall
	}
	best := -1
	for i := range order {
		if !order[i].unattributed() && (best < 0 || sums[order[i]] > sums[order[best]]) {
			best = i
		}
	}
	if best < 0 {
		best = 0 // the only row
	}
	b.rows[order[best]].LongTasks++
}

// empty adds rows for contexts without costs: frames or, for types of explicit events, objects, except objects
// entered only as another type. It also adds the unattributed row.
func (b *tabulator) empty() {
	if none := (rowKey{}); b.rows[none] == nil {
		b.rows[none] = &Row{Amounts: Amounts{ID: attribution.Unattributed, Name: attribution.Unattributed}, lacks: b.lacks, None: true}
	}
	explicit := b.typ >= attribution.NumBuiltIn
	if !explicit && b.typ != attribution.TypeFrame {
		return
	}
	entered := b.tables.explicitTypes()
	hasType := func(node attribution.NodeID) bool {
		types, ok := entered[node]
		return !ok || types.Has(b.typ)
	}
	for id := range b.result.Contexts.Nodes {
		n := &b.result.Contexts.Nodes[id]
		if id == 0 || !n.Context || b.result.Contexts.LogicalOf(attribution.NodeID(id)) != attribution.NodeID(id) {
			continue
		}
		object := id < len(b.result.Contexts.States) && len(b.result.Contexts.States[id]) > 0 && !n.IsFrame
		if len(b.rows) < b.MaxRows && (explicit && object && hasType(attribution.NodeID(id)) || !explicit && n.IsFrame) {
			b.row(attribution.NodeID(id), site{}, attribution.LastTime)
		}
	}
}

// explicitTypes returns the types of the explicit events that entered each logical node.
func (t *Tables) explicitTypes() map[attribution.NodeID]attribution.TypeSet {
	if t.enteredBy == nil {
		t.enteredBy = map[attribution.NodeID]attribution.TypeSet{}
		for i := range t.result.Sets.Members {
			if e := &t.result.Sets.Members[i]; e.Type >= attribution.NumBuiltIn {
				node := t.result.Contexts.LogicalOf(e.Node)
				types := t.enteredBy[node]
				types.Add(e.Type)
				t.enteredBy[node] = types
			}
		}
	}
	return t.enteredBy
}

// explain sets Elsewhere: the time of the threads that are entirely unattributed, and the thread with the most such time.
func (b *tabulator) explain() {
	where := &b.table.Elsewhere
	for id, wall := range b.unattributed {
		if b.attributed[id] {
			continue
		}
		where.Time += wall
		if most := b.unattributed[where.track]; where.track == 0 || wall > most || wall == most && id < where.track {
			where.track = id
		}
	}
	if where.track != 0 {
		where.Thread = b.trackName(where.track)
	}
}

// finish sorts the rows, the most expensive first, and applies the limit.
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
