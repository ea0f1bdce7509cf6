// Package attribution determines on whose behalf the work in a trace was done: the page frame, script, input event or isolate
// that each slice worked for, the costs of these contexts, and the source of this information.
//
//	res, err := attribution.Run(ctx, tr, attribution.Options{})
//
// Result.ContextsOf returns the contexts of a slice or instant, and Result.Table the costs of contexts. The rules are in
// docs/attribution.md. A context is a type, such as "Frame", and an identity; at any time, at most one context of each type is in
// effect on a thread.
//
// What does not live here: the engine (internal/attribution), writing an attribution into a trace (convert.Options.Attribute),
// and printing (cmd/weft).
package attribution

import (
	"context"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Via is the source of the association between a context and a piece of work; see attribution.md, The model.
type Via = attribution.ViaName

const (
	ViaExplicit    Via = "explicit"    // entered by an event in the input
	ViaArgs        Via = "args"        // named by an argument of the slice or of an enclosing one
	ViaAsync       Via = "async"       // in effect where the asynchronous slice started
	ViaFlow        Via = "flow"        // propagated along a flow
	ViaRequest     Via = "request"     // the context of the network request being handled
	ViaIsolate     Via = "isolate"     // the isolate of a garbage collection
	ViaDescendants Via = "descendants" // named by the slices inside
)

// FlowConflict defines what happens if a flow propagates a context to a slice while a different context, which is not an ancestor
// of the propagated one, is in effect.
type FlowConflict = attribution.FlowConflict

const (
	ReplaceActive  = attribution.ReplaceActive  // use the flow's context; the default
	KeepActive     = attribution.KeepActive     // keep the active context in effect
	CommonAncestor = attribution.CommonAncestor // use the lowest common ancestor of the two
)

// Options configures an attribution. The zero value uses every source and the default rules.
type Options = attribution.Options

// WriteBack selects the parts of an attribution to write into a converted trace; see convert.Options. The zero value writes
// everything. Additions from an earlier attribution are always removed.
type WriteBack = writeback.Parts

// Result is the result of an attribution. It must be closed before its trace is closed.
type Result struct {
	r      *attribution.Result
	tables *tables.Tables
}

// Run attributes the work in a trace. It counts errors in the input's contexts; see trace.Trace.Problems. For unknown values in
// opts, it returns an error that lists the choices.
func Run(ctx context.Context, tr *trace.Trace, opts Options) (*Result, error) {
	rules, err := attribution.RulesOf(&opts)
	if err != nil {
		return nil, err
	}
	tl := timeline.Of(tr)
	if err := tl.NumberEvents(ctx); err != nil {
		return nil, err
	}
	r, err := attribution.Run(ctx, tl, rules)
	if err != nil {
		return nil, err
	}
	return &Result{r, tables.Of(r)}, nil
}

// Close frees the result's memory and removes its temporary files.
func (r *Result) Close() error { return r.r.Close() }

// Identity identifies a context. The type is not part of it.
type Identity struct {
	Scope   string // separates the ids of different producers: "frame", "script", "isolate"
	ID      string // as in the input; "0x1" and "1" differ
	Local   bool   // the ID is local to a process
	Process int64  // pid, if Local
}

// String returns scope/id, followed by @pid if the context is local to a process.
func (i Identity) String() string {
	id := attribution.Identity{Scope: i.Scope, ID: i.ID, Process: attribution.Global}
	if i.Local {
		id.Process = i.Process
	}
	return id.String()
}

// identityOf converts an identity from the engine.
func identityOf(id attribution.Identity) Identity {
	if id.Process == attribution.Global || id == (attribution.Identity{}) {
		return Identity{Scope: id.Scope, ID: id.ID}
	}
	return Identity{Scope: id.Scope, ID: id.ID, Local: true, Process: id.Process}
}

// Context is a context that is in effect.
type Context struct {
	Type       string
	ID         Identity   // zero if the candidates have no common ancestor
	Name       string     // its URL, or its class and id, or its id
	Via        Via        // its source
	Hops       int        // number of flow arrows since its original source
	Candidates []Identity // the contexts to choose from, if there were several
}

// ContextsOf returns the contexts of a slice or instant, by type. For any other event, it returns nil.
func (r *Result) ContextsOf(id trace.EventID) ([]Context, error) {
	ordinal, ok := r.r.Timeline.EventOrdinal(uint64(id))
	if !ok {
		return nil, nil
	}
	set, err := r.r.Of(ordinal)
	return contexts(r.r, set), err
}

// At returns the contexts, by type, that are in effect on a thread at a time. The map is empty if the thread is idle. At requires
// Options.Intervals and scans all intervals.
func (r *Result) At(thread trace.TrackID, at trace.Nanos) (map[string]Identity, error) {
	found, err := r.r.Current(timeline.TrackID(thread), at)
	out := make(map[string]Identity, len(found))
	for typ, id := range found {
		out[typ] = identityOf(id)
	}
	return out, err
}

// Types returns the context types that have tables, sorted.
func (r *Result) Types() []string { return r.tables.Types() }

// Request is a network request.
type Request struct {
	ID         string
	Contexts   []Context    // contexts for which it was sent
	Start, End *trace.Nanos // when it was sent and finished; nil: not recorded
	Bytes      int64        // received bytes, without headers if the browser reports that number; 0 if unknown
}

// Requests returns the network requests in the trace, in the order in which their ids first occur.
func (r *Result) Requests() []Request {
	list := make([]Request, len(r.r.Requests))
	for i := range list {
		q := &r.r.Requests[i]
		list[i] = Request{q.ID, contexts(r.r, q.Set), knownTime(q.Start), knownTime(q.End), max(q.Bytes, 0)}
	}
	return list
}

// knownTime returns a pointer to a time, or nil for NoTime.
func knownTime(at timeline.Nanos) *trace.Nanos {
	if at == timeline.NoTime {
		return nil
	}
	return &at
}

// LongTask is an outermost slice on a thread that lasts at least 50 ms.
type LongTask struct {
	Thread   trace.TrackID
	Time     trace.Nanos
	Duration trace.Nanos
}

// LongTasks returns the long tasks of all threads, at most 65,536.
func (r *Result) LongTasks() []LongTask {
	list := r.r.LongTasks()
	out := make([]LongTask, len(list))
	for i, t := range list {
		out[i] = LongTask{trace.TrackID(t.Thread), t.Start, t.Length}
	}
	return out
}
