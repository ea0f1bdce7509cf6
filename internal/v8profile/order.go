package v8profile

import (
	"cmp"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// rawSample is a sample as it was read.
type rawSample struct {
	ts           timeline.Nanos
	number       uint32 // in the order in which the profile lists samples
	slot         slot
	line, column int32
}

// rawReader reads the samples that have a time as the profile lists them.
type rawReader struct {
	samples, times columnReader
	lines, columns positionReader
	base           timeline.Nanos // of the times
	next, n        int
}

func (d *draft) rawSamples(base timeline.Nanos) *rawReader {
	return &rawReader{
		samples: d.samples.reader(d.spool), times: d.times.reader(d.spool), lines: d.lines.reader(d.spool), columns: d.columns.reader(d.spool),
		base: base, n: min(d.samples.n, d.times.n),
	}
}

// read stores the next sample in s and reports whether there was one.
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

// lateMemory is what late samples take in memory, see byTime.
const lateMemory = 1 << 20

// byTime calls fn for the samples in the order of time. Samples of one time keep their order. Of a profile, few samples are
// earlier than one before them; only these are sorted.
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
	if c := cmp.Compare(a.ts, b.ts); c != 0 {
		return c
	}
	return cmp.Compare(a.number, b.number)
}

// merge calls fn for the samples that are not late, with the late ones, which may be nil, at their places.
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
	// lateBefore calls fn for the late samples before s, or for all.
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
			continue // it is one of the late ones
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

// takeSamples takes the samples over: sorted by time, those with unknown nodes left out. Lines and columns move along, which
// DevTools forgets (profile-calls.md 3).
func (p *Profile) takeSamples(d *draft, at []NodeIndex) error {
	base := p.Start
	if d.absolute {
		base = d.offset
	}
	if err := d.spool.flush(); err != nil {
		return err
	}
	r := newRepairer(p)
	count := d.nodes[d.root()].hits < 0 // unless the profile says how many there are (profile-calls.md 3)
	if count {
		for i := range p.nodes {
			p.nodes[i].Hits = 0
		}
	}
	var first, last timeline.Nanos
	n, left := 0, uint32(0)
	err := d.byTime(base, func(s *rawSample) error {
		if n == 0 {
			first = s.ts
		}
		last = s.ts
		n++
		node := nodeOf(d, at, s.slot)
		if node == NoNode {
			left++
			d.found.unknown++
			return nil
		}
		if count {
			p.nodes[node].Hits++
		}
		err := r.add(s, node, left)
		left = 0
		return err
	})
	if err == nil {
		err = r.end()
	}
	p.close(n, first, last)
	return err
}

// repairer replaces single (program) samples between two samples of one bottom frame by the first of them: the profiler
// interrupted V8 at a place where it could not walk the stack (profile-calls.md 3).
type repairer struct {
	p      *Profile
	to     sampleWriter
	bottom []NodeIndex // of each node; nil: there is no (program)

	before NodeIndex // of the sample before held, as it was before any repair; NoNode: there is none
	held   rawSample // waits for the next sample, if has is set
	node   NodeIndex // of held
	left   uint32    // left out before held
	has    bool
}

func newRepairer(p *Profile) *repairer {
	r := &repairer{p: p, to: sampleWriter{list: &p.samples}, before: NoNode}
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

// add adds the next sample, before which some were left out.
func (r *repairer) add(s *rawSample, n NodeIndex, left uint32) error {
	if err := r.write(n); err != nil {
		return err
	}
	r.held, r.node, r.left, r.has = *s, n, left, true
	return nil
}

// write writes the sample that waits, before one of the node next.
func (r *repairer) write(next NodeIndex) error {
	if !r.has {
		return nil
	}
	node := r.node
	repaired := r.bottom != nil && node == r.p.Program && r.before != NoNode && next != NoNode && !r.system(r.before) && !r.system(next) &&
		r.bottom[r.before] == r.bottom[next]
	if repaired {
		node = r.before
	}
	r.before = r.node
	return r.to.add(&r.held, node, r.left, repaired)
}

// end writes the last sample.
func (r *repairer) end() error {
	err := r.write(NoNode)
	return errors.Join(err, r.to.endBlock())
}

// close computes the closing time of n samples, in whole microseconds as DevTools shows it, rounded to nearest.
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
		rest := (last - first) % (n - 1) // divided at the end only, so that nothing is rounded twice
		ts := last + interval
		whole := ts / micro * micro
		if 2*((ts-whole)*(n-1)+rest) >= micro*(n-1) {
			whole += micro
		}
		p.Closing = max(whole, last)
	}
}
