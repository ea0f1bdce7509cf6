package timeline

import (
	"cmp"
	"context"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/problem"
)

// matcher pairs begins with ends, in the order of time and, at one time, of the input (spec chrome-json.md 8, 9.1, 11).
//
// Begins wait on a stack: one for every thread and other track, and one for every asynchronous id over all processes.
// An end takes the innermost begin that fits its name and category; it need not be the innermost one of all.
type matcher struct {
	t        *Timeline
	problems *problem.Log
	stackOf  []int32       // by track, or group of asynchronous tracks: index into stacks; 0: no stack
	stacks   [][]openBegin // the first is not used
	spare    []int32       // stacks that are empty and belong to no track

	ordinal uint64
	// found takes the lengths of begins that are on disk, to be joined with their records by the next pass.
	found *extsort.Sorter[foundEnd]
}

// openBegin is a begin without end so far.
type openBegin struct {
	name     NameID
	category CategoryID
	event    uint32
	track    TrackID
	ts       Nanos
	record   *record // where it is, in memory
	ordinal  uint64  // which one it is, on disk
}

// foundEnd says how long the slice that the record with the given ordinal begins is.
type foundEnd struct {
	ordinal uint64
	dur     Nanos
}

var foundEndCodec = extsort.Codec[foundEnd]{
	Size: 16,
	Put: func(b []byte, v *foundEnd) {
		binary.LittleEndian.PutUint64(b, v.ordinal)
		binary.LittleEndian.PutUint64(b[8:], uint64(v.dur))
	},
	Get: func(b []byte, v *foundEnd) {
		v.ordinal = binary.LittleEndian.Uint64(b)
		v.dur = Nanos(binary.LittleEndian.Uint64(b[8:]))
	},
}

// maxSearch bounds how deep an end is searched for in a stack of begins.
const maxSearch = 1 << 14

// match runs the pass. Afterwards every End and, unless found is returned, every Begin knows the length of its slice.
func (t *Timeline) match(ctx context.Context) (*extsort.Sorter[foundEnd], error) {
	if !t.unmatched {
		return nil, nil
	}
	m := &matcher{t: t, problems: t.opts.Problems, stackOf: make([]int32, len(t.table.tracks)), stacks: make([][]openBegin, 1)}
	if d, ok := t.store.(*disk); ok {
		m.found = extsort.New(foundEndCodec, func(a, b *foundEnd) int { return cmp.Compare(a.ordinal, b.ordinal) },
			t.opts.Memory/8, d.dir)
	}
	n := 0
	err := t.store.groups(true, func(g *group) error {
		if n++; n%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for i := range g.len() {
			r := g.at(i)
			r.track = t.table.resolve(r.track)
			if err := m.record(r, g.mem != nil); err != nil {
				return err
			}
			m.ordinal++
		}
		return nil
	})
	return m.found, err
}

func (m *matcher) record(r *record, inMemory bool) error {
	row := &m.t.table.tracks[r.track]
	scope := r.track
	if row.kind == AsyncTrack {
		scope = m.t.table.asyncs[row.index].group
	}
	switch r.kind {
	case Begin:
		o := openBegin{name: r.name, category: r.category, event: r.event, track: r.track, ts: r.ts, ordinal: m.ordinal}
		if inMemory {
			o.record = r
		}
		i := m.stackOf[scope]
		if i == 0 {
			i = m.newStack()
			m.stackOf[scope] = i
		}
		m.stacks[i] = append(m.stacks[i], o)
	case End:
		return m.end(r, scope, row)
	case Slice:
	case Instant:
		if row.kind == AsyncTrack {
			m.moveToOpen(r, scope)
		}
	default:
		return nil
	}
	if row := &m.t.table.tracks[r.track]; row.name == 0 && m.t.table.namedByEvent(row) {
		m.t.nameTrack(r.track, r)
	}
	return nil
}

// end closes the begin that belongs to r.
func (m *matcher) end(r *record, scope TrackID, row *track) error {
	at := m.stackOf[scope]
	stack := m.stacks[at]
	i := m.find(stack, r, row)
	if i < 0 {
		m.unmatched(r, row)
		return nil
	}
	o := &stack[i]
	r.dur = r.ts - o.ts
	r.b = int64(o.event)
	r.flags |= flagMatched
	if o.track != r.track {
		m.t.count(problem.AsyncCrossProcess, r)
		r.track = o.track
	}
	var err error
	if o.record != nil {
		o.record.dur = r.dur
		o.record.flags |= flagMatched
	} else {
		err = m.found.Add(foundEnd{o.ordinal, r.dur})
	}
	copy(stack[i:], stack[i+1:])
	m.stacks[at] = stack[:len(stack)-1]
	if len(stack) == 1 && row.kind == AsyncTrack { // most ids are used once
		m.stackOf[scope] = 0
		m.spare = append(m.spare, at)
	}
	return err
}

func (m *matcher) newStack() int32 {
	if n := len(m.spare); n > 0 {
		i := m.spare[n-1]
		m.spare = m.spare[:n-1]
		return i
	}
	m.stacks = append(m.stacks, nil)
	return int32(len(m.stacks) - 1)
}

// unmatched takes an end without begin out of the trace, or makes an instant of it.
func (m *matcher) unmatched(r *record, row *track) {
	switch {
	case r.flags&flagKeepEnd != 0:
		m.t.count(problem.ObjectEndWithoutBegin, r)
		r.kind = Instant
		return
	case row.kind == AsyncTrack:
		m.t.count(problem.AsyncEndWithoutBegin, r)
	default:
		m.t.count(problem.EndWithoutBegin, r)
	}
	r.kind = dropped
}

// find returns the index of the begin that r ends, or -1. Asynchronous begins of the own process come first.
func (m *matcher) find(stack []openBegin, r *record, row *track) int {
	ignoreName := row.kind == AsyncTrack && m.t.table.asyncs[row.index].key.kind == AsyncLegacy
	foreign := -1
	for i, n := len(stack)-1, 0; i >= 0 && n < maxSearch; i, n = i-1, n+1 {
		o := &stack[i]
		if r.name != 0 && o.name != r.name && !ignoreName {
			continue
		}
		if row.kind != AsyncTrack && r.category != 0 && o.category != r.category {
			continue
		}
		if o.track == r.track {
			return i
		}
		if foreign < 0 {
			foreign = i
		}
	}
	return foreign
}

// moveToOpen puts an instant of an asynchronous id into the process in which a slice of the id is open, if its own
// process has none.
func (m *matcher) moveToOpen(r *record, scope TrackID) {
	stack := m.stacks[m.stackOf[scope]]
	for i, n := len(stack)-1, 0; i >= 0 && n < maxSearch; i, n = i-1, n+1 {
		if stack[i].track == r.track {
			return
		}
	}
	if len(stack) > 0 {
		r.track = stack[len(stack)-1].track
		m.t.table.tracks[r.track].used = true
	}
}
