package report

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// Calls reports how often script functions were called.
type Calls struct {
	// Sampled means that the calls were derived from samples, which miss some of them: the numbers are lower bounds.
	Sampled bool           `json:"sampled"`
	Rows    []FunctionCall `json:"rows"` // by number of calls, then file and function
	// Uncounted is the number of calls that are in no row because there are too many functions.
	Uncounted int64 `json:"uncounted"`
	// Unnamed is the number of calls that are in no row because their probes were truncated before the name of the function.
	Unnamed int64 `json:"unnamed"`
}

// FunctionCall is how often a function was called. File is the last part of the path or URL of the function's file; "." if
// unknown.
type FunctionCall struct {
	File     string `json:"file"`
	Function string `json:"function"`
	Calls    int64  `json:"calls"`
}

// CallOptions controls how calls are counted.
type CallOptions struct {
	// Sampled counts calls in samples even if the trace has call events. The two sources see different calls, so their
	// numbers would not be comparable in one table: without Sampled, samples count only if there are no call events.
	Sampled bool
	// Selected is the part of the trace in which calls are counted; nil: all of it.
	Selected *selection.Selection
}

// CountCalls counts the calls of script functions in a nested timeline. It counts js_function-entry probes and Chrome's
// FunctionCall events, which are calls from the browser into script. If the trace lacks such events, or opts.Sampled is set, it
// counts the calls that are visible in samples. It fails only if temporary files cannot be used or ctx is done.
func CountCalls(ctx context.Context, tl *timeline.Timeline, opts CallOptions) (*Calls, error) {
	events := newCallCounter()
	samples := newReader(tl, opts.Selected)
	err := tl.Walk(ctx, func(it *timeline.Item) error {
		if it.Kind == timeline.ItemBegin && !opts.Sampled && tl.Role(it.Track) != timeline.RoleInput {
			events.event(tl, it, opts.Selected.Item(it))
		}
		if it.Kind == timeline.ItemSample || samples.roles[it.Track].kind == stateRole {
			return samples.item(it, nil)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if events.seen {
		return events.calls(), nil
	}
	sampled := newCallCounter()
	if err := samples.finish().sampledCalls(ctx, sampled); err != nil {
		return nil, err
	}
	calls := sampled.calls()
	calls.Sampled = len(calls.Rows) > 0
	return calls, nil
}

// callCounter counts calls by file and function.
type callCounter struct {
	counts    map[FunctionCall]int64 // the keys lack Calls
	text      int                    // bytes of the texts in counts
	seen      bool
	uncounted int64
	unnamed   int64
}

func newCallCounter() *callCounter { return &callCounter{counts: map[FunctionCall]int64{}} }

// add counts a call of a function in the file at a path or URL.
func (c *callCounter) add(path, function string) {
	key := FunctionCall{File: baseName(path), Function: function}
	if _, known := c.counts[key]; !known {
		if text := len(key.File) + len(key.Function); len(c.counts) >= maxRows || c.text+text > maxRowText {
			c.uncounted++
			return
		}
		key.File, key.Function = strings.Clone(key.File), strings.Clone(key.Function)
		c.text += len(key.File) + len(key.Function)
	}
	c.counts[key]++
}

func (c *callCounter) calls() *Calls {
	out := &Calls{Rows: make([]FunctionCall, 0, len(c.counts)), Uncounted: c.uncounted, Unnamed: c.unnamed}
	for row, n := range c.counts {
		row.Calls = n
		out.Rows = append(out.Rows, row)
	}
	slices.SortFunc(out.Rows, func(a, b FunctionCall) int {
		return cmp.Or(cmp.Compare(a.Calls, b.Calls), cmp.Compare(a.File, b.File), cmp.Compare(a.Function, b.Function))
	})
	return out
}

// baseName returns the last part of a path, like DTrace's basename: it ignores trailing slashes, and returns "." for an
// empty path.
func baseName(path string) string {
	name := strings.TrimRight(path, "/")
	switch {
	case path == "":
		return "."
	case name == "":
		return "/"
	}
	return name[strings.LastIndexByte(name, '/')+1:]
}

// event handles a slice that may be a call. Unselected calls do not count, but show that the trace has calls.
func (c *callCounter) event(tl *timeline.Timeline, it *timeline.Item, selected bool) {
	if producers.FunctionCall.Is(it.Name) {
		if path, function, ok := calledFunction(tl, it); ok {
			if c.seen = true; selected {
				c.add(path, function)
			}
			return
		}
	}
	p, ok := readProbe(tl, it.Args, func(name string) bool { return name == "js_function-entry" })
	if !ok {
		return
	}
	if c.seen = true; !selected {
		return
	}
	if function := p.arg("function", 2, "file", "class"); function != nil {
		c.add(p.arg("file", 0, "class", "function").text(), function.text())
		return
	}
	c.unnamed++
}

// calledFunction returns the function in a Chrome FunctionCall event; ok is false if a slice merely has that name. Firefox
// imports such events without the dictionary around their data.
func calledFunction(tl *timeline.Timeline, it *timeline.Item) (path, function string, ok bool) {
	ok = isDevTools(it.Category)
	read := func(arg *timeline.Arg) {
		switch string(arg.Key) {
		case "url":
			path = string(arg.AppendText(nil))
		case "functionName":
			function, ok = string(arg.AppendText(nil)), true
		}
	}
	for arg := range tl.ArgList(it.Args) {
		read(&arg)
		if string(arg.Key) != "data" || arg.Kind != timeline.ArgDict {
			continue
		}
		for member := range tl.Members(arg) {
			read(&member)
		}
	}
	return path, function, ok
}

// sampledCalls counts the calls that are visible in samples: a function was called if it is on the stack and was not in the same
// place in the previous sample's stack. Garbage collections, and V8's samples of native code, reveal nothing about the script
// stack.
func (p *Profiles) sampledCalls(ctx context.Context, calls *callCounter) error {
	functions := functionStacks{table: p.stacks, depth: []int32{0}, known: map[stackID]stackID{}}
	for _, t := range p.Threads {
		var before stackID
		for i := range t.observations {
			if i%1024 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			o := &t.observations[i]
			stack := functions.of(o.script, t.Source)
			switch {
			case stack == 0:
				if t.endsCalls(o) {
					before = 0
				}
				continue
			case before != 0 && i+1 < len(t.observations) && functions.broken(before, stack, functions.of(t.observations[i+1].script, t.Source)):
				continue
			}
			common := functions.branch(before, stack)
			before = stack
			for ; stack != common; stack = p.stacks.nodes[stack].below {
				f := p.stacks.frame(stack)
				calls.add(f.URL, f.Function)
			}
		}
	}
	return nil
}

// endsCalls reports whether a sample without a script stack means that no script runs.
func (t *Thread) endsCalls(o *observation) bool {
	switch kind := t.states.kind(o.state); {
	case kind == gcState, t.states.name(o.state) == timeline.StateProgram:
		return false
	default:
		return o.count > 0 || kind == idleState
	}
}

// functionStacks reduces call stacks to stacks of functions. It ignores the running lines, and keeps at most
// timeline.MaxStackDepth frames.
type functionStacks struct {
	table *stackTable
	known map[stackID]stackID
	depth []int32 // by stackID
}

// of returns the function stack for a call stack.
func (s *functionStacks) of(id stackID, source string) stackID {
	var path []stackID
	for ; id != 0; id = s.table.nodes[id].below {
		if _, ok := s.known[id]; ok {
			break
		}
		path = append(path, id)
	}
	functions := s.known[id]
	for _, id := range slices.Backward(path) {
		frame := s.table.function(s.table.nodes[id].frame, source)
		if s.depthOf(functions) < timeline.MaxStackDepth {
			functions = s.table.push(functions, s.table.frames[frame])
		}
		s.known[id] = functions
	}
	return functions
}

// depthOf returns the number of frames of a stack.
func (s *functionStacks) depthOf(id stackID) int32 {
	for len(s.depth) < len(s.table.nodes) { // each stack has a higher id than the one below it
		s.depth = append(s.depth, s.depth[s.table.nodes[len(s.depth)].below]+1)
	}
	return s.depth[id]
}

// branch returns the outer part that two stacks share.
func (s *functionStacks) branch(a, b stackID) stackID {
	for a != b {
		if s.depthOf(a) >= s.depthOf(b) {
			a = s.table.nodes[a].below
		} else {
			b = s.table.nodes[b].below
		}
	}
	return a
}

// broken reports whether a stack shares no frame with the stack before it, although the next stack shares one. In that case, the
// sampler lost frames.
func (s *functionStacks) broken(before, stack, next stackID) bool {
	return s.branch(before, stack) == 0 && s.branch(before, next) != 0
}
