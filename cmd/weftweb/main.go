//go:build js && wasm

// Command weftweb is weft in a browser: a WebAssembly module that a worker of weft.html runs. It converts files that the user
// chose, in the worker's memory, and connects to nothing.
//
// The worker (bundle/page/worker.js) calls what this program puts into the global object weft:
//
//	weft.convert(file, {attribute}, on)   on.progress(bytes, memory), on.chunk(Uint8Array), then on.done(json) or on.failed(text)
//	weft.report(file, {attribute}, on)    on.progress(bytes, memory), then on.done(html) or on.failed(text)
//
// bytes are those of the file that were read, memory is that in use, in bytes. Each runs one at a time. Command bundle, below it, builds the module and makes the page.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"runtime/metrics"
	"syscall/js"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/pftrace"
)

// memory is the budget of a conversion. There is no disk to sort on in a browser: what does not fit 4 GiB of address space ends the
// module, and the page says what to do then.
const memory = 6_500_000_000

// most is where the collector does all it can to keep the memory below the 4 GiB that a module can have.
const most = 3584 << 20

func main() {
	debug.SetMemoryLimit(most)
	js.Global().Set("weft", js.ValueOf(map[string]any{
		"convert": operation(convertFile),
		"report":  operation(reportFile),
	}))
	select {}
}

// operation makes a function of JavaScript of one that reads a file and returns what on.done gets. It runs in a goroutine, because
// timers need the event loop of the worker.
func operation(do func(src *file, opts convert.Options, on js.Value) (string, error)) js.Func {
	return js.FuncOf(func(_ js.Value, args []js.Value) any {
		input, flags, on := args[0], args[1], args[2]
		go func() {
			debug.FreeOSMemory() // what the one before has left, which may be most of the memory
			result, err := do(newFile(input, on), optionsOf(flags), on)
			if err != nil {
				on.Call("failed", message(err))
				return
			}
			on.Call("done", result)
		}()
		return nil
	})
}

// optionsOf returns those with which weft convert writes a file, but for compression: the browser's own is faster.
func optionsOf(flags js.Value) convert.Options {
	opts := convert.Options{Memory: memory, Workers: 1, Packets: pftrace.Compact}
	if flags.Get("attribute").Truthy() {
		opts.Attribute = &attribution.Options{}
	}
	return opts
}

// message is what the page shows of an error.
func message(err error) string {
	if errors.Is(err, convert.ErrUnknownFormat) {
		return err.Error() + "\nweft reads traces of Chrome and Perfetto, profiles of Firefox and V8, self-profiles of pages, OpenTelemetry traces, HTTP archives, and probe lines."
	}
	return err.Error()
}

// convertFile writes the trace in pieces to on.chunk, and returns the report of the conversion as JSON.
func convertFile(src *file, opts convert.Options, on js.Value) (string, error) {
	out := &chunks{on: on}
	report, err := convert.Convert(context.Background(), out, src, opts)
	if err != nil {
		return "", err
	}
	out.flush()
	text, err := json.Marshal(report)
	return string(text), err
}

// readSize is how much of a file is read at once, chunkSize how much of the result is handed out at once.
const (
	readSize  = 4 << 20
	chunkSize = 16 << 20
)

// file reads a File of JavaScript, without waiting for the event loop.
type file struct {
	file, reader, on js.Value
	at, size         int64
	buf, rest        []byte
}

func newFile(input, on js.Value) *file {
	return &file{file: input, reader: js.Global().Get("FileReaderSync").New(), on: on, size: int64(input.Get("size").Float())}
}

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
	f.on.Call("progress", f.at, memoryInUse())
	return nil
}

// memoryInUse returns the memory that objects take, in bytes.
func memoryInUse() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// chunks hands out what is written, in arrays of JavaScript.
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
