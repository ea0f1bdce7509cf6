// Package problem counts what is wrong with the data of a trace.
//
// Two things are kept apart all over weft: an input that cannot be read is a Go error, bad data inside a readable input
// is a problem. A problem never stops a conversion and never vanishes silently: it is counted here under a stable name
// with a severity, and the first few cases are kept with their position in the input. The names are part of weft's
// interface; docs/data-problems.md lists them, and a test holds that page and this package together.
package problem

import (
	"fmt"
	"math"
	"sort"
	"strings"
	"sync"
)

// Severity says what a problem did to the output.
type Severity uint8

const (
	// Info is worth knowing; the output holds everything.
	Info Severity = iota
	// Repaired means that something was kept, but changed.
	Repaired
	// Lost means that something of the input is missing in the output.
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

// Kind identifies one problem. Its name, severity and meaning are fixed in a table.
type Kind uint8

// Name returns the stable name, for example "json_unterminated".
func (k Kind) Name() string { return kinds[k].name }

// Severity returns what this kind of problem does to the output.
func (k Kind) Severity() Severity { return kinds[k].severity }

// Sentence says in one sentence, for users, what was found and what weft did.
func (k Kind) Sentence() string { return kinds[k].sentence }

// String returns the name.
func (k Kind) String() string { return k.Name() }

// KindOf returns the kind with a name; false if there is none.
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

// Position is a place in the input. The zero Position is the start of the input.
type Position struct {
	Event  int64 // index of the event in the input's event list, counted from 0; -1 if the place is in no event
	Offset int64 // byte offset in the unpacked input; -1 if unknown
}

// NoPosition is the position of a problem that has no place in the input.
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
	Detail   string // what exactly was found; may be empty
}

// maxCases is the number of cases that are kept for each kind.
const maxCases = 5

// maxDetail bounds the bytes kept of a case's detail, which may hold text of the input.
const maxDetail = 200

// Log counts problems. The zero Log is empty and ready for use. Several goroutines may add to a Log; the order of the cases of one
// kind is then up to chance, unless only one of them counts that kind. What asks a Log must not run beside them.
type Log struct {
	adding sync.Mutex
	counts [numKinds]uint64
	cases  [numKinds][]Case

	partOf func(event int64) (part int, first int64) // see Divide
	parts  map[int]*Log
}

// Divide has a Log count problems for the parts of the input as well: partOf returns in which part an event is, and the index of the first
// event of that. Positions count from there.
func (l *Log) Divide(partOf func(event int64) (part int, first int64)) { l.partOf = partOf }

// DivideAs divides a Log as another one, which may be nil, is.
func (l *Log) DivideAs(other *Log) {
	if other != nil {
		l.partOf = other.partOf
	}
}

// Part returns what was counted for a part; nil if that is nothing.
func (l *Log) Part(part int) *Log { return l.parts[part] }

// part returns the Log of a part to add to.
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

// Sum adds counts, up to the largest number: an input may name any, such as the events that a tracer has lost.
func Sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// Count returns how often a problem was counted.
func (l *Log) Count(k Kind) uint64 { return l.counts[k] }

// Total is the count of one kind of problem and its first cases.
type Total struct {
	Kind  Kind
	Count uint64
	Cases []Case
}

// Totals returns all kinds that were counted: the severest first, then by name.
func (l *Log) Totals() []Total {
	var all []Total
	for k := range l.counts {
		if l.counts[k] > 0 {
			all = append(all, Total{Kind: Kind(k), Count: l.counts[k], Cases: l.cases[k]})
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		a, b := all[i].Kind, all[j].Kind
		if a.Severity() != b.Severity() {
			return a.Severity() > b.Severity()
		}
		return a.Name() < b.Name()
	})
	return all
}

// Lost returns the number of problems of severity Lost.
func (l *Log) Lost() uint64 {
	var n uint64
	for k, c := range l.counts {
		if c > 0 && Kind(k).Severity() == Lost {
			n = Sum(n, c)
		}
	}
	return n
}

// Merge adds the counts of other to l. Cases of other come after l's. A nil Log drops them.
func (l *Log) Merge(other *Log) {
	if l == nil {
		return
	}
	l.adding.Lock()
	defer l.adding.Unlock()
	for part, of := range other.parts {
		l.part(part).Merge(of)
	}
	for k, c := range other.counts {
		if c == 0 {
			continue
		}
		l.counts[k] = Sum(l.counts[k], c)
		for _, cs := range other.cases[k] {
			if len(l.cases[k]) < maxCases {
				l.cases[k] = append(l.cases[k], cs)
			}
		}
	}
}

// Clone returns a Log with what was counted so far.
func (l *Log) Clone() *Log {
	c := new(Log)
	c.DivideAs(l)
	c.Merge(l)
	return c
}

// Wants reports whether the next case of a kind would be kept with its detail. Callers for which the detail costs
// something ask first.
func (l *Log) Wants(k Kind) bool { return len(l.cases[k]) < maxCases }
