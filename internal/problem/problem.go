// Package problem counts errors in the data of a trace.
//
// weft distinguishes errors from problems: an unreadable input is a Go error; bad data in a readable input is a problem. A
// problem never stops a conversion and is never ignored: this package counts it under a stable name with a severity, and records
// the positions of the first cases in the input. The names are part of weft's interface; docs/data-problems.md lists them, and a
// test keeps that page and this package consistent.
package problem

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
)

// Severity is the effect of a problem on the output.
type Severity uint8

const (
	// Info means that the output is complete.
	Info Severity = iota
	// Repaired means that data was changed.
	Repaired
	// Lost means that data is missing from the output.
	Lost
)

// String returns "info", "repaired" or "lost".
func (s Severity) String() string {
	switch s {
	case Info:
		return "info"
	case Repaired:
		return "repaired"
	case Lost:
		return "lost"
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// Kind identifies a kind of problem.
type Kind uint8

// Name returns the stable name, for example "json_unterminated".
func (k Kind) Name() string { return kinds[k].name }

// Severity returns the effect on the output.
func (k Kind) Severity() Severity { return kinds[k].severity }

// Sentence describes, for users, the problem and what weft did about it.
func (k Kind) Sentence() string { return kinds[k].sentence }

// String returns the name.
func (k Kind) String() string { return k.Name() }

// KindOf returns the kind with the given name. It returns false if the name is unknown.
func KindOf(name string) (Kind, bool) {
	for k := 1; k < len(kinds); k++ {
		if kinds[k].name == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// Kinds returns all kinds in the order of the documentation.
func Kinds() []Kind {
	all := make([]Kind, 0, len(kinds)-1)
	for k := 1; k < len(kinds); k++ {
		all = append(all, Kind(k))
	}
	return all
}

// Position is a position in the input. The zero Position is the start of the input.
type Position struct {
	Event  int64 // index of the event in the input's event list, counted from 0; -1 outside events
	Offset int64 // byte offset in the unpacked input; -1 if unknown
}

// NoPosition is the Position of problems without one.
var NoPosition = Position{Event: -1, Offset: -1}

// String returns the position in the form of weft's messages: "event 12 (byte 3456)".
func (p Position) String() string {
	switch {
	case p.Event >= 0 && p.Offset >= 0:
		return fmt.Sprintf("event %d (byte %d)", p.Event, p.Offset)
	case p.Event >= 0:
		return fmt.Sprintf("event %d", p.Event)
	case p.Offset >= 0:
		return fmt.Sprintf("byte %d", p.Offset)
	}
	return "no position"
}

// Case is one occurrence of a problem.
type Case struct {
	Position Position
	Detail   string // may be empty
}

// maxCases is the number of cases that a Log records for each kind.
const maxCases = 5

// maxDetail bounds the size in bytes of a case's detail, which may contain text from the input.
const maxDetail = 200

// Log counts problems. The zero Log is empty and ready for use. Several goroutines may add to a Log; the order of a kind's cases
// is then random unless a single goroutine counts that kind. Reading a Log must not run concurrently with adding.
type Log struct {
	adding sync.Mutex
	counts [numKinds]uint64
	cases  [numKinds][]Case

	partOf func(event int64) (part int, first int64) // see Divide
	parts  map[int]*Log
}

// Divide makes a Log also count problems for each part of the input: partOf returns the part of an event, and the index of the
// first event in it, from which positions in the part are counted.
func (l *Log) Divide(partOf func(event int64) (part int, first int64)) { l.partOf = partOf }

// DivideAs divides a Log in the same way as another one, which may be nil.
func (l *Log) DivideAs(other *Log) {
	if other != nil {
		l.partOf = other.partOf
	}
}

// Part returns the Log of a part, or nil if the part has no problems.
func (l *Log) Part(part int) *Log { return l.parts[part] }

// part returns the Log of a part, and creates it if necessary.
func (l *Log) part(part int) *Log {
	p := l.parts[part]
	if p == nil {
		if l.parts == nil {
			l.parts = map[int]*Log{}
		}
		p = new(Log)
		l.parts[part] = p
	}
	return p
}

// Add counts one problem.
func (l *Log) Add(k Kind, at Position, detail string) { l.AddN(k, 1, at, detail) }

// AddN counts n problems of one kind that share a position. It does nothing if n is 0.
func (l *Log) AddN(k Kind, n uint64, at Position, detail string) {
	if n == 0 {
		return
	}
	l.adding.Lock()
	defer l.adding.Unlock()
	l.counts[k] = Sum(l.counts[k], n)
	if len(l.cases[k]) < maxCases {
		if len(detail) > maxDetail {
			// Truncation must not leave half a character; reports are valid UTF-8.
			detail = strings.ToValidUTF8(detail[:maxDetail], "")
		}
		l.cases[k] = append(l.cases[k], Case{Position: at, Detail: detail})
	}
	if l.partOf != nil && at.Event >= 0 {
		part, first := l.partOf(at.Event)
		at.Event -= first
		l.part(part).AddN(k, n, at, detail)
	}
}

// Sum adds two counts, with saturation: an input may contain any count, such as the number of events that a tracer lost.
func Sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// Count returns the count of a kind of problem.
func (l *Log) Count(k Kind) uint64 { return l.counts[k] }

// Total is the count of one kind of problem and its first cases.
type Total struct {
	Kind  Kind
	Count uint64
	Cases []Case
}

// Totals returns all kinds with a nonzero count, sorted by severity, most severe first, then by name.
func (l *Log) Totals() []Total {
	var all []Total
	for k := range l.counts {
		if l.counts[k] > 0 {
			all = append(all, Total{Kind: Kind(k), Count: l.counts[k], Cases: l.cases[k]})
		}
	}
	slices.SortFunc(all, func(a, b Total) int {
		return cmp.Or(cmp.Compare(b.Kind.Severity(), a.Kind.Severity()), cmp.Compare(a.Kind.Name(), b.Kind.Name()))
	})
	return all
}

// Lost returns the number of problems with severity Lost.
func (l *Log) Lost() uint64 {
	var n uint64
	for k, c := range l.counts {
		if c > 0 && Kind(k).Severity() == Lost {
			n = Sum(n, c)
		}
	}
	return n
}

// Merge adds the counts of other to l, and its cases after those in l. It does nothing if l is nil.
func (l *Log) Merge(other *Log) {
	if l == nil {
		return
	}
	l.adding.Lock()
	defer l.adding.Unlock()
	for part, p := range other.parts {
		l.part(part).Merge(p)
	}
	for k, c := range other.counts {
		if c == 0 {
			continue
		}
		l.counts[k] = Sum(l.counts[k], c)
		free := min(maxCases-len(l.cases[k]), len(other.cases[k]))
		l.cases[k] = append(l.cases[k], other.cases[k][:free]...)
	}
}

// Clone returns a copy of a Log.
func (l *Log) Clone() *Log {
	c := new(Log)
	c.DivideAs(l)
	c.Merge(l)
	return c
}

// Wants reports whether the Log would record the next case of a kind. Callers can check it before computing an expensive detail.
func (l *Log) Wants(k Kind) bool { return len(l.cases[k]) < maxCases }
