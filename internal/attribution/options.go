package attribution

import (
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
)

// ViaName is the name of a Via, as options have it.
type ViaName string

// FlowConflict says what happens when a flow brings a context to a slice for which another one is in effect that is
// neither the same nor an ancestor of it.
type FlowConflict string

const (
	// ReplaceActive enters the context that the flow brings; so does "".
	ReplaceActive FlowConflict = "replace"
	// KeepActive leaves the active context in effect.
	KeepActive FlowConflict = "keep"
	// CommonAncestor enters the lowest common ancestor of the two.
	CommonAncestor FlowConflict = "lca"
)

// ParseFlowConflict returns the way to resolve a conflict that has a name.
func ParseFlowConflict(name string) (FlowConflict, error) {
	names := []string{string(ReplaceActive), string(KeepActive), string(CommonAncestor)}
	if slices.Contains(names, name) {
		return FlowConflict(name), nil
	}
	return "", suggest.Unknown("way", name, names)
}

// Options configure an attribution, as programs give them: they may be missing or wrong. The zero value uses every source and the
// rules as they are.
type Options struct {
	Sources      []ViaName    // the ways by which contexts are found; nil: all
	FlowConflict FlowConflict // "": ReplaceActive
	// EndWithSlice leaves an explicit context at the end of the slice in which it was entered, whatever the input says. It
	// repairs producers that enter and do not leave.
	EndWithSlice bool
	// From and To limit the time that costs are added up of; 0 is the start or the end of the trace. They are times of the
	// trace, or count from its first event if FromStart is set.
	From, To  timeline.Nanos
	FromStart bool
	// ChargeAtBegin charges a slice to the contexts at its start, whatever happens in it.
	ChargeAtBegin bool
	// Intervals keeps the times at which contexts are in effect, for Result.At.
	Intervals bool
	// Workers is the number of goroutines that may be at work; 0 means one for every core. It has no influence on the result.
	Workers int
}

// RulesOf returns options as rules. What is missing has its default; what does not exist is an error, which lists the choices.
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

// Rules are options that were checked. The zero value uses every source, and every rule of attribution.md as it is there.
type Rules struct {
	// Sources are the ways by which contexts are found; nil: all.
	Sources []Via
	// FlowConflict says what happens when a flow brings another context than the active one.
	FlowConflict FlowConflict
	// EndWithSlice leaves an explicit context at the end of the slice in which it was entered, whatever the input says. It
	// repairs producers that enter and do not leave.
	EndWithSlice bool
	// Cost says what costs are added up of.
	Cost CostOptions
	// Workers is the number of goroutines that may be at work; 0 means one for every core. It has no influence on the result.
	Workers int
	// Intervals asks for the times at which each context is in effect, for the tracks that are written back.
	Intervals bool
}

// has reports whether contexts are found in a certain way.
func (o *Rules) has(via Via) bool {
	if o.Sources == nil {
		return true
	}
	return slices.Contains(o.Sources, via)
}

// CostOptions say what costs are added up of.
type CostOptions struct {
	// Window is the part of the trace that counts, in times of the timeline or, if FromStart is set, from its first event on.
	Window    Window
	FromStart bool
	// Counts reports whether a slice or instant counts; nil: all do. The time of other slices is charged to no context.
	Counts func(*timeline.Head) bool
	// CountsThread reports whether requests count that a thread has sent, 0 if it is unknown; nil: all do.
	CountsThread func(timeline.TrackID) bool
	// AtBegin charges a slice to the contexts at its start, whatever happens in it, as a panel of Chrome's old trace viewer
	// did.
	AtBegin bool
}

// Window is a part of a trace: from From up to To. The zero Window is the whole trace.
type Window struct {
	From timeline.Nanos // 0: the start
	To   timeline.Nanos // 0: the end
}

// Resolve returns the window of cost as times of a timeline that begins at start, with both of its ends given.
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

// clip returns the part of an interval that lies in a resolved window, which may be empty.
func (w Window) clip(from, to timeline.Nanos) (timeline.Nanos, timeline.Nanos) {
	from = max(from, w.From)
	return from, max(from, min(to, w.To))
}

// has reports whether a time lies in a resolved window.
func (w Window) has(ts timeline.Nanos) bool { return w.From <= ts && ts < w.To }
