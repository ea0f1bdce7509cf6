package timeline

import "strings"

// Readers report how their input relates to others: the clock of its times (SetClocks), events that name the same thing as events
// elsewhere (AddLink), and everything that an Observer receives. Package merge uses these reports; a conversion of a single input
// ignores them.

// Anchor relates a time in the input to the wall clock of its host.
type Anchor struct {
	At        Nanos  // on the input's clock
	Wall      Nanos  // time since 1970, in UTC
	Low, High Nanos  // bounds of the error of Wall: the true time is between Wall+Low (Low ≤ 0) and Wall+High (High ≥ 0)
	By        string // source of the information
	Counted   bool   // other anchors agree, and the report should state how many
}

// HostSync compares the monotonic clocks of two hosts. A host is identified by its wall time minus its monotonic time.
type HostSync struct {
	Own, Host Nanos // wall clock − monotonic clock of each host
	Low, High Nanos // bounds for how far the first monotonic clock is ahead of the second
}

// LinkRole is an event's role with respect to the thing that the link's key names.
type LinkRole uint8

// The roles of links.
const (
	LinkMember   LinkRole = iota // belongs with the other events, in no known direction
	LinkSend                     // sends: every receiver receives after the event begins
	LinkReceive                  // receives: every sender began before the event begins
	LinkServe                    // a slice: receives at its start and responds later
	LinkCall                     // a slice: sends at its start and receives the response by its end
	LinkMeet                     // a slice: does not end before all others with the key have begun
	LinkSync                     // happens at the same moment as the other events, within the steps of both clocks
	LinkSyncSent                 // like LinkSync, for an event that was issued at the time Issued and ended at TS
)

// LinkReference distinguishes an event's own key from a key of another event.
type LinkReference uint8

// How the key of a link relates to the event.
const (
	LinkOwn      LinkReference = iota // names the event, or the request that the event is part of
	LinkToCaller                      // names the span whose request the event serves
	LinkToParent                      // names the parent span of an event that is any other kind of child
	LinkToLinked                      // names a span that the event refers to
)

// Link gives an event a key that events in other inputs may share.
type Link struct {
	Key    string // has its kind as a prefix: "w3c:4bf92f….00f0…", "id:…"
	Role   LinkRole
	To     LinkReference
	Track  TrackID
	Event  uint32 // as in Event; the event itself must be added before
	Offset int64
	TS     Nanos
	Dur    Nanos // NoTime: no length, or an unknown one
	Issued Nanos // for LinkSyncSent
	Step   Nanos // time unit: each time may be later by less than this; 0: exact

	// Request is set for an event without a key. It equals the LinkedBy of another event in the same input that has a key. Both
	// events then have this key.
	Request, LinkedBy string
}

// TraceContextKey returns the key of a span in a W3C trace context, from its hexadecimal ids, or "" if an id is missing.
func TraceContextKey(traceID, spanID string) string {
	if strings.Trim(traceID, "0") == "" || strings.Trim(spanID, "0") == "" {
		return ""
	}
	return "w3c:" + strings.ToLower(traceID) + ":" + strings.ToLower(spanID)
}

// Traceparent returns the trace and span ids in a traceparent header, "00-TRACE-SPAN-01". Both ids are empty if text is not such
// a header.
func Traceparent(text string) (traceID, spanID string) {
	parts := strings.Split(strings.TrimSpace(text), "-")
	if len(parts) < 4 || len(parts[0]) != 2 || len(parts[1]) != 32 || len(parts[2]) != 16 || !isHex(parts[1]) || !isHex(parts[2]) {
		return "", ""
	}
	return parts[1], parts[2]
}

// TraceparentKey returns the key of the span in a traceparent header, or "" if text is not such a header.
func TraceparentKey(text string) string { return TraceContextKey(Traceparent(text)) }

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdefABCDEF") == "" }

// Observer is an Intake that also receives an input's relations to others.
type Observer interface {
	Intake
	Anchor(a *Anchor)        // a wall-clock time and the input time that it corresponds to
	HostSync(s *HostSync)    // the relation between two hosts' clocks
	Host(name string)        // the host of the recording; "": unknown
	Rank(n int64)            // rank of the input among the processes of a distributed program
	ClockDomain(name string) // Chrome's name for the clock, if several systems have such a clock: "LINUX_CLOCK_MONOTONIC"
	Step(n Nanos)            // the unit of an event's time; the input's unit is the shortest of these units
}

// StepOf guesses the step of a clock from one of its times: 1 ms, 1 µs or 1 ns.
func StepOf(ts Nanos) Nanos {
	switch {
	case ts%(1000*Microsecond) == 0:
		return 1000 * Microsecond
	case ts%Microsecond == 0:
		return Microsecond
	}
	return 1
}

// Observer returns the observer of the input's relations to other inputs, or nil if there is none.
func (b *Builder) Observer() Observer { return b.opts.Observer }

// WantsLinks reports whether AddLink has an effect.
func (b *Builder) WantsLinks() bool { return b.intake != nil }

// AddLink records a key for an event that has been added. Events from several inputs with the same key become a flow.
func (b *Builder) AddLink(l *Link) error {
	if b.intake == nil {
		return nil
	}
	return b.intake.Link(l)
}

// IDs returns the ids of the thread that a track is or belongs to, and of its process, or false if the track belongs to neither.
// The thread id of a process's track is zero.
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

// IsThread reports whether a track is the main track of a thread.
func (b *Builder) IsThread(track TrackID) bool {
	return b.table.tracks[b.table.resolve(track)].kind == ThreadTrack
}
