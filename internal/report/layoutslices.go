package report

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// phaseEvent is a kind of slice that is a layout phase.
type phaseEvent struct {
	phase  string
	mustBe producer // the producer that it must come from
}

// producer is the program that writes the events with a certain name.
type producer uint8

const (
	anyProducer producer = iota // for event names that the user specified
	chrome
	firefox
)

// events returns the kinds of slices that are phases, by name.
func (o *LayoutOptions) events() map[string]phaseEvent {
	events := map[string]phaseEvent{}
	if o.Phases != nil {
		for name, phase := range o.Phases {
			events[name] = phaseEvent{phase, anyProducer}
		}
		return events
	}
	for mustBe, list := range map[producer][]producers.LayoutEvent{chrome: producers.ChromeLayout, firefox: producers.FirefoxLayoutMarkers} {
		for _, e := range list {
			if e.Option == "" || slices.Contains(o.Paint, e.Option) {
				events[e.Name] = phaseEvent{e.Phase, mustBe}
			}
		}
	}
	return events
}

// layoutStart is the data of a layout slice at its start.
type layoutStart struct {
	key      layoutKey
	function string
	provider string    // of the probe; "": an event
	end      layoutKey // key of the probe that ends the slice: equal to key if both probes fired with the same arguments
	// missing is set if a probe slice has no end of its own: flagUnbalanced or flagNeverEnded.
	missing probeFlag
}

// isDevTools reports whether one of an event's categories belongs to the performance panel.
func isDevTools(category []byte) bool {
	for one := range bytes.SplitSeq(category, []byte{','}) {
		if bytes.HasSuffix(bytes.TrimSpace(one), []byte(producers.DevToolsCategory)) {
			return true
		}
	}
	return false
}

// phaseOf returns the phaseEvent of an event, or nil, and the name by which it was found: the name of the event or,
// in Firefox, of the marker. An event name with a NameID is looked up only once.
func (c *layoutReader) phaseOf(it *timeline.Item) (*phaseEvent, []byte) {
	if marker := c.markerName(it.Args); marker != nil {
		return c.findPhase(marker), marker
	}
	return c.phaseOfName(it), it.Name
}

// markerName returns the name of a Firefox marker whose slice has the marker's label as its name; nil for slices with only
// one name.
func (c *layoutReader) markerName(args timeline.Args) []byte {
	for arg := range c.wanted.List(args) {
		if string(arg.Key) != timeline.OwnArgs || arg.Kind != timeline.ArgDict {
			continue
		}
		for member := range c.wanted.Members(arg) {
			if string(member.Key) == "marker" && member.Kind == timeline.ArgString {
				return member.Text()
			}
		}
	}
	return nil
}

func (c *layoutReader) phaseOfName(it *timeline.Item) *phaseEvent {
	if it.NameID == 0 {
		return c.findPhase(it.Name)
	}
	if !c.known[it.NameID] {
		c.known[it.NameID], c.phases[it.NameID] = true, c.findPhase(it.Name)
	}
	return c.phases[it.NameID]
}

func (c *layoutReader) findPhase(name []byte) *phaseEvent {
	e, ok := c.events[string(name)]
	if before, number, found := bytes.Cut(name, []byte(" #")); !ok && found {
		if _, err := strconv.ParseUint(string(number), 10, 64); err == nil { // Firefox numbers some: "Composite #1"
			e, ok = c.events[string(before)]
		}
	}
	if !ok {
		return nil
	}
	return &e
}

// eventStart returns the data of a phase event; ok is false if a slice merely has the name of such an event.
func (c *layoutReader) eventStart(e *phaseEvent, name []byte, it *timeline.Item) (s layoutStart, ok bool) {
	s.key.phase, s.function = e.phase, string(name)
	var frame, marker bool
	s.key.context, frame, marker = c.eventContext(it.Args)
	switch e.mustBe {
	case chrome:
		return s, frame || isDevTools(it.Category)
	case firefox:
		return s, marker
	}
	return s, !timeline.IsCall(it.Category) // a call is a script function with the same name
}

// eventContext returns the frame or window in which an event happened. The results frame and marker report whether the event
// has a frame, as in Chrome, and whether it has a type, as Firefox markers do.
func (c *layoutReader) eventContext(args timeline.Args) (context layoutContext, frame, marker bool) {
	context.isText = true
	for arg := range c.wanted.List(args) {
		switch key := string(arg.Key); {
		case (key == "data" || key == "beginData") && arg.Kind == timeline.ArgDict:
			for member := range c.wanted.Members(arg) {
				if string(member.Key) == "frame" {
					context, frame = contextOf(&member), true
				}
			}
		case key == "innerWindowID", key == "frame" && !frame: // the latter in Chrome traces imported by Firefox
			context = contextOf(&arg)
		case key == "type" && arg.Kind == timeline.ArgString:
			marker = true
		}
	}
	return context, frame, marker
}

// contextOf returns an argument as a context.
func contextOf(arg *timeline.Arg) layoutContext {
	switch arg.Kind {
	case timeline.ArgInt:
		return layoutContext{number: uint64(arg.Int())}
	case timeline.ArgUint, timeline.ArgPointer:
		return layoutContext{number: arg.Uint()}
	}
	return layoutContext{text: string(arg.AppendText(nil)), isText: true}
}

// probeArg is an argument of a probe. If its value at the end of the slice differs, end holds that value.
type probeArg struct {
	name  string
	value timeline.Arg
	end   *timeline.Arg
}

type probeFlag uint8

const (
	flagUnbalanced probeFlag = 1 << iota
	flagNeverEnded
	flagEndWithoutStart
)

var probeFlags = map[string]probeFlag{
	"unbalanced": flagUnbalanced, "never_ended": flagNeverEnded, "end_without_start": flagEndWithoutStart,
}

// endArgStart prefixes the names of the arguments in which the end of a slice differs from its start.
const endArgStart = "end."

// probe is the probe data of a slice or instant.
type probe struct {
	provider, name string
	args           []probeArg
	flags          probeFlag
}

// maxProbeArgs bounds the arguments read from a probe: the reports need three.
const maxProbeArgs = 16

// readProbe returns the probe of a slice or instant; ok is false if the slice or instant has no wanted probe.
func readProbe(tl *timeline.Timeline, args timeline.Args, wanted func(name string) bool) (p probe, ok bool) {
	for arg := range tl.ArgList(args) {
		if !ok {
			if string(arg.Key) != timeline.OwnProbe || arg.Kind != timeline.ArgString {
				return p, false
			}
			if p.provider, p.name, ok = strings.Cut(string(arg.Text()), ":"); !ok || !wanted(p.name) {
				return p, false
			}
			continue
		}
		switch key := string(arg.Key); {
		case key == timeline.OwnFlags && arg.Kind == timeline.ArgArray:
			for flag := range tl.Members(arg) {
				if flag.Kind == timeline.ArgString {
					p.flags |= probeFlags[string(flag.Text())]
				}
			}
		case strings.HasPrefix(key, endArgStart):
			p.setEnd(key[len(endArgStart):], arg)
		case len(p.args) < maxProbeArgs:
			p.args = append(p.args, probeArg{name: key, value: arg})
		}
	}
	return p, ok
}

func (p *probe) setEnd(name string, value timeline.Arg) {
	for i := range p.args {
		if p.args[i].name == name {
			p.args[i].end = &value
		}
	}
}

// arg returns the argument declared with the given name. If the probe lacks it, arg returns the argument at index place, its position
// in the browser's own probes, unless that argument has one of the other names. If it finds nothing, it returns nil.
func (p *probe) arg(name string, place int, others ...string) *probeArg {
	for i := range p.args {
		if p.args[i].name == name {
			return &p.args[i]
		}
	}
	if place >= len(p.args) || slices.Contains(others, p.args[place].name) {
		return nil
	}
	return &p.args[place]
}

// text returns the argument as text; "" if it is missing.
func (a *probeArg) text() string {
	if a == nil {
		return ""
	}
	return string(a.value.AppendText(nil))
}

// atEnd returns the argument's value at the end of the slice.
func (a *probeArg) atEnd() *timeline.Arg {
	if a.end != nil {
		return a.end
	}
	return &a.value
}

// phaseName returns an argument as the name of a phase, translating the phase numbers of the browser.
func phaseName(arg *timeline.Arg) string {
	names := [...]string{producers.PhasePaint, producers.PhaseReflow, producers.PhaseFrameConstruction}
	if arg.Kind == timeline.ArgInt && arg.Int() >= 0 && arg.Int() < int64(len(names)) {
		return names[arg.Int()]
	}
	return string(arg.AppendText(nil))
}

// layoutStart returns the data of a layout probe. Missing arguments become empty strings.
func (p *probe) layoutStart() layoutStart {
	s := layoutStart{provider: p.provider, missing: p.flags & (flagUnbalanced | flagNeverEnded)}
	s.key.context.isText = true
	s.end = s.key
	if a := p.arg("presctx", 0, "phase", "func"); a != nil {
		s.key.context, s.end.context = contextOf(&a.value), contextOf(a.atEnd())
	}
	if a := p.arg("phase", 1, "presctx", "func"); a != nil {
		s.key.phase, s.end.phase = phaseName(&a.value), phaseName(a.atEnd())
	}
	s.function = p.arg("func", 2, "presctx", "phase").text()
	return s
}
