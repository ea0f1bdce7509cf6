// Package tables builds cost tables from the result of the attribution engine.
package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// GroupBy defines which contexts share a row of a table (attribution.md, Cost).
type GroupBy uint8

const (
	GroupNone   GroupBy = iota // every context has a row
	GroupPage                  // the root of the tree; for frames, the outermost frame
	GroupClass                 // the class of objects, the type of input events, the scope of others
	GroupEntity                // the registrable domain of the url, or the extension
	GroupType                  // all contexts in one row
)

var groups = [...]string{GroupNone: "context", GroupPage: "page", GroupClass: "class", GroupEntity: "entity", GroupType: "type"}

// String returns "context", "page", "class", "entity" or "type".
func (g GroupBy) String() string {
	if int(g) < len(groups) {
		return groups[g]
	}
	return "GroupBy(" + strconv.Itoa(int(g)) + ")"
}

// SplitBy defines how each row of a table is divided.
type SplitBy uint8

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

// ParseBy parses the name of a GroupBy or SplitBy, or one of each, separated by a comma.
func ParseBy(text string) (group GroupBy, split SplitBy, err error) {
	for name := range strings.SplitSeq(text, ",") {
		g, s := slices.Index(groups[:], name), slices.Index(splits[:], name)
		switch {
		case g < 0 && s < 0:
			return 0, 0, words.Unknown("kind of row", name, slices.Concat(groups[:], splits[1:]))
		case g > 0 && group != GroupNone, s > 0 && split != SplitNone:
			return 0, 0, fmt.Errorf("%q: use at most one of page, class, entity and type, and one of process, thread and category", text)
		case g > 0:
			group = GroupBy(g)
		case s > 0:
			split = SplitBy(s)
		}
	}
	return group, split, nil
}

// ByText is the inverse of ParseBy.
func ByText(group GroupBy, split SplitBy) string {
	switch {
	case split == SplitNone:
		return group.String()
	case group == GroupNone:
		return split.String()
	}
	return group.String() + "," + split.String()
}

// Tables builds the cost tables of an attribution.
type Tables struct {
	result    *attribution.Result
	enteredBy map[attribution.NodeID]attribution.TypeSet // by logical node: the types of its explicit events; nil: not computed yet
}

// Of returns the tables of an attribution.
func Of(r *attribution.Result) *Tables { return &Tables{result: r} }

// TableOptions select the contents of a table.
type TableOptions struct {
	Type  string // one of Tables.Types or Tables.TrackTypes
	Group GroupBy
	Split SplitBy
	Limit int // number of rows; 0: all. The unattributed row is extra, unless rows are divided
}

// Table lists the costs of the contexts of a type. The self times of all rows add up to the busy time.
type Table struct {
	Type         string         `json:"type"`
	By           string         `json:"by"`      // Group and Split, see ParseBy
	Busy         timeline.Nanos `json:"busy_ns"` // time in which threads ran slices
	Unattributed timeline.Nanos `json:"unattributed_ns"`
	Omitted      int            `json:"omitted,omitempty"` // number of rows beyond the limit
	Limited      int            `json:"limited,omitempty"` // costs without a row of their own, and inputs that rows do not count
	Rows         []Row          `json:"rows"`              // the most expensive first

	NotCounted []timeline.Recorder `json:"not_counted,omitempty"` // recordings of threads that another input records in more detail

	Elsewhere Elsewhere `json:"-"` // part of Unattributed

	Group GroupBy        `json:"-"`
	Split SplitBy        `json:"-"`
	Start timeline.Nanos `json:"-"` // of the trace
}

// Elsewhere is the time of threads that never work for a context of the type, such as threads that serve all pages.
type Elsewhere struct {
	Time   timeline.Nanos
	Thread string // the thread with the most such time

	track timeline.TrackID
}

// Amounts holds the costs of a context, of a group of contexts, or of a part of either. Amounts that the table cannot divide are
// 0.
type Amounts struct {
	ID      string   `json:"id"` // scope/id, with @pid if it is local; or "(unattributed)"
	Name    string   `json:"name"`
	Part    string   `json:"part,omitempty"` // the process, thread or category, if rows are divided
	Class   string   `json:"class,omitempty"`
	Parent  string   `json:"parent,omitempty"`
	Members []string `json:"members,omitempty"` // identities, if several objects are this context

	Self       timeline.Nanos `json:"self_ns"`
	Total      timeline.Nanos `json:"total_ns"`            // including all contexts below it in the tree
	CPU        timeline.Nanos `json:"self_cpu_ns"`         // CPU time of the slices where it is known
	WithoutCPU timeline.Nanos `json:"self_without_cpu_ns"` // self time of the other slices
	Slices     int64          `json:"slices"`
	Instants   int64          `json:"instants"`

	LongTasks     int64          `json:"long_tasks"`     // of 50 ms or more, in which no other context has more self time
	GCProvoked    timeline.Nanos `json:"gc_provoked_ns"` // garbage collections during the context's work
	Freed         int64          `json:"freed_bytes"`    // by garbage collections; isolates only
	ForcedStyle   timeline.Nanos `json:"forced_style_ns"`
	ForcedLayout  timeline.Nanos `json:"forced_layout_ns"`
	ForcedStyles  int64          `json:"forced_styles"`
	ForcedLayouts int64          `json:"forced_layouts"`
	Requests      int64          `json:"requests"`
	NetworkBytes  int64          `json:"network_bytes"`
	RequestTime   timeline.Nanos `json:"request_ns"`             // sum of the times from sending to finishing
	Async         timeline.Nanos `json:"async_ns"`               // asynchronous slices; not part of the busy time
	Inputs        int64          `json:"inputs"`                 // number of distinct input events for which the context worked
	WorstLatency  timeline.Nanos `json:"worst_input_latency_ns"` // of these input events
}

// Row is a row of a table. Columns that the table cannot divide are missing, see Column.In.
type Row struct {
	Amounts
	SelfByCategory ByCategory `json:"self_by_category_ns"`
	Input          *InputInfo `json:"input,omitempty"` // set if the context is an input event

	lacks columnSet
	None  bool // the row of unattributed work
	// HasURL is set if Name is the url of the context.
	HasURL bool
}

// ByCategory holds an amount of time for each category.
type ByCategory [producers.CategoryCount]timeline.Nanos

// Types returns the types of the contexts in the trace, and the types derived from them, sorted by name.
func (t *Tables) Types() []string {
	found := map[attribution.TypeID]bool{}
	t.eachSet(func(set attribution.SetID) {
		for _, id := range t.result.Sets.Lists.At(uint32(set)) {
			found[t.result.Sets.Members[id].Type] = true
		}
	})
	var names []string
	for typ := range found {
		names = append(names, t.result.Contexts.Types[typ])
	}
	for i := range derivedTypes {
		if d := &derivedTypes[i]; found[d.base] {
			names = append(names, t.DerivedName(d.name))
		}
	}
	slices.Sort(names)
	return names
}

// TypeCount is the number of contexts of a type.
type TypeCount struct {
	Type  string `json:"type"`
	Count int    `json:"count"`
}

// TypeCounts returns the types of contexts with work, sorted by descending count.
func (t *Tables) TypeCounts() []TypeCount {
	type context struct {
		typ  attribution.TypeID
		node attribution.NodeID
	}
	seen, counts := map[context]bool{}, map[attribution.TypeID]int{}
	t.eachSet(func(set attribution.SetID) {
		for _, id := range t.result.Sets.Lists.At(uint32(set)) {
			m := &t.result.Sets.Members[id]
			k := context{m.Type, t.result.Contexts.LogicalOf(m.Node)}
			if !seen[k] {
				seen[k] = true
				counts[m.Type]++
			}
		}
	})
	list := []TypeCount{}
	for typ, n := range counts {
		list = append(list, TypeCount{t.result.Contexts.Types[typ], n})
	}
	slices.SortFunc(list, func(a, b TypeCount) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Type, b.Type)) })
	return list
}

// HasPages reports whether there is work for a page frame, not only for isolates, which programs without pages also have.
func (t *Tables) HasPages() (has bool) {
	t.eachSet(func(set attribution.SetID) {
		for _, id := range t.result.Sets.Lists.At(uint32(set)) {
			m := &t.result.Sets.Members[id]
			has = has || m.Type == attribution.TypeFrame && t.result.Contexts.Nodes[m.Node].Scope != attribution.ScopeIsolate
		}
	})
	return has
}

// eachSet calls fn for the sets of contexts with work; it may pass a set more than once.
func (t *Tables) eachSet(fn func(attribution.SetID)) {
	for set := range t.result.Sets.Lists.Len() {
		if t.result.Used.Has(attribution.SetID(set)) || t.result.Costs.Named.Has(attribution.SetID(set)) {
			fn(attribution.SetID(set))
		}
	}
	for i := range t.result.Requests {
		fn(t.result.Requests[i].Set)
	}
}

// Empty reports whether the cost window has no events.
func (t *Tables) Empty() bool {
	if !t.result.Costs.Cells.Empty() || len(t.result.Costs.Asyncs) > 0 {
		return false
	}
	return !slices.ContainsFunc(t.result.Requests, t.result.SentInWindow)
}

// keeps reports whether a limit keeps the i-th row of a table. The unattributed row is always kept unless rows are divided.
func (t *Table) keeps(i int, row *Row, limit int) bool {
	return i < limit || row.None && t.Split == SplitNone
}

// Table returns the costs of the contexts of a type. Contexts without costs have rows too, unless rows are divided.
// It returns errors for unknown types and from temporary files.
func (t *Tables) Table(opts TableOptions) (*Table, error) {
	if t.result.Contexts.ByType[opts.Type] == 0 && t.derived(opts.Type) == nil {
		return nil, words.Unknown("type", opts.Type, slices.Concat(t.Types(), t.TrackTypes()))
	}
	return t.NewTabulator(opts).Fill(opts.Limit)
}

func (t *Tables) NewTabulator(opts TableOptions) *tabulator {
	b := &tabulator{
		unattributed: map[timeline.TrackID]timeline.Nanos{}, attributed: map[timeline.TrackID]bool{},
		tables: t, result: t.result, group: opts.Group, split: opts.Split, typ: t.result.Contexts.ByType[opts.Type],
		table: &Table{Type: opts.Type, By: ByText(opts.Group, opts.Split), Group: opts.Group, Split: opts.Split, Rows: []Row{}, Start: t.result.Timeline.Start(), NotCounted: t.result.Timeline.Recorders()},
		rows:  map[rowKey]*Row{}, MaxRows: t.result.Contexts.Limits.Of(maxTableRows), inputs: map[rowInput]struct{}{},
	}
	if d := t.derived(opts.Type); d != nil {
		b.typ, b.tracks = d.base, d.tracks
		if b.group == GroupNone {
			b.group = d.group
		}
	}
	if b.group == GroupNone && b.split == SplitNone && b.tracks == SplitNone {
		b.byNode = make([]*Row, len(t.result.Contexts.Nodes))
	}
	b.lacks = b.missing()
	return b
}

// Fill fills the table and returns it, shortened to the limit.
func (b *tabulator) Fill(limit int) (*Table, error) {
	if err := b.cells(); err != nil {
		return nil, err
	}
	b.others()
	b.explain()
	if b.split == SplitNone {
		b.empty()
	}
	b.finish(limit)
	return b.table, nil
}

// inputInfo returns the columns of an input event.
func inputInfo(i *attribution.Input) *InputInfo {
	known := func(t timeline.Nanos) *timeline.Nanos {
		if t == timeline.NoTime {
			return nil
		}
		return &t
	}
	return &InputInfo{i.Type, i.Start, known(i.Latency), known(i.Presented), i.Dropped, i.Interaction}
}

// InputInfo holds the columns of an input event.
type InputInfo struct {
	Type        string          `json:"type"`
	Start       timeline.Nanos  `json:"start_ns"`
	Latency     *timeline.Nanos `json:"latency_ns,omitempty"`
	Presented   *timeline.Nanos `json:"presented_ns,omitempty"`
	Dropped     bool            `json:"dropped,omitempty"`
	Interaction int64           `json:"interaction_id,omitempty"`
}

// Others is the row for costs that have no row of their own because there are too many rows.
const Others = "(others)"

// Shorten removes the rows of a table beyond a limit.
func (t *Table) Shorten(limit int) {
	kept := t.Rows[:0]
	for i := range t.Rows {
		if t.keeps(i, &t.Rows[i], limit) {
			kept = append(kept, t.Rows[i])
		}
	}
	t.Omitted += len(t.Rows) - len(kept)
	t.Rows = kept
}
