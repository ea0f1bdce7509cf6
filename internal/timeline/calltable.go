package timeline

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/weft-trace/weft/internal/collections"
)

// callRow is a slice of a template that Builder.BeginCall added: a call that was made of samples. There are millions of
// them. In memory they are rows of a table beside the records, little more than half as large; passes get records. They are added as
// they begin, so they are in the order of time, while records would be added as calls end.
type callRow struct {
	ts, dur  Nanos
	event    uint32
	track    TrackID
	lane     uint32
	template TemplateID // with the flags below
	numbers  [2]uint32  // one more than the first number, and the second; or a payload with arguments
}

const (
	callArgs      TemplateID = 1 << 31 // numbers are the place of arguments
	callOutermost TemplateID = 1 << 30 // flagOutermost
	callOpen      TemplateID = 1 << 29 // the end is not known
	callFlags                = callArgs | callOutermost | callOpen

	// callPlace marks places of calls among those of records.
	callPlace = 1 << 31

	callSize = int64(unsafe.Sizeof(callRow{}))
)

// callTable holds callRows in memory.
type callTable struct {
	rows      collections.List[callRow]
	time      timeOrder
	templates *templateTable
	open      []uint32 // by CallID-1: the row; noRow: that has ended
	free      []CallID // that may be given again
}

const noRow = math.MaxUint32

// CallID identifies a call that has begun; 0 is "none".
type CallID uint32

func (t *callTable) len() int { return t.rows.Len() }

// size returns the bytes of memory that the calls take that have ended, with two lists of places. Open ones stay in any case.
func (t *callTable) size() int64 {
	return int64(t.rows.Len()-len(t.open)+len(t.free)) * (callSize + t.time.size() + bytesPerPlace)
}

func (t *callTable) at(place uint32) *callRow { return t.rows.At(int(place &^ callPlace)) }

// add adds a call that begins.
func (t *callTable) add(c callRow) CallID {
	row := uint32(t.rows.Len())
	t.time.add(int(row), c.ts)
	t.rows.Append(c)
	if n := len(t.free); n > 0 {
		id := t.free[n-1]
		t.free = t.free[:n-1]
		t.open[id-1] = row
		return id
	}
	t.open = append(t.open, row)
	return CallID(len(t.open))
}

// end returns the row of a call that ends.
func (t *callTable) end(id CallID) *callRow {
	c := t.rows.At(int(t.open[id-1]))
	t.open[id-1], t.free = noRow, append(t.free, id)
	c.template &^= callOpen
	return c
}

// sorted returns the places of the calls in the order of time, those excepted that are open.
func (t *callTable) sorted() []uint32 {
	order := t.time.appendTo(nil, t.rows.Len(), func(i uint32) Nanos { return t.rows.At(int(i)).ts })
	kept := order[:0]
	for _, i := range order {
		if t.rows.At(int(i)).template&callOpen == 0 {
			kept = append(kept, i|callPlace)
		}
	}
	return kept
}

// reset forgets all calls that have ended, and keeps the memory.
func (t *callTable) reset() {
	if t.rows.Len() == 0 {
		return
	}
	var ids []CallID
	for i, row := range t.open {
		if row != noRow {
			ids = append(ids, CallID(i+1))
		}
	}
	slices.SortFunc(ids, func(a, b CallID) int { return cmp.Compare(t.open[a-1], t.open[b-1]) })
	open := make([]callRow, len(ids))
	for i, id := range ids {
		open[i] = *t.rows.At(int(t.open[id-1]))
	}
	t.rows.Truncate(0)
	t.time.reset()
	for i, id := range ids {
		t.time.add(i, open[i].ts)
		t.rows.Append(open[i])
		t.open[id-1] = uint32(i)
	}
}

// load makes r the record of a call.
func (t *callTable) load(place uint32, r *record) {
	c := t.at(place)
	id := c.template &^ callFlags
	tmpl := &t.templates.all[id-1]
	*r = record{
		ts: c.ts, dur: c.dur, offset: noOffset, event: c.event, track: c.track, name: tmpl.name, category: tmpl.category,
		lane: c.lane, flags: flagsOf(Slice) | flagDerived,
	}
	if c.template&callOutermost != 0 {
		r.flags |= flagOutermost
	}
	if c.template&callArgs != 0 {
		r.flags |= flagArgs
		r.payload = uint64(c.numbers[0])<<32 | uint64(c.numbers[1])
		return
	}
	r.flags |= flagTemplate
	r.setTemplate(id, [2]int64{int64(c.numbers[0]) - 1, int64(c.numbers[1])})
}

// save notes what nesting finds out about a call.
func (t *callTable) save(place uint32, r *record) {
	c := t.at(place)
	c.lane, c.track = r.lane, r.track
	if r.flags&flagOutermost != 0 {
		c.template |= callOutermost
	}
}

// copiedGroup hands over groups in which there are calls, as copies.
type copiedGroup struct {
	m      *memory
	g      group
	places []uint32
}

// each calls fn for what is at the given places. With rewrite, it keeps what fn changes.
func (c *copiedGroup) each(order []uint32, rewrite bool, fn func(g *group) error) error {
	c.g.buf, c.g.order = slices.Grow(c.g.buf[:0], len(order))[:len(order)], c.g.order[:0]
	for i, place := range order {
		c.m.load(place, &c.g.buf[i])
		c.g.order = append(c.g.order, uint32(i))
	}
	if err := fn(&c.g); err != nil || !rewrite {
		return err
	}
	c.places = append(c.places[:0], order...)
	for i, from := range c.g.order {
		order[i] = c.places[from]
		c.m.save(order[i], &c.g.buf[from])
	}
	return nil
}

// BeginCall adds a slice of a template that begins, to a Builder of Extend, as the slice of Event.Template whose end and second
// number are not known yet: EndCall says them. It returns 0, and adds nothing, if a number is too large.
func (b *Builder) BeginCall(template TemplateID, track TrackID, ts Nanos, event uint32, number int64) (CallID, error) {
	if !b.derived || number < -1 || number >= math.MaxUint32 {
		return 0, nil
	}
	b.fractions.times = b.fractions.times || ts%Microsecond != 0
	b.next = max(b.next, event+1)
	row := &b.table.tracks[track]
	row.used = true
	b.unmatched = b.unmatched || row.kind == AsyncTrack
	b.records.calls.templates = b.templates
	id := b.records.calls.add(callRow{
		ts: ts, event: event, track: track, template: template | callOpen, numbers: [2]uint32{uint32(number + 1), 0},
	})
	return id, b.added()
}

// EndCall ends a call. args, if there are any, are its arguments instead of those of the template, with both numbers.
func (b *Builder) EndCall(id CallID, dur Nanos, number int64, args Args) {
	c := b.records.calls.end(id)
	c.dur = min(dur, math.MaxInt64-c.ts)
	b.fractions.times = b.fractions.times || c.dur%Microsecond != 0
	c.numbers[1] = uint32(min(max(number, 0), math.MaxUint32))
	if len(args) > 0 {
		place := b.records.addPayload(args)
		c.template |= callArgs
		c.numbers = [2]uint32{uint32(place >> 32), uint32(place)}
	}
}
