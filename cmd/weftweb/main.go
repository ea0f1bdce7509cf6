//go:build js && wasm

// Command weftweb is weft for a browser: a WebAssembly module that a worker of weft.html runs. It converts the files that the
// user chose, in the worker's memory, and connects to nothing.
//
// The worker (bundle/page/worker.js) calls functions of the global object weft, which this program sets:
//
//	weft.open([file], {attribute, report}, on)     on.progress(bytes, memory), on.report(html) or on.unreported(text), on.chunk(Uint8Array)
//	weft.compare([base, new], {}, on)              on.progress(bytes, memory), on.report(html)
//	weft.sum([file, …], {}, on)                    on.progress(bytes, memory), on.report(html)
//
// and finally on.done() or on.failed(text). bytes is the number of bytes read from all files, memory the number of bytes in use.
// Only one call can run at a time. Command bundle, in the folder below, builds the module and the page.
package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"runtime/debug"
	"runtime/metrics"
	"syscall/js"

	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/pftrace"
)

// memory is the memory budget of a conversion, in bytes. A browser has no disk to sort on: data that does not fit into the 4 GiB
// of address space ends the module, and the page explains what to do.
const memory = 6_500_000_000

// most is the memory limit, in bytes, at which the collector does all it can to stay below the 4 GiB that a module can have.
const most = 3584 << 20

// garbage is the collector's GOGC value. It is high because a module has only one thread, which waits for the collector.
const garbage = 400

func main() {
	debug.SetGCPercent(garbage)
	debug.SetMemoryLimit(most)
	js.Global().Set("weft", js.ValueOf(map[string]any{
		"open":    operation(openFile),
		"compare": operation(compareFiles),
		"sum":     operation(sumFiles),
	}))
	select {}
}

// operation wraps do, which reads files, in a JavaScript function. do runs in a goroutine, because timers need the worker's event
// loop.
func operation(do func(files []*file, flags, on js.Value) error) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		list, flags, on := args[0], args[1], args[2]
		files, before := make([]*file, list.Length()), int64(0)
		for i := range files {
			files[i] = newFile(list.Index(i), on, before)
			before += files[i].size
		}
		go func() {
			debug.FreeOSMemory() // the memory of the previous operation, which can be most of it
			if err := do(files, flags, on); err != nil {
				on.Call("failed", load.ErrorText(err))
				return
			}
			on.Call("done")
		}()
		return nil
	})
}

// options returns the options that weft convert uses for a file, except for compression: the browser's own is faster.
func options() load.Options {
	return load.Options{Memory: memory, Workers: 1, Packets: pftrace.Compact}
}

// readSize is the number of bytes read from a file at once, chunkSize the size at which a chunk of the result is passed on.
const (
	readSize  = 256 << 10
	chunkSize = 16 << 20
)

// file reads a JavaScript File synchronously, without the event loop.
type file struct {
	file, reader, on js.Value
	name             string
	at, size         int64
	before           int64 // total size of the files before it
	buf, rest        []byte
}

func newFile(input, on js.Value, before int64) *file {
	return &file{
		file: input, reader: js.Global().Get("FileReaderSync").New(), on: on, name: path.Base(input.Get("name").String()),
		size: int64(input.Get("size").Float()), before: before,
	}
}

// failed prefixes an error with the name of the file.
func (f *file) failed(err error) error { return fmt.Errorf("%s: %w", f.name, err) }

// Read implements io.Reader. A file that has changed since it was chosen cannot be read.
func (f *file) Read(p []byte) (int, error) {
	if len(f.rest) == 0 {
		if f.at >= f.size {
			return 0, io.EOF
		}
		if err := f.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

func (f *file) fill() (err error) {
	defer func() {
		switch thrown := recover().(type) {
		case nil:
		case js.Error:
			err = errors.New("the file cannot be read: " + thrown.Value.Get("message").String())
		default:
			panic(thrown)
		}
	}()
	end := min(f.at+readSize, f.size)
	piece := js.Global().Get("Uint8Array").New(f.reader.Call("readAsArrayBuffer", f.file.Call("slice", f.at, end)))
	if f.buf == nil {
		f.buf = make([]byte, min(readSize, f.size))
	}
	n := js.CopyBytesToGo(f.buf, piece)
	if n == 0 {
		return io.ErrUnexpectedEOF
	}
	f.rest, f.at = f.buf[:n], f.at+int64(n)
	f.on.Call("progress", f.before+f.at, memoryInUse())
	return nil
}

// memoryInUse returns the memory used by heap objects, in bytes.
func memoryInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// chunks passes written data to JavaScript in arrays.
type chunks struct {
	on  js.Value
	buf []byte
}

// Write implements io.Writer.
func (c *chunks) Write(p []byte) (int, error) {
	c.buf = append(c.buf, p...)
	if len(c.buf) >= chunkSize {
		c.flush()
	}
	return len(p), nil
}

func (c *chunks) flush() {
	if len(c.buf) == 0 {
		return
	}
	piece := js.Global().Get("Uint8Array").New(len(c.buf))
	js.CopyBytesToJS(piece, c.buf)
	c.on.Call("chunk", piece)
	c.buf = c.buf[:0]
}
