package attribution

import (
	"bytes"
	"strconv"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// typePresContext is the type of the presentation contexts for which layout is done, as its probes name them.
const typePresContext = "PresContext"

// layoutProbes finds the presentation context of slices of the probes of layout, which is their first argument, a pointer, and
// the phase, which is their second one: it says what kind of work they are.
type layoutProbes struct{}

func (layoutProbes) see(c *collecting, s *event) error {
	if s.Kind != timeline.ItemBegin || s.place.Thread == 0 || !isLayoutProbe(s.facts.probe) {
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
	return c.own(s, c.contexts.TypeOf([]byte(typePresContext)), c.node(scopePointer, id, s.place.pid, s.place.idSpace))
}

// CategoryOfProbe returns what kind of work a slice of a probe is, by its arguments: the category of a phase of layout, or producers.CategoryNone.
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

// isLayoutProbe reports whether a probe, as provider, colon and name, starts a phase of layout.
func isLayoutProbe(probe []byte) bool {
	_, name, ok := bytes.Cut(probe, []byte(":"))
	base, isPair := bytes.CutPrefix(name, []byte("layout-"))
	return ok && isPair && (string(base) == "start" || string(base) == "begin" || string(base) == "entry")
}

// layoutArguments returns the first argument of a probe of layout, if it is a number, in hexadecimal digits after 0x, and
// the category of the phase that the second one is.
func layoutArguments(t *timeline.Timeline, args timeline.Args) (id []byte, phase producers.Category) {
	place := -1 // of the next argument; before the first one the probe is named
	for a := range t.ArgList(args) {
		switch {
		case place == 0:
			id = pointerText(&a)
		case place == 1:
			return id, phaseCategory(&a)
		case place < 0 && string(a.Key) != timeline.OwnProbe:
			continue
		}
		place++
	}
	return id, producers.CategoryNone
}

// pointerText returns a number in hexadecimal digits after 0x; nil if the argument is not a number.
func pointerText(a *timeline.Arg) []byte {
	switch a.Kind {
	case timeline.ArgPointer, timeline.ArgUint:
		return strconv.AppendUint([]byte("0x"), a.Uint(), 16)
	case timeline.ArgInt:
		return strconv.AppendUint([]byte("0x"), uint64(a.Int()), 16)
	}
	return nil
}

// phases are the phases of layout by their numbers, and what kind of work they are.
var phases = [...]struct {
	label    string
	category producers.Category
}{{producers.PhasePaint, producers.CategoryPaint}, {producers.PhaseReflow, producers.CategoryLayout}, {producers.PhaseFrameConstruction, producers.CategoryStyle}}

// phaseCategory returns the category of a phase, which is a number or, where the number was declared, a label.
func phaseCategory(a *timeline.Arg) producers.Category {
	for number, phase := range phases {
		if v, ok := integer(a); ok && v == int64(number) || string(text(a)) == phase.label {
			return phase.category
		}
	}
	return producers.CategoryNone
}
