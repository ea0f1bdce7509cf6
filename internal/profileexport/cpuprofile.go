package profileexport

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/timeline"
)

// Pseudo functions in V8 profiles.
const (
	rootFunction = "(root)"
	idleFunction = timeline.V8Idle
	gcFunction   = "(garbage collector)"
)

// WriteCPUProfiles writes a V8 CPU profile for each thread, with times in microseconds: every sample or, for slices, every change
// of the stack. Gaps become idle samples. The profile must be Ordered, and can be written only once. For each thread, create is
// called with the thread's index, and must call fill with the destination.
func (p *Profile) WriteCPUProfiles(ctx context.Context, create func(thread int, fill func(io.Writer) error) error) error {
	return p.eachThread(ctx, func(thread int, next func(*piece) (bool, error)) error {
		b := newCPUProfile(p)
		for {
			var x piece
			ok, err := next(&x)
			if err != nil {
				return err
			}
			if !ok {
				b.close()
				return create(thread, b.write)
			}
			b.add(&x)
		}
	})
}

// cpuProfile is a V8 profile under construction. Its samples are in memory, at 12 bytes each.
type cpuProfile struct {
	p      *Profile
	nodes  []cpuNode
	byKey  map[cpuNodeKey]int32
	stacks map[cpuStackKey]int32 // the node of a stack
	path   []FrameID

	samples []int32
	times   []timeline.Nanos
	end     timeline.Nanos
}

type cpuNode struct {
	frame    FrameID // 0: the root
	children []int32
}

type cpuNodeKey struct {
	parent int32
	frame  FrameID
}

type cpuStackKey struct {
	contexts contextsID
	stack    StackID
}

func newCPUProfile(p *Profile) *cpuProfile {
	return &cpuProfile{p: p, nodes: make([]cpuNode, 1), byKey: map[cpuNodeKey]int32{}, stacks: map[cpuStackKey]int32{}}
}

// add adds a sample, preceded by an idle sample if there is a gap.
func (b *cpuProfile) add(x *piece) {
	if len(b.samples) > 0 && x.start > b.end {
		b.sample(b.child(0, b.p.stacks.frame(Frame{Name: idleFunction})), b.end)
	}
	key := cpuStackKey{x.contexts, x.stack}
	node, ok := b.stacks[key]
	if !ok {
		node = b.node(x)
		b.stacks[key] = node
	}
	b.sample(node, x.start)
	b.end = max(b.end, x.start+x.length)
}

// close ends the last sample. Readers assume that the last sample has the average length of the others (profile-calls.md 3). If
// its length differs by more than 1 µs, close adds an idle sample after it.
func (b *cpuProfile) close() {
	n := len(b.times)
	if n == 0 {
		return
	}
	length, usual := b.end-b.times[n-1], timeline.Nanos(0)
	if n > 1 {
		usual = (b.times[n-1] - b.times[0]) / timeline.Nanos(n-1)
	}
	if difference := length - usual; difference < -1000 || difference > 1000 {
		b.sample(b.child(0, b.p.stacks.frame(Frame{Name: idleFunction})), b.end)
	}
}

func (b *cpuProfile) sample(node int32, at timeline.Nanos) {
	b.samples = append(b.samples, node)
	b.times = append(b.times, at)
}

// node returns the node for a stack. A garbage collection is a child of the root, whatever it interrupts: readers move it to the
// previous sample's stack, as V8 does.
func (b *cpuProfile) node(x *piece) (node int32) {
	b.path = b.p.appendFrames(b.path[:0], x.contexts, x.stack)
	if n := len(b.path); n > 0 && b.p.stacks.frames[b.path[n-1]] == (Frame{Name: gcFunction}) {
		b.path = b.path[n-1:]
	}
	if len(b.path) == 0 {
		return b.child(0, b.p.stacks.frame(Frame{Name: idleFunction}))
	}
	for _, frame := range b.path {
		node = b.child(node, frame)
	}
	return node
}

// child returns a child of a node, adding it if necessary.
func (b *cpuProfile) child(parent int32, frame FrameID) int32 {
	key := cpuNodeKey{parent, frame}
	id, ok := b.byKey[key]
	if !ok {
		id = int32(len(b.nodes))
		b.nodes = append(b.nodes, cpuNode{frame: frame})
		b.byKey[key] = id
		b.nodes[parent].children = append(b.nodes[parent].children, id)
	}
	return id
}

// callFrame describes a function in the file: lines and columns count from 0; -1 means unknown.
type callFrame struct {
	FunctionName string `json:"functionName"`
	ScriptID     string `json:"scriptId"`
	URL          string `json:"url"`
	LineNumber   int64  `json:"lineNumber"`
	ColumnNumber int64  `json:"columnNumber"`
}

// write writes the profile. Nodes are numbered from 1.
func (b *cpuProfile) write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 1<<16)
	hits := make([]int64, len(b.nodes))
	for _, node := range b.samples {
		hits[node]++
	}
	out.WriteString(`{"nodes":[`)
	for i := range b.nodes {
		n := &b.nodes[i]
		frame := Frame{Name: rootFunction}
		if n.frame != 0 {
			frame = b.p.stacks.frames[n.frame]
		}
		node := struct {
			ID        int       `json:"id"`
			CallFrame callFrame `json:"callFrame"`
			HitCount  int64     `json:"hitCount"`
			Children  []int32   `json:"children,omitempty"`
		}{i + 1, callFrame{frame.Name, "0", frame.File, frame.Line - 1, frame.Column - 1}, hits[i], slices.Clone(n.children)}
		if frame.Name == anonymous {
			node.CallFrame.FunctionName = "" // V8 writes an empty name
		}
		for j := range node.Children {
			node.Children[j]++
		}
		line, err := json.Marshal(&node)
		if err != nil {
			return err
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteByte('\n')
		out.Write(jsonscan.Escape(line))
	}
	start := timeline.Nanos(0)
	if len(b.times) > 0 {
		start = b.times[0]
	}
	out.WriteString("\n],\"startTime\":" + micros(start) + `,"endTime":` + micros(b.end) + `,"samples":[`)
	b.numbers(out, func(i int) string { return strconv.Itoa(int(b.samples[i]) + 1) })
	out.WriteString(`],"timeDeltas":[`)
	last := start / 1000
	b.numbers(out, func(i int) string {
		delta := b.times[i]/1000 - last
		last += delta
		return strconv.FormatInt(int64(delta), 10)
	})
	out.WriteString("]}\n")
	return out.Flush()
}

// numbers writes a number for each sample.
func (b *cpuProfile) numbers(out *bufio.Writer, number func(i int) string) {
	for i := range b.samples {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(number(i))
	}
}

func micros(t timeline.Nanos) string { return strconv.FormatInt(int64(t/1000), 10) }
