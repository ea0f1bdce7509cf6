package attribution

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/timeline"
)

// This file finds again what an attribution has written. It looks only in traces that are marked as attributed: elsewhere nothing
// is taken for weft's, whatever its name.

// Facts about a trace that say how an attribution was written into it.
const (
	// FormAttribute marks a trace that holds an attribution; its value is the form.
	FormAttribute = "weft.attribution"
	// CostAttribute and a type make the name of a fact with the costs of that type.
	CostAttribute = "weft.cost."

	FormConverted = "converted" // part of the timeline that was written
	FormAppended  = "appended"  // beside packets that were kept
)

// IsOwnAttribute reports whether a fact about an attributed trace is one that attribution has added.
func IsOwnAttribute(key string) bool {
	return key == FormAttribute || key == timeline.AppendedAttribute || strings.HasPrefix(key, CostAttribute)
}

// FormOf returns the form of the attribution that a trace holds, "" if it holds none.
func FormOf(t *timeline.Timeline) string {
	for _, a := range t.Attributes() {
		if a.Key == FormAttribute {
			return a.Text
		}
	}
	return ""
}

// WasAttributed reports whether a trace holds an attribution.
func WasAttributed(t *timeline.Timeline) bool { return FormOf(t) != "" }

// IsOwnTrack reports whether a track is one that attribution has added.
func IsOwnTrack(t *timeline.Timeline, id timeline.TrackID) bool {
	role := t.Role(id)
	return role == timeline.RoleContexts || role == timeline.RoleCatalogue
}

// Names of the argument in which slices and instants have their contexts: a dictionary by type, each with id, name, via
// and, where there are any, hops and candidates.
const (
	NoteKey = "contexts"
	// OtherNoteKey is the name if the event has an argument of its own that is called NoteKey. If it has one of this name
	// too, its contexts are not noted.
	OtherNoteKey = "weft_contexts"
)

var NoteKeys = [...]string{NoteKey, OtherNoteKey}

// noteKeyBeside returns the first of noteKeys that is free, by index, given the evidence of an event.
func noteKeyBeside(found []Evidence) uint8 {
	taken := uint8(0)
	for i := range found {
		if found[i].kind == noteTaken {
			taken |= uint8(found[i].value)
		}
	}
	return uint8(bits.TrailingZeros8(^taken))
}

// keyOfNote returns the index of a name in noteKeys, or -1.
func keyOfNote(name []byte) int {
	switch string(name) {
	case NoteKey:
		return 0
	case OtherNoteKey:
		return 1
	}
	return -1
}

// NoteIn returns the note among the arguments of an event in an attributed trace, and its place, -1 if there is none. It is
// the one of OtherNoteKey if both are like notes: that is used only where the event has another one of NoteKey.
func NoteIn(t *timeline.Timeline, args timeline.Args) (place int, note timeline.Arg) {
	place, i, best := -1, 0, -1
	for a := range t.ArgList(args) {
		if key := keyOfNote(a.Key); key > best && isLikeNote(t, a) {
			place, note, best = i, a, key
		}
		i++
	}
	return place, note
}

// isLikeNote reports whether an argument has the form of a note: all that is in it says via what it came.
func isLikeNote(t *timeline.Timeline, a timeline.Arg) bool {
	if a.Kind != timeline.ArgDict {
		return false
	}
	for m := range t.Members(a) {
		said := false
		if m.Kind == timeline.ArgDict {
			for x := range t.Members(m) {
				said = said || string(x.Key) == "via"
			}
		}
		if !said {
			return false
		}
	}
	return true
}

// NoteAmong is noteIn for the annotations of a packet, in the form in which Rewrite adds notes.
func NoteAmong(annotations [][]byte) (place int) {
	place, best := -1, -1
	for i, a := range annotations {
		if key := encodedNote(a); key > best {
			place, best = i, key
		}
	}
	return place
}

// encodedNote returns the index in noteKeys of an annotation's name if it has the form of a note, otherwise -1.
func encodedNote(annotation []byte) int {
	var a message.Annotation
	if a.Parse(annotation) != nil || a.Kind != message.DictAnnotation || a.Values != 1 || a.NameIID != 0 {
		return -1
	}
	for m := a.Members(); m.Next(); {
		if !saysVia(m.Bytes()) {
			return -1
		}
	}
	return keyOfNote(a.Name)
}

func saysVia(annotation []byte) bool {
	var a, entry message.Annotation
	if a.Parse(annotation) == nil && a.Kind == message.DictAnnotation {
		for m := a.Members(); m.Next(); {
			if entry.Parse(m.Bytes()) == nil && string(entry.Name) == "via" {
				return true
			}
		}
	}
	return false
}

// earlierNotes reads what an earlier attribution has written, where the trace itself no longer says it: a Perfetto trace
// does not know which thread wrote an asynchronous slice, or an instant of a process. Everything else is found again, and the notes are replaced.
// Arguments that merely share the name of a note are kept; the note is added next to them.
type earlierNotes struct{}

func (earlierNotes) see(c *collecting, s *event) error {
	taken, note := int64(0), -1
	for i := range s.facts.notes {
		if a := s.facts.notes[i]; a.Kind != 0 {
			taken |= 1 << i
			if c.found.attributed && !s.isEnd() && isLikeNote(c.t, a) {
				note = i // the last one, as in noteIn
			}
		}
	}
	if note >= 0 {
		taken &^= 1 << note
		if s.Thread == 0 && (s.place.Place == placeAsync || s.place.Place == placeInstant) {
			if err := (earlierNotes{}).inherit(c, s, s.facts.notes[note]); err != nil {
				return err
			}
		}
	}
	if taken == 0 {
		return nil
	}
	return c.add(Evidence{ordinal: s.ordinal, kind: noteTaken, value: taken})
}

// inherit takes over the note about the thread that wrote an asynchronous slice or an instant. What came from arguments is found
// again.
func (earlierNotes) inherit(c *collecting, s *event, note timeline.Arg) error {
	for m := range c.t.Members(note) {
		if m.Kind != timeline.ArgDict {
			continue
		}
		var id, via []byte
		hops := int64(0)
		for a := range c.t.Members(m) {
			switch string(a.Key) {
			case "id":
				id = text(&a)
			case "via":
				via = text(&a)
			case "hops":
				hops, _ = integer(&a)
			}
		}
		identity, ok := parseIdentity(string(id))
		came, err := ParseSource(string(via))
		if !ok || err != nil || came == ViaArgs || s.place.Place == placeAsync && came != ViaAsync {
			continue
		}
		node, typ := c.contexts.nodeOf(identity.Scope, []byte(identity.ID), identity.Process), c.contexts.TypeOf(m.Key)
		if node == 0 || typ == 0 {
			continue
		}
		c.contexts.Nodes[node].Context = true
		c.contexts.Nodes[node].IsFrame = c.contexts.Nodes[node].IsFrame || identity.Scope == ScopeFrame || identity.Scope == ScopeWindow
		e := Evidence{ordinal: s.ordinal, kind: inherited, Type: typ, Node: node, value: inheritedValue(came, hops)}
		if err := c.add(e); err != nil {
			return err
		}
	}
	return nil
}

// inheritedValue is the value of inherited evidence, and inheritedVia its inverse.
func inheritedValue(via Via, hops int64) int64 {
	return int64(via)<<8 | min(max(hops, 0), maxHops)
}

func inheritedVia(value int64) (via Via, hops uint8) {
	return Via(value >> 8), uint8(value)
}

// parseIdentity is the inverse of Identity.String.
func parseIdentity(text string) (Identity, bool) {
	scope, id, ok := strings.Cut(text, "/")
	if !ok || id == "" {
		return Identity{}, false
	}
	out := Identity{Scope: scope, ID: id, Process: Global}
	global := scope == scopeScript || scope == ScopeWindow || scope == ScopeLatency || scope == scopeTab ||
		scope == scopeRequest
	if i := strings.LastIndexByte(id, '@'); i > 0 && !global {
		if pid, err := strconv.ParseInt(id[i+1:], 10, 64); err == nil {
			out.ID, out.Process = id[:i], pid
		}
	}
	return out, true
}
