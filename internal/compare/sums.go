package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unique"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// By selects the keys of a comparison.
type By uint8

const (
	BySlice    By = iota // slices, by kind and name
	ByFunction           // samples, by the innermost function and its file
	ByContext            // costs of contexts, by type and name
	ByCategory           // slices, by kind and categories
	ByThread             // slices, by kind and the names of thread and process
	ByCall               // samples, by the functions on the stack; times include callees
	ByStack              // calls below their threads or, without samples, nested slices, as in a flame graph
)

var bys = [...]string{BySlice: "slice", ByFunction: "function", ByContext: "context", ByCategory: "category", ByThread: "thread", ByCall: "call", ByStack: "stack"}

// ByNames returns the names that ParseBy accepts.
func ByNames() []string { return bys[:ByCall] }

// String returns "slice", "function", "context", "category", "thread", "call" or "stack".
func (b By) String() string { return bys[b] }

// MarshalText returns String.
func (b By) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// ParseBy is the inverse of String, except for ByCall and ByStack.
func ParseBy(text string) (By, error) {
	if b := slices.Index(ByNames(), text); b >= 0 {
		return By(b), nil
	}
	return 0, words.Unknown("way to compare", text, ByNames())
}

// SumUp totals the selected part of a nested timeline by key. Errors come from temporary files or ctx.
func SumUp(ctx context.Context, tl *timeline.Timeline, by By, selected *selection.Selection) (*Sums, error) {
	span := selection.SpanOf(tl)
	from, to := selected.Clip(span.Start, span.End)
	s := &Sums{Length: to - from, Values: map[Key]Value{}}
	switch by {
	case ByFunction:
		return s, s.functions(ctx, tl, selected)
	case ByCall:
		return s, s.calls(ctx, tl, selected)
	case ByStack:
		return s, s.stacks(ctx, tl, selected)
	case ByContext:
		return s, s.contexts(ctx, tl, selected)
	case ByCategory:
		return s, s.slices(ctx, tl, selected, report.ByCategory)
	case ByThread:
		return s, s.slices(ctx, tl, selected, report.ByThread)
	}
	return s, s.slices(ctx, tl, selected, report.ByName)
}

// add adds to the value of a key.
func (s *Sums) add(k Key, v Value) {
	sum := s.Values[k]
	sum.add(v)
	s.Values[k] = sum
}

// slices totals slices by group, except thread states, which repeat the time of slices and samples.
func (s *Sums) slices(ctx context.Context, tl *timeline.Timeline, selected *selection.Selection, by report.GroupSlices) error {
	opts := report.SliceOptions{By: by}
	if selected != nil {
		opts.Include = selected.Item
	}
	r, err := report.CollectSlices(ctx, tl, opts)
	if err != nil {
		return err
	}
	s.Others = r.Others
	for i := range r.Groups {
		g := &r.Groups[i]
		if g.Kind == report.StateSlices {
			continue
		}
		name := g.Name
		if g.Owner != nil {
			name = threadName(g.Owner)
		}
		s.add(Key{Kind: g.Kind.String(), Name: name}, Value{Time: g.Self, Count: g.Count})
	}
	return nil
}

// threadName names a thread with its process. It omits ids and folders, which differ between recordings.
func threadName(t *report.ThreadID) string {
	switch {
	case t.Process == "":
		return cmp.Or(t.Thread, Unnamed)
	case t.Thread == "":
		return timeline.Program(t.Process)
	}
	return fmt.Sprintf("%s of %s", t.Thread, timeline.Program(t.Process))
}

// functions sums the samples of all threads by their innermost function, excluding samples of idle threads.
func (s *Sums) functions(ctx context.Context, tl *timeline.Timeline, selected *selection.Selection) error {
	profiles, err := report.Collect(ctx, tl, selected)
	if err != nil {
		return err
	}
	r, err := profiles.Samples(report.Options{})
	if err != nil {
		return err
	}
	for i := range r.Threads {
		for _, f := range r.Threads[i].Functions {
			self := f.Self
			self.Idle = report.ClassTime{}
			if sum := self.Sum(); sum != (report.ClassTime{}) {
				s.add(Key{Name: f.Function, Location: f.URL}, Value{Time: sum.Time, Count: sum.Samples})
			}
		}
	}
	return nil
}

// calls sums the samples of all threads by the functions on the stack.
func (s *Sums) calls(ctx context.Context, tl *timeline.Timeline, selected *selection.Selection) error {
	profiles, err := report.Collect(ctx, tl, selected)
	if err == nil {
		s.AddTrees(profiles.CallTrees(), false)
	}
	return err
}

// stacks sums the trees of a report's flame graphs.
func (s *Sums) stacks(ctx context.Context, tl *timeline.Timeline, selected *selection.Selection) error {
	rules := attribution.Rules{}
	report.SelectCosts(&rules, selected)
	all, err := report.CollectAll(ctx, tl, rules, report.AllOptions{Selected: selected})
	if err == nil {
		s.AddTrees(all.StackTrees, true)
	}
	return err
}

// AddTrees adds call trees; calls are identified by their callers. If byThread is set, the outermost callers are threads.
func (s *Sums) AddTrees(trees []report.StackTree, byThread bool) {
	for i := range trees {
		tree, threads := &trees[i], 0
		var callers []unique.Handle[Key]
		add := func(k Key, v Value) {
			if k.Depth > 0 {
				k.Caller = callers[k.Depth-1]
			}
			callers = append(callers[:k.Depth], unique.Make(k))
			s.add(k, v)
		}
		if byThread {
			add(Key{Name: threadName(&tree.ThreadID)}, Value{Time: tree.Total})
			threads = 1
		}
		for k := range tree.Nodes {
			n := &tree.Nodes[k]
			add(Key{Name: n.Function, Location: n.URL, Depth: threads + n.Depth}, Value{Time: n.Total, Own: n.Self, Line: n.Line, Column: n.Column})
		}
	}
}

// Unnamed is the key name for contexts and threads that have only an id, which differs between recordings.
const Unnamed = "(without name)"

// Unattributed is the key name for unattributed work.
const Unattributed = attribution.Unattributed

// contextName returns the key name for a cost row: the name of the context, or its class if it is an input event or has only an
// id.
func contextName(row *tables.Row) string {
	_, id, hasScope := strings.Cut(row.ID, "/")
	if at := strings.LastIndexByte(id, '@'); at > 0 {
		id = id[:at] // without the pid
	}
	switch {
	case row.None:
		return Unattributed
	case row.Input != nil, row.Name == "", hasScope && strings.HasSuffix(row.Name, id) && !strings.Contains(row.Name, ":/"):
		return cmp.Or(row.Class, Unnamed)
	}
	return row.Name
}

// contexts sums the costs of contexts, and of unattributed work.
func (s *Sums) contexts(ctx context.Context, tl *timeline.Timeline, selected *selection.Selection) (err error) {
	rules := attribution.Rules{}
	report.SelectCosts(&rules, selected)
	result, err := attribution.Run(ctx, tl, rules)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, result.Close()) }()
	costs := tables.Of(result)
	for _, typ := range costs.Types() {
		t, err := costs.Table(tables.TableOptions{Type: typ})
		if err != nil {
			return err
		}
		s.Others += int64(t.Limited)
		for i := range t.Rows {
			row := &t.Rows[i]
			if row.Self > 0 || row.Slices > 0 {
				s.add(Key{Kind: typ, Name: contextName(row)}, Value{Time: row.Self, Count: row.Slices})
			}
		}
	}
	return nil
}
