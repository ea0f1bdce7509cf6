package timeline

import "testing"

// Kinds, flags and the properties of a flow step use different bits.
func TestRecordFlagsAreApart(t *testing.T) {
	const flags = flagArgs | flagInlineName | flagInlineCategory | flagCallstack | flagMatched | flagOutermost | flagTemplate | flagInOrder | flagTask |
		flagLoopTask | flagIdle | flagDerived | flagClosed | flagDidNotEnd | flagKeepEnd | flagFloat | flagSampling | flagSkip
	for space := FlowV1; space <= LastFlowSpace; space++ {
		for role := FlowStart; role <= FlowReference; role++ {
			for binding := BindCarrier; binding <= BindNothing; binding++ {
				for _, text := range [][]byte{nil, []byte("id")} {
					r := record{flags: flagsOf(FlowStep)}
					r.setFlow(&FlowEvent{Space: space, Role: role, Binding: binding, IDText: text, After: 5}, 7)
					if r.flags&flags != 0 {
						t.Fatalf("a flow step sets flags %b", r.flags&flags)
					}
					r.flags |= flags
					r.setKind(dropped)
					id, isText := r.FlowID()
					if r.Space() != space || r.Role() != role || r.Binding() != binding || id != 7 || isText != (text != nil) || r.Kind() != dropped {
						t.Fatalf("%d, %d, %d, %q became %+v", space, role, binding, text, r)
					}
				}
			}
		}
	}
}
