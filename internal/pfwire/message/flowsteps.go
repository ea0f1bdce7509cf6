package message

import "github.com/weft-trace/weft/internal/wire"

// FlowStep is the time at which a flow passes its event.
type FlowStep struct {
	Index int   // index in flow_ids followed by terminating_flow_ids
	After int64 // ns after the packet's timestamp
}

// AppendFlowSteps decodes the field weft_flow_steps of an event with the given number of flows. The result ok is true if each
// flow occurs once.
func AppendFlowSteps(steps []FlowStep, list []byte, flows int) (out []FlowStep, ok bool) {
	seen := make([]bool, flows)
	p := wire.NewPacked(list)
	for len(steps) < flows && p.Next() {
		index := p.Uint() >> 1
		if p.Uint()&1 != 0 || index >= uint64(flows) || seen[index] || !p.Next() {
			return steps, false
		}
		seen[index] = true
		steps = append(steps, FlowStep{int(index), int64(p.Uint()>>1) ^ -int64(p.Uint()&1)})
	}
	return steps, len(steps) == flows && !p.Next() && p.Err() == nil
}
