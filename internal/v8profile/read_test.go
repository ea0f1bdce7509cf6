package v8profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/recording"
)

// dump formats a profile: the tree, then the samples, then the closing time.
func dump(p *Profile) string {
	if p == nil {
		return "none\n"
	}
	var out strings.Builder
	for i := range p.NodeCount() {
		n := NodeIndex(i)
		node, fn := p.Node(n), p.FunctionOf(n)
		fmt.Fprintf(&out, "%s%d %s", strings.Repeat("  ", int(node.Depth)+1), node.ID, fn.Name)
		if fn.Line >= 0 || fn.Column >= 0 || fn.URL != "" || fn.ScriptID != "" {
			fmt.Fprintf(&out, " %s#%s:%d:%d", fn.URL, fn.ScriptID, fn.Line, fn.Column)
		}
		if node.Hits > 0 {
			fmt.Fprintf(&out, " hits %d", node.Hits)
		}
		if reason := p.DeoptReason(n); reason != "" {
			fmt.Fprintf(&out, " deopt %q", reason)
		}
		if fn.CodeType != "" {
			fmt.Fprintf(&out, " %s", fn.CodeType)
		}
		for _, t := range p.LineTicks(n) {
			fmt.Fprintf(&out, " line %d×%d", t.Line, t.Ticks)
		}
		out.WriteByte('\n')
	}
	for i := range p.Len() {
		fmt.Fprintf(&out, "@%d", p.Samples().Time(i))
		if at := p.Samples().Index(i); at != i {
			fmt.Fprintf(&out, " (%d)", at)
		}
		fmt.Fprintf(&out, " %d", p.Node(p.Samples().At(i)).ID)
		if line, column := p.Samples().Position(i); line != 0 || column != 0 {
			fmt.Fprintf(&out, " at %d:%d", line, column)
		}
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "@%d end\n", p.Closing)
	return out.String()
}

// problems returns the names and counts of problems.
func problems(log *problem.Log) string {
	var names []string
	for _, total := range log.Totals() {
		names = append(names, fmt.Sprintf("%s×%d", total.Kind, total.Count))
	}
	return strings.Join(names, " ")
}

// documentCase is a .cpuprofile and its expected result. Times in results are in nanoseconds.
type documentCase struct{ name, input, want, problems string }

var documentCases = []documentCase{
	{
		"children",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"hitCount":0,"children":[2]},
		{"id":2,"callFrame":{"functionName":"f","scriptId":"7","url":"u","lineNumber":3,"columnNumber":0,"codeType":"JS"},
		 "hitCount":2,"deoptReason":"why","positionTicks":[{"line":4,"ticks":2}]}],
		"startTime":10,"endTime":99,"samples":[2,2],"timeDeltas":[1,2]}`,
		"1 (root)\n  2 f u#7:3:0 hits 2 deopt \"why\" JS line 4×2\n@11000 2\n@13000 2\n@15000 end\n", "",
	},
	{
		"parent links, members in another order, numbers as script ids",
		`{"samples":[3],"timeDeltas":[5],"startTime":1,"nodes":[{"callFrame":{"functionName":"(root)","scriptId":0},"id":1},
		{"parent":1,"callFrame":{"scriptId":7,"lineNumber":1,"columnNumber":2,"functionName":"a"},"id":2},
		{"parent":2,"deoptReason":"no reason","callFrame":{"functionName":"b"},"id":3}]}`,
		"1 (root) #0:-1:-1\n  2 a #7:1:2\n    3 b hits 1\n@6000 3\n@6000 end\n", "",
	},
	{
		"legacy",
		`{"head":{"functionName":"(root)","scriptId":"0","url":"","lineNumber":0,"columnNumber":0,"hitCount":0,"id":1,
		"children":[{"functionName":"f","lineNumber":3,"columnNumber":1,"hitCount":1,"children":[],"id":2},
		{"children":[{"functionName":"h","id":4}],"id":3,"functionName":"g"}]},
		"startTime":1.5,"endTime":1.50001,"samples":[2,4],"timestamps":[1500001,1500004]}`,
		"1 (root) #0:-1:-1\n  3 g\n    4 h\n  2 f #:2:0 hits 1\n@1500001000 2\n@1500004000 4\n@1500007000 end\n", "",
	},
	{
		"legacy, without any times",
		`{"head":{"functionName":"(root)","id":1,"children":[{"functionName":"f","id":2}]},
		"startTime":1,"endTime":1.000003,"samples":[2,2,1]}`,
		"1 (root) hits 1\n  2 f hits 2\n@1000000000 2\n@1000001000 2\n@1000002000 1\n@1000003000 end\n", "profile_times_missing×1",
	},
	{
		"the answer of Profiler.stop",
		`{"profile":{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"startTime":1,"samples":[1],"timeDeltas":[1]}}`,
		"1 (root) hits 1\n@2000 1\n@2000 end\n", "",
	},
	{
		"names of nodes and of their call frames",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,3,4]},
		{"id":2,"functionName":"own","callFrame":{"functionName":"frame"}},{"id":3,"functionName":"","callFrame":{"functionName":"frame"}},
		{"id":4,"functionName":"","callFrame":{"functionName":""}}]}`,
		"1 (root)\n  4 \n  3 frame\n  2 own\n@0 end\n", "",
	},
	{
		"fractions of microseconds",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"startTime":0.5,"samples":[1,1],"timeDeltas":[0.25,1e1]}`,
		"1 (root) hits 2\n@750 1\n@10750 1\n@21000 end\n", "",
	},
	{
		"negative deltas move samples, lines and columns",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,3]},{"id":2,"callFrame":{"functionName":"a"}},
		{"id":3,"callFrame":{"functionName":"b"}}],"samples":[2,3,2,3],"timeDeltas":[100,200,-50,-150],
		"lines":[1,2,3,4],"columns":[5,6]}`,
		"1 (root)\n  3 b hits 2\n  2 a hits 2\n@100000 2 at 1:5\n@100000 3 at 4:0\n@250000 2 at 3:0\n@300000 3 at 2:6\n@367000 end\n",
		"profile_samples_reordered×2",
	},
	{
		"samples with unknown nodes",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"samples":[1,9,1],"timeDeltas":[10,10,10],"lines":[1,2,3]}`,
		"1 (root) hits 2\n@10000 1 at 1:0\n@30000 (2) 1 at 3:0\n@40000 end\n", "profile_sample_unknown_node×1",
	},
	{
		"lists of different length",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"samples":[1,1,1],"timeDeltas":[10,10]}`,
		"1 (root) hits 2\n@10000 1\n@20000 1\n@30000 end\n", "profile_length_mismatch×1",
	},
	{
		"more lines than samples",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"samples":[1,1],"timeDeltas":[10,10],"lines":[1,2,3]}`,
		"1 (root) hits 2\n@10000 1 at 1:0\n@20000 1 at 2:0\n@30000 end\n", "profile_length_mismatch×1",
	},
	{
		"lines of no samples behind the last one",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"samples":[1],"timeDeltas":[10],"lines":[1,0,0]}`,
		"1 (root) hits 1\n@10000 1 at 1:0\n@10000 end\n", "",
	},
	{
		"unknown parents, and nodes that lead nowhere",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":9,"callFrame":{"functionName":"a"}},
		{"id":3,"parent":2,"callFrame":{"functionName":"b"}},{"id":4,"callFrame":{"functionName":"c"}}],"samples":[3],"timeDeltas":[1]}`,
		"1 (root)\n@1000 end\n", "profile_node_unknown_parent×3 profile_sample_unknown_node×1",
	},
	{
		"unknown children",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,5]},{"id":2,"callFrame":{"functionName":"a"}}]}`,
		"1 (root)\n  2 a\n@0 end\n", "profile_node_unknown_parent×1",
	},
	{
		"a cycle of parents",
		`{"nodes":[{"id":1,"parent":3,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"a"}},
		{"id":3,"parent":4,"callFrame":{"functionName":"b"}},{"id":4,"parent":3,"callFrame":{"functionName":"c"}}]}`,
		"1 (root)\n  2 a\n@0 end\n", "profile_node_unknown_parent×2",
	},
	{
		"a cycle of children, and a child of two nodes",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,3]},
		{"id":2,"callFrame":{"functionName":"a"},"children":[1,2,4]},{"id":3,"callFrame":{"functionName":"b"},"children":[4]},
		{"id":4,"callFrame":{"functionName":"c"}}]}`,
		"1 (root)\n  3 b\n    4 c\n  2 a\n@0 end\n", "profile_node_duplicate×3",
	},
	{
		"nodes of one id",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"a"}},
		{"id":3,"parent":2,"callFrame":{"functionName":"b"}},{"id":2,"parent":1,"callFrame":{"functionName":"c"}}]}`,
		"1 (root)\n  2 c\n    3 b\n@0 end\n", "profile_node_duplicate×1",
	},
	{
		"the root is lost",
		`{"nodes":[{"id":5,"parent":4,"callFrame":{"functionName":"a"}},{"id":6,"parent":5,"callFrame":{"functionName":"b"}},
		{"id":7,"parent":2,"callFrame":{"functionName":"c"}}],"samples":[6,7],"timeDeltas":[1,1]}`,
		"0 (root)\n  7 c hits 1\n  5 a\n    6 b hits 1\n@1000 6\n@2000 7\n@3000 end\n", "profile_root_lost×1",
	},
	{
		"nodes without id",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"parent":1,"callFrame":{"functionName":"a"}},5]}`,
		"1 (root)\n@0 end\n", "profile_node_without_id×2 profile_invalid_value×1",
	},
	{
		"values of other types",
		`{"nodes":[{"id":1,"callFrame":{"functionName":["x"],"lineNumber":"3","url":null}}],"samples":[1,"x",null,1.5],
		"timeDeltas":[1,true,null,99999999999999999999],"lines":{},"trace_ids":{"x":1,"5":1},"startTime":"now"}`,
		"1  hits 1\n@1000 1\n@1000 end\n", "profile_sample_unknown_node×3 profile_invalid_value×9",
	},
	{
		"huge deltas do not overflow",
		`{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}}],"samples":[1,1,1],
		"timeDeltas":[4000000000000000,4000000000000000,4000000000000000]}`,
		"1 (root) hits 3\n@4000000000000000000 1\n@4611686018427387903 1\n@4611686018427387903 1\n@4917529027641082000 end\n", "",
	},
}

// read reads a document and returns its problems.
func read(t *testing.T, r io.Reader) (p *Profile, found string) {
	t.Helper()
	var log problem.Log
	p, err := Read(r, &log)
	if err != nil {
		t.Fatal(err)
	}
	return p, problems(&log)
}

func TestRead(t *testing.T) {
	for _, c := range documentCases {
		t.Run(c.name, func(t *testing.T) {
			p, found := read(t, strings.NewReader(c.input))
			if diff := cmp.Diff(c.want, dump(p)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if found != c.problems {
				t.Errorf("problems %q, want %q", found, c.problems)
			}
			slow, _ := read(t, iotest.OneByteReader(strings.NewReader(c.input)))
			if diff := cmp.Diff(c.want, dump(slow)); diff != "" {
				t.Errorf("one byte at a time: -want +got:\n%s", diff)
			}
		})
	}
}

func TestReadErrors(t *testing.T) {
	for _, c := range []struct{ name, input, want string }{
		{"empty", ``, "the input is empty"},
		{"no object", `[1]`, ErrNoNodes.Error()},
		{"no nodes", `{"samples":[1],"timeDeltas":[1]}`, ErrNoNodes.Error()},
		{"ends among the nodes", `{"nodes":[{"id":1},{"id":2`, "byte 25: the document ends before its samples do"},
		{"ends among the samples", `{"nodes":[{"id":1}],"startTime":1,"endTime":9,"samples":[1,1`, "the document ends before its samples do"},
		{"malformed", `{"nodes":[{"id":1]}`, "byte 17: malformed JSON"},
		{"malformed legacy tree", `{"head":{"children":[{"children":[}`, "byte 34: malformed JSON"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log problem.Log
			p, err := Read(strings.NewReader(c.input), &log)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s; profile:\n%s", err, c.want, dump(p))
			}
		})
	}
	broken := errors.New("disk on fire")
	if _, err := Read(io.MultiReader(strings.NewReader(`{"nodes":[`), iotest.ErrReader(broken)), new(problem.Log)); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

// TestReadCut reads a document truncated in the list of times: all complete pairs count.
func TestReadCut(t *testing.T) {
	p, found := read(t, strings.NewReader(`{"nodes":[{"id":1}],"startTime":1,"samples":[1,1,1],"timeDeltas":[10,10,1`))
	if want := "1  hits 2\n@11000 1\n@21000 1\n@31000 end\n"; dump(p) != want {
		t.Errorf("got\n%swant\n%s", dump(p), want)
	}
	if want := "json_partial_event×1 profile_length_mismatch×1 json_unterminated×1"; found != want {
		t.Errorf("problems %q, want %q", found, want)
	}
}

func TestReadTrailing(t *testing.T) {
	_, found := read(t, strings.NewReader(`{"nodes":[{"id":1}]} {"a":1}`))
	if want := "json_trailing_data×7"; found != want {
		t.Errorf("problems %q, want %q", found, want)
	}
}

// TestDeep reads trees of a million levels, in both forms.
func TestDeep(t *testing.T) {
	const depth = 1_000_000
	var nodes, tree bytes.Buffer
	nodes.WriteString(`{"nodes":[{"id":0}`)
	tree.WriteString(`{"head":{"id":0`)
	for i := 1; i < depth; i++ {
		fmt.Fprintf(&nodes, `,{"id":%d,"parent":%d}`, i, i-1)
		fmt.Fprintf(&tree, `,"children":[{"id":%d`, i)
	}
	nodes.WriteString(`],"samples":[999999],"timeDeltas":[1]}`)
	tree.WriteString(strings.Repeat("}]", depth-1))
	tree.WriteString(`},"samples":[999999],"timestamps":[1]}`)
	for name, input := range map[string]*bytes.Buffer{"parent links": &nodes, "legacy tree": &tree} {
		p, found := read(t, input)
		if found != "" || p.MaxDepth() != depth-1 || p.Len() != 1 || p.Node(p.Samples().At(0)).ID != depth-1 {
			t.Errorf("%s: depth %d, %d samples, problems %q", name, p.MaxDepth(), p.Len(), found)
		}
	}
}

// TestReadRecordings reads recorded profiles with known figures from other tools.
func TestReadRecordings(t *testing.T) {
	for _, c := range []struct {
		name           string
		samples, nodes int
		span           int64 // microseconds from start to the last sample, rounded as in the table
		backwards      string
	}{
		{"cdp-matching-trace", 2326, 258, 1_608, "profile_samples_reordered×51"},
		{"cdp-page-medium-100us", 4531, 846, 5_503, "profile_samples_reordered×1"},
		{"cdp-page-small", 735, 631, 1_622, ""},
		{"cdp-tiny", 472, 95, 524, ""},
		{"cdp-worker-my_worker", 1671, 224, 1_535, ""},
		{"node-v20-thread0", 688, 764, 590, ""},
		{"node-v24-thread1", 807, 824, 754, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, found := read(t, bytes.NewReader(recording.Bytes(t, "traces/cpuprofile/"+c.name+".cpuprofile")))
			span := int64(p.Samples().Time(p.Len()-1)-p.Start) / 1_000_000
			if p.Len() != c.samples || p.NodeCount() != c.nodes || span-c.span > 60 || c.span-span > 60 || found != c.backwards {
				t.Errorf("%d samples, %d nodes, %d ms, %q; want %+v", p.Len(), p.NodeCount(), span, found, c)
			}
		})
	}
}

// TestMemory checks that a profile that exceeds its memory limit causes an error, whatever makes it large, in a file and in a
// trace. The samples of a trace do not count: they have a separate limit and a temporary file.
func TestMemory(t *testing.T) {
	const memory = 1 << 20
	repeat := func(n int, element func(i int) string) string {
		var b strings.Builder
		for i := range n {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(element(i))
		}
		return b.String()
	}
	one := func(int) string { return "1" }
	const root = `"nodes":[{"id":1}],`
	for name, body := range map[string]string{
		"samples":   root + `"samples":[` + repeat(100_000, one) + `]`,
		"times":     root + `"timeDeltas":[` + repeat(100_000, one) + `]`,
		"lines":     root + `"lines":[` + repeat(200_000, one) + `]`,
		"nodes":     `"nodes":[` + repeat(20_000, func(i int) string { return fmt.Sprintf(`{"id":%d}`, i) }) + `]`,
		"children":  `"nodes":[{"id":1,"children":[` + repeat(100_000, func(i int) string { return fmt.Sprint(i % 9) }) + `,7,7]},{"id":2,"children":[` + repeat(100_000, one) + `]}]`,
		"names":     `"nodes":[` + repeat(5_000, func(i int) string { return fmt.Sprintf(`{"id":1,"callFrame":{"functionName":"%0500d"}}`, i) }) + `]`,
		"ticks":     `"nodes":[{"id":1,"positionTicks":[` + repeat(100_000, func(int) string { return `{"line":1,"ticks":1}` }) + `]}]`,
		"all small": root + `"samples":[1],"timeDeltas":[1]`,
	} {
		var noRoom *collections.MemoryLimitError
		_, err := ReadWithin(strings.NewReader("{"+body+"}"), new(problem.Log), memory)
		if errors.As(err, &noRoom) != (name != "all small") {
			t.Errorf("file, %s: %v", name, err)
		}
		c := NewAssembler(new(problem.Log), AssemblerOptions{Memory: memory})
		c.Head(&Event{ID: "0x1"})
		for range 2 {
			c.Chunk(&Event{ID: "0x1", Args: []byte(`{"data":{"cpuProfile":{` + body + `}}}`)})
		}
		if err := c.Err(); errors.As(err, &noRoom) != (name != "all small" && name != "samples" && name != "times") {
			t.Errorf("trace, %s: %v", name, err)
		}
	}
	c := NewAssembler(new(problem.Log), AssemblerOptions{Memory: memory})
	for i := range 2_000 {
		c.Chunk(&Event{ID: fmt.Sprint(i)})
	}
	if c.Err() == nil {
		t.Error("any number of profiles")
	}
}
