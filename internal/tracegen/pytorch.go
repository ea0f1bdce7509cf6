package tracegen

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
)

// PyTorch configures WritePyTorch.
type PyTorch struct {
	Seed  uint64
	Bytes int64 // minimum size of the trace; no training layer starts once the trace has this size
}

// WritePyTorch writes a trace in the form of PyTorch's profiler. Times are epoch microseconds with three decimals. The trace has
// operators nested on several threads, Python frames, kernel launches, kernels that overlap on one stream (a number on the first
// GPU, a text on the second), and flows from launches to kernels, with several ends for a graph launch. It also has memory
// instants with 64-bit addresses, counters, names, sort indexes and the other top-level members. Its memory use does not grow
// with the size.
func WritePyTorch(w io.Writer, p PyTorch) error {
	t := torch{
		w: w, r: newRand(p.Seed), limit: p.Bytes,
		now: 1_759_276_800_123_456_789, // an ordinary epoch time, 16 digits of microseconds
	}
	t.header()
	for step := int64(1); !t.full(); step++ {
		t.step(step)
	}
	t.footer()
	t.flush()
	return t.err
}

// The ids of the trace.
const (
	torchPid      = 48213
	torchMain     = torchPid
	torchBackward = 48377
	gpus          = 2 // processes 0 and 1
	streamTid     = 7
)

// flushAt is the size at which the buffer is written.
const flushAt = 64 << 10

// torch is the state of a trace under construction.
type torch struct {
	w       io.Writer
	r       *rand.Rand
	buf     []byte
	written int64
	limit   int64
	err     error
	comma   bool

	now         int64       // ns, time of the running thread
	busy        [gpus]int64 // ns, end of the last kernel of each GPU
	correlation int64
	external    int64
	allocated   int64
}

func (t *torch) full() bool { return t.err != nil || t.written+int64(len(t.buf)) >= t.limit }

func (t *torch) flush() {
	if t.err == nil {
		_, t.err = t.w.Write(t.buf)
	}
	t.written += int64(len(t.buf))
	t.buf = t.buf[:0]
}

// place is the track of an event. A text tid includes its quotes.
type place struct {
	pid int64
	tid string
}

func cpu(tid int64) place { return place{torchPid, strconv.FormatInt(tid, 10)} }

func stream(gpu int64) place {
	if gpu == 0 {
		return place{gpu, strconv.Itoa(streamTid)}
	}
	return place{gpu, fmt.Sprintf(`"stream %d"`, streamTid)}
}

// event writes an event. The parameter more is the JSON text of further members, starting with a comma.
func (t *torch) event(ph, cat, name string, at place, ts int64, more string) {
	if t.comma {
		t.buf = append(t.buf, ',')
	}
	t.comma = true
	t.buf = append(t.buf, "\n  {\n    \"ph\": \""...)
	t.buf = append(t.buf, ph...)
	if cat != "" {
		t.buf = append(t.buf, `", "cat": "`...)
		t.buf = append(t.buf, cat...)
	}
	t.buf = append(t.buf, `", "name": `...)
	t.buf = strconv.AppendQuote(t.buf, name)
	t.buf = append(t.buf, `, "pid": `...)
	t.buf = strconv.AppendInt(t.buf, at.pid, 10)
	t.buf = append(t.buf, `, "tid": `...)
	t.buf = append(t.buf, at.tid...)
	t.buf = append(t.buf, ",\n    \"ts\": "...)
	t.buf = appendMicros(t.buf, ts)
	t.buf = append(t.buf, more...)
	t.buf = append(t.buf, "\n  }"...)
	if len(t.buf) >= flushAt {
		t.flush()
	}
}

// complete writes an X event.
func (t *torch) complete(cat, name string, at place, from, to int64, args string) {
	t.event("X", cat, name, at, from, fmt.Sprintf(", \"dur\": %s,\n    \"args\": {\n      %s\n    }", appendMicros(nil, to-from), args))
}

// header writes everything before the events, and the metadata events.
func (t *torch) header() {
	t.buf = append(t.buf, `{
  "schemaVersion": 1,
  "deviceProperties": [
    {"id": 0, "name": "Example GPU", "totalGlobalMem": 85093646336, "computeMajor": 9, "computeMinor": 0, "numSms": 132},
    {"id": 1, "name": "Example GPU", "totalGlobalMem": 85093646336, "computeMajor": 9, "computeMinor": 0, "numSms": 132}
  ],
  "cuda_runtime_version": 12060,
  "with_stack": 1, "profile_memory": 1, "record_shapes": 1,
  "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 2, "pg_count": 1},
  "trace_id": "5D1B8E0C3A7F49D2",
  "displayTimeUnit": "ms",
  "baseTimeNanoseconds": 1759276800000000000,
  "traceEvents": [`...)
	t.metadata("process_name", cpu(torchMain), `"name": "python"`)
	t.metadata("process_labels", cpu(torchMain), `"labels": "CPU"`)
	t.metadata("process_sort_index", cpu(torchMain), `"sort_index": -5`)
	t.metadata("thread_name", cpu(torchMain), `"name": "thread 48213 (python)"`)
	t.metadata("thread_name", cpu(torchBackward), `"name": "thread 48377 (pt_autograd_0)"`)
	t.metadata("thread_sort_index", cpu(torchBackward), fmt.Sprintf(`"sort_index": %d`, torchBackward))
	for gpu := range int64(gpus) {
		t.metadata("process_name", stream(gpu), `"name": "python"`)
		t.metadata("process_labels", stream(gpu), fmt.Sprintf(`"labels": "GPU %d"`, gpu))
		t.metadata("process_sort_index", stream(gpu), fmt.Sprintf(`"sort_index": %d`, 5_000_000+gpu))
		t.metadata("thread_sort_index", stream(gpu), fmt.Sprintf(`"sort_index": %d`, streamTid))
	}
	t.metadata("thread_name", stream(0), fmt.Sprintf(`"name": "stream %d "`, streamTid))
	t.event("i", "", "Iteration Start: PyTorch Profiler", cpu(torchMain), t.now, `, "s": "g"`)
}

func (t *torch) metadata(name string, at place, args string) {
	t.event("M", "", name, at, t.now, fmt.Sprintf(",\n    \"args\": {\n      %s\n    }", args))
}

// footer writes everything after the events.
func (t *torch) footer() {
	t.event("i", "", "Record Window End", cpu(torchMain), max(t.now, t.busy[0], t.busy[1]), `, "s": "g"`)
	t.buf = append(t.buf, "\n  ],\n  \"traceName\": \"example.pt.trace.json\"\n}\n"...)
}

// step writes one training step: a forward pass on the main thread, and a backward pass on the autograd thread.
func (t *torch) step(n int64) {
	from := t.now
	t.now += t.between(1000, 9000)
	layers := 4 + t.r.IntN(6)
	firsts := make([]int64, 0, layers) // external ids of the forward operators, for the flows to the backward ones
	for layer := range layers {
		if t.full() {
			break
		}
		firsts = append(firsts, t.external+1)
		t.layer(layer)
	}
	for i := len(firsts) - 1; i >= 0; i-- {
		t.backward(firsts[i])
	}
	t.graph()
	t.now += t.between(1000, 9000)
	t.complete("user_annotation", "ProfilerStep#"+strconv.FormatInt(n, 10), cpu(torchMain), from, t.now, t.externalArgs())
	t.event("C", "", "GPU memory", place{torchPid, "0"}, t.now,
		fmt.Sprintf(", \"args\": {\"allocated\": %d, \"reserved\": %d.5}", t.allocated, t.allocated*2))
	t.now += t.between(2000, 20_000)
}

// between returns a random number of nanoseconds.
func (t *torch) between(from, to int64) int64 { return from + t.r.Int64N(to-from) }

// externalArgs returns the common arguments of operators, with the next external id.
func (t *torch) externalArgs() string {
	t.external++
	return fmt.Sprintf(`"External id": %d,"Record function id": 0, "Ev Idx": %d`, t.external, t.external-1)
}

// layer writes the forward pass of one layer: a Python frame around nested operators. The innermost operators launch kernels.
// Slices are written at their end, so children come before their parents in the file.
func (t *torch) layer(n int) {
	from := t.now
	t.now += t.between(500, 4000)
	linear, linearArgs := t.now, t.externalArgs()
	start := t.external
	t.event("s", "fwdbwd", "fwdbwd", cpu(torchMain), linear, fmt.Sprintf(`, "id": %d`, start))
	for _, op := range []string{"aten::t", "aten::addmm", "aten::gelu", "aten::add_"}[:2+t.r.IntN(3)] {
		t.now += t.between(300, 3000)
		t.operator(op, torchMain)
	}
	t.now += t.between(300, 2000)
	t.complete("cpu_op", "aten::linear", cpu(torchMain), linear, t.now,
		linearArgs+`, "Sequence number": `+strconv.FormatInt(start, 10)+`, "Fwd thread id": 0, "Concrete Inputs": ["", "", ""], "Input Dims": [[8, 1024, 768], [3072, 768], [3072]], "Input type": ["float", "float", "float"]`)
	t.now += t.between(500, 4000)
	t.complete("python_function", fmt.Sprintf("nn.Module: Linear_%d", n), cpu(torchMain), from, t.now,
		fmt.Sprintf(`"Python id": %d, "Python parent id": %d, "Python module id": %d`, start*2, start*2-1, n))
	t.now += t.between(100, 1000)
}

// backward writes the operators of the backward pass of one layer.
func (t *torch) backward(forward int64) {
	from, args := t.now, t.externalArgs()
	t.event("f", "fwdbwd", "fwdbwd", cpu(torchBackward), from, fmt.Sprintf(`, "id": %d, "bp": "e"`, forward))
	t.now += t.between(300, 3000)
	t.operator("aten::mm", torchBackward)
	t.now += t.between(300, 3000)
	t.complete("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", cpu(torchBackward), from, t.now, args)
	t.now += t.between(100, 2000)
}

// operator writes one operator that allocates memory and launches a kernel.
func (t *torch) operator(name string, tid int64) {
	from, args := t.now, t.externalArgs()
	t.now += t.between(200, 2000)
	bytes := 512 * (1 + t.r.Int64N(1<<15))
	t.allocated += bytes
	t.event("i", "cpu_instant_event", "[memory]", cpu(tid), t.now, fmt.Sprintf(
		", \"s\": \"t\", \"args\": {\n      \"Total Reserved\": %d, \"Total Allocated\": %d, \"Bytes\": %d, \"Addr\": %d, \"Device Id\": 0, \"Device Type\": 1\n    }",
		t.allocated*2, t.allocated, bytes, 140_000_000_000_000+t.r.Int64N(1<<40)))
	t.now += t.between(200, 2000)
	t.launch("cudaLaunchKernel", tid, 1)
	t.now += t.between(200, 2000)
	t.complete("cpu_op", name, cpu(tid), from, t.now, args+`, "Input Dims": [[768, 3072], []], "Input Strides": [[1, 768], []], "Input type": ["float", "Scalar"]`)
}

// graph launches a graph of several kernels, which are the ends of one flow.
func (t *torch) graph() {
	t.launch("cudaGraphLaunch", torchMain, 2+t.r.IntN(4))
	t.now += t.between(200, 2000)
}

// launch writes a CUDA runtime call and the kernels that it launches.
func (t *torch) launch(call string, tid int64, kernels int) {
	from := t.now
	t.now += t.between(3000, 12_000)
	t.correlation++
	id := t.correlation
	t.complete("cuda_runtime", call, cpu(tid), from, t.now, fmt.Sprintf(`"External id": %d, "cbid": 211, "correlation": %d`, t.external, id))
	t.event("s", "ac2g", "ac2g", cpu(tid), from, fmt.Sprintf(`, "id": %d`, id))
	gpu := t.r.Int64N(gpus)
	for range kernels {
		start := max(t.now, t.busy[gpu])
		if t.r.IntN(3) == 0 {
			// Kernels of one stream may overlap on the profiler's clock; such slices do not nest.
			start -= min(start-t.now, t.between(1, 3000))
		}
		dur := t.between(1500, 60_000)
		t.busy[gpu] = max(t.busy[gpu], start+dur)
		t.complete("kernel", "void gemm_kernel<float, 128, 64, 8>(float const*, float const*, float*, int)", stream(gpu), start, start+dur, fmt.Sprintf(
			`"External id": %d, "queued": 0, "device": %d, "context": 1, "stream": %d, "correlation": %d, "registers per thread": 122, "shared memory": 16640, "grid": [%d, 6, 1], "block": [256, 1, 1], "est. achieved occupancy %%": %d, "kernel hash": %d`,
			t.external, gpu, streamTid, id, 1+t.r.IntN(64), t.r.IntN(101), t.r.Uint64()|1<<63))
		t.event("f", "ac2g", "ac2g", stream(gpu), start, fmt.Sprintf(`, "id": %d, "bp": "e"`, id))
	}
}
