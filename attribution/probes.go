package attribution

import (
	"bytes"
	"strconv"

	"github.com/weft-trace/weft/timeline"
)

// typePresContext is the type of the presentation contexts for which layout is done, as its probes name them.
const typePresContext = "PresContext"

// probeArg is the argument in which the reader of probe lines keeps the probe of a slice (probes.md 5). It is there again
// in a Perfetto trace that was made of probe lines.
const probeArg = "weft.probe"

// layoutProbes finds the presentation context of slices of the probes of layout: their first argument, a pointer.
type layoutProbes struct{}

func (layoutProbes) see(c *collector, s *seen) error {
	if s.Kind != timeline.OccursSlice || s.place.thread == 0 || !isLayoutProbe(s.facts.probe) {
		return nil
	}
	id := firstArgument(c.t, s.Args)
	if id == nil {
		return nil
	}
	return c.own(s, c.typeOf([]byte(typePresContext)), c.node(scopePointer, id, s.place.pid))
}

// isLayoutProbe reports whether a probe, as provider, colon and name, starts a phase of layout.
func isLayoutProbe(probe []byte) bool {
	_, name, ok := bytes.Cut(probe, []byte(":"))
	base, isPair := bytes.CutPrefix(name, []byte("layout-"))
	return ok && isPair && (string(base) == "start" || string(base) == "begin" || string(base) == "entry")
}

// firstArgument returns the number that is the first argument of a record, in hexadecimal digits behind 0x; nil if there is
// none.
func firstArgument(t *timeline.Timeline, args timeline.Args) []byte {
	behind := false
	for a := range t.ArgList(args) {
		if !behind {
			behind = string(a.Key) == probeArg
			continue
		}
		switch a.Kind {
		case timeline.ArgPointer, timeline.ArgUint:
			return strconv.AppendUint([]byte("0x"), a.Uint(), 16)
		case timeline.ArgInt:
			return strconv.AppendUint([]byte("0x"), uint64(a.Int()), 16)
		}
		return nil
	}
	return nil
}
