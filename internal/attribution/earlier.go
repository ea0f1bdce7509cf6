package attribution

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/timeline"
)

// This file recognizes the additions of an earlier attribution. It examines only traces that are marked as attributed; in
// other traces, the same names mean nothing.

// Attributes of a trace that record how an attribution was written into it.
const (
	// FormAttribute marks a trace that contains an attribution; its value is the form.
	FormAttribute = "weft.attribution"
	// CostAttribute is the prefix of attributes with the costs of a type.
	CostAttribute = "weft.cost."

	FormConverted = "converted" // weft wrote the whole trace
	FormAppended  = "appended"  // weft copied the packets of the trace and added its own
)

// IsOwnAttribute reports whether an attribute of an attributed trace was added by attribution.
func IsOwnAttribute(key string) bool {
	return key == FormAttribute || key == timeline.AppendedAttribute || strings.HasPrefix(key, CostAttribute)
}

// FormOf returns the form of the attribution in a trace, or "" if there is none.
func FormOf(t *timeline.Timeline) string {
	for _, a := range t.Attributes() {
		if a.Key == FormAttribute {
			return a.Text
		}
	}
	return ""
}

// WasAttributed reports whether a trace contains an attribution.
func WasAttributed(t *timeline.Timeline) bool { return FormOf(t) != "" }

// IsOwnTrack reports whether a track was added by attribution.
func IsOwnTrack(t *timeline.Timeline, id timeline.TrackID) bool {
	role := t.Role(id)
	return role == timeline.RoleContexts || role == timeline.RoleCatalogue
}

// Names of the note, the argument that lists the contexts of a slice or instant: a dictionary by type, whose members have id,
// name, via and, where present, hops and candidates.
const (
	NoteKey = "contexts"
	// OtherNoteKey is the name for events that have their own NoteKey argument. Events with both arguments get no note.
	OtherNoteKey = "weft_contexts"
)

var NoteKeys = [...]string{NoteKey, OtherNoteKey}

// freeNoteKey returns the index of the first free name in NoteKeys, given the evidence of an event.
func freeNoteKey(found []Evidence) uint8 {
	taken := uint8(0)
	for i := range found {
		if found[i].kind == noteTaken {
			taken |= uint8(found[i].value)
		}
	}
	return uint8(bits.TrailingZeros8(^taken))
}

// keyOfNote returns the index of a name in NoteKeys, or -1.
func keyOfNote(name []byte) int { return slices.Index(NoteKeys[:], string(name)) }

// NoteIn returns the note among the arguments of an event in an attributed trace, and its index, or -1 if there is none. If both
// arguments have the form of a note, it returns the argument OtherNoteKey, which exists only if the event has its own NoteKey.
func NoteIn(t *timeline.Timeline, args timeline.Args) (index int, note timeline.Arg) {
	index, i, best := -1, 0, -1
	for a := range t.ArgList(args) {
		if key := keyOfNote(a.Key); key > best && isLikeNote(t, a) {
			index, note, best = i, a, key
		}
		i++
	}
	return index, note
}

// isLikeNote reports whether an argument has the form of a note: every member is a dictionary with "via".
func isLikeNote(t *timeline.Timeline, a timeline.Arg) bool {
	if a.Kind != timeline.ArgDict {
		return false
	}
	for m := range t.Members(a) {
		hasVia := false
		if m.Kind == timeline.ArgDict {
			for x := range t.Members(m) {
				hasVia = hasVia || string(x.Key) == "via"
			}
		}
		if !hasVia {
			return false
		}
	}
	return true
}

// NoteAmong is NoteIn for the annotations of a packet, in the form in which Rewrite adds notes.
func NoteAmong(annotations [][]byte) (index int) {
	index, best := -1, -1
	for i, a := range annotations {
		if key := encodedNote(a); key > best {
			index, best = i, key
		}
	}
	return index
}

// encodedNote returns the index in NoteKeys of an annotation's name if it has the form of a note, otherwise -1.
func encodedNote(annotation []byte) int {
	var a message.Annotation
	if a.Parse(annotation) != nil || a.Kind != message.DictAnnotation || a.Values != 1 || a.NameIID != 0 {
		return -1
	}
	for m := a.Members(); m.Next(); {
		if !hasVia(m.Bytes()) {
			return -1
		}
	}
	return keyOfNote(a.Name)
}

func hasVia(annotation []byte) bool {
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

// earlierNotes reads the notes of an earlier attribution where the trace has lost their source: Perfetto traces do not record
// which thread wrote an asynchronous slice or an instant of a process. Everything else is computed again, and notes are
// replaced. Arguments that merely share the name of a note are kept; the note then uses OtherNoteKey.
type earlierNotes struct{}

func (earlierNotes) observe(c *collecting, s *event) error {
	taken, note := int64(0), -1
	for i := range s.facts.notes {
		if a := s.facts.notes[i]; a.Kind != 0 {
			taken |= 1 << i
			if c.found.attributed && !s.isEnd() && isLikeNote(c.t, a) {
				note = i // the last one, as in NoteIn
			}
		}
	}
	if note >= 0 {
		taken &^= 1 << note
		if s.Thread == 0 && (s.track.Place == placeAsync || s.track.Place == placeInstant) {
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

// inherit adds the contexts in a note that come from the thread that wrote an asynchronous slice or an instant. Contexts from
// arguments are computed again.
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
		source, err := ParseSource(string(via))
		if !ok || err != nil || source == ViaArgs || s.track.Place == placeAsync && source != ViaAsync {
			continue
		}
		node, typ := c.contexts.nodeOf(identity.Scope, []byte(identity.ID), identity.Process), c.contexts.TypeOf(m.Key)
		if node == 0 || typ == 0 {
			continue
		}
		c.contexts.Nodes[node].Context = true
		c.contexts.Nodes[node].IsFrame = c.contexts.Nodes[node].IsFrame || identity.Scope == ScopeFrame || identity.Scope == ScopeWindow
		e := Evidence{ordinal: s.ordinal, kind: inherited, Type: typ, Node: node, value: inheritedValue(source, hops)}
		if err := c.add(e); err != nil {
			return err
		}
	}
	return nil
}

// inheritedValue encodes a source and its hops as the value of inherited evidence; inheritedVia is its inverse.
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
