package report

import (
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// forcedSlice is a style or layout slice on a Chrome thread.
type forcedSlice struct {
	dur    timeline.Nanos // without the style and layout slices inside it
	stack  stackID        // of the script, or else of the slices that run it
	run    int            // number of the outermost slice around it, from 1
	kind   stateKind
	forced bool
	first  bool // it begins an episode
	left   bool // left out: it is not selected
}

// sliceKind is the class of a slice, determined by its name.
type sliceKind uint8

const (
	unknownSlice sliceKind = iota
	otherSlice
	scriptSlice
	styleSlice
	layoutSlice
)

// kindOfSlice looks up a name among the Chrome events that are layout phases or run script.
func kindOfSlice(name []byte) sliceKind {
	for i := range producers.ChromeLayout {
		switch e := &producers.ChromeLayout[i]; {
		case e.Name != string(name):
		case e.Phase == producers.PhaseFrameConstruction:
			return styleSlice
		case e.Phase == producers.PhaseReflow:
			return layoutSlice
		}
	}
	if producers.RunsScript(name) {
		return scriptSlice
	}
	return otherSlice
}

// sliceKind classifies the name of a slice. A name with a NameID is looked up only once.
func (c *reader) sliceKind(it *timeline.Item) sliceKind {
	if it.NameID == 0 {
		return kindOfSlice(it.Name)
	}
	kind := &c.kinds[it.NameID]
	if *kind == unknownSlice {
		*kind = kindOfSlice(it.Name)
	}
	return *kind
}

// openSlice summarizes an open slice of a thread and all slices around it.
type openSlice struct {
	script bool    // one of them runs script
	stack  stackID // of the calls among them or, without calls, of the slices that run script
	calls  bool    // some of them are calls
	layout int     // 1 + the index in Thread.forced of the innermost style or layout slice; 0: none
}

// slice handles the start of a slice on a thread.
func (c *reader) slice(ct *sampledThread, it *timeline.Item, open *timeline.OpenSlices[openSlice]) error {
	var around openSlice
	if n := open.Len(); n > 1 {
		around = *open.At(n - 2)
	} else {
		ct.outermost++
	}
	inside := open.Innermost()
	*inside = around
	switch kind := c.sliceKind(it); {
	case timeline.IsCall(it.Category): // a function can have any name, so this comes first
		inside.script, inside.calls = true, true
		if !around.calls {
			around.stack = 0
		}
		frame, err := c.callFrame(it)
		if err != nil {
			return err
		}
		inside.stack = c.p.stacks.pushFrame(around.stack, frame)
	case kind == scriptSlice:
		inside.script = true
		if !around.calls {
			inside.stack = c.p.stacks.pushFrame(around.stack, c.scriptFrame(it))
		}
	case kind == styleSlice && it.Dur != timeline.NoTime:
		return c.layout(ct, it, styleState, &around, inside)
	case kind == layoutSlice && it.Dur != timeline.NoTime:
		return c.layout(ct, it, layoutState, &around, inside)
	}
	return nil
}

// layout adds a style or layout slice to its thread. It was forced if script runs around it, or if Chrome recorded the
// stack of the script, which it does only for forced slices.
func (c *reader) layout(ct *sampledThread, it *timeline.Item, kind stateKind, around, inside *openSlice) error {
	if err := it.ReadArgs(); err != nil {
		return err
	}
	t := ct.thread
	f := forcedSlice{dur: it.Dur, run: ct.outermost, kind: kind, forced: around.script, stack: around.stack, left: !c.selected.Item(it)}
	if stack := c.stackTrace(it); stack != 0 {
		f.forced, f.stack = true, stack
	}
	f.first = true
	if around.layout > 0 {
		outer := &t.forced[around.layout-1]
		outer.dur -= min(f.dur, outer.dur)
		f.first = false
	} else {
		if ct.lastLayout > 0 && kind == layoutState {
			// A layout that waited for the style slice before it is not forced a second time.
			before := &t.forced[ct.lastLayout-1]
			f.first = before.kind != styleState || before.run != f.run || before.stack != f.stack || !before.forced
		}
		ct.lastLayout = len(t.forced) + 1
	}
	t.forced = append(t.forced, f)
	inside.layout = len(t.forced)
	return nil
}

// tallySlices counts the style and layout slices.
func (t *Thread) tallySlices(tally *forcedTally) {
	for i := range t.forced {
		f := &t.forced[i]
		if f.left {
			continue
		}
		if f.forced {
			tally.add(f.stack, f.run, 1, f.kind, f.dur, f.first)
		} else {
			tally.unforced.add(1, f.kind, f.dur)
		}
	}
}

// scriptFrame returns the frame that represents a slice that runs script.
func (c *reader) scriptFrame(it *timeline.Item) frameID {
	if it.NameID == 0 {
		return c.p.stacks.intern(Frame{Function: string(it.Name)})
	}
	frame := &c.scripts[it.NameID]
	if *frame == 0 {
		*frame = c.p.stacks.intern(Frame{Function: string(it.Name)})
	}
	return *frame
}

// callFrame returns the function of a slice that was made from samples. Most such slices have a template, and the function is
// cached by this template.
func (c *reader) callFrame(it *timeline.Item) (frameID, error) {
	template := it.Template()
	if frame, ok := c.calls[template]; ok && template != 0 {
		return frame, nil
	}
	if err := it.ReadArgs(); err != nil {
		return 0, err
	}
	f := Frame{Function: string(it.Name)}
	for arg := range c.tl.ArgList(it.Args) {
		switch string(arg.Key) {
		case "url":
			f.URL = string(arg.Text())
		case "line":
			f.Line = arg.Int()
		case "column":
			f.Column = arg.Int()
		}
	}
	frame := c.p.stacks.intern(f)
	if template != 0 {
		c.calls[template] = frame
	}
	return frame, nil
}

// stackTrace returns the stack that Chrome recorded in the arguments of a slice, with the innermost function first and the
// lines that were running; 0: no stack.
func (c *reader) stackTrace(it *timeline.Item) stackID {
	for arg := range c.tl.ArgList(it.Args) {
		if key := string(arg.Key); key != "beginData" && key != "data" || arg.Kind != timeline.ArgDict {
			continue
		}
		for member := range c.tl.Members(arg) {
			if string(member.Key) != "stackTrace" || member.Kind != timeline.ArgArray {
				continue
			}
			var frames []Frame
			for entry := range c.tl.Members(member) {
				frames = append(frames, c.tracedFrame(entry))
			}
			var stack stackID
			for i := len(frames) - 1; i >= 0; i-- {
				stack = c.p.stacks.push(stack, frames[i])
			}
			return stack
		}
	}
	return 0
}

// tracedFrame reads an element of a stackTrace.
func (c *reader) tracedFrame(entry timeline.Arg) (f Frame) {
	f.Function = anonymous
	if entry.Kind != timeline.ArgDict {
		return f
	}
	for member := range c.tl.Members(entry) {
		switch string(member.Key) {
		case "functionName":
			if name := member.Text(); len(name) > 0 {
				f.Function = string(name)
			}
		case "url":
			f.URL = string(member.Text())
		case "lineNumber":
			f.Line = member.Int()
		case "columnNumber":
			f.Column = member.Int()
		}
	}
	return f
}
