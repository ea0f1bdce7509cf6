package timeline

import (
	"cmp"

	"github.com/weft-trace/weft/internal/extsort"
)

// Opened is a slice that Builder.AddOpened began.
type Opened struct {
	ts        Nanos
	cpu       CPUTime
	event     uint32
	place     uint32 // among the records in memory
	spills    uint32 // how often the Builder had spilled before; if it has since, the record is on disk
	didNotEnd bool
}

// AddOpened adds an event of kind Begin of which the caller finds the end itself, because it sees what begins and ends on the track in
// the order of time: EndOpened gives the slice its length, and no record of the end is needed then. Without that it is like any other
// Begin, for which an event of kind End may come. The track is no AsyncTrack.
func (b *Builder) AddOpened(ev *Event) (Opened, error) {
	if b.opts.Observer != nil {
		return Opened{ts: ev.TS, event: ev.Event}, b.Add(ev)
	}
	given := ev
	if b.inputs != nil {
		if ev = b.adjust(ev); ev == nil {
			return Opened{ts: NoTime}, nil
		}
	}
	o := Opened{
		ts: ev.TS, cpu: ev.ThreadTS, event: ev.Event, place: uint32(b.records.len()), spills: b.spills, didNotEnd: ev.DidNotEnd,
	}
	unmatched := b.unmatched
	err := b.add(ev)
	b.unmatched = unmatched
	b.opened++
	if b.inputs != nil && err == nil {
		err = b.watch(given)
	}
	return o, err
}

// EndOpened ends a slice with ev, an event of kind End on its track. The slice is then one that came as one event and keeps its place
// (Event.InOrder). It returns false, and has done nothing, if that cannot say all that ev says: then it is for Add.
func (b *Builder) EndOpened(o *Opened, ev *Event) (done bool, err error) {
	if b.opts.Observer != nil {
		b.opts.Observer.Event(ev)
		return true, nil
	}
	if o.ts == NoTime { // it was before time 0
		return true, nil
	}
	if b.inputs != nil {
		if ev = b.adjust(ev); ev == nil {
			return false, nil
		}
	}
	from, known := o.cpu.Nanos()
	to, ends := ev.ThreadTS.Nanos()
	switch {
	case ev.TS < o.ts, ends && !(known && 0 <= from && from <= to), o.didNotEnd, ev.flags() != 0:
		return false, nil
	case len(ev.Name) > 0, len(ev.Category) > 0, len(ev.Args) > 0, len(ev.Screenshot) > 0, ev.Callstack != 0:
		return false, nil
	}
	e := openedEnd{ts: o.ts, event: o.event, dur: ev.TS - o.ts}
	b.fractions.times = b.fractions.times || ev.TS%Microsecond != 0
	if ends {
		e.cpu = NewCPUTime(to - from)
		b.fractions.threadTimes = b.fractions.threadTimes || to%Microsecond != 0
	}
	b.next = max(b.next, ev.Event+1)
	b.opened--
	if o.spills == b.spills {
		e.apply(b.records.at(o.place))
		return true, nil
	}
	if b.late == nil {
		b.late = extsort.New(byBegin, b.opts.Memory/64, b.opts.TempDir)
	}
	return true, b.late.Add(e)
}

// openedEnd is what the record of a slice gets when that ends.
type openedEnd struct {
	ts    Nanos // of the begin
	dur   Nanos
	cpu   CPUTime // that the slice used
	event uint32  // of the begin
}

func (e *openedEnd) apply(r *record) {
	r.setKind(Slice)
	r.dur = e.dur
	r.setThreadTimes(CPUTime{Nanos(r.a)}, e.cpu)
	r.flags |= flagInOrder
}

var byBegin = extsort.Order[openedEnd]{Compare: func(a, b *openedEnd) int {
	return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.event, b.event))
}}

// lateEnds are the ends of slices whose records were on disk already. The pass that merges those joins them.
type lateEnds struct {
	sorted *extsort.Sorter[openedEnd] // nil: there are none
	next   openedEnd                  // if there is more
	more   bool
	now    Nanos
	at     map[uint32]openedEnd // those of slices that begin now, by the event
}

// start reads the first end.
func (l *lateEnds) start() (err error) {
	if l.sorted != nil {
		l.more, err = l.sorted.Next(&l.next)
	}
	return err
}

// join gives the next record in the order of time its end, if that came late.
func (l *lateEnds) join(r *record) error {
	if l.sorted == nil {
		return nil
	}
	if r.ts != l.now {
		clear(l.at)
		l.now = r.ts
	}
	for l.more && l.next.ts <= r.ts {
		if l.at == nil {
			l.at = map[uint32]openedEnd{}
		}
		l.at[l.next.event] = l.next
		var err error
		if l.more, err = l.sorted.Next(&l.next); err != nil {
			return err
		}
	}
	if len(l.at) > 0 && r.Kind() == Begin {
		if e, ok := l.at[r.event]; ok {
			e.apply(r)
		}
	}
	return nil
}

func (l *lateEnds) close() error {
	if l.sorted == nil {
		return nil
	}
	return l.sorted.Close()
}
