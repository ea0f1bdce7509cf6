package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// maxCallers is the maximum number of callers shown in tables for readers.
const maxCallers = 3

// samplers maps sources of samples to their everyday names.
var samplers = map[string]string{"legacy_v8": "V8", "gecko": "Firefox", "js_self_profiling": "the page"}

// title returns the title of a thread. If the url that the thread shows is known, the title starts with the url.
func (t *ThreadID) title(shows, source string) string {
	title := table.Elide(t.ThreadTitle(), MaxName) + " of " + table.Elide(t.ProcessTitle(), MaxName)
	if shows != "" && shows != t.Process {
		title = table.Elide(shows, maxShows) + ": " + title
	}
	if source != "" {
		title += ", sampled by " + words.Printable(cmp.Or(samplers[source], source))
	}
	return title
}

// Notes returns notes on functions without names on sampled threads. The browser recorded only the addresses of such functions,
// as Firefox does for its own code.
func (p *Profiles) Notes() []string {
	if !slices.ContainsFunc(p.Threads, func(t *Thread) bool { return t.Source == sourceFirefox }) {
		return nil
	}
	names, unnamed := map[string]bool{}, 0
	for i := range p.stacks.frames {
		name := p.stacks.frames[i].Function
		if !names[name] && strings.HasPrefix(name, "0x") {
			unnamed++
		}
		names[name] = true
	}
	if unnamed <= len(names)/10 {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s are addresses without a name; open the profile in profiler.firefox.com, which finds the names, and save it from there",
		table.Thousands(unnamed), table.Count(len(names), "function"))}
}

// Report renders samples of a trace with the given start, with a section for each thread.
func (s *Samples) Report(start timeline.Nanos) *table.Report {
	out := &table.Report{Head: []table.Record{table.JSON(s)}}
	for i := range s.Threads {
		t := &s.Threads[i]
		stand, gaps := " stand", "no gaps"
		if t.Samples == 1 {
			stand += "s"
		}
		switch t.Gaps {
		case 0:
		case 1:
			gaps = "1 gap of " + table.Millis(t.GapTime) + " ms"
		default:
			gaps = fmt.Sprintf("%s gaps, %s ms in total", table.Thousands(t.Gaps), table.Millis(t.GapTime))
		}
		section := table.Section{
			Title: t.title(t.Shows, t.Source), Tables: t.tables(start),
			Lines: []string{fmt.Sprintf("%s for %s ms of %s ms; %s; busy for %s ms", table.Count(t.Samples, "sample")+stand, table.Millis(t.Covered),
				table.Millis(t.End-t.Start), gaps, table.Millis(t.Busy))},
		}
		if t.Busy == 0 {
			section.Quiet = table.Elide(t.Thread, MaxName)
		}
		out.Sections = append(out.Sections, section)
	}
	return out
}

func (t *ThreadSamples) tables(start timeline.Nanos) []*table.Table {
	return append(t.profileTables(start), t.callTree(treeTable, "calls: who calls what, and for how long"),
		t.callTree(callersTable, "callers: the function first, and below it who calls it"), t.callTree(calleesTable, "callees: the function first, and below it what it calls"))
}

// callTree returns one of the call tree tables. Readers get the nodes that take longest, with the nodes around them.
func (t *ThreadSamples) callTree(name, title string) *table.Table {
	tree := t.Tree
	if tree == nil || t.View != name {
		tree = &StackTree{}
	}
	form := table.Table{Name: name, Title: title, Hidden: true, RowNoun: "functions", All: len(tree.Nodes)}
	if tree.Small > 0 {
		form.Notes = []string{table.Plural(tree.Small, "function is", "functions are") + " left out, each less than a 2,000th of the time"}
	}
	if len(tree.LeftOut) > 0 {
		var left []string
		for i := range tree.LeftOut {
			left = append(left, fmt.Sprintf("%s %s ms", tree.LeftOut[i].State, table.Millis(tree.LeftOut[i].Time)))
		}
		form.Notes = append(form.Notes, fmt.Sprintf("shares are of %s ms; left out: %s", table.Millis(tree.Total), strings.Join(left, ", ")))
	}
	nodes := tree.largest(t.TreeRows)
	out := table.New(form, nodes, columns(ofThread[TreeNode](&t.ThreadID), []table.TypedColumn[TreeNode]{
		table.Times("total_ns", "total ms", func(n *TreeNode) timeline.Nanos { return n.Total }),
		table.Shares("share", func(n *TreeNode) (part, all timeline.Nanos) { return n.Total, tree.Total }),
		table.Times("self_ns", "self ms", func(n *TreeNode) timeline.Nanos { return n.Self }).Only(name != callersTable),
		table.Counts("depth", "", func(n *TreeNode) int { return n.Depth }),
		table.Nested("function", "function", nameWidth, func(n *TreeNode) (string, int) { return n.Function, n.Depth }),
		table.Texts("location", "location", func(n *TreeNode) string { return n.Location() }),
	})...)
	for i := range nodes {
		out.Rows[i].Record = table.JSON(struct {
			*ThreadID
			*TreeNode
		}{&t.ThreadID, &nodes[i]})
	}
	return out
}

// largest returns the nodes that take longest, in the order of the tree. A node takes no longer than the one around it, so the
// result is a tree. If rows is 0, it returns all nodes.
func (t *StackTree) largest(rows int) []TreeNode {
	if rows <= 0 || len(t.Nodes) <= rows {
		return t.Nodes
	}
	order := make([]int, len(t.Nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Nodes[b].Total, t.Nodes[a].Total) })
	kept := order[:rows]
	slices.Sort(kept)
	nodes := make([]TreeNode, rows)
	for i, at := range kept {
		nodes[i] = t.Nodes[at]
	}
	return nodes
}

// profileTables returns the tables that have one row for each state, function or bucket.
func (t *ThreadSamples) profileTables(start timeline.Nanos) []*table.Table {
	return []*table.Table{
		table.New(table.Table{Name: "states", Title: "time by state", Key: "time_ns", IgnoresLimit: true, Folding: table.Grouped, Total: int64(t.Covered)}, t.States, columns(ofThread[StateTime](&t.ThreadID), []table.TypedColumn[StateTime]{
			table.Texts("state", "state", func(s *StateTime) string { return s.State }).WithRole(table.Group),
			table.Texts("class", "class", func(s *StateTime) string { return s.Class }).WithRole(table.Group),
			table.Counts("samples", "samples", func(s *StateTime) int64 { return s.Samples }).WithRole(table.Sum),
			table.Times("time_ns", "ms", func(s *StateTime) timeline.Nanos { return s.Time }).WithRole(table.Main),
			table.Shares("share", func(s *StateTime) (part, all timeline.Nanos) { return s.Time, t.Covered }),
		})...),
		t.functions(),
		table.New(table.Table{Name: "buckets", Title: "time in buckets", Key: "start_ns", IgnoresLimit: true}, t.Buckets, columns(ofThread[Bucket](&t.ThreadID), []table.TypedColumn[Bucket]{
			table.Moments("start_ns", "from", start, func(b *Bucket) timeline.Nanos { return b.Start }),
			table.Counts("samples", "samples", func(b *Bucket) int64 { return b.Sum().Samples }),
			classTimes("script", func(b *Bucket) ClassTime { return b.Script }), classTimes("rendering", func(b *Bucket) ClassTime { return b.Rendering }),
			classTimes("gc", func(b *Bucket) ClassTime { return b.GC }), classTimes("other", func(b *Bucket) ClassTime { return b.Other }),
			classTimes("idle", func(b *Bucket) ClassTime { return b.Idle }),
		})...),
	}
}

// functions returns the table of functions.
func (t *ThreadSamples) functions() *table.Table {
	classes := func(key string, of func(*ClassTimes) ClassTime) table.TypedColumn[Function] {
		return classTimes(key, func(f *Function) ClassTime { return of(&f.Self) })
	}
	functions := table.Table{
		Name: "functions", Title: "functions, by self time", Key: "self_ns", RowNoun: "functions", All: t.FunctionCount,
		Folding: table.Grouped, Total: int64(t.Covered - t.Classes.Idle.Time),
	}
	return table.New(functions, t.Functions, columns(ofThread[Function](&t.ThreadID), []table.TypedColumn[Function]{
		table.Counts("self_samples", "self samples", func(f *Function) int64 { return f.Self.Sum().Samples }).DropOrder(1).WithRole(table.Sum),
		table.Times("self_ns", "self ms", func(f *Function) timeline.Nanos { return f.Self.Sum().Time }).WithRole(table.Main),
		classes("script", func(c *ClassTimes) ClassTime { return c.Script }).DropOrder(3).WithRole(table.Sum),
		classes("rendering", func(c *ClassTimes) ClassTime { return c.Rendering }).DropOrder(6).WithRole(table.Sum),
		classes("gc", func(c *ClassTimes) ClassTime { return c.GC }).DropOrder(5).WithRole(table.Sum),
		classes("other", func(c *ClassTimes) ClassTime { return c.Other }).DropOrder(4).WithRole(table.Sum),
		table.Counts("total_samples", "total samples", func(f *Function) int64 { return f.Total.Samples }).DropOrder(2).WithRole(table.Sum),
		table.Times("total_ns", "total ms", func(f *Function) timeline.Nanos { return f.Total.Time }).WithRole(table.Sum),
		table.Texts("function", "function", func(f *Function) string { return f.Function }).WithRole(table.Group),
		table.Texts("location", "location", func(f *Function) string { return f.Location() }).WithRole(table.Group),
	})...)
}

// classTimes returns a column with the time and samples of one class of states.
func classTimes[T any](name string, of func(*T) ClassTime) table.TypedColumn[T] {
	return table.CountedTimes(name+"_ns", name+"_samples", name, func(row *T) (timeline.Nanos, int64) { return of(row).Time, of(row).Samples })
}

// Report renders what the garbage collector interrupted in a trace with the given start, with a section for each
// thread.
func (g *GC) Report(start timeline.Nanos) *table.Report {
	out := &table.Report{Head: []table.Record{table.JSON(g)}}
	for i := range g.Threads {
		t := &g.Threads[i]
		if t.Samples == 0 && t.Time == 0 && len(g.Threads) > 1 {
			continue // most threads of a browser
		}
		lines := []string{
			fmt.Sprintf("garbage collector: %s, %s ms; all: %s, %s ms", table.Count(t.Samples, "sample"), table.Millis(t.Time), table.Count(t.AllSamples, "sample"), table.Millis(t.Covered)),
			fmt.Sprintf("GC call stacks: %s recorded, %s from the previous sample, %s from the next sample, %s unknown", table.Thousands(t.Stacks.Own),
				table.Thousands(t.Stacks.Previous), table.Thousands(t.Stacks.Next), table.Thousands(t.Stacks.None)),
			fmt.Sprintf("busy runs: %s, 50 ms or longer: %s, only because of the collector: %s", table.Thousands(t.BusyRuns), table.Thousands(t.LongRuns), table.Thousands(t.Explained)),
		}
		if t.Unmarked {
			lines = []string{"the samples have no markers, so they do not show when the garbage collector ran"}
		}
		out.Sections = append(out.Sections, table.Section{Title: t.title("", t.Source), Lines: lines, Tables: t.tables(start)})
	}
	return out
}

func (t *ThreadGC) tables(start timeline.Nanos) []*table.Table {
	return []*table.Table{
		table.New(table.Table{Name: "stacks", Title: "call stacks that the collector interrupted", Key: "gc_ns", RowNoun: "stacks", All: t.Counts.ByStack}, t.ByStack,
			columns(ofThread[StackGC](&t.ThreadID), gcTimes(func(s *StackGC) *GCTime { return &s.GCTime }), stackColumns(func(s *StackGC) []Frame { return s.Frames }))...),
		t.FunctionTable(),
		table.New(table.Table{Name: "runs", Title: "busy runs that are long only because of the collector", Key: "start_ns", IgnoresLimit: true}, t.Runs, columns(ofThread[GCRun](&t.ThreadID), []table.TypedColumn[GCRun]{
			table.Moments("start_ns", "from", start, func(r *GCRun) timeline.Nanos { return r.Start }),
			table.Counts("samples", "samples", func(r *GCRun) int64 { return r.Samples }),
			table.Counts("gc_samples", "gc samples", func(r *GCRun) int64 { return r.GCSamples }),
			table.Times("time_ns", "ms", func(r *GCRun) timeline.Nanos { return r.Time }),
			table.Times("gc_ns", "gc ms", func(r *GCRun) timeline.Nanos { return r.GC }),
		})...),
		table.New(table.Table{Name: "buckets", Title: "time in buckets", Key: "start_ns", IgnoresLimit: true}, t.Buckets, columns(ofThread[GCBucket](&t.ThreadID), []table.TypedColumn[GCBucket]{
			table.Moments("start_ns", "from", start, func(b *GCBucket) timeline.Nanos { return b.Start }),
			table.Counts("samples", "samples", func(b *GCBucket) int64 { return b.Samples }),
			table.Counts("gc_samples", "gc samples", func(b *GCBucket) int64 { return b.GCSamples }),
			table.Times("covered_ns", "covered ms", func(b *GCBucket) timeline.Nanos { return b.Covered }),
			table.Times("gc_ns", "gc ms", func(b *GCBucket) timeline.Nanos { return b.GC }),
			table.Shares("share", func(b *GCBucket) (part, all timeline.Nanos) { return b.GC, b.Covered }),
		})...),
	}
}

// FunctionTable returns a table with a row for each function that the collector interrupted.
func (t *ThreadGC) FunctionTable() *table.Table {
	return table.New(table.Table{Name: "functions", Title: "functions that the collector interrupted", Key: "gc_ns", RowNoun: "functions", All: t.Counts.ByFunction, Folding: table.Grouped, Total: int64(t.Covered)}, t.ByFunction,
		columns(ofThread[FunctionGC](&t.ThreadID), gcTimes(func(f *FunctionGC) *GCTime { return &f.GCTime }), []table.TypedColumn[FunctionGC]{
			table.Texts("function", "function", func(f *FunctionGC) string { return cmp.Or(f.Function, UnknownStack) }).WithRole(table.Group),
			table.Texts("location", "location", func(f *FunctionGC) string { return f.Location() }).WithRole(table.Group),
		})...)
}

func gcTimes[T any](of func(*T) *GCTime) []table.TypedColumn[T] {
	return []table.TypedColumn[T]{
		table.Counts("samples", "samples", func(row *T) int64 { return of(row).Samples }).WithRole(table.Sum),
		table.Counts("gc_samples", "gc samples", func(row *T) int64 { return of(row).GCSamples }).WithRole(table.Sum),
		table.Times("total_ns", "total ms", func(row *T) timeline.Nanos { return of(row).Total }).DropOrder(2).WithRole(table.Sum),
		table.Times("gc_ns", "gc ms", func(row *T) timeline.Nanos { return of(row).GC }).WithRole(table.Main),
		table.Times("own_ns", "own ms", func(row *T) timeline.Nanos { return of(row).Own }).DropOrder(3).WithRole(table.Sum),
	}
}

// Report renders which script forces style and layout, with a section for each thread.
func (l *LayoutThrashing) Report() *table.Report {
	out := &table.Report{Head: []table.Record{table.JSON(l)}}
	for i := range l.Threads {
		t := &l.Threads[i]
		basis := strings.TrimSuffix(string(t.Basis), "s")
		out.Sections = append(out.Sections, table.Section{Title: t.title("", t.Source), Tables: []*table.Table{t.Table()}, Lines: []string{
			fmt.Sprintf("style and layout forced by script: %s, %s ms; other: %s, %s ms", table.Count(t.Count, basis), table.Millis(t.Total),
				table.Count(t.Unforced.Count, basis), table.Millis(t.Unforced.Total)),
			fmt.Sprintf("stacks that force it: %s, thrashing: %s", table.Thousands(t.StackCount), table.Thousands(t.Thrashing)),
		}})
	}
	return out
}

// Unforced is the function name in the row for style and layout that no script forced, in a report on many files.
const Unforced = "(not forced)"

// Many renders the table for many files: the innermost functions of stacks, and the style and layout that no script
// forced.
func (l *LayoutThrashing) Many() *table.Report {
	for i := range l.Threads {
		if t := &l.Threads[i]; t.Unforced.Count > 0 {
			t.ByStack = append(t.ByStack, StackForced{Frames: []Frame{{Function: Unforced}}, ForcedTime: t.Unforced})
		}
	}
	out := l.Report()
	for i := range out.Sections {
		t := out.Sections[i].Tables[0]
		t.Name, t.Title, t.RowNoun = "functions", "functions that force style and layout", "functions"
	}
	return out
}

// Table returns a table with a row for each stack.
func (t *ThreadForced) Table() *table.Table {
	form := table.Table{Name: "stacks", Title: "call stacks that force style and layout", Key: "total_ns", RowNoun: "stacks", All: t.StackCount, Folding: table.Grouped}
	out := table.New(form, t.ByStack, columns(ofThread[StackForced](&t.ThreadID), []table.TypedColumn[StackForced]{
		table.Texts("basis", "", func(*StackForced) string { return string(t.Basis) }),
		table.Counts("count", string(t.Basis), func(s *StackForced) int64 { return s.Count }).WithRole(table.Sum),
		table.CountedTimes("style_ns", "style_count", "style ms", func(s *StackForced) (timeline.Nanos, int64) { return s.Style, s.StyleCount }).WithRole(table.Sum),
		table.CountedTimes("layout_ns", "layout_count", "layout ms", func(s *StackForced) (timeline.Nanos, int64) { return s.Layout, s.LayoutCount }).WithRole(table.Sum),
		table.Times("total_ns", "total ms", func(s *StackForced) timeline.Nanos { return s.Total }).WithRole(table.Main),
		table.Counts("episodes", "episodes", func(s *StackForced) int { return s.Episodes }).DropOrder(3).WithRole(table.Sum),
		table.Counts("runs", "runs", func(s *StackForced) int { return s.Runs }).DropOrder(4).WithRole(table.Sum),
		table.CountedTimes("max_ns_per_run", "max_ns_per_run_count", "max ms per run", func(s *StackForced) (timeline.Nanos, int64) { return s.MaxPerRun, s.MaxPerRunCount }).DropOrder(5).WithRole(table.Largest),
		table.Counts("max_episodes_per_run", "max episodes per run", func(s *StackForced) int { return s.MaxEpisodesPerRun }).DropOrder(6).WithRole(table.Largest),
		table.Flags("thrashing", "thrashing", func(s *StackForced) bool { return s.Thrashing }).DropOrder(2),
	}, stackColumns(func(s *StackForced) []Frame { return s.Frames }))...)
	for i := range t.ByStack {
		out.Rows[i].Last = len(t.ByStack[i].Frames) == 1 && t.ByStack[i].Frames[0].Function == Unforced
	}
	return out
}

// UnknownStack is shown where the stack is unknown.
const UnknownStack = "(no stack)"

// stackColumns returns columns with the innermost function of a stack and its callers; readers see only the nearest
// callers.
func stackColumns[T any](of func(*T) []Frame) []table.TypedColumn[T] {
	innermost := func(row *T) Frame {
		frames := of(row)
		if len(frames) == 0 {
			return Frame{Function: UnknownStack}
		}
		return frames[len(frames)-1]
	}
	return []table.TypedColumn[T]{
		table.Texts("function", "function", func(row *T) string { return innermost(row).Function }).WithRole(table.Group),
		table.Texts("location", "location", func(row *T) string { return innermost(row).Location() }).WithRole(table.Group),
		table.Cells(table.Column{Key: "callers", Title: "called by"}, func(row *T) table.Cell {
			var callers []string
			for frames, i := of(row), len(of(row))-2; i >= 0; i-- {
				callers = append(callers, frames[i].Function)
			}
			called := table.Text(strings.Join(callers, " < "))
			if hidden := len(callers) - maxCallers; hidden > 0 {
				called.Short = fmt.Sprintf("%s < … %s more", strings.Join(callers[:maxCallers], " < "), table.Thousands(hidden))
			}
			return called
		}).DropOrder(1),
	}
}
