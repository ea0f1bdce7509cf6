package attribution

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// ViaName is the name of a Via in options.
type ViaName string

// FlowConflict defines the result if a flow propagates a context to a slice while a different context, not an ancestor
// of the first, is in effect.
type FlowConflict string

const (
	// ReplaceActive uses the flow's context; "" means the same.
	ReplaceActive FlowConflict = "replace"
	// KeepActive keeps the active context in effect.
	KeepActive FlowConflict = "keep"
	// CommonAncestor uses the lowest common ancestor of the two.
	CommonAncestor FlowConflict = "lca"
)

// ParseFlowConflict returns the FlowConflict with the given name.
func ParseFlowConflict(name string) (FlowConflict, error) {
	names := []string{string(ReplaceActive), string(KeepActive), string(CommonAncestor)}
	if slices.Contains(names, name) {
		return FlowConflict(name), nil
	}
	return "", words.Unknown("way", name, names)
}

// Options configure an attribution. Unlike Rules, they are not validated. The zero value uses every source and the default
// rules.
type Options struct {
	Sources      []ViaName    // sources of contexts; nil: all
	FlowConflict FlowConflict // "": ReplaceActive
	// EndWithSlice leaves an explicit context at the end of the slice in which it was entered, even without a leave event. It
	// compensates for producers that enter contexts without leaving them.
	EndWithSlice bool
	// From and To limit the time for which costs are summed; 0 means the start or the end of the trace. They are times of the
	// trace or, if FromStart is set, relative to its first event.
	From, To  timeline.Nanos
	FromStart bool
	// ChargeAtBegin charges each slice to the contexts in effect at its start, whatever happens inside it.
	ChargeAtBegin bool
	// Intervals records the periods in which contexts are in effect, for Result.Current.
	Intervals bool
	// Workers is the maximum number of goroutines; 0 means one for every core. It does not affect the result.
	Workers int
}

// RulesOf validates options and returns them as rules, with defaults filled in. An error for an unknown name lists the choices.
func RulesOf(o *Options) (Rules, error) {
	r := Rules{
		EndWithSlice: o.EndWithSlice, Intervals: o.Intervals, Workers: o.Workers,
		Cost: CostOptions{Window: Window{From: o.From, To: o.To}, FromStart: o.FromStart, AtBegin: o.ChargeAtBegin},
	}
	if o.Sources != nil {
		r.Sources = []Via{}
	}
	for _, name := range o.Sources {
		via, err := ParseSource(string(name))
		if err != nil {
			return r, fmt.Errorf("attribution: %w", err)
		}
		r.Sources = append(r.Sources, via)
	}
	if o.FlowConflict != "" {
		var err error
		if r.FlowConflict, err = ParseFlowConflict(string(o.FlowConflict)); err != nil {
			return r, fmt.Errorf("attribution: %w", err)
		}
	}
	return r, nil
}

// Rules are validated Options. The zero value uses every source and the default rules of attribution.md.
type Rules struct {
	Sources      []Via // nil: all
	FlowConflict FlowConflict
	EndWithSlice bool
	Cost         CostOptions
	Workers      int
	Intervals    bool
}

// has reports whether a source of contexts is enabled.
func (o *Rules) has(via Via) bool { return o.Sources == nil || slices.Contains(o.Sources, via) }

// CostOptions select the work whose costs are summed.
type CostOptions struct {
	// Window is a part of the trace, in times of the timeline or, if FromStart is set, relative to its first event.
	Window    Window
	FromStart bool
	// Counts reports whether a slice or instant counts; nil: all do. The time of other slices is charged to no context.
	Counts func(*timeline.Head) bool
	// CountsThread reports whether requests sent by a thread (0: unknown) count; nil: all do.
	CountsThread func(timeline.TrackID) bool
	// AtBegin charges each slice to the contexts in effect at its start, as a panel of Chrome's old trace viewer did.
	AtBegin bool
}

// Window is the part of a trace from From to To, exclusive. The zero Window is the whole trace.
type Window struct {
	From timeline.Nanos // 0: the start
	To   timeline.Nanos // 0: the end
}

// Resolve returns the window as explicit times of a timeline that begins at start.
func (o *CostOptions) Resolve(start timeline.Nanos) Window {
	w := o.Window
	if !o.FromStart {
		start = 0
	}
	if w.From == 0 {
		w.From = math.MinInt64
	} else {
		w.From = Add(w.From, start)
	}
	if w.To == 0 {
		w.To = LastTime
	} else {
		w.To = Add(w.To, start)
	}
	return w
}

// clip returns the part of an interval inside a resolved window, which may be empty.
func (w Window) clip(from, to timeline.Nanos) (timeline.Nanos, timeline.Nanos) {
	from = max(from, w.From)
	return from, max(from, min(to, w.To))
}

// has reports whether a time is in a resolved window.
func (w Window) has(ts timeline.Nanos) bool { return w.From <= ts && ts < w.To }
