package message

import "github.com/weft-trace/weft/internal/wire"

// FlowStep says when a flow passes its event.
type FlowStep struct {
	Place int   // among flow_ids and then terminating_flow_ids
	After int64 // ns from the timestamp of the packet on
}

// AppendFlowSteps decodes weft_flow_steps of an event with so many flows. ok is false unless it has each of them once.
func AppendFlowSteps(steps []FlowStep, list []byte, flows int) (out []FlowStep, ok bool) {
	seen := make([]bool, flows)
	p := wire.NewPacked(list)
	for len(steps) < flows && p.Next() {
		place := p.Uint() >> 1
		if p.Uint()&1 != 0 || place >= uint64(flows) || seen[place] || !p.Next() {
			return steps, false
		}
		seen[place] = true
		steps = append(steps, FlowStep{int(place), int64(p.Uint()>>1) ^ -int64(p.Uint()&1)})
	}
	return steps, len(steps) == flows && !p.Next() && p.Err() == nil
}
