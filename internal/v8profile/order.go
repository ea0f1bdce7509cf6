package v8profile

import (
	"cmp"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// rawSample is a sample of the input.
type rawSample struct {
	ts           timeline.Nanos
	number       uint32 // position among the samples of the profile
	slot         slot
	line, column int32
}

// rawReader reads the samples that have a time, in profile order.
type rawReader struct {
	samples, times columnReader
	lines, columns positionReader
	base           timeline.Nanos // added to the times
	next, n        int
}

func (d *draft) rawSamples(base timeline.Nanos) *rawReader {
	return &rawReader{
		samples: d.samples.reader(d.spool), times: d.times.reader(d.spool), lines: d.lines.reader(d.spool), columns: d.columns.reader(d.spool),
		base: base, n: min(d.samples.n, d.times.n),
	}
}

// read stores the next sample in s. It returns false at the end.
func (r *rawReader) read(s *rawSample) bool {
	if r.next == r.n {
		return false
	}
	s.ts, s.number, s.slot = r.base+timeline.Nanos(r.times.nextDifference()), uint32(r.next), slot(r.samples.next())
	s.line, s.column = r.lines.at(r.next), r.columns.at(r.next)
	r.next++
	return true
}

// err returns the first error.
func (r *rawReader) err() error {
	return errors.Join(r.samples.err, r.times.err, r.lines.list.err, r.columns.list.err)
}

// lateMemory limits the bytes of late samples in memory, see byTime.
const lateMemory = 1 << 20

// byTime calls fn for the samples in time order. Samples with equal times keep their order. Few samples of a profile are earlier
// than a sample before them; only these late samples are sorted.
func (d *draft) byTime(base timeline.Nanos, fn func(*rawSample) error) error {
	if d.found.backwards == 0 {
		return d.merge(base, nil, fn)
	}
	late := extsort.New(extsort.Order[rawSample]{Compare: rawBefore}, lateMemory, d.spool.dir)
	defer late.Close()
	in := d.rawSamples(base)
	var s rawSample
	for latest := timeline.Nanos(0); in.read(&s); {
		if s.number == 0 || s.ts >= latest {
			latest = s.ts
		} else if err := late.Add(s); err != nil {
			return err
		}
	}
	if err := in.err(); err != nil {
		return err
	}
	return d.merge(base, late, fn)
}

// rawBefore orders samples by time.
func rawBefore(a, b *rawSample) int {
	return cmp.Or(cmp.Compare(a.ts, b.ts), cmp.Compare(a.number, b.number))
}

// merge calls fn for the samples in time order, and inserts the late samples. The parameter late may be nil.
func (d *draft) merge(base timeline.Nanos, late *extsort.Sorter[rawSample], fn func(*rawSample) error) error {
	var s, next rawSample
	more := false
	advance := func() (err error) {
		if late != nil {
			more, err = late.Next(&next)
		}
		return err
	}
	if err := advance(); err != nil {
		return err
	}
	// lateBefore calls fn for the late samples before s, or for all if s is nil.
	lateBefore := func(s *rawSample) error {
		for more && (s == nil || rawBefore(&next, s) < 0) {
			if err := fn(&next); err != nil {
				return err
			}
			if err := advance(); err != nil {
				return err
			}
		}
		return nil
	}
	in := d.rawSamples(base)
	for latest := timeline.Nanos(0); in.read(&s); {
		if s.number > 0 && s.ts < latest {
			continue // a late sample
		}
		latest = s.ts
		if err := lateBefore(&s); err != nil {
			return err
		}
		if err := fn(&s); err != nil {
			return err
		}
	}
	return errors.Join(in.err(), lateBefore(nil))
}

// importSamples sorts the samples by time and drops samples with unknown nodes. Lines and columns move with their samples, unlike
// in DevTools (profile-calls.md 3).
func (p *Profile) importSamples(d *draft, at []NodeIndex) error {
	base := p.Start
	if d.absolute {
		base = d.offset
	}
	if err := d.spool.flush(); err != nil {
		return err
	}
	r := newRepairer(p)
	count := d.nodes[d.root()].hits < 0 // the profile has no hit counts (profile-calls.md 3)
	if count {
		for i := range p.nodes {
			p.nodes[i].Hits = 0
		}
	}
	var first, last timeline.Nanos
	n, skipped := 0, uint32(0)
	err := d.byTime(base, func(s *rawSample) error {
		if n == 0 {
			first = s.ts
		}
		last = s.ts
		n++
		node := nodeOf(d, at, s.slot)
		if node == NoNode {
			skipped++
			d.found.unknown++
			return nil
		}
		if count {
			p.nodes[node].Hits++
		}
		err := r.add(s, node, skipped)
		skipped = 0
		return err
	})
	if err == nil {
		err = r.end()
	}
	p.close(n, first, last)
	return err
}

// repairer repairs isolated (program) samples: the profiler interrupted V8 where it could not walk the stack (profile-calls.md
// 3). If the samples before and after such a sample share a bottom frame, repairer replaces the sample with the one before it.
type repairer struct {
	p      *Profile
	out    sampleWriter
	bottom []NodeIndex // by node; nil: the profile has no (program)

	before     NodeIndex // the unrepaired node of the sample before pending, or NoNode
	pending    rawSample // waits for the next sample; valid if hasPending
	node       NodeIndex // of pending
	skipped    uint32    // samples dropped before pending
	hasPending bool
}

func newRepairer(p *Profile) *repairer {
	r := &repairer{p: p, out: sampleWriter{list: &p.samples}, before: NoNode}
	if p.Program == NoNode {
		return r
	}
	r.bottom = make([]NodeIndex, len(p.nodes))
	for i := range p.nodes {
		r.bottom[i] = NodeIndex(i)
		if p.nodes[i].Depth > 0 {
			r.bottom[i] = r.bottom[p.nodes[i].Parent]
		}
	}
	return r
}

// system reports whether a node is one of the pseudo functions.
func (r *repairer) system(n NodeIndex) bool {
	return n == r.p.Program || n == r.p.Idle || n == r.p.Collector
}

// add adds the next sample, after the given number of dropped ones.
func (r *repairer) add(s *rawSample, n NodeIndex, skipped uint32) error {
	if err := r.write(n); err != nil {
		return err
	}
	r.pending, r.node, r.skipped, r.hasPending = *s, n, skipped, true
	return nil
}

// write writes the pending sample. The parameter next is the node of the sample after it.
func (r *repairer) write(next NodeIndex) error {
	if !r.hasPending {
		return nil
	}
	node := r.node
	repaired := r.bottom != nil && node == r.p.Program && r.before != NoNode && next != NoNode && !r.system(r.before) && !r.system(next) &&
		r.bottom[r.before] == r.bottom[next]
	if repaired {
		node = r.before
	}
	r.before = r.node
	return r.out.add(&r.pending, node, r.skipped, repaired)
}

// end writes the last sample.
func (r *repairer) end() error {
	err := r.write(NoNode)
	return errors.Join(err, r.out.endBlock())
}

// close computes the end of the last of n samples, rounded to whole microseconds as in DevTools.
func (p *Profile) close(samples int, first, last timeline.Nanos) {
	n := timeline.Nanos(samples)
	if n == 0 {
		p.Closing = p.Start
		return
	}
	p.Closing = last
	if n > 1 {
		const micro = 1000
		interval := (last - first) / (n - 1)
		rest := (last - first) % (n - 1) // divided last, so that nothing is rounded twice
		ts := last + interval
		whole := ts / micro * micro
		if 2*((ts-whole)*(n-1)+rest) >= micro*(n-1) {
			whole += micro
		}
		p.Closing = max(whole, last)
	}
}
