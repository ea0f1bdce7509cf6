package options

import (
	"fmt"

	"github.com/weft-trace/weft/internal/attribution/trees"
	"github.com/weft-trace/weft/internal/timeline"
)

// Via is the name of a way in which contexts come, and Conflict that of a way to resolve a conflict of flows. They are types of
// package attribution, which has their values.
type (
	Via      string
	Conflict string
)

// Options are the options of package attribution, as a program gives them: those of attribution.Options convert to these.
type Options struct {
	Sources       []Via
	FlowConflict  Conflict
	EndWithSlice  bool
	From, To      timeline.Nanos
	FromStart     bool
	ChargeAtBegin bool
	Intervals     bool
	Workers       int
}

// Rules returns the options as rules. What is not given is the default; what does not exist is an error, which lists the choices.
func (o Options) Rules() (Rules, error) {
	r := Rules{
		EndWithSlice: o.EndWithSlice, Intervals: o.Intervals, Workers: o.Workers,
		Cost: CostOptions{Window: Window{From: o.From, To: o.To}, FromStart: o.FromStart, AtBegin: o.ChargeAtBegin},
	}
	if o.Sources != nil {
		r.Sources = []trees.Via{}
	}
	for _, name := range o.Sources {
		via, err := trees.ParseSource(string(name))
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
