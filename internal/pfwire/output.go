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

// bundleLimit is the maximum size of a bundle before compression, in bytes. It keeps the compressed bundle below Perfetto's limit
// of 512 KiB too (perfetto.md 12): incompressible data grows by a few bytes.
const bundleLimit = 511 << 10

// maxBundleMemory limits the capacity of reused buffers: it suffices for a full bundle and most packets that do not fit into it.
const maxBundleMemory = 2 * bundleLimit

// emitter writes a chunk of the output and takes ownership of the slice. It returns another slice for reuse.
type emitter func([]byte) ([]byte, error)

// bundler collects packets into bundles and emits the bundles.
type bundler struct {
	// buf contains the packets of the current bundle. The writer appends a whole packet, then calls packetDone.
	buf  []byte
	mark int // end of the packets that fit into the bundle
	done int // end of the packets for which packetDone was called

	maxPacket int    // size limit of a packet; larger ones are shortened
	shortened uint64 // number of shortened packets

	compress func([]byte) ([]byte, error) // nil: packets are not compressed
	field    int                          // field of TracePacket for bundles
	packed   []byte                       // scratch
	last     []byte
	emit     emitter
	bundles  int // number of emitted bundles

	// While hold is set, packets stay in buf until release. When they reach limit bytes, full is called.
	hold  bool
	limit int
	full  func() error
	spare []byte // the other buffer, for reuse
}

// holdBack keeps all further packets until release. The callback full is called when these packets reach limit bytes, and must
// release them.
func (o *bundler) holdBack(limit int, full func() error) {
	o.hold, o.limit, o.full = true, limit, full
	o.buf, o.spare = o.spare[:0], o.buf
	o.done = 0
}

// maxHeldBack limits the bytes of held-back packets; a segment usually needs a third of it. It does not affect the output.
const maxHeldBack = 8 << 20

// release writes the packets that were held back. It calls rewrite for each of them in order, with its offset; rewrite appends
// the packet, changed or unchanged, to b.
func (o *bundler) release(rewrite func(b []byte, at int, packet []byte) []byte) error {
	packets := o.buf
	o.buf, o.spare, o.hold, o.mark, o.done = o.spare[:0], packets, false, 0, 0
	for at := 0; at < len(packets); {
		size, n := decodeVarint(packets[at+1:]) // after the tag
		end := at + 1 + n + int(size)
		o.buf = rewrite(o.buf, at, packets[at:end])
		if err := o.packetDone(); err != nil {
			return err
		}
		at = end
	}
	if cap(o.spare) > 2*maxHeldBack {
		o.spare = nil // it grew for a packet too large for a bundle
	}
	return nil
}

// packetDone must be called after a whole packet has been appended to buf.
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
	// The packet does not fit: flush the bundle without it and start the next bundle with it.
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
	// A packet too large for a bundle is written outside bundles, and its memory is not reused.
	_, err := o.emit(o.buf)
	o.buf, o.last, o.mark, o.done = nil, nil, 0, 0
	return err
}

// shorten shortens packets that readers would skip because of their size.
func (o *bundler) shorten() {
	shorter, n := shortenPackets(slices.Clone(o.buf[:o.done]), o.buf[o.done:], o.maxPacket)
	o.buf = shorter
	o.shortened += n
}

// flush emits the packets, which must all be complete.
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

// Buffers holds bundlers and compressors for reuse by Write, because creating them takes longer than writing a small trace. The
// zero Buffers is ready for use by several goroutines at once. Its memory grows with the number of bundlers in use at the same
// time: up to 3 MiB for each worker, plus maxHeldBack.
type Buffers struct {
	lock sync.Mutex
	free map[bundleForm][]*bundler
}

// bundleForm is the compression of bundles.
type bundleForm struct {
	codec Codec
	level int // 0: defaultLevel
}

// defaultLevel is the default compression level of each codec. With zlib, compact packets at level 2 are smaller than plain
// packets at the usual level 6, in half the time (docs/performance.md has the table). 3 is the default of the zstd program.
var defaultLevel = [...]int{Zlib: 2, Zstd: 3}

// get returns an empty bundler that calls emit.
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

// put returns a flushed bundler for reuse.
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

// zlibCompressor returns a function that compresses data. Its result is valid until the next call.
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

// zstdCompressor is like zlibCompressor, but for zstd. The library maps the zstd program's levels to four levels of its own.
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

// partQueue is how many bundles of a part can wait for the parts before it.
const partQueue = 8

// maxWorkers limits the goroutines of an output: each can have partQueue bundles waiting, and all wait for one writer.
const maxWorkers = 64

// workersFor returns the number of workers for n parts, limiting the requested number; 0 requests one per core.
func workersFor(n, workers int) int {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	return min(workers, n, maxWorkers)
}

// part is a part of the output on its way to the writer.
type part struct {
	index  int
	chunks chan []byte
	err    error // set before chunks is closed
}

// writeInOrder calls write for the parts 0 to n-1, several at once, and writes the emitted chunks in the order of the parts. A part
// waits after emitting partQueue chunks ahead of time, so that memory is bounded.
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

// collect writes the chunks of parts in order. It returns after all goroutines that produce parts have ended.
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
				continue // it grew for a packet too large for a bundle
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
