package v8profile

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
)

const (
	// maxNodes and maxSamples bound a profile, whatever its input says. V8's own limits are far below: node ids have 32
	// bits, and a day of samples at 1 ms are 86 million.
	maxNodes   = 1 << 26
	maxSamples = 1 << 28
	maxSlots   = 1 << 30
	// maxTime bounds times, so that sums of them do not overflow: 146 years.
	maxTime = timeline.Nanos(math.MaxInt64 / 2)
)

// textIndex identifies a text of a profile; 0 is the empty text.
type textIndex uint32

// tickRange is a part of Profile.ticks.
type tickRange struct{ from, to uint32 }

// slot stands for a node id. Ids are known before their nodes are: as children, parents, samples.
type slot uint32

// noSlot is not a slot.
const noSlot = slot(math.MaxUint32)

// draft is a profile that is being read. Nodes, samples and times come in pieces, in any order.
type draft struct {
	slots   slotTable
	nodes   []draftNode
	defined []int32 // of each slot: the last node with its id, -1 if there is none
	child   []slot  // the children lists of all nodes

	texts     map[string]textIndex
	textList  []string
	textBytes int
	functions map[functionKey]FunctionIndex
	list      []Function
	ticks     []LineTicks

	spool          *spool // has the samples
	samples        column // slots
	times          column // since the start
	now            timeline.Nanos
	lines, columns positions
	err            error             // of the spool
	traceIDs       map[uint64]uint32 // slots; the Profile has nodes instead

	source     string
	start, end bound
	legacy     bool           // start and end are in seconds
	absolute   bool           // times do not count from the start
	offset     timeline.Nanos // added to them then
	lostRoot   bool           // the last node stands for the root, which is not in the data
	found      findings
}

// bound is the start or the end of a profile as it was read, in both units that it may have.
type bound struct {
	micros, seconds       timeline.Nanos
	hasMicros, hasSeconds bool
}

// draftNode is a node as it was read.
type draftNode struct {
	id          int64
	slot        slot  // noSlot if the node has no id, which only nodes of legacy trees may lack
	parent      slot  // noSlot if there is none
	parentAt    int32 // in a legacy tree the place of the parent among the nodes, otherwise -1
	function    FunctionIndex
	deopt       textIndex
	hits        int64 // -1 if the node does not say
	children    tickRange
	hasChildren bool
	ticks       tickRange
}

// findings counts what was found wrong, until it is known where to report it.
type findings struct {
	mismatched  int // pieces after which samples and times differed in number, or there were more positions
	timeless    int // 1 if no sample has a time
	badValues   int // values of a wrong type or size
	badNodes    int // nodes without usable id
	overLimit   int
	redefined   int // nodes whose id came again
	unreachable int // nodes whose parents do not lead to the root
	adopted     int // nodes with unknown parents in a profile without its root
	doubled     int // nodes that are listed as a child more than once, or below themselves
	unknown     int // samples whose node is not known
	backwards   int // samples that are earlier than the one before
	tooFar      int // samples that count from a start that is out of range
}

// functionKey identifies a Function.
type functionKey struct {
	name, url, script, codeType textIndex
	line, column                int32
}

// newDraft returns an empty draft whose samples go to a spool.
func newDraft(s *spool) *draft {
	return &draft{
		spool: s,
		texts: map[string]textIndex{"": 0}, textList: []string{""},
		functions: map[functionKey]FunctionIndex{},
	}
}

// bytes returns about what the draft, and the Profile that it becomes, take in memory.
func (d *draft) bytes() int64 {
	const (
		perSample   = 24 // of a file: what packages profilecalls and cpuprofile have of it
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

// define adds a node. The last of several nodes with one id counts.
func (d *draft) define(n draftNode) {
	if len(d.nodes) >= maxNodes {
		d.found.overLimit++
		return
	}
	d.nodes = append(d.nodes, n)
	d.defineAt(int32(len(d.nodes) - 1))
}

// defineAt makes a node that has its place known by its id.
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

// node returns the node of a slot, -1 if there is none.
func (d *draft) node(s slot) int32 {
	if int64(s) >= int64(len(d.defined)) {
		return -1
	}
	return d.defined[s]
}

// addSample adds the sample of a node id.
func (d *draft) addSample(id int64) {
	if d.samples.n >= maxSamples {
		d.found.overLimit++
		return
	}
	d.note(d.samples.add(d.spool, uint64(d.slots.get(id))))
}

// note keeps the first error of the spool.
func (d *draft) note(err error) {
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
	d.addTime(d.now + delta)
}

// addTime adds the time of a sample, relative to the start.
func (d *draft) addTime(ts timeline.Nanos) {
	if d.times.n >= maxSamples {
		d.found.overLimit++
		return
	}
	if ts < d.now {
		d.found.backwards++
	}
	d.now = min(max(ts, -maxTime), maxTime)
	d.note(d.times.addDifference(d.spool, int64(d.now)))
}

// endPiece ends a piece of a profile, a ProfileChunk or a whole document: the lists of positions become as long as the list of
// samples, so that the next piece's are beside their samples.
func (d *draft) endPiece() {
	n := d.samples.n
	if n != d.times.n || n < d.lines.length || n < d.columns.length {
		d.found.mismatched++
	}
	d.note(d.lines.end(d.spool, n))
	d.note(d.columns.end(d.spool, n))
}

// denseIDs is the number of node ids that slotTable keeps in a list. V8 numbers nodes from 1, so nearly all are there.
// sparseIDs bounds the list for tables of few ids: one large id makes no long list.
const (
	denseIDs  = 1 << 22
	sparseIDs = 1 << 10
)

// slotTable gives node ids their slots.
type slotTable struct {
	dense  []slot         // by id, one more than the slot; 0 if there is none
	sparse map[int64]slot // of ids that are not within dense
	n      slot
}

// get returns the slot of an id.
func (t *slotTable) get(id int64) slot {
	if id >= 0 && id < int64(len(t.dense)) && t.dense[id] != 0 {
		return t.dense[id] - 1
	}
	return t.add(id)
}

// add returns the slot of an id that is not in the list yet.
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

// grow makes the list longer, which then has the ids within it.
func (t *slotTable) grow(n int64) {
	grown := make([]slot, n)
	copy(grown, t.dense)
	t.dense = grown
	for id, s := range t.sparse {
		if id >= 0 && id < n {
			t.dense[id] = s + 1
			delete(t.sparse, id)
		}
	}
}
