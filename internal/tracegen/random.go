package tracegen

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
)

// Unfinished is the Dur of a slice that never ends.
const Unfinished = -1

// Slice is a slice or instant of a random trace, as a conversion should produce it.
type Slice struct {
	TID     int    // 0 for an asynchronous slice
	TS, Dur int64  // ns; Dur is 0 for an instant, Unfinished for a slice without end
	Depth   int    // number of enclosing slices; valid in nested traces only
	Name    string // unique in its trace
}

// Trace is a random trace: the JSON text and the expected result.
type Trace struct {
	JSON   []byte
	Slices []Slice // in no particular order
}

// The shape of random traces.
const (
	randomPid     = 77
	randomThreads = 3
	maxRandomNest = 40
)

// event is an event of a random trace.
type event struct {
	ts   int64
	text string
}

// Nested returns a random trace of about n slices that nest properly on their threads. It contains begin and end pairs, complete
// events, slices of length 0 and instants. Siblings touch, and children begin and end with their parents.
func Nested(seed uint64, n int) Trace {
	g := nester{r: newRand(seed)}
	for tid := 1; tid <= randomThreads; tid++ {
		g.tid, g.budget = tid, n/randomThreads
		for at := int64(g.r.IntN(1000)); g.budget > 0; at++ {
			at = g.node(at, at+int64(1+g.r.IntN(100_000)), 0)
		}
	}
	// Simultaneous events keep the order of the tree, in which a parent comes before its children. Otherwise any order is valid.
	slices.SortStableFunc(g.events, func(a, b event) int { return cmp.Compare(a.ts, b.ts) })
	return Trace{JSON: join(g.events), Slices: g.slices}
}

// OpenBegins returns a random trace of about n slices that nest properly on their threads, with Begin events without an End
// anywhere, as at the start and the end of Chrome's recordings. Some Begin and complete events are tasks. Slices contains only
// the complete slices. Events are in random order.
func OpenBegins(seed uint64, n int) Trace {
	g := nester{r: newRand(seed), open: true}
	for tid := 1; tid <= randomThreads; tid++ {
		g.tid, g.budget = tid, n/randomThreads
		for at := int64(g.r.IntN(1000)); g.budget > 0; {
			g.openBegin(at, 0)
			at = g.node(at, at+int64(1+g.r.IntN(100_000)), 0)
			g.openBegin(at, 0)
			at += g.r.Int64N(2) * g.r.Int64N(10_000)
		}
	}
	g.r.Shuffle(len(g.events), func(i, j int) { g.events[i], g.events[j] = g.events[j], g.events[i] })
	return Trace{JSON: join(g.events), Slices: g.slices}
}

// taskNames lists task names in Chrome's recordings.
var taskNames = []string{"RunTask", "ThreadController active"}

// maxOpen limits the number of slices in a random trace that never end: Perfetto nests at most 512.
const maxOpen = 20

// openBegin adds a few begins without an end, perhaps none.
func (g *nester) openBegin(at int64, depth int) {
	for g.r.IntN(3) == 0 {
		name := taskNames[g.r.IntN(len(taskNames))]
		if g.r.IntN(4) == 0 && (depth > 0 || g.opened < maxOpen) {
			name = "open"
			g.opened++
		}
		g.events = append(g.events, event{at, fmt.Sprintf(`{"name":"%s","cat":"c","pid":%d,"tid":%d,"ts":%s,"ph":"B"}`, name, randomPid, g.tid, appendMicros(nil, at))})
	}
}

// nester builds a tree of slices, depth first.
type nester struct {
	r      *rand.Rand
	open   bool // add begins without an end
	opened int
	tid    int
	budget int
	events []event
	slices []Slice
}

// node adds a slice for the interval [from, to], and the slice's children. It returns the end of the interval.
func (g *nester) node(from, to int64, depth int) int64 {
	g.budget--
	name := "n" + strconv.Itoa(len(g.slices))
	task := g.open && g.r.IntN(3) == 0
	if task {
		name = taskNames[g.r.IntN(len(taskNames))]
	}
	g.slices = append(g.slices, Slice{TID: g.tid, TS: from, Dur: to - from, Depth: depth, Name: name})
	head := fmt.Sprintf(`{"name":"%s","cat":"c","pid":%d,"tid":%d,"ts":%s`, name, randomPid, g.tid, appendMicros(nil, from))
	if g.open && g.r.IntN(4) == 0 {
		head += fmt.Sprintf(`,"args":{"frame":"F%d"}`, g.r.IntN(3))
	}
	if task || g.r.IntN(2) == 0 {
		g.events = append(g.events, event{from, head + `,"ph":"X","dur":` + string(appendMicros(nil, to-from)) + "}"})
		g.children(from, to, depth)
		return to
	}
	g.events = append(g.events, event{from, head + `,"ph":"B"}`})
	g.children(from, to, depth)
	end := fmt.Sprintf(`{"ph":"E","pid":%d,"tid":%d,"ts":%s`, randomPid, g.tid, appendMicros(nil, to))
	if g.open || g.r.IntN(2) == 0 {
		end += `,"name":"` + name + `"`
	}
	g.events = append(g.events, event{to, end + "}"})
	return to
}

// children adds random children of a slice, one after another.
func (g *nester) children(from, to int64, depth int) {
	if depth >= maxRandomNest {
		return
	}
	at := from
	for g.budget > 0 && at < to && g.r.IntN(4) > 0 {
		if g.r.IntN(2) == 0 {
			at += g.r.Int64N(to - at) // otherwise the child touches its predecessor
		}
		if g.open {
			g.openBegin(at, depth+1)
		} else if g.r.IntN(4) == 0 {
			at = g.point(at, depth+1)
			continue
		}
		length := 1 + g.r.Int64N(to-at)
		if g.r.IntN(8) == 0 {
			length = to - at // ends together with its parent
		}
		at = g.node(at, at+length, depth+1)
	}
}

// point adds a slice or instant of length 0 and returns a later time: at the start of a longer slice, the point could be inside
// or before that slice, which would make the tree ambiguous.
func (g *nester) point(at int64, depth int) int64 {
	g.budget--
	name := "n" + strconv.Itoa(len(g.slices))
	g.slices = append(g.slices, Slice{TID: g.tid, TS: at, Depth: depth, Name: name})
	head := fmt.Sprintf(`{"name":"%s","pid":%d,"tid":%d,"ts":%s,"ph":`, name, randomPid, g.tid, appendMicros(nil, at))
	switch g.r.IntN(3) {
	case 0:
		g.events = append(g.events, event{at, head + `"X","dur":0}`})
	case 1:
		g.events = append(g.events, event{at, head + `"i","s":"t"}`})
	default:
		g.events = append(g.events, event{at, head + `"B"}`}, event{at, head + `"E"}`})
	}
	return at + 1
}

// Misnested returns a random trace of n slices without any structure: the slices overlap, cross and coincide, on threads and
// under shared asynchronous ids, in random order. Starts come before their ends in the file.
func Misnested(seed uint64, n int) Trace {
	r := newRand(seed)
	var t Trace
	var events []event
	for i := range n {
		s := Slice{TID: 1 + r.IntN(randomThreads), TS: int64(r.IntN(4 * n)), Name: "m" + strconv.Itoa(i)}
		s.Dur = int64(r.IntN(1 + r.IntN(2*n)))
		first, second := misnestedEvents(r, &s)
		// The events are sorted by a random position in the file, with the end after the start.
		position := r.Int64N(1000)
		events = append(events, event{position, first})
		if second != "" {
			events = append(events, event{position + r.Int64N(1000), second})
		}
		t.Slices = append(t.Slices, s)
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.ts, b.ts) })
	t.JSON = join(events)
	return t
}

// misnestedEvents encodes a slice in a random form, as one or two events, and adjusts the slice to that form.
func misnestedEvents(r *rand.Rand, s *Slice) (first, second string) {
	const form = `{"ph":"%s","name":"%s","cat":"c","pid":%d,"tid":%d,"ts":%s%s}`
	write := func(ph string, ts int64, more string) string {
		return fmt.Sprintf(form, ph, s.Name, randomPid, max(s.TID, 1), appendMicros(nil, ts), more)
	}
	switch r.IntN(8) {
	case 0:
		s.Dur = 0
		return write("i", s.TS, `,"s":"t"`), ""
	case 1, 2, 3:
		return write("X", s.TS, `,"dur":`+string(appendMicros(nil, s.Dur))), ""
	case 4:
		id := fmt.Sprintf(`,"id":"0x%x"`, r.IntN(5))
		s.TID = 0
		return write("b", s.TS, id), write("e", s.TS+s.Dur, id)
	case 5:
		id := fmt.Sprintf(`,"id2":{"local":"0x%x"}`, r.IntN(5))
		s.TID = 0
		return write("b", s.TS, id), write("e", s.TS+s.Dur, id)
	}
	return write("B", s.TS, ""), write("E", s.TS+s.Dur, "")
}

// join encodes events as a trace in array form.
func join(events []event) []byte {
	var b bytes.Buffer
	b.WriteByte('[')
	for i, e := range events {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
		b.WriteString(e.text)
	}
	b.WriteString("\n]\n")
	return b.Bytes()
}
