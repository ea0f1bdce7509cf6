package inputs

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
)

const (
	firstChunk      = 16 << 10 // doubles whenever a read fills it, so that a short input needs little memory
	readAheadChunk  = 256 << 10
	readAheadChunks = 4
	maxEmptyReads   = 100
)

// A readAhead reads its source in a goroutine, a few chunks ahead of the consumer. Unpacking thus overlaps with parsing, and a
// consumer waiting for a slow source (a pipe, a terminal) still returns immediately when ctx is done.
type readAhead struct {
	ctx  context.Context
	full chan chunk
	free chan []byte
	done chan struct{} // closed after the goroutine's last Read

	taken atomic.Int64 // number of bytes read from the source
	buf   []byte       // the chunk being consumed; returned to free after use
	rest  []byte       // the unread part of buf
	err   error        // returned after rest
}

// chunk is the result of one Read of the source.
type chunk struct {
	buf []byte
	n   int
	err error
}

// newReadAhead starts to read src. The goroutine ends at the first error from src, including io.EOF, or when ctx is done and the
// current Read has returned; it leaks if that Read never returns.
func newReadAhead(ctx context.Context, src io.Reader) *readAhead {
	r := &readAhead{
		ctx:  ctx,
		full: make(chan chunk, readAheadChunks),
		free: make(chan []byte, readAheadChunks),
		done: make(chan struct{}),
	}
	for range readAheadChunks {
		r.free <- nil // allocated on first use: small inputs need only one chunk
	}
	go r.fill(src)
	return r
}

func (r *readAhead) fill(src io.Reader) {
	defer close(r.done)
	empty, size := 0, firstChunk
	for {
		var buf []byte
		select {
		case buf = <-r.free:
		case <-r.ctx.Done():
			return
		}
		if len(buf) < size {
			buf = newChunk(size)
		}
		n, err := src.Read(buf)
		r.taken.Add(int64(n))
		if n == len(buf) {
			size = min(2*size, readAheadChunk)
		}
		if empty++; n > 0 {
			empty = 0
		}
		if err == nil && empty >= maxEmptyReads {
			err = io.ErrNoProgress
		}
		select {
		case r.full <- chunk{buf: buf, n: n, err: err}:
		case <-r.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// chunks holds full-size chunks from earlier inputs for reuse: a program may read thousands of small inputs one after the other.
var chunks sync.Pool

func newChunk(size int) []byte {
	if size == readAheadChunk {
		if c, ok := chunks.Get().(*[readAheadChunk]byte); ok {
			return c[:]
		}
	}
	return make([]byte, size)
}

// recycle returns the chunks to the pool. The goroutine has already ended: its last result was the error.
func (r *readAhead) recycle() {
	for more := true; more; {
		if len(r.buf) == readAheadChunk {
			chunks.Put((*[readAheadChunk]byte)(r.buf))
		}
		select {
		case r.buf = <-r.free:
		default:
			r.buf, more = nil, false
		}
	}
}

// Read implements io.Reader. It returns the context's cause when the context is done.
func (r *readAhead) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(r.rest) == 0 {
		if r.err != nil {
			r.recycle()
			return 0, r.err
		}
		if r.buf != nil {
			r.free <- r.buf // never blocks: the channel can hold every chunk
			r.buf = nil
		}
		select {
		case c := <-r.full:
			r.buf, r.rest, r.err = c.buf, c.buf[:c.n], c.err
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
