package probes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// side is the role of a probe in a pair (D2).
type side uint8

const (
	noSide side = iota
	starts
	ends
)

// Bits of probe.pairs: a start and an end can form a pair if they share a bit.
const (
	pairStart = 1 << iota
	pairBegin
	pairEntry
)

// suffixes lists the suffixes of the names of paired probes.
var suffixes = []struct {
	suffix string
	side   side
	pairs  uint8
}{
	{"-start", starts, pairStart}, {"-begin", starts, pairBegin}, {"-entry", starts, pairEntry},
	{"-end", ends, pairStart | pairBegin}, {"-done", ends, pairStart}, {"-return", ends, pairEntry},
}

// probe describes a probe, once all declarations are known.
type probe struct {
	full, name string // with and without the provider
	fullText   []byte // full
	base       string // name without the suffix, shared by the pair
	category   string
	side       side
	pairs      uint8
	pair       *pair
	function   bool // a JavaScript function
	decl       *declaration
}

// pair is the set of probes with the same provider and base.
type pair struct {
	number int
	track  string       // name of the track for its slices below the thread; "": on the thread
	keyed  *declaration // declaration with the key of the starts; nil: no key
	mixed  bool         // starts have several names, possibly with different keys
}

// jsFunction is the base of probes for JavaScript functions.
const jsFunction = "js_function"

// resolve sets the declarations and pairs of all probes.
func (p *pairer) resolve(names []string) {
	pairs := map[string]*pair{}
	for _, full := range names {
		provider, name, ok := strings.Cut(full, ":")
		if !ok {
			provider, name = "", full
		}
		pr := probe{full: full, fullText: []byte(full), name: name, category: provider, decl: p.header.declarations[full]}
		for _, s := range suffixes {
			base, ok := strings.CutSuffix(name, s.suffix)
			if !ok || base == "" {
				continue
			}
			pr.base, pr.side, pr.pairs = base, s.side, s.pairs
			whole := provider + ":" + base
			if pairs[whole] == nil {
				pairs[whole] = p.newPair(whole)
				pairs[whole].number = len(pairs)
			}
			pr.pair = pairs[whole]
			if pr.decl == nil && s.side == ends {
				pr.decl = p.declarationOfStart(whole, s.pairs)
			}
			if base == jsFunction {
				pr.function, pr.category = true, "js"
			}
		}
		p.probes = append(p.probes, pr)
	}
}

// declarationOfStart returns the declaration of a start probe of a pair.
func (p *pairer) declarationOfStart(whole string, pairs uint8) *declaration {
	for _, s := range suffixes {
		if s.side == starts && s.pairs&pairs != 0 {
			if d := p.header.declarations[whole+s.suffix]; d != nil {
				return d
			}
		}
	}
	return nil
}

func (p *pairer) newPair(whole string) *pair {
	pr, kinds := &pair{}, 0
	for _, s := range suffixes {
		if s.side != starts {
			continue
		}
		d := p.header.declarations[whole+s.suffix]
		if _, fired := p.reader.probes[whole+s.suffix]; fired || d != nil {
			kinds++
		}
		if d == nil {
			continue
		}
		pr.track = cmp.Or(pr.track, d.track)
		if len(d.key) > 0 {
			pr.keyed = d
		}
	}
	pr.mixed = kinds > 1
	return pr
}

// open is a start whose end has not come yet.
type open struct {
	ts      timeline.Nanos
	offset  int64
	event   uint32
	form    form
	closed  bool // ended while others stay open
	probe   *probe
	payload []byte
	key     []byte // the arguments that must agree (see appendKey); follows payload in memory
}

const openSize = 120 // bytes of an open, except payload and key

// stack contains the open starts of a thread, innermost last. Most ends close the last start or a start near it. In a large
// stack, an index finds the right start, so that the time per end is bounded.
type stack struct {
	track    timeline.TrackID
	crossing bool // an end does not close the starts above its own
	open     []open
	closed   int
	index    map[uint64][]int32 // indexes in open by hash of the pair, and of pair and key; nil in a small stack
}

const (
	// indexedStack is the size from which a stack has an index.
	indexedStack = 64
	// maxSearch limits the number of starts of the right pair that are compared with a partial key.
	maxSearch = 1 << 12
)

// hashOf returns the hash of a pair and a key. If the key is nil, it returns the hash of the pair alone.
func (p *pairer) hashOf(pr *pair, key []byte) uint64 {
	return maphash.Bytes(p.seed, key) ^ uint64(pr.number)*0x9E3779B97F4A7C15
}

func (p *pairer) push(s *stack, o open) {
	s.open = append(s.open, o)
	switch n := len(s.open); {
	case s.index != nil:
		p.addToIndex(s, n-1)
	case n > indexedStack:
		p.reindex(s)
	}
}

func (p *pairer) addToIndex(s *stack, i int) {
	o := &s.open[i]
	for _, h := range p.hashes(o) {
		s.index[h] = append(s.index[h], int32(i))
	}
}

// hashes returns the hashes of a start in the index. Without a key they are equal, and the start is in the index twice.
func (p *pairer) hashes(o *open) [2]uint64 {
	return [2]uint64{p.hashOf(o.probe.pair, nil), p.hashOf(o.probe.pair, o.key)}
}

// reindex rebuilds the index without closed starts, if the stack is large.
func (p *pairer) reindex(s *stack) {
	s.open = slices.DeleteFunc(s.open, func(o open) bool {
		if o.closed {
			p.reuse(&o)
		}
		return o.closed
	})
	s.closed, s.index = 0, nil
	if len(s.open) < indexedStack {
		return
	}
	s.index = map[uint64][]int32{}
	for i := range s.open {
		p.addToIndex(s, i)
	}
}

// truncate removes all starts except the first n.
func (p *pairer) truncate(s *stack, n int) {
	for i := len(s.open) - 1; i >= n; i-- {
		o := &s.open[i]
		if s.index != nil {
			for _, h := range p.hashes(o) {
				list := s.index[h]
				if k := len(list); k > 1 && int(list[k-1]) == i {
					s.index[h] = list[:k-1]
				} else if k == 1 && int(list[0]) == i {
					delete(s.index, h)
				}
			}
		}
		if o.closed {
			s.closed--
		}
		p.reuse(o)
		*o = open{}
	}
	s.open = s.open[:n]
}

// remove removes only start i.
func (p *pairer) remove(s *stack, i int) {
	s.open[i].closed = true
	s.closed++
	n := len(s.open)
	for n > 0 && s.open[n-1].closed {
		n--
	}
	p.truncate(s, n)
	if s.closed > len(s.open)/2 {
		p.reindex(s)
	}
}

// find returns the index of the nearest start that the end in p.ending closes, or -1.
func (p *pairer) find(s *stack, pr *probe) int {
	p.keyOf = nil
	if s.index == nil {
		for i := len(s.open) - 1; i >= 0; i-- {
			if p.closes(pr, &s.open[i]) {
				return i
			}
		}
		return -1
	}
	h := p.hashOf(pr.pair, nil)
	if keyed := pr.pair.keyed; keyed != nil && !pr.pair.mixed && p.endKey(keyed) {
		h = p.hashOf(pr.pair, p.key)
	}
	list := s.index[h]
	for n := len(list); n > 0 && s.open[list[n-1]].closed; n-- {
		list = list[:n-1]
	}
	s.index[h] = list
	for n := len(list) - 1; n >= max(0, len(list)-maxSearch); n-- {
		if p.closes(pr, &s.open[list[n]]) {
			return int(list[n])
		}
	}
	return -1
}

// closes reports whether the end in p.ending closes a start.
func (p *pairer) closes(pr *probe, o *open) bool {
	if o.closed || o.probe.pair != pr.pair || o.probe.pairs&pr.pairs == 0 {
		return false
	}
	if len(o.key) == 0 {
		return true
	}
	p.endKey(o.probe.decl)
	return keysAgree(p.key, o.key)
}

// endKey sets p.key to the key of the end in p.ending, according to the declaration of its start. It reports whether the end
// contains all parts of the key.
func (p *pairer) endKey(d *declaration) (whole bool) {
	if p.keyOf != d {
		p.keyOf = d
		p.key, p.wholeKey = appendKey(p.key[:0], d, &p.ending)
	}
	return p.wholeKey
}

// Each part of a key starts with one of these.
const (
	keyAbsent = iota
	keyNumber // 8 bytes follow
	keyText   // length and text follow
)

// appendKey appends the arguments that must agree. It reports whether all are present.
func appendKey(key []byte, d *declaration, args *arguments) (_ []byte, whole bool) {
	whole = true
	if d == nil {
		return key, whole
	}
	for _, i := range d.key {
		a := args.find(d.params[i].name)
		switch {
		case a == nil:
			key, whole = append(key, keyAbsent), false
		case a.isNumber():
			key = binary.LittleEndian.AppendUint64(append(key, keyNumber), a.value)
		default:
			key = binary.AppendUvarint(append(key, keyText), uint64(len(a.text)))
			key = append(key, a.text...)
		}
	}
	return key, whole
}

// keysAgree compares the keys of an end and a start part by part. A part missing from the end agrees with any part.
func keysAgree(end, start []byte) bool {
	if bytes.Equal(end, start) {
		return true
	}
	for len(end) > 0 && len(start) > 0 {
		endPart, endRest := keyPart(end)
		startPart, startRest := keyPart(start)
		if endPart[0] != keyAbsent && !bytes.Equal(endPart, startPart) {
			return false
		}
		end, start = endRest, startRest
	}
	return true
}

// keyPart splits the first part off a key.
func keyPart(key []byte) (part, rest []byte) {
	n := 1
	switch key[0] {
	case keyNumber:
		n += 8
	case keyText:
		size, w := binary.Uvarint(key[1:])
		n += w + int(size)
	}
	return key[:n], key[n:]
}

// pairer processes the records in time order and pairs starts with ends.
type pairer struct {
	*reader
	ctx       context.Context
	args      argReader
	probes    []probe
	threads   []thread
	openBytes int64 // bytes of open starts
	budget    int64 // limit of openBytes
	done      int   // records so far
	seed      maphash.Seed

	ending   arguments // arguments of the current end
	starting arguments // arguments of a start
	startKey []byte    // key of a start
	spare    [][]byte  // buffers of closed starts
	key      []byte    // key of the current end, according to keyOf
	keyOf    *declaration
	wholeKey bool

	out emitter
}

// thread is a thread with its open starts.
type thread struct {
	track  timeline.TrackID
	stack  stack
	named  []*stack          // stacks of pairs with separate tracks, in order of their first records
	byName map[string]*stack // the same by track name
}

// maxOpen limits the memory for open starts, whatever the budget.
const maxOpen = 64 << 20

func newPairer(ctx context.Context, r *reader) *pairer {
	p := &pairer{
		reader: r, ctx: ctx, args: argReader{raw: r.header.raw, truncatedAt: r.header.truncatedAt()}, seed: maphash.MakeSeed(),
		budget: min(r.opts.Budget(4), maxOpen),
	}
	p.out = emitter{b: r.b, log: r.log, keep: r.opts.Args, offset: r.opts.Offset, lost: parameter{name: "lost"}}
	p.resolve(r.probeList)
	p.byText, p.reader.probes = nil, nil
	p.nameThreads()
	return p
}

func (p *pairer) run() error {
	if err := p.spool.Each(p.add); err != nil {
		return err
	}
	return p.endAll()
}

func (p *pairer) add(r *record, payload []byte) error {
	if p.done++; p.done%(1<<14) == 0 && p.ctx.Err() != nil {
		return p.ctx.Err()
	}
	if r.form == formLoss {
		n, _ := binary.Uvarint(payload)
		return p.out.loss(r, n)
	}
	pr, th := &p.probes[r.probe], &p.threads[r.thread]
	switch pr.side {
	case starts:
		return p.start(r, payload, pr, p.stackOf(th, pr))
	case ends:
		return p.end(r, payload, pr, p.stackOf(th, pr))
	}
	p.args.read(&p.ending, r.form, payload, pr.decl)
	p.countTruncated(&p.ending, r)
	return p.out.instant(r, pr, th.track, &p.ending, "")
}

// countTruncated counts texts that have the tracer's maximum length.
func (p *pairer) countTruncated(args *arguments, r *record) {
	if args.truncated > 0 {
		p.log.AddN(problem.TextCut, args.truncated, positionOf(r.event, r.offset), p.probes[r.probe].full)
	}
}

// stackOf returns the stack of a probe's pair on a thread.
func (p *pairer) stackOf(th *thread, pr *probe) *stack {
	name := pr.pair.track
	if name == "" {
		return &th.stack
	}
	s := th.byName[name]
	if s == nil {
		if th.byName == nil {
			th.byName = map[string]*stack{}
		}
		s = &stack{track: p.b.Child(th.track, name), crossing: true}
		th.named, th.byName[name] = append(th.named, s), s
	}
	return s
}

// start adds an open start, or ends its slice with the recording if too many starts are open.
func (p *pairer) start(r *record, payload []byte, pr *probe, s *stack) error {
	o := open{ts: r.ts, offset: r.offset, event: r.event, form: r.form, probe: pr, payload: payload}
	if pr.decl != nil && len(pr.decl.key) > 0 || p.args.truncatedAt < maxLine {
		p.args.read(&p.starting, r.form, payload, pr.decl)
		p.startKey, _ = appendKey(p.startKey[:0], pr.decl, &p.starting)
		o.key = p.startKey
		p.countTruncated(&p.starting, r)
	}
	if size := sizeOf(&o); p.openBytes+size > p.budget {
		p.log.Add(problem.ProbeLimit, positionOf(r.event, r.offset), "there are too many open starts")
		return p.close(&o, s.track, p.latestTS, nil, FlagNeverEnded)
	}
	p.copyData(&o)
	p.openBytes += sizeOf(&o)
	p.push(s, o)
	return nil
}

// copyData copies the payload and key of a start.
func (p *pairer) copyData(o *open) {
	var buf []byte
	if n := len(p.spare); n > 0 {
		buf, p.spare = p.spare[n-1], p.spare[:n-1]
	}
	buf = append(append(buf, o.payload...), o.key...)
	o.payload, o.key = buf[:len(o.payload)], buf[len(o.payload):]
}

// reuse recycles the buffer that copyData filled.
func (p *pairer) reuse(o *open) {
	const most, large = 1 << 10, 1 << 12
	if cap(o.payload)+cap(o.key) <= large && len(p.spare) < most {
		p.spare = append(p.spare, o.payload[:0])
	}
}

func sizeOf(o *open) int64 { return openSize + int64(len(o.payload)+len(o.key)) }

// end closes the start that matches an end and, unless slices of the stack can cross, all open starts above it. An end without
// a start becomes an instant.
func (p *pairer) end(r *record, payload []byte, pr *probe, s *stack) error {
	p.args.read(&p.ending, r.form, payload, pr.decl)
	p.countTruncated(&p.ending, r)
	i := p.find(s, pr)
	if i < 0 {
		p.log.Add(problem.EndWithoutStart, positionOf(r.event, r.offset), pr.full)
		return p.out.instant(r, pr, s.track, &p.ending, FlagEndWithoutStart)
	}
	p.openBytes -= sizeOf(&s.open[i])
	if err := p.close(&s.open[i], s.track, r.ts, &p.ending, ""); err != nil {
		return err
	}
	if s.crossing {
		p.remove(s, i)
		return nil
	}
	for k := i + 1; k < len(s.open); k++ {
		o := &s.open[k]
		p.openBytes -= sizeOf(o)
		p.log.Add(problem.UnbalancedStart, positionOf(o.event, o.offset), o.probe.full)
		if err := p.close(o, s.track, r.ts, nil, FlagUnbalanced); err != nil {
			return err
		}
	}
	p.truncate(s, i)
	return nil
}

// close adds the slice of a start. The slice ends at the given time. The parameter end contains the arguments of its end, or is
// nil.
func (p *pairer) close(o *open, track timeline.TrackID, at timeline.Nanos, end *arguments, flag string) error {
	p.args.read(&p.starting, o.form, o.payload, o.probe.decl)
	if flag == FlagNeverEnded {
		p.log.Add(problem.NeverEnded, positionOf(o.event, o.offset), o.probe.full)
	}
	return p.out.slice(o, track, at, &p.starting, end, flag)
}

// endAll closes all open starts at the end of the recording.
func (p *pairer) endAll() error {
	for i := range p.threads {
		th := &p.threads[i]
		if err := p.endStack(&th.stack); err != nil {
			return err
		}
		for _, named := range th.named {
			if err := p.endStack(named); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pairer) endStack(s *stack) error {
	for i := range s.open {
		if o := &s.open[i]; !o.closed {
			if err := p.close(o, s.track, p.latestTS, nil, FlagNeverEnded); err != nil {
				return err
			}
		}
	}
	return nil
}

func positionOf(event uint32, offset int64) problem.Position {
	return problem.Position{Event: int64(event), Offset: offset}
}
