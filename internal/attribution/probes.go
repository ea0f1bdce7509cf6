package attribution

import (
	"bytes"
	"strconv"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// typePresContext is the type of presentation contexts in layout probes.
const typePresContext = "PresContext"

// layoutProbes reads layout probe slices: their first argument is a pointer to the presentation context, the second the
// phase, which determines the category.
type layoutProbes struct{}

func (layoutProbes) observe(c *collecting, s *event) error {
	if s.Kind != timeline.ItemBegin || s.track.Thread == 0 || !isLayoutProbe(s.facts.probe) {
		return nil
	}
	id, phase := layoutArguments(c.t, s.Args)
	if phase != producers.CategoryNone {
		if err := c.add(Evidence{ordinal: s.ordinal, kind: ownCategory, value: int64(phase)}); err != nil {
			return err
		}
	}
	if id == nil {
		return nil
	}
	return c.addContext(s, c.contexts.TypeOf([]byte(typePresContext)), c.node(scopePointer, id, s.track.pid, s.track.idSpace))
}

// CategoryOfProbe returns the category of a layout probe's slice from its arguments, or producers.CategoryNone for other slices.
func CategoryOfProbe(t *timeline.Timeline, args timeline.Args) producers.Category {
	for a := range t.ArgList(args) {
		if string(a.Key) != timeline.OwnProbe || !isLayoutProbe(text(&a)) {
			break
		}
		_, phase := layoutArguments(t, args)
		return phase
	}
	return producers.CategoryNone
}

// isLayoutProbe reports whether a probe, written provider:name, starts a layout phase.
func isLayoutProbe(probe []byte) bool {
	_, name, ok := bytes.Cut(probe, []byte(":"))
	base, isPair := bytes.CutPrefix(name, []byte("layout-"))
	return ok && isPair && (string(base) == "start" || string(base) == "begin" || string(base) == "entry")
}

// layoutArguments returns the first argument of a layout probe in hexadecimal, if it is a number, and the category of the
// phase in the second argument.
func layoutArguments(t *timeline.Timeline, args timeline.Args) (id []byte, phase producers.Category) {
	index := -1 // of the next argument; the arguments of the probe follow its name
	for a := range t.ArgList(args) {
		switch {
		case index == 0:
			id = pointerText(&a)
		case index == 1:
			return id, phaseCategory(&a)
		case index < 0 && string(a.Key) != timeline.OwnProbe:
			continue
		}
		index++
	}
	return id, producers.CategoryNone
}

// pointerText returns a number in hexadecimal, with 0x, or nil if the argument is not a number.
func pointerText(a *timeline.Arg) []byte {
	switch a.Kind {
	case timeline.ArgPointer, timeline.ArgUint:
		return strconv.AppendUint([]byte("0x"), a.Uint(), 16)
	case timeline.ArgInt:
		return strconv.AppendUint([]byte("0x"), uint64(a.Int()), 16)
	}
	return nil
}

// phases are the layout phases by number.
var phases = [...]struct {
	label    string
	category producers.Category
}{{producers.PhasePaint, producers.CategoryPaint}, {producers.PhaseReflow, producers.CategoryLayout}, {producers.PhaseFrameConstruction, producers.CategoryStyle}}

// phaseCategory returns the category of a phase, which is a number or, if it was declared, a label.
func phaseCategory(a *timeline.Arg) producers.Category {
	for number, phase := range phases {
		if v, ok := integer(a); ok && v == int64(number) || string(text(a)) == phase.label {
			return phase.category
		}
	}
	return producers.CategoryNone
}
