package attribution

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
)

// GroupBy says which contexts share a row of a table (attribution.md, Cost).
type GroupBy uint8

// What contexts are grouped by.
const (
	GroupNone   GroupBy = iota // every context has a row
	GroupPage                  // the root of the tree; of frames the outermost frame
	GroupClass                 // the class: of objects, and the type of input events; else the scope
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

// SplitBy says into what each row of a table is divided.
type SplitBy uint8

// What rows are divided by.
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

// ParseBy reads what rows are made by: one of the names of GroupBy or SplitBy, or one of both with a comma between them.
func ParseBy(text string) (group GroupBy, split SplitBy, err error) {
	for name := range strings.SplitSeq(text, ",") {
		g, s := slices.Index(groups[:], name), slices.Index(splits[:], name)
		switch {
		case g < 0 && s < 0:
			return 0, 0, suggest.Unknown("kind of row", name, slices.Concat(groups[:], splits[1:]))
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

// byText is the inverse of ParseBy.
func byText(group GroupBy, split SplitBy) string {
	switch {
	case split == SplitNone:
		return group.String()
	case group == GroupNone:
		return split.String()
	}
	return group.String() + "," + split.String()
}

// TableOptions say what a table shows.
type TableOptions struct {
	Type  string // one of Result.Types or Result.TrackTypes
	Group GroupBy
	Split SplitBy
	Limit int // of rows; 0: none. The row of what is unattributed stays, unless rows are divided
}

// Table says what each context of a type cost. The self times of all rows together are the busy time.
type Table struct {
	Type         string         `json:"type"`
	By           string         `json:"by"`      // as for ParseBy
	Busy         timeline.Nanos `json:"busy_ns"` // time in which threads ran slices
	Unattributed timeline.Nanos `json:"unattributed_ns"`
	Omitted      int            `json:"omitted,omitempty"` // rows beyond the limit
	Limited      int            `json:"limited,omitempty"` // costs without a row of their own, and inputs that rows do not count
	Rows         []Row          `json:"rows"`              // the most expensive first

	group GroupBy
	split SplitBy
	start timeline.Nanos // of the trace
}

// Row is what one context cost, or a group of contexts, or a part of these. Columns that say nothing in a table, because
// what they count cannot be divided in its way, are 0, and left out of its JSON and CSV forms.
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

	LongTasks      int64          `json:"long_tasks"`     // of 50 ms and more, in which no other context has more self time
	GCProvoked     timeline.Nanos `json:"gc_provoked_ns"` // garbage collections in the middle of its work
	Freed          int64          `json:"freed_bytes"`    // by garbage collections; of isolates
	ForcedStyle    timeline.Nanos `json:"forced_style_ns"`
	ForcedLayout   timeline.Nanos `json:"forced_layout_ns"`
	ForcedStyles   int64          `json:"forced_styles"`
	ForcedLayouts  int64          `json:"forced_layouts"`
	Requests       int64          `json:"requests"`
	NetworkBytes   int64          `json:"network_bytes"`
	RequestTime    timeline.Nanos `json:"request_ns"`             // from the sending to the finish, all added up
	Async          timeline.Nanos `json:"async_ns"`               // asynchronous slices; no busy time
	Inputs         int64          `json:"inputs"`                 // input events for which it worked; each counts once in a row
	WorstLatency   timeline.Nanos `json:"worst_input_latency_ns"` // of these
	SelfByCategory ByCategory     `json:"self_by_category_ns"`
	Input          *InputInfo     `json:"input,omitempty"` // of a context that is an input event

	lacks columnSet
	none  bool // it is of what has no context
}

// ByCategory is a time for each category.
type ByCategory [CategoryCount]timeline.Nanos

// Types returns the types of which there are contexts in the trace, and the groups of these, by name.
func (r *Result) Types() []string {
	found := map[TypeID]bool{}
	note := func(set SetID) {
		for _, id := range r.sets.sets.at(uint32(set)) {
			found[r.sets.entries[id].typ] = true
		}
	}
	for set := range r.sets.sets.len() {
		if r.used.has(SetID(set)) || r.costs.named.has(SetID(set)) {
			note(SetID(set))
		}
	}
	for i := range r.requests {
		note(r.requests[i].Set)
	}
	var names []string
	for typ := range found {
		names = append(names, r.c.types[typ])
	}
	for i := range derivedTypes {
		if d := &derivedTypes[i]; found[d.of] {
			names = append(names, r.DerivedName(d.name))
		}
	}
	slices.Sort(names)
	return names
}

// Empty reports whether nothing of the trace lies in the window that costs are added up of.
func (r *Result) Empty() bool {
	if !r.costs.cells.empty() || len(r.costs.asyncs) > 0 {
		return false
	}
	return !slices.ContainsFunc(r.requests, r.sentInWindow)
}

// sentInWindow reports whether a request counts.
func (r *Result) sentInWindow(q Request) bool {
	return q.Start != timeline.NoTime && r.costs.window.has(q.Start)
}

// keeps reports whether a limit leaves the i-th row in a table: of tables whose rows are not divided, the one of what is
// unattributed as well.
func (t *Table) keeps(i int, row *Row, limit int) bool {
	return i < limit || row.none && t.split == SplitNone
}

// Table returns the costs of the contexts of a type. Contexts without cost have rows as well, unless rows are divided.
// The error is one of the temporary files.
func (r *Result) Table(opts TableOptions) (*Table, error) {
	return r.newTabulator(opts).fill(opts.Limit)
}

func (r *Result) newTabulator(opts TableOptions) *tabulator {
	b := &tabulator{
		result: r, group: opts.Group, split: opts.Split, typ: r.c.byType[opts.Type],
		table: &Table{Type: opts.Type, By: byText(opts.Group, opts.Split), group: opts.Group, split: opts.Split, Rows: []Row{}, start: r.t.Start()},
		rows:  map[rowKey]*Row{}, maxRows: r.c.most.rows, inputs: map[rowInput]struct{}{},
	}
	if d := r.derived(opts.Type); d != nil {
		b.typ, b.tracks = d.of, d.tracks
		if b.group == GroupNone {
			b.group = d.group
		}
	}
	if b.group == GroupNone && b.split == SplitNone && b.tracks == SplitNone {
		b.byNode = make([]*Row, len(r.c.nodes))
	}
	b.lacks = b.missing()
	return b
}

// fill fills the table and leaves the rows that the limit allows.
func (b *tabulator) fill(limit int) (*Table, error) {
	if err := b.cells(); err != nil {
		return nil, err
	}
	b.others()
	if b.split == SplitNone {
		b.empty()
	}
	b.finish(limit)
	return b.table, nil
}
