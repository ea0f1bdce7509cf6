package chromejson

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
	"sync"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/timeline"
)

// The event list is split into blocks of whole events, which are scanned in parallel and added in order.
//
// Scanning an event (finding its fields, encoding its arguments) depends on no other event; adding it (phases, tracks, names,
// problems) depends on all events before it. A block ends at an apparent border between two events; scanning up to it shows
// whether it is a real one. Anything unexpected (a wrong border, damage, the end of the list) ends reading in blocks at that
// point, and sequential reading takes over. An unusual event, such as one with a duplicate key, is rescanned when it is added.
// So the result is byte for byte the same as without blocks.
//
// Data passed between goroutines is small and free of pointers: members in a jsonscan.Pack, encoded arguments, and
// new argument names, which receive their ids when they are added.
const (
	blockSize = 1 << 20
	// growBlock limits the search for a border: a block may be this many times its usual length.
	growBlock = 16
	// warmUp is a divisor: the first blockSize/warmUp bytes are read sequentially, because most argument names occur
	// there.
	warmUp = 4
	// maxCandidates limits the number of positions in a block that are tried as borders.
	maxCandidates = 1 << 12
)

// block is a run of events that one goroutine scans.
type block struct {
	text   []byte
	offset int64 // start of text in the input
	keys   timeline.Keys
	done   chan struct{}

	events []scanned
	values jsonscan.Pack
	args   []byte // encoded arguments of all events

	end   int  // end of the scanned text
	after byte // byte before end: a comma, or '{' for an event
}

// scanned is one event of a block.
type scanned struct {
	seen       uint64
	start, end uint32 // position in block.text
	values     uint32 // index of its values in block.values
	args       uint32 // end of its arguments in block.args
	odd        bool
	deferred   bool
	traced     bool
}

// splitter splits the event list into blocks.
type splitter struct {
	rest   io.Reader
	buf    []byte // read, but not yet in a block
	offset int64  // start of buf in the input
	err    error  // final error of rest
	key    []byte // first key of events
	size   int    // size of a block
}

// mayUseBlocks reports whether reading may continue in blocks. The scanner is at an event's bracket after a comma.
func (rd *reader) mayUseBlocks() bool {
	return rd.opts.Workers > 1 && rd.S.Offset() >= rd.blocksFrom
}

// blocks reads events in blocks, starting at the bracket of an event, until it encounters anything unexpected. It
// returns the byte before the position where sequential reading continues.
func (rd *reader) blocks() (after byte, err error) {
	sequential := rd.S
	c := &splitter{offset: rd.S.Offset(), size: cmp.Or(rd.opts.block, blockSize)}
	started := c.offset
	var unread []byte
	unread, c.rest = rd.S.Detach()
	if c.buf = rd.spare.ahead[:0]; cap(c.buf) < max(c.size, len(unread)) {
		c.buf = make([]byte, 0, max(c.size, 2*len(unread)))
	}
	c.buf = append(c.buf, unread...)
	c.key = firstKey(c.buf)

	pool := newBlockPool(rd.opts.Workers, &rd.eventScanner, rd.spare.blocks)
	rd.spare.ahead, rd.spare.blocks = nil, nil
	defer func() { rd.ahead, rd.spare.blocks = c.buf, pool.close() }()
	rd.S = &rd.piece
	var queue []*block
	after = ','
	for {
		for len(queue) < rd.opts.Workers+2 {
			b := pool.get()
			if !c.next(b) {
				pool.put(b)
				break
			}
			b.keys = rd.b.Keys()
			pool.jobs <- b
			queue = append(queue, b)
		}
		if len(queue) == 0 {
			break
		}
		b := queue[0]
		<-b.done
		queue = queue[1:]
		if err = rd.addBlock(b); err != nil {
			break
		}
		if after = b.after; b.end < len(b.text) || after != ',' {
			rest := []io.Reader{bytes.NewReader(b.text[b.end:])}
			c.offset = b.offset + int64(b.end)
			for _, waiting := range queue {
				rest = append(rest, bytes.NewReader(waiting.text))
			}
			c.rest = io.MultiReader(append(rest, bytes.NewReader(c.buf), c.remaining())...)
			c.buf, c.err = nil, nil
			break
		}
		pool.put(b)
	}
	rd.S = sequential
	rd.S.Attach(io.MultiReader(bytes.NewReader(c.buf), c.remaining()), c.offset)
	// Blocks that keep ending early cost more than they save.
	size := int64(c.size)
	rd.blocksFrom = c.offset + max(size/warmUp, 4*size-(c.offset-started))
	return after, err
}

// firstKey returns the first key of the event at the start of text, including its quotes.
func firstKey(text []byte) []byte {
	i := bytes.IndexByte(text, '"')
	if i < 0 || len(bytes.TrimLeft(text[1:i], " \t\r\n")) > 0 {
		return nil
	}
	n := bytes.IndexByte(text[i+1:], '"')
	if n < 0 {
		return nil
	}
	return bytes.Clone(text[i : i+n+2])
}

// remaining returns the input after buf.
func (c *splitter) remaining() io.Reader {
	if c.err != nil {
		return jsonscan.Failed{Err: c.err}
	}
	return c.rest
}

// next splits off a block. It returns false if it cannot find a border.
func (c *splitter) next(b *block) bool {
	for size := c.size; size <= growBlock*c.size && c.key != nil; size *= 2 {
		c.fill(size)
		if n := c.border(); n > 0 {
			// The block takes over the buffer; its old buffer receives the text after the border.
			b.text, c.buf = c.buf[:n], append(b.text[:0], c.buf[n:]...)
			b.offset = c.offset
			c.offset += int64(n)
			return true
		}
		if c.err != nil {
			break // sequential reading handles the last events
		}
	}
	return false
}

// fill reads until buf contains size bytes or the input ends.
func (c *splitter) fill(size int) {
	if cap(c.buf) < size {
		c.buf = append(make([]byte, 0, size), c.buf...)
	}
	for empty := 0; len(c.buf) < size && c.err == nil; {
		n, err := c.rest.Read(c.buf[len(c.buf):size])
		c.buf = c.buf[:len(c.buf)+n]
		c.err = err
		if n > 0 {
			empty = 0
		} else if empty++; empty > 100 && err == nil {
			c.err = io.ErrNoProgress
		}
	}
}

// border returns the last position in buf where an event seems to start after another event and a comma, or 0.
func (c *splitter) border() int {
	end := len(c.buf)
	for range maxCandidates {
		i := bytes.LastIndexByte(c.buf[:end], '{')
		if i <= 0 {
			return 0
		}
		end = i
		if !bytes.HasPrefix(bytes.TrimLeft(c.buf[i+1:min(i+64, len(c.buf))], " \t\r\n"), c.key) {
			continue
		}
		before, ok := bytes.CutSuffix(trimEnd(c.buf[:i]), []byte(","))
		if ok && bytes.HasSuffix(trimEnd(before), []byte("}")) {
			return i
		}
	}
	return 0
}

// trimEnd removes white space from the end of text, at most 64 bytes.
func trimEnd(text []byte) []byte {
	for n := 0; n < 64 && len(text) > 0 && bytes.IndexByte([]byte(" \t\r\n"), text[len(text)-1]) >= 0; n++ {
		text = text[:len(text)-1]
	}
	return text
}

// addBlock adds the events of a block, and rescans the unusual ones.
func (rd *reader) addBlock(b *block) error {
	args := uint32(0)
	for i := range b.events {
		sc := &b.events[i]
		at := b.offset + int64(sc.start)
		var err error
		if sc.odd {
			rd.piece.ResetAt(b.text[sc.start:sc.end], at)
			rd.scanEvent()
			rd.notes()
			err = rd.event()
		} else {
			rd.piece.ResetAt(nil, at)
			rd.ev.load(sc, b)
			rd.BigInts, rd.TooDeep = 0, 0
			rd.Enc.Load(b.args[args:sc.args])
			err = rd.event()
		}
		args = sc.args
		if err != nil {
			return err
		}
		if rd.index++; rd.index == math.MaxUint32 {
			return rd.failed(errTooManyEvents)
		}
		if rd.index%cancelInterval == 0 && rd.ctx.Err() != nil {
			return rd.failed(rd.ctx.Err())
		}
	}
	return nil
}

// load sets ev to an event scanned in a block.
func (ev *event) load(sc *scanned, b *block) {
	ev.deferred, ev.traced = sc.deferred, sc.traced
	ev.duplicates = 0
	b.values.Load(&ev.Members, sc.seen, int(sc.values), b.text)
}

// blockPool manages the goroutines that scan blocks, and the reusable blocks.
type blockPool struct {
	jobs  chan *block
	free  []*block
	group sync.WaitGroup
}

func newBlockPool(workers int, prototype *eventScanner, free []*block) *blockPool {
	p := &blockPool{jobs: make(chan *block, workers+2), free: free}
	for range workers {
		p.group.Go(func() {
			es := &eventScanner{
				ArgReader: newArgReader(new(jsonscan.Scanner), timeline.NewArgsEncoder()), args: prototype.args, dropped: droppedKeys(&prototype.args),
				tracing: prototype.tracing,
			}
			es.unknown = func([]byte) { es.odd = true }
			for b := range p.jobs {
				es.scanBlock(b)
				close(b.done)
			}
		})
	}
	return p
}

// close stops the goroutines and returns the blocks for reuse.
func (p *blockPool) close() []*block {
	close(p.jobs)
	p.group.Wait()
	return slices.DeleteFunc(p.free, func(b *block) bool { return cap(b.text) > maxSpare })
}

func (p *blockPool) get() *block {
	b := new(block)
	if n := len(p.free); n > 0 {
		b, p.free = p.free[n-1], p.free[:n-1]
	}
	b.done = make(chan struct{})
	b.events, b.args = b.events[:0], b.args[:0]
	b.values.Reset()
	return b
}

func (p *blockPool) put(b *block) {
	b.keys = timeline.Keys{}
	p.free = append(p.free, b)
}

// scanBlock scans the events of a block up to the first anomaly.
func (es *eventScanner) scanBlock(b *block) {
	s := es.S
	s.Reset(b.text)
	b.after = ','
	for {
		c, err := s.Peek()
		b.end = int(s.Offset())
		switch {
		case err != nil:
			return
		case c == ',' && b.after == '{':
			s.Advance(1)
			b.after = ','
		case c == '{' && b.after == ',':
			es.odd = false
			es.Enc.ResetKeys(b.keys)
			es.scanEvent()
			if s.Err() != nil {
				return
			}
			es.store(b, b.end, int(s.Offset()))
			b.after = '{'
		default:
			return
		}
	}
}

// store adds the scanned event to its block.
func (es *eventScanner) store(b *block, start, end int) {
	ev := &es.ev
	sc := scanned{
		start: uint32(start), end: uint32(end), seen: ev.Seen, values: uint32(b.values.Len()), deferred: ev.deferred, traced: ev.traced,
	}
	sc.odd = es.odd || ev.Seen == 0 || ev.Seen&instructionFields != 0 || ev.duplicates+es.BigInts+es.TooDeep+es.Enc.Duplicates()+es.Enc.Omitted() > 0 ||
		es.Enc.Missed() || es.S.Notes != (jsonscan.Notes{})
	if !sc.odd {
		b.values.Keep(&ev.Members, b.text, es.S.Decoded())
		b.args = append(b.args, es.Enc.Args()...)
	}
	sc.args = uint32(len(b.args))
	b.events = append(b.events, sc)
}
