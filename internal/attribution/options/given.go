package options

import (
	"fmt"

	"github.com/weft-trace/weft/internal/attribution/trees"
	"github.com/weft-trace/weft/internal/timeline"
)

// Options are the options of package attribution, as a program has them: attribution.Options converts to these, with the types of
// that package for ways of contexts, conflicts of flows and times.
type Options[Via, Conflict ~string, Nanos ~int64] struct {
	Sources       []Via
	FlowConflict  Conflict
	EndWithSlice  bool
	From, To      Nanos
	FromStart     bool
	ChargeAtBegin bool
	Intervals     bool
	Workers       int
}

// Rules returns the options as rules. What is missing has its default; what does not exist is an error, which lists the choices.
func (o Options[Via, Conflict, Nanos]) Rules() (Rules, error) {
	r := Rules{
		EndWithSlice: o.EndWithSlice, Intervals: o.Intervals, Workers: o.Workers,
		Cost: CostOptions{Window: Window{From: timeline.Nanos(o.From), To: timeline.Nanos(o.To)}, FromStart: o.FromStart, AtBegin: o.ChargeAtBegin},
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
