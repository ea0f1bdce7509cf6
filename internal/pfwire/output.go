package pfwire

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"slices"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// bundleLimit is what a bundle may hold unpacked, and with it packed: Perfetto's limit is 512 KiB
// (perfetto.md 12), and data that does not compress grows by a few bytes.
const bundleLimit = 511 << 10

// maxBundleMemory bounds what is kept of the memory of a bundle: most packets that no longer fit find room after it.
const maxBundleMemory = 2 * bundleLimit

// emitter takes bytes of the output in their order, and the slice with them. It returns one to be used instead.
type emitter func([]byte) ([]byte, error)

// bundler collects packets into bundles and emits these.
type bundler struct {
	// buf holds the packets of the current bundle. The writer appends a whole packet and calls packetDone.
	buf  []byte
	mark int // end of the packets that are complete
	done int // end of what packetDone has seen

	maxPacket int    // the size of the largest packet; a larger one is made smaller
	shortened uint64 // number of these

	compress func([]byte) ([]byte, error) // nil: packets stay as they are
	field    int                          // of TracePacket that holds a bundle
	packed   []byte
	last     []byte
	emit     emitter
	bundles  int // that were emitted

	// Packets stay in buf until release is called; at the limit, full is.
	hold  bool
	limit int // of bytes
	full  func() error
	held  []byte // where they were; reused
}

// holdBack keeps packets from now on, until release. full is called when they have reached limit, and has to release them.
func (o *bundler) holdBack(limit int, full func() error) {
	o.hold, o.limit, o.full = true, limit, full
	o.buf, o.held = o.held[:0], o.buf
	o.done = 0
}

// maxHeld bounds the packets that are held back: a segment's mostly take a third of it. It makes no difference to the output.
const maxHeld = 8 << 20

// release goes on with the packets that were held back. rewrite is called with the offset of each in turn, and the packet; it
// appends the packet to a buffer, changed or not.
func (o *bundler) release(rewrite func(b []byte, at int, packet []byte) []byte) error {
	held := o.buf
	o.buf, o.held, o.hold, o.mark, o.done = o.held[:0], held, false, 0, 0
	for at := 0; at < len(held); {
		size, n := decodeVarint(held[at+1:]) // after the tag
		end := at + 1 + n + int(size)
		o.buf = rewrite(o.buf, at, held[at:end])
		if err := o.packetDone(); err != nil {
			return err
		}
		at = end
	}
	if cap(o.held) > 2*maxHeld {
		o.held = nil // of a packet too large for a bundle
	}
	return nil
}

// packetDone is called when a whole packet has been appended to buf.
func (o *bundler) packetDone() error {
	if len(o.buf)-o.done > o.maxPacket {
		o.shorten()
	}
	o.done = len(o.buf)
	if o.hold {
		if len(o.buf) < o.limit {
			return nil
		}
		return o.full()
	}
	if len(o.buf) < bundleLimit {
		o.mark = len(o.buf)
		return nil
	}
	// The last packet does not fit any more: what is before it goes, and it starts the next bundle.
	o.last = append(o.last[:0], o.buf[o.mark:]...)
	o.buf = o.buf[:o.mark]
	if err := o.flush(); err != nil {
		return err
	}
	o.buf = append(o.buf, o.last...)
	o.mark, o.done = len(o.buf), len(o.buf)
	if o.mark < bundleLimit {
		return nil
	}
	// A packet too large for a bundle is written as it is, and its memory is not kept.
	_, err := o.emit(o.buf)
	o.buf, o.last, o.mark, o.done = nil, nil, 0, 0
	return err
}

// shorten makes the packets smaller of which readers would skip one because of its size.
func (o *bundler) shorten() {
	shorter, n := shortenPackets(slices.Clone(o.buf[:o.done]), o.buf[o.done:], o.maxPacket)
	o.buf = shorter
	o.shortened += n
}

// flush emits the complete packets, which must be all there are.
func (o *bundler) flush() (err error) {
	defer func() { o.buf, o.mark, o.done = o.buf[:0], 0, 0 }()
	if len(o.buf) == 0 {
		return nil
	}
	if o.compress == nil {
		o.buf, err = o.emit(o.buf)
		return err
	}
	stream, err := o.compress(o.buf)
	if err != nil {
		return err
	}
	o.bundles++
	head, packet := wire.BeginMessage(o.packed[:0], schema.Trace_Packet)
	o.packed, err = o.emit(wire.EndMessage(wire.AppendBytes(head, o.field, stream), packet))
	return err
}

// Buffers keep what Write needs beside the timeline, bundles and compressors: to make them takes longer than to write a
// small trace with them. The zero Buffers are ready to use, and may be used by several goroutines at once. They hold as
// much as was in use at one time, up to 3 MiB for each worker, and what it held back (see maxHeld).
type Buffers struct {
	lock sync.Mutex
	free map[bundleForm][]*bundler
}

// bundleForm is how bundles are compressed.
type bundleForm struct {
	codec Codec
	level int // 0: defaultLevel
}

// defaultLevel is the level of each codec where none is asked for. Zlib at 2 makes compact packets smaller than plain ones at
// the usual 6, in half the time (docs/performance.md has the table); 3 is what the program zstd takes.
var defaultLevel = [...]int{Zlib: 2, Zstd: 3}

// get returns an empty bundler that gives its bundles to emit.
func (b *Buffers) get(form bundleForm, emit emitter) *bundler {
	b.lock.Lock()
	defer b.lock.Unlock()
	if free := b.free[form]; len(free) > 0 {
		o := free[len(free)-1]
		b.free[form] = free[:len(free)-1]
		o.emit = emit
		return o
	}
	return newBundler(form, emit)
}

// put takes back a bundler that is flushed.
func (b *Buffers) put(form bundleForm, o *bundler) {
	o.emit, o.full, o.maxPacket, o.shortened = nil, nil, MaxPacketSize, 0
	b.lock.Lock()
	defer b.lock.Unlock()
	if b.free == nil {
		b.free = map[bundleForm][]*bundler{}
	}
	b.free[form] = append(b.free[form], o)
}

func newBundler(form bundleForm, emit emitter) *bundler {
	o := &bundler{emit: emit, maxPacket: MaxPacketSize}
	level := form.level
	if form.codec != NoCodec && level == 0 {
		level = defaultLevel[form.codec]
	}
	switch form.codec {
	case Zlib:
		o.compress, o.field = zlibCompressor(level), schema.TracePacket_CompressedPackets
	case Zstd:
		o.compress, o.field = zstdCompressor(level), schema.TracePacket_ZstdCompressedPackets
	}
	return o
}

// zlibCompressor returns a function that compresses. Its result is valid until the next call.
func zlibCompressor(level int) func([]byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := zlib.NewWriterLevel(&out, level)
	return func(p []byte) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		out.Reset()
		z.Reset(&out)
		if _, err := z.Write(p); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
	}
}

// zstdCompressor is zlibCompressor for zstd. The library has four levels, to which it maps the levels of the program zstd.
func zstdCompressor(level int) func([]byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.EncoderLevelFromZstd(level)))
	var out []byte
	return func(p []byte) ([]byte, error) {
		if err != nil {
			return nil, err
		}
		out = enc.EncodeAll(p, out[:0])
		return out, nil
	}
}

// partQueue is the number of bundles of one part that may wait for the parts before it.
const partQueue = 8

// maxWorkers bounds the goroutines of one output, whatever is asked for: each may have partQueue bundles waiting, and all
// wait for one writer.
const maxWorkers = 64

// workersFor returns how many of the workers asked for write n parts; 0 asks for one per core.
func workersFor(n, workers int) int {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return min(workers, n, maxWorkers)
}

// part is one of several parts of an output on its way to the writer.
type part struct {
	index  int
	chunks chan []byte
	err    error // set before chunks is closed
}

// writeInOrder runs write for the parts 0 to n-1, several at once, and writes what they emit in the order of the parts.
// A part that is ahead waits when it has emitted partQueue chunks, so that memory stays bounded.
func writeInOrder(ctx context.Context, dst io.Writer, n, workers int, write func(ctx context.Context, i int, emit emitter) error) error {
	workers = workersFor(n, workers)
	if workers == 1 {
		for i := range n {
			err := write(ctx, i, func(b []byte) ([]byte, error) {
				_, err := dst.Write(b)
				return b, err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	parent := ctx
	ctx, cancel := context.WithCancel(parent)
	jobs, queue := make(chan *part), make(chan *part, workers)
	free := make(chan []byte, partQueue*workers)
	for range workers {
		go func() {
			for p := range jobs {
				p.err = write(ctx, p.index, func(b []byte) ([]byte, error) {
					select {
					case p.chunks <- b:
					case <-ctx.Done():
						return nil, ctx.Err()
					}
					select {
					case b = <-free:
						return b, nil
					default:
						return make([]byte, 0, cap(b)), nil
					}
				})
				close(p.chunks)
			}
		}()
	}
	go func() {
		defer close(queue)
		defer close(jobs)
		for i := range n {
			p := &part{index: i, chunks: make(chan []byte, partQueue)}
			select {
			case jobs <- p:
				queue <- p
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := collect(dst, queue, free, cancel); err != nil {
		return err
	}
	return parent.Err()
}

// collect writes the chunks of parts in order. It returns when all goroutines that make parts have ended.
func collect(dst io.Writer, queue <-chan *part, free chan<- []byte, cancel context.CancelFunc) (err error) {
	defer cancel()
	for p := range queue {
		for chunk := range p.chunks {
			if err != nil {
				continue
			}
			if _, err = dst.Write(chunk); err != nil {
				cancel()
			}
			if cap(chunk) > maxBundleMemory {
				continue // of a packet too large for a bundle
			}
			select {
			case free <- chunk:
			default:
			}
		}
		if err == nil && p.err != nil {
			err = p.err
			cancel()
		}
	}
	return err
}
