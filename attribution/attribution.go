// Package attribution finds out for whom the work in a trace was done: which frame of a page, which script, which input
// event or which isolate each slice worked for, what each of them cost, and how that is known.
//
//	res, err := attribution.Run(ctx, tr, attribution.Options{})
//
// Result.ContextsOf says for whom a slice or instant worked, Result.Table what each context cost. The rules are in
// docs/attribution.md. A context is a type, such as "Frame", and an identity; at any time a thread has at most one context
// of each type in effect.
//
// What does not live here: the work itself, which is in the rooms below internal/attribution; writing an attribution into a
// trace, which convert.Options.Attribute asks for; and printing, which the command weft does.
package attribution

import (
	"context"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Via says how a context came to a piece of work, see attribution.md, The model.
type Via = attribution.ViaName

// The ways in which contexts come.
const (
	ViaExplicit    Via = "explicit"    // entered by an event of the input
	ViaArgs        Via = "args"        // named by an argument of the slice, or of one that encloses it
	ViaAsync       Via = "async"       // in effect where the asynchronous slice began
	ViaFlow        Via = "flow"        // brought by a flow
	ViaRequest     Via = "request"     // the context of the network request that is handled
	ViaIsolate     Via = "isolate"     // garbage collection, which works for the isolate
	ViaDescendants Via = "descendants" // named by what the slice consists of
)

// FlowConflict says what happens when a flow brings a context to a slice for which another one is in effect that is
// neither the same nor an ancestor of it.
type FlowConflict = attribution.FlowConflict

// The ways to resolve a conflict.
const (
	ReplaceActive  = attribution.ReplaceActive  // enter the context that the flow brings; the default
	KeepActive     = attribution.KeepActive     // leave the active context in effect
	CommonAncestor = attribution.CommonAncestor // enter the lowest common ancestor of the two
)

// Options configure an attribution. The zero value uses every source and the rules as they are.
type Options = attribution.Options

// WriteBack says what of an attribution goes into a converted trace, see convert.Options. The zero value writes everything.
// Whatever is written, all that an earlier attribution has written is taken away.
type WriteBack = writeback.Parts

// Result is an attribution. It must be closed, before its trace is.
type Result struct {
	r      *attribution.Result
	tables *tables.Tables
}

// Run attributes the work in a trace. What is wrong with the contexts of the input is counted, see trace.Trace.Problems.
// Options that do not exist are an error that lists the choices.
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

// Close frees the memory and the temporary files of the result.
func (r *Result) Close() error { return r.r.Close() }

// Identity tells contexts apart: two with one identity are one. The type is not part of it.
type Identity struct {
	Scope   string // keeps apart ids that different producers make: "frame", "script", "isolate"
	ID      string // as written in the input; 0x1 and 1 differ
	Local   bool   // the ID is one of a Process only
	Process int64  // pid, if it is Local
}

// String returns scope/id, with @pid after it if the context is local to a process.
func (i Identity) String() string {
	id := attribution.Identity{Scope: i.Scope, ID: i.ID, Process: attribution.Global}
	if i.Local {
		id.Process = i.Process
	}
	return id.String()
}

// identityOf returns an identity as this package has it.
func identityOf(id attribution.Identity) Identity {
	if id.Process == attribution.Global || id == (attribution.Identity{}) {
		return Identity{Scope: id.Scope, ID: id.ID}
	}
	return Identity{Scope: id.Scope, ID: id.ID, Local: true, Process: id.Process}
}

// Context is a context in effect: of which type, who, and how that is known.
type Context struct {
	Type       string
	ID         Identity   // zero if the candidates have no common ancestor
	Name       string     // its url, or class and id, or id
	Via        Via        // how it came
	Hops       int        // for ViaFlow, and what inherits it: the number of arrows
	Candidates []Identity // what applied at one level, if it was more than one
}

// ContextsOf returns the contexts of a slice or instant, by type.
func (r *Result) ContextsOf(id trace.EventID) ([]Context, error) {
	ordinal, ok := r.r.Timeline.EventOrdinal(uint64(id))
	if !ok {
		return nil, nil
	}
	set, err := r.r.Of(ordinal)
	return contexts(r.r, set), err
}

// At returns who is in effect on a thread at a time: one identity for each type, none while the thread is idle. It needs
// Options.Intervals and looks through all of them.
func (r *Result) At(thread trace.TrackID, at trace.Nanos) (map[string]Identity, error) {
	found, err := r.r.Current(timeline.TrackID(thread), at)
	out := make(map[string]Identity, len(found))
	for typ, id := range found {
		out[typ] = identityOf(id)
	}
	return out, err
}

// Types returns the types of contexts that have tables, sorted.
func (r *Result) Types() []string { return r.tables.Types() }

// Request is a network request.
type Request struct {
	ID         string
	Contexts   []Context    // for which it was sent
	Start, End *trace.Nanos // from the sending to the finish; nil if not seen
	Bytes      int64        // that arrived, headers not included where the browser says so; 0 if unknown
}

// Requests returns the network requests of the trace, in the order in which their ids appear.
func (r *Result) Requests() []Request {
	list := make([]Request, len(r.r.Requests))
	for i := range list {
		q := &r.r.Requests[i]
		list[i] = Request{q.ID, contexts(r.r, q.Set), seen(q.Start), seen(q.End), max(q.Bytes, 0)}
	}
	return list
}

// seen returns a time, or nil for NoTime.
func seen(at timeline.Nanos) *trace.Nanos {
	if at == timeline.NoTime {
		return nil
	}
	return &at
}

// LongTask is a slice of 50 ms or more that no other slice of its thread encloses.
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
