package v8profile

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
)

const (
	// maxNodes and maxSamples limit a profile. V8 stays far below: node ids have 32 bits, and a day at 1 ms has 86
	// million samples.
	maxNodes   = 1 << 26
	maxSamples = 1 << 28
	maxSlots   = 1 << 30
	// maxTime bounds times to 146 years, so that their sums do not overflow.
	maxTime = timeline.Nanos(math.MaxInt64 / 2)
)

// textIndex identifies a text of a profile; 0 is the empty string.
type textIndex uint32

// tickRange is a part of Profile.ticks.
type tickRange struct{ from, to uint32 }

// slot represents a node id. Ids can occur before their nodes: as children, parents or samples.
type slot uint32

// noSlot represents no id.
const noSlot = slot(math.MaxUint32)

// draft is a profile being read. Nodes, samples and times come in pieces, in any order.
type draft struct {
	slots   slotTable
	nodes   []draftNode
	defined []int32 // by slot: the last node with the id, or -1
	child   []slot  // the child lists of all nodes

	texts     map[string]textIndex
	textList  []string
	textBytes int
	functions map[functionKey]FunctionIndex
	list      []Function
	ticks     []LineTicks

	spool          *spool // stores the samples
	samples        column // slots
	times          column // since the start
	lastTime       timeline.Nanos
	lines, columns positions
	err            error             // first error from the spool
	traceIDs       map[uint64]uint32 // slots; the Profile has nodes instead

	source     string
	start, end bound
	legacy     bool           // start and end are in seconds
	absolute   bool           // times are not relative to the start
	offset     timeline.Nanos // added to absolute times
	lostRoot   bool           // the last node replaces the root, which the data lacks
	found      findings
}

// bound is the start or the end of a profile in both possible units.
type bound struct {
	micros, seconds       timeline.Nanos
	hasMicros, hasSeconds bool
}

// draftNode is a node of the input.
type draftNode struct {
	id          int64
	slot        slot  // noSlot if the node has no id, which is possible only in legacy trees
	parent      slot  // noSlot if unknown
	parentAt    int32 // index of the parent in a legacy tree, otherwise -1
	function    FunctionIndex
	deopt       textIndex
	hits        int64 // -1 if unknown
	children    tickRange
	hasChildren bool
	ticks       tickRange
}

// findings counts problems until the position for reporting them is known.
type findings struct {
	mismatched  int // pieces with different numbers of samples and times, or with more positions
	timeless    int // 1 if no sample has a time
	badValues   int // values of the wrong type or out of range
	badNodes    int // nodes without a usable id
	overLimit   int
	redefined   int // nodes whose id was defined again
	unreachable int // nodes whose parents do not lead to the root
	adopted     int // nodes with unknown parents in a profile without a root
	doubled     int // nodes listed as a child more than once, or below themselves
	unknown     int // samples with unknown nodes
	backwards   int // samples earlier than the previous one
	tooFar      int // samples whose times are relative to an out-of-range start
}

// functionKey identifies a Function.
type functionKey struct {
	name, url, script, codeType textIndex
	line, column                int32
}

// newDraft returns an empty draft that stores its samples in a spool.
func newDraft(s *spool) *draft {
	return &draft{
		spool: s,
		texts: map[string]textIndex{"": 0}, textList: []string{""},
		functions: map[functionKey]FunctionIndex{},
	}
}

// bytes returns the approximate memory use of the draft and of the Profile built from it.
func (d *draft) bytes() int64 {
	const (
		perSample   = 24 // in files: used by packages profilecalls and cpuprofile
		perNode     = 160
		perText     = 96
		perFunction = 160
		perTraceID  = 80
	)
	samples := d.samples.bytes() + d.times.bytes() + d.lines.bytes() + d.columns.bytes()
	if d.spool.limit == 0 {
		samples += int64(max(d.samples.n, d.times.n)) * perSample
	}
	return samples + int64(len(d.nodes)+int(d.slots.n))*perNode + int64(len(d.child))*8 +
		int64(len(d.textList))*perText + int64(d.textBytes) +
		int64(len(d.list))*perFunction + int64(len(d.ticks))*16 + int64(len(d.traceIDs))*perTraceID
}

// text returns the index of a text.
func (d *draft) text(b []byte) textIndex {
	if t, ok := d.texts[string(b)]; ok {
		return t
	}
	t := textIndex(len(d.textList))
	s := string(b)
	d.texts[s] = t
	d.textList = append(d.textList, s)
	d.textBytes += len(s)
	return t
}

// function returns the index of a function.
func (d *draft) function(k functionKey) FunctionIndex {
	if f, ok := d.functions[k]; ok {
		return f
	}
	f := FunctionIndex(len(d.list))
	d.functions[k] = f
	d.list = append(d.list, Function{
		Name: d.textList[k.name], URL: d.textList[k.url], ScriptID: d.textList[k.script], CodeType: d.textList[k.codeType],
		Line: k.line, Column: k.column,
	})
	return f
}

// define adds a node. Of several nodes with the same id, the last counts.
func (d *draft) define(n draftNode) {
	if len(d.nodes) >= maxNodes {
		d.found.overLimit++
		return
	}
	d.nodes = append(d.nodes, n)
	d.defineAt(int32(len(d.nodes) - 1))
}

// defineAt registers a stored node under its id.
func (d *draft) defineAt(at int32) {
	s := d.nodes[at].slot
	if s == noSlot {
		d.found.overLimit++
		return
	}
	for len(d.defined) <= int(s) {
		d.defined = append(d.defined, -1)
	}
	if d.defined[s] >= 0 {
		d.found.redefined++
	}
	d.defined[s] = at
}

// node returns the node of a slot, or -1.
func (d *draft) node(s slot) int32 {
	if int64(s) >= int64(len(d.defined)) {
		return -1
	}
	return d.defined[s]
}

// addSample adds a sample of the node with an id.
func (d *draft) addSample(id int64) {
	if d.samples.n >= maxSamples {
		d.found.overLimit++
		return
	}
	d.setErr(d.samples.add(d.spool, uint64(d.slots.get(id))))
}

// setErr keeps the first error from the spool.
func (d *draft) setErr(err error) {
	if d.err == nil {
		d.err = err
	}
}

// addDelta adds the time of a sample, relative to the previous one.
func (d *draft) addDelta(delta timeline.Nanos) {
	if delta > maxTime || delta < -maxTime {
		d.found.badValues++
		delta = 0
	}
	d.addTime(d.lastTime + delta)
}

// addTime adds the time of a sample, relative to the start.
func (d *draft) addTime(ts timeline.Nanos) {
	if d.times.n >= maxSamples {
		d.found.overLimit++
		return
	}
	if ts < d.lastTime {
		d.found.backwards++
	}
	d.lastTime = min(max(ts, -maxTime), maxTime)
	d.setErr(d.times.addDifference(d.spool, int64(d.lastTime)))
}

// endPiece ends a piece of a profile, which is a ProfileChunk or a whole document: it aligns the lists of positions with
// the list of samples for the next piece.
func (d *draft) endPiece() {
	n := d.samples.n
	if n != d.times.n || n < d.lines.length || n < d.columns.length {
		d.found.mismatched++
	}
	d.setErr(d.lines.end(d.spool, n))
	d.setErr(d.columns.end(d.spool, n))
}

// denseIDs limits the ids that slotTable stores in a list. V8 numbers nodes from 1, so nearly all ids fit. sparseIDs
// limits the list of a table with few ids, so that one large id does not need a long list.
const (
	denseIDs  = 1 << 22
	sparseIDs = 1 << 10
)

// slotTable assigns slots to node ids.
type slotTable struct {
	dense  []slot         // by id: slot + 1, or 0
	sparse map[int64]slot // for ids outside dense
	n      slot
}

// get returns the slot of an id.
func (t *slotTable) get(id int64) slot {
	if id >= 0 && id < int64(len(t.dense)) && t.dense[id] != 0 {
		return t.dense[id] - 1
	}
	return t.add(id)
}

// add returns the slot of an id that is not in dense.
func (t *slotTable) add(id int64) slot {
	if s, ok := t.sparse[id]; ok {
		return s
	}
	if t.n >= maxSlots {
		return noSlot
	}
	s := t.n
	t.n++
	if id < 0 || id >= denseIDs || id >= int64(len(t.dense)) && id >= max(sparseIDs, 8*int64(t.n)) {
		if t.sparse == nil {
			t.sparse = map[int64]slot{}
		}
		t.sparse[id] = s
		return s
	}
	if id >= int64(len(t.dense)) {
		t.grow(min(denseIDs, max(64, 2*id)))
	}
	t.dense[id] = s + 1
	return s
}

// grow extends dense and moves the ids in its range there.
func (t *slotTable) grow(n int64) {
	t.dense = append(t.dense, make([]slot, n-int64(len(t.dense)))...)
	for id, s := range t.sparse {
		if id >= 0 && id < n {
			t.dense[id] = s + 1
			delete(t.sparse, id)
		}
	}
}
