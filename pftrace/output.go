package pftrace

import (
	"bytes"
	"fmt"
	"io"
	"runtime"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/wire"
)

// bundleLimit is what a bundle may hold unpacked, and with it packed: Perfetto's limit is 512 KiB (spec perfetto.md
// 12), and data that does not compress grows by a few bytes.
const bundleLimit = 511 << 10

// output takes packets, puts them into bundles, compresses these in parallel and writes them in order.
type output struct {
	dst   io.Writer
	codec Codec

	// buf holds the packets of the current bundle. The writer appends a whole packet and calls packetDone.
	buf  []byte
	mark int // end of the packets that are complete

	jobs   chan *outputBundle // to the workers
	queue  chan *outputBundle // the same, in order, to the collector
	result chan error         // of the collector
	failed chan struct{}
}

// outputBundle is a number of packets on their way through a worker.
type outputBundle struct {
	packets []byte // what the writer wrote
	raw     bool   // a packet too large for a bundle: written as it is
	packed  []byte
	err     error
	ready   chan struct{}
}

func newOutput(dst io.Writer, codec Codec, workers int) (*output, error) {
	if codec != NoCodec && codec != Zlib && codec != Zstd {
		return nil, fmt.Errorf("packets cannot be written with %v", codec)
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	o := &output{
		dst: dst, codec: codec, buf: make([]byte, 0, bundleLimit+64<<10),
		queue: make(chan *outputBundle, workers+1), result: make(chan error, 1), failed: make(chan struct{}),
	}
	if codec != NoCodec {
		o.jobs = make(chan *outputBundle, workers+1)
		for range workers {
			go compressBundles(codec, o.jobs)
		}
	}
	go o.collect()
	return o, nil
}

// packetDone is called when a whole packet has been appended to buf.
func (o *output) packetDone() error {
	if len(o.buf) < bundleLimit {
		o.mark = len(o.buf)
		return nil
	}
	// The last packet does not fit any more: what is before it goes, and it starts the next bundle.
	last := o.buf[o.mark:]
	next := make([]byte, 0, max(bundleLimit+64<<10, len(last)))
	next = append(next, last...)
	if err := o.send(o.buf[:o.mark], false); err != nil {
		return err
	}
	o.buf, o.mark = next, len(next)
	if len(next) < bundleLimit {
		return nil
	}
	err := o.send(next, true)
	o.buf, o.mark = make([]byte, 0, bundleLimit+64<<10), 0
	return err
}

// errOutput stands for the error of the collector, which close returns.
var errOutput = fmt.Errorf("the output failed")

func (o *output) send(packets []byte, raw bool) error {
	if len(packets) == 0 {
		return nil
	}
	b := &outputBundle{packets: packets, raw: raw || o.codec == NoCodec, ready: make(chan struct{})}
	if b.raw {
		b.packed = packets
		close(b.ready)
	} else {
		o.jobs <- b
	}
	select {
	case o.queue <- b:
		return nil
	case <-o.failed:
		return errOutput
	}
}

// close writes what is left and waits until everything is written.
func (o *output) close() error {
	err := o.send(o.buf, false)
	if o.jobs != nil {
		close(o.jobs)
	}
	close(o.queue)
	if collected := <-o.result; collected != nil {
		return collected
	}
	return err
}

// collect writes bundles in order.
func (o *output) collect() {
	var err error
	for b := range o.queue {
		<-b.ready
		if err == nil {
			err = b.err
		}
		if err != nil {
			continue
		}
		if _, err = o.dst.Write(b.packed); err != nil {
			close(o.failed)
		}
	}
	o.result <- err
}

// compressBundles is a worker.
func compressBundles(codec Codec, jobs <-chan *outputBundle) {
	compress, field := newCompressor(codec)
	for b := range jobs {
		var stream []byte
		stream, b.err = compress(b.packets)
		head, packet := wire.BeginMessage(nil, tracePacket)
		head = wire.AppendBytes(head, field, stream)
		b.packed = wire.EndMessage(head, packet)
		b.packets = nil
		close(b.ready)
	}
}

// newCompressor returns a function that compresses, whose result is valid until its next call, and the field in which
// the result goes.
func newCompressor(codec Codec) (compress func([]byte) ([]byte, error), field int) {
	if codec == Zstd {
		enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		var out []byte
		return func(p []byte) ([]byte, error) {
			if err != nil {
				return nil, err
			}
			out = enc.EncodeAll(p, out[:0])
			return out, nil
		}, fieldZstdCompressedPackets
	}
	var out bytes.Buffer
	z := zlib.NewWriter(&out)
	return func(p []byte) ([]byte, error) {
		out.Reset()
		z.Reset(&out)
		if _, err := z.Write(p); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		return out.Bytes(), nil
	}, fieldCompressedPackets
}
