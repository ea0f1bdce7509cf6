package timeline

import "strings"

// Readers say what ties their input to others: which clock its times are of (SetClocks), which events name the same thing as events elsewhere
// (AddLink), and whatever else an Observer asks for. A conversion of one input ignores all of it; package merge reads it.

// Anchor says when a time of the input was by the wall clock of its host.
type Anchor struct {
	At        Nanos // on the clock of the input
	Wall      Nanos // since 1970, in UTC
	Low, High Nanos // Wall is wrong by Low (at most 0) to High (at least 0): the truth is between Wall+Low and Wall+High
	By        string
	Counted   bool // others say the same: how many is worth saying
}

// HostSync says how the monotonic clocks of two hosts compare. A host is told from others by how far its wall clock is from its monotonic
// one.
type HostSync struct {
	Own, Host Nanos // wall clock − monotonic clock of both
	Low, High Nanos // by how much the monotonic clock of the first is ahead of the second's
}

// LinkRole says what an event that carries a key does with what the key names.
type LinkRole uint8

// The roles of links.
const (
	LinkMember   LinkRole = iota // it belongs together with the others; no direction is known
	LinkSend                     // it sends: whatever receives does so later than it begins
	LinkReceive                  // it receives: whatever has sent began earlier than it begins
	LinkServe                    // a slice: it receives when it begins, and answers later than that
	LinkCall                     // a slice: it sends when it begins, and has the answer when it ends
	LinkMeet                     // a slice: it does not end before all others with the key have begun
	LinkSync                     // it happens at the same moment as the others, to within the steps of both clocks
	LinkSyncSent                 // the same, of one that was issued at Issued and is over at TS
)

// LinkReference says whether the key of a link is the event's own.
type LinkReference uint8

// What the key of a link is to the event.
const (
	LinkOwn      LinkReference = iota // it names the event, or the request that the event is part of
	LinkToCaller                      // it names the span whose request the event serves
	LinkToParent                      // it names the span that the event is any other child of
	LinkToLinked                      // it names a span to which the event refers
)

// Link is a key that an event carries, which events of other inputs may carry too.
type Link struct {
	Key    string // with its kind as a prefix: "w3c:4bf92f….00f0…", "id:…"
	Role   LinkRole
	To     LinkReference
	Track  TrackID
	Event  uint32 // as in Event; that with it was added before
	Offset int64
	TS     Nanos
	Dur    Nanos // NoTime: it has no length, or the length is not known
	Issued Nanos // of LinkSyncSent
	Step   Nanos // in which the times count: each may be later by less than that; 0: they are exact

	// Request is set by an event that carries no key itself, with an id that another event of the same input has together with
	// a key: LinkedBy. The pair then has the same key.
	Request, LinkedBy string
}

// TraceContextKey returns the key of a span of the W3C trace context, whose ids are hexadecimal; "" if one is missing.
func TraceContextKey(traceID, spanID string) string {
	if strings.Trim(traceID, "0") == "" || strings.Trim(spanID, "0") == "" {
		return ""
	}
	return "w3c:" + strings.ToLower(traceID) + ":" + strings.ToLower(spanID)
}

// Traceparent returns the ids of the span that a traceparent names, "00-TRACE-SPAN-01"; they are empty if the text is not a traceparent.
func Traceparent(text string) (traceID, spanID string) {
	parts := strings.Split(strings.TrimSpace(text), "-")
	if len(parts) < 4 || len(parts[0]) != 2 || len(parts[1]) != 32 || len(parts[2]) != 16 || !isHex(parts[1]) || !isHex(parts[2]) {
		return "", ""
	}
	return parts[1], parts[2]
}

// TraceparentKey returns the key of the span that a traceparent names; "" if the text is not a traceparent.
func TraceparentKey(text string) string { return TraceContextKey(Traceparent(text)) }

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdefABCDEF") == "" }

// Observer is an Intake that is told as well what ties an input to others.
type Observer interface {
	Intake
	Anchor(a *Anchor)        // when a time of the input was by the wall clock
	HostSync(s *HostSync)    // how the clocks of two hosts compare
	Host(name string)        // on which the input was recorded; "": not known
	Rank(n int64)            // of the input, among the processes of a distributed program
	ClockDomain(name string) // of the times, where several systems have such a clock, as Chrome names it: "LINUX_CLOCK_MONOTONIC"
	Step(n Nanos)            // the unit in which the time of an event was counted; the input's is the shortest
}

// StepOf returns the step in which a clock seems to count that has shown a time: 1 ms, 1 µs or 1 ns.
func StepOf(ts Nanos) Nanos {
	switch {
	case ts%(1000*Microsecond) == 0:
		return 1000 * Microsecond
	case ts%Microsecond == 0:
		return Microsecond
	}
	return 1
}

// Observer returns the observer of how the input relates to others; nil if not requested.
func (b *Builder) Observer() Observer { return b.opts.Observer }

// WantsLinks reports whether AddLink has an effect.
func (b *Builder) WantsLinks() bool { return b.intake != nil }

// AddLink records a key that an added event carries. Events of several inputs with one key become a flow.
func (b *Builder) AddLink(l *Link) error {
	if b.intake == nil {
		return nil
	}
	return b.intake.Link(l)
}

// IDs returns the ids of the thread that a track is, or is below, and of its process; false if it is below neither. A track of a
// process has the zero thread id.
func (b *Builder) IDs(track TrackID) (process ProcessKey, thread ThreadKey, ok bool) {
	t := b.table
	for hops := 0; track != 0 && hops < maxParents; hops++ {
		row := &t.tracks[t.resolve(track)]
		switch row.kind {
		case ProcessTrack:
			return t.processes[row.index].key, thread, true
		case ThreadTrack:
			thread, ok = t.threads[row.index].key, true
		}
		track = row.parent
	}
	return process, thread, ok
}

// IsThread reports whether a track is the main one of a thread.
func (b *Builder) IsThread(track TrackID) bool {
	return b.table.tracks[b.table.resolve(track)].kind == ThreadTrack
}
