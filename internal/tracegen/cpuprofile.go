package tracegen

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
)

// CPUProfile says what WriteCPUProfile makes.
type CPUProfile struct {
	Seed    uint64
	Samples int
	Depth   int // of most stacks
}

// maxProfileNodes is where the tree of a generated profile ends to grow: real ones have some ten thousand nodes.
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

// WriteCPUProfile writes a .cpuprofile in the form of Node.js. Its stacks walk at random through a tree of calls, so
// that they mostly share their greater part with the stack before, as real ones do; some samples are of the program, idle
// or of garbage collection, and some times go back.
func WriteCPUProfile(w io.Writer, c CPUProfile) error {
	rnd := newRand(c.Seed)
	nodes := []profileNode{{depth: -1}, {}, {}, {}}
	samples := make([]int, c.Samples)
	at := profileRoot
	for i := range samples {
		if rnd.IntN(20) == 0 {
			samples[i] = profileProgram + rnd.IntN(3)
			continue
		}
		for up := rnd.IntN(4); up > 0 && nodes[at].parent != profileRoot; up-- {
			at = nodes[at].parent
		}
		for nodes[at].depth < c.Depth-1 {
			at, nodes = profileChild(rnd, nodes, at)
		}
		samples[i] = at
	}

	out := bufio.NewWriterSize(w, 1<<16)
	writeProfileNodes(out, nodes)
	fmt.Fprintf(out, `],"startTime":1000000,"endTime":%d,"samples":[`, 1_000_000+150*c.Samples)
	for i, n := range samples {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprint(out, n+1)
	}
	out.WriteString(`],"timeDeltas":[`)
	for i := range samples {
		if i > 0 {
			out.WriteByte(',')
		}
		delta := 100 + rnd.IntN(100)
		if rnd.IntN(100) == 0 {
			delta = -50
		}
		fmt.Fprint(out, delta)
	}
	out.WriteString("]}")
	return out.Flush()
}

// profileChild returns a child of a node, which may be a new one.
func profileChild(rnd *rand.Rand, nodes []profileNode, at int) (int, []profileNode) {
	n := &nodes[at]
	if len(n.children) > 0 && (len(nodes) >= maxProfileNodes || len(n.children) == 4 || rnd.IntN(8) > 0) {
		return n.children[rnd.IntN(len(n.children))], nodes
	}
	child := len(nodes)
	n.children = append(n.children, child)
	return child, append(nodes, profileNode{parent: at, depth: n.depth + 1})
}

func writeProfileNodes(out *bufio.Writer, nodes []profileNode) {
	meta := [profileFirst]string{"(root)", "(program)", "(idle)", "(garbage collector)"}
	out.WriteString(`{"nodes":[`)
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
