package tracegen

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
)

// CPUProfile configures WriteCPUProfile.
type CPUProfile struct {
	Seed    uint64
	Samples int
	Depth   int // of most stacks
	Repeat  int // percentage of samples that repeat the previous stack; 0: nearly all stacks differ
}

// maxProfileNodes limits the tree of a generated profile: real profiles have about ten thousand nodes.
const maxProfileNodes = 20_000

// profileNode is a node of a generated profile.
type profileNode struct {
	parent   int
	depth    int
	children []int
}

// The first nodes of a generated profile. Node n has the id n+1.
const (
	profileRoot = iota
	profileProgram
	profileIdle
	profileGC
	profileFirst // the first function
)

// sampledProfile is a generated profile.
type sampledProfile struct {
	nodes   []profileNode
	samples []int // nodes
	deltas  []int // microseconds
}

// newSampledProfile generates a profile. Its stacks are a random walk through a call tree, so that consecutive stacks usually
// share most of their frames, as in real profiles. Some samples are program, idle or garbage collection, and some time deltas are
// negative.
func newSampledProfile(c CPUProfile) sampledProfile {
	rnd := newRand(c.Seed)
	p := sampledProfile{nodes: []profileNode{{depth: -1}, {}, {}, {}}, samples: make([]int, c.Samples), deltas: make([]int, c.Samples)}
	at := profileRoot
	for i := range p.samples {
		if c.Repeat > 0 && i > 0 && rnd.IntN(100) < c.Repeat {
			p.samples[i] = p.samples[i-1]
			continue
		}
		if rnd.IntN(20) == 0 {
			p.samples[i] = profileProgram + rnd.IntN(3)
			continue
		}
		for up := rnd.IntN(4); up > 0 && p.nodes[at].parent != profileRoot; up-- {
			at = p.nodes[at].parent
		}
		for p.nodes[at].depth < c.Depth-1 {
			at, p.nodes = profileChild(rnd, p.nodes, at)
		}
		p.samples[i] = at
	}
	for i := range p.deltas {
		p.deltas[i] = 100 + rnd.IntN(100)
		if rnd.IntN(100) == 0 {
			p.deltas[i] = -50
		}
	}
	return p
}

// profileStart is the start of a generated profile, in microseconds.
const profileStart = 1_000_000

// WriteCPUProfile writes a .cpuprofile in the form that Node.js uses.
func WriteCPUProfile(w io.Writer, c CPUProfile) error {
	p := newSampledProfile(c)
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(`{"nodes":[`)
	writeProfileNodes(out, p.nodes)
	fmt.Fprintf(out, `],"startTime":%d,"endTime":%d,"samples":[`, profileStart, profileStart+150*c.Samples)
	writeNumbers(out, p.samples, 1)
	out.WriteString(`],"timeDeltas":[`)
	writeNumbers(out, p.deltas, 0)
	out.WriteString("]}")
	return out.Flush()
}

// samplesPerChunk is the number of samples in each ProfileChunk of a generated trace. Chrome writes a few hundred.
const samplesPerChunk = 200

// WriteSampledTrace writes the profile of WriteCPUProfile as a Chrome trace: a Profile event and ProfileChunks and, for every 50
// samples, a FunctionCall on the sampled thread with a Layout inside.
func WriteSampledTrace(w io.Writer, c CPUProfile) error {
	p := newSampledProfile(c)
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(`{"traceEvents":[{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"CrRendererMain"}},`)
	fmt.Fprintf(out, `{"ph":"P","pid":1,"tid":1,"ts":%d,"name":"Profile","id":"0x1","cat":"v8","args":{"data":{"startTime":%[1]d}}}`, profileStart)
	ts := profileStart
	for i := 0; i < len(p.samples); i += samplesPerChunk {
		end := min(i+samplesPerChunk, len(p.samples))
		for k := i; k < end; k++ {
			if k%50 == 0 {
				fmt.Fprintf(out, ",\n"+`{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":5000,"cat":"v8","name":"FunctionCall"}`, ts+10)
				fmt.Fprintf(out, ",\n"+`{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":300,"cat":"v8","name":"Layout"}`, ts+1010)
			}
			ts += p.deltas[k]
		}
		fmt.Fprintf(out, ",\n"+`{"ph":"P","pid":1,"tid":2,"ts":%d,"name":"ProfileChunk","id":"0x1","cat":"v8","args":{"data":{"cpuProfile":{`, ts)
		if i == 0 {
			out.WriteString(`"nodes":[`)
			writeProfileNodes(out, p.nodes)
			out.WriteString(`],`)
		}
		out.WriteString(`"samples":[`)
		writeNumbers(out, p.samples[i:end], 1)
		out.WriteString(`]},"timeDeltas":[`)
		writeNumbers(out, p.deltas[i:end], 0)
		out.WriteString(`]}}}`)
	}
	out.WriteString("]}\n")
	return out.Flush()
}

// writeNumbers writes the elements of a list, each increased by plus.
func writeNumbers(out *bufio.Writer, numbers []int, plus int) {
	for i, n := range numbers {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprint(out, n+plus)
	}
}

// profileChild returns a child of a node, perhaps a new one.
func profileChild(rnd *rand.Rand, nodes []profileNode, at int) (int, []profileNode) {
	n := &nodes[at]
	if len(n.children) > 0 && (len(nodes) >= maxProfileNodes || len(n.children) == 4 || rnd.IntN(8) > 0) {
		return n.children[rnd.IntN(len(n.children))], nodes
	}
	child := len(nodes)
	n.children = append(n.children, child)
	return child, append(nodes, profileNode{parent: at, depth: n.depth + 1})
}

// writeProfileNodes writes the elements of the node list.
func writeProfileNodes(out *bufio.Writer, nodes []profileNode) {
	meta := [profileFirst]string{"(root)", "(program)", "(idle)", "(garbage collector)"}
	for i, n := range nodes {
		if i > 0 {
			out.WriteByte(',')
		}
		fn := i % 2000
		if i < profileFirst {
			fmt.Fprintf(out, `{"id":%d,"callFrame":{"functionName":%q,"scriptId":"0","url":"","lineNumber":-1,"columnNumber":-1}`, i+1, meta[i])
		} else {
			fmt.Fprintf(out, `{"id":%d,"callFrame":{"functionName":"function%d","scriptId":"%d",`, i+1, fn, 10+fn%40)
			fmt.Fprintf(out, `"url":"file:///app/module%d.js","lineNumber":%d,"columnNumber":%d}`, fn%40, fn/40*7, fn%80)
		}
		if i > 0 {
			fmt.Fprintf(out, `,"parent":%d`, n.parent+1)
		}
		out.WriteByte('}')
	}
}
