package timeline

import (
	"cmp"
	"context"
	"errors"
	"io"
	"runtime"
	"slices"

	"github.com/weft-trace/weft/internal/extsort"
)

// Sampling is the data that a pass needs to merge an event with its thread's samples into one sequence (profile-calls.md 5).
type Sampling struct {
	// TraceID is the id under which a sampler recorded the thread's stack for this event; 0: none.
	TraceID uint64
	// Thread is the thread on which the event happened if the event is on another track; 0 means the event's Track.
	Thread TrackID
	// Skip excludes the event from the sequence; it is set for an instant with phase I and no TraceID.
	Skip bool
}

// Extend lets a pass add slices derived from the records. It calls fn for one timestamp after another with the starts of slices
// and instants, and at the end once more, without starts. Within a timestamp, the starts are ordered by their end, latest first,
// and then as in the input; their ordinals are not known yet. Extend must be called before Nest, at most once. It returns errors
// from fn.
//
// The Builder accepts slices on existing tracks, in any order. Added slices enclose the input's slices with the same start and
// end; among several added slices, the one with the lowest Event is outermost. Added zero-length slices enclose those with a
// higher Event.
func (t *Timeline) Extend(ctx context.Context, fn func(starts []Head, b *Builder) error) error {
	found, err := t.match(ctx)
	if found != nil {
		defer found.Close()
	}
	if err != nil {
		return err
	}
	t.unmatched = false
	b := t.extensionBuilder()
	defer b.Close()
	o := occurrences{t: t}
	join := joiner{found: found}
	err = t.groups(ctx, found != nil, func(g *group) error {
		if err := join.group(g); err != nil {
			return err
		}
		starts, err := o.starts(g)
		if err != nil || len(starts) == 0 {
			return err
		}
		return fn(starts, b)
	})
	if err == nil {
		err = fn(nil, b)
	}
	if err != nil {
		return err
	}
	t.fractions.times = t.fractions.times || b.fractions.times
	t.fractions.threadTimes = t.fractions.threadTimes || b.fractions.threadTimes
	t.endings = t.endings || b.endings
	t.fractions.largeThreadTimes = t.fractions.largeThreadTimes || b.fractions.largeThreadTimes
	return t.mergeExtension(ctx, b)
}

// extensionBuilder returns a Builder for records to be merged with the timeline's.
func (t *Timeline) extensionBuilder() *Builder {
	b := &Builder{
		tables: t.tables, args: t.encoder(), sampled: new(sampleTable), derived: true, limit: max(t.opts.Memory/10, minRunMemory), reserved: new(int64),
	}
	b.next = t.next // new events are numbered after the existing ones
	if base, ok := t.store.(*memory); ok {
		b.limit = max(b.limit, extendedMemory(t.opts)-base.size()-t.sampled.size())
		b.records.arenaBase = len(base.arena) // see memory.join
	}
	return b
}

// extendedMemory is the memory limit for the records of a timeline and its extension together.
func extendedMemory(opts Options) int64 { return opts.Memory / 10 * 6 }

// starts returns the slices and instants in a group, except those with Skip, in the order that Extend passes them on.
func (o *occurrences) starts(g *group) ([]Head, error) {
	o.out = o.out[:0]
	for i := range g.len() {
		r := g.at(i)
		if !r.starts() || r.flags&flagSkip != 0 {
			continue
		}
		o.out = append(o.out, Head{})
		if err := o.fill(&o.out[len(o.out)-1], r, NoOrdinal, false); err != nil {
			return nil, err
		}
		if len(o.t.inputs) > 1 && o.t.BindsFlows(r.track) {
			o.out[len(o.out)-1].Thread = r.track // the track of one input's events on the thread
		}
	}
	if len(o.out) > 1 {
		slices.SortStableFunc(o.out, func(a, b Head) int { return cmp.Compare(b.endOrStart(), a.endOrStart()) })
	}
	return o.out, nil
}

// endOrStart returns the end of a slice. Instants and slices that never end count as zero-length (profile-calls.md 5).
func (o *Head) endOrStart() Nanos {
	if o.End == NoTime {
		return o.TS
	}
	return o.End
}

// mergeExtension merges the records of an extension with the timeline's.
func (t *Timeline) mergeExtension(ctx context.Context, b *Builder) error {
	if b.records.len() == 0 && b.runs == nil {
		return nil
	}
	t.ordered = false
	base, inMemory := t.store.(*memory)
	if inMemory && b.runs == nil && base.size()+b.records.size()+t.sampled.size() <= extendedMemory(t.opts) {
		b.records.sort()
		b.records.time = timeOrder{}
		base.join(&b.records)
		return ctx.Err()
	}
	if b.records.len() > 0 {
		if err := b.spill(); err != nil {
			return err
		}
	}
	b.records = memory{} // everything is on disk now, see Finish
	if inMemory {
		// The timeline's records precede simultaneous records from the extension, so they form the first run.
		d, err := base.toDisk(t.opts)
		if err != nil {
			return err
		}
		t.store = d
		if err := t.sampled.toDisk(t.opts); err != nil {
			return err
		}
	}
	if err := t.store.(*disk).mergeWith(b.runs, t.opts); err != nil {
		return err
	}
	b.runs = nil
	runtime.GC()
	return ctx.Err()
}

// join moves the records and payloads of other to m and empties other. Records from other follow simultaneous records of m. Both
// must be sorted, and other's payloads must be numbered after m's.
func (m *memory) join(other *memory) {
	shift := uint32(m.records.Join(&other.records))
	for i := range other.order {
		other.order[i] += shift
	}
	if n := len(m.arena); n > 0 {
		m.arenaBytes += int64(cap(m.arena[n-1]) - len(m.arena[n-1]))
	}
	m.order, m.count = m.mergeOrders(m.order, other.order), m.count+other.count
	m.arena, m.arenaBytes = append(m.arena, other.arena...), m.arenaBytes+other.arenaBytes
	*other = memory{}
}

// toDisk writes everything to disk as one run in time order and empties the memory.
func (m *memory) toDisk(opts Options) (*disk, error) {
	r, err := newRuns(opts.TempDir)
	if err != nil {
		return nil, err
	}
	d := &disk{dir: opts.TempDir, records: r.records, count: m.len(), payloads: newPayloadReader(r.payloads, 1), runs: 1}
	if err := errors.Join(r.write(m), r.records.flush(), r.payloads.Flush(), m.close()); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return d, nil
}

// mergeWith merges sorted runs into the store, which takes over their record file. Their payloads are appended to the store's.
func (d *disk) mergeWith(r *runs, opts Options) error {
	added, err := r.sequences(opts)
	if err != nil {
		return err
	}
	shift := uint64(d.payloads.file.Size())
	if _, err := io.Copy(d.payloads.file, r.payloads.Section(0, r.payloads.Size())); err != nil {
		return err
	}
	if err := d.payloads.file.Flush(); err != nil {
		return err
	}
	sequences := append([]extsort.Sequence[record]{d.records.reader(0, d.records.count, maxRecordBuffer)}, added...)
	d.payloads = newPayloadReader(d.payloads.file, d.runs+len(r.starts))
	d.runs += len(r.starts)
	if err := d.merge(sequences, shift, d.records, r.records); err != nil {
		return err
	}
	return r.payloads.Close()
}
