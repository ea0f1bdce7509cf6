package conformance

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/problem"
)

// outputCases check the sentences in attribution.md, What is written.
var outputCases = []struct {
	name   string
	events string   // of a Chrome JSON trace
	want   []string // parts of lines from seen
	never  string   // text that is in no line
}{
	{
		name: "an id has scope and process, a name is the url of the state at the slice's start",
		events: `{"ph":"O","pid":7,"tid":1,"ts":0,"name":"Doc","id":"0x1","scope":"s","args":{"snapshot":{"url":"http://a/"}}},
{"ph":"(","pid":7,"tid":1,"ts":1,"name":"T.a[0]","id":"0x1","scope":"s"},
{"ph":"X","pid":7,"tid":1,"ts":2,"dur":3,"name":"first"},
{"ph":"X","pid":7,"tid":1,"ts":5,"dur":3,"name":"second"},
{"ph":"O","pid":7,"tid":1,"ts":8,"name":"Doc","id":"0x1","scope":"s","args":{"snapshot":{"url":"http://b/"}}},
{"ph":"X","pid":7,"tid":1,"ts":8,"dur":3,"name":"third"},
{"ph":")","pid":7,"tid":1,"ts":11,"name":"T.a[0]","id":"0x1","scope":"s"}`,
		want: []string{
			`first    contexts={ T.a[0]={ id="s/0x1@7" name="http://a/" via="explicit"}}`,
			`third    contexts={ T.a[0]={ id="s/0x1@7" name="http://b/" via="explicit"}}`,
			// Equal neighbours form one interval; another name starts another one.
			`1 2000 7/1/Context: T.a[0] 0/0 http://a/ context s/0x1@7`, `2 8000 7/1/Context: T.a[0]`,
			`1 8000 7/1/Context: T.a[0] 0/0 http://b/ context s/0x1@7`, `2 11000 7/1/Context: T.a[0]`,
			`3 0 /Contexts 0/0 http://a/    class="Doc" id="s/0x1@7" url="http://a/"`,
			`3 8000 /Contexts 0/0 http://b/    class="Doc" id="s/0x1@7" url="http://b/"`,
		},
		never: "1 5000 7/1/Context: ",
	},
	{
		name: "a context that is bound to no state has its id as its name",
		events: `{"ph":"N","pid":7,"tid":1,"ts":0,"name":"Doc","id":"0x1"},
{"ph":"(","pid":7,"tid":1,"ts":1,"name":"T","id":"0x1"},
{"ph":"X","pid":7,"tid":1,"ts":2,"dur":3,"name":"early"},
{"ph":"O","pid":7,"tid":1,"ts":8,"name":"Doc","id":"0x1","args":{"snapshot":{"url":"http://a/"}}},
{"ph":"X","pid":7,"tid":1,"ts":9,"dur":3,"name":"late"}`,
		want: []string{
			`early    contexts={ T={ id="ptr/0x1@7" name="0x1" via="explicit"}}`,
			`late    contexts={ T={ id="ptr/0x1@7" name="http://a/" via="explicit"}}`,
		},
	},
	{
		name: "without a url the name is class and id, and members of one context have one color",
		events: `{"ph":"O","pid":1,"tid":1,"ts":0,"name":"RenderFrame","id":"0x2","scope":"RenderFrame","args":{"snapshot":{}}},
{"ph":"O","pid":2,"tid":1,"ts":0,"name":"FrameTreeNode","id":"0x3","scope":"FrameTreeNode","args":{"snapshot":{"renderFrame":{"id_ref":"0x2","pid_ref":1,"scope":"RenderFrame"}}}},
{"ph":"(","pid":1,"tid":1,"ts":1,"name":"F","id":"0x2","scope":"RenderFrame"},
{"ph":"X","pid":1,"tid":1,"ts":2,"dur":3,"name":"rendered"},
{"ph":"(","pid":2,"tid":1,"ts":1,"name":"F","id":"0x3","scope":"FrameTreeNode"},
{"ph":"X","pid":2,"tid":1,"ts":2,"dur":3,"name":"browsed"}`,
		want: []string{
			`rendered    contexts={ F={ id="RenderFrame/0x2@1" name="RenderFrame 0x2" via="explicit"}}`,
			`browsed    contexts={ F={ id="FrameTreeNode/0x3@2" name="RenderFrame 0x2"`,
			// The representative is the member with the lower pid, because no process is the main one.
			`1 2000 1/1/Context: F 0/0 RenderFrame 0x2 context RenderFrame/0x2@1`,
			`1 2000 2/1/Context: F 0/0 RenderFrame 0x2 context RenderFrame/0x2@1`,
			`members={ ="RenderFrame/0x2@1" ="FrameTreeNode/0x3@2"}`,
		},
	},
	{
		name: "where several have no common ancestor the candidates are written",
		events: `{"ph":"X","pid":1,"tid":1,"ts":0,"dur":10,"name":"outer"},
{"ph":"X","pid":1,"tid":1,"ts":1,"dur":3,"name":"a","args":{"frame":"A"}},
{"ph":"X","pid":1,"tid":1,"ts":5,"dur":3,"name":"b","args":{"frame":"B"}}`,
		want: []string{
			`outer    contexts={ Frame={ id="(unattributed)" name="(unattributed)" via="descendants" candidates={ ="frame/A" ="frame/B"}}}`,
			`1 1000 1/1/Context: Frame 0/0 frame A context frame/A`, `2 4000 1/1/Context: Frame`,
			`1 5000 1/1/Context: Frame 0/0 frame B context frame/B`, `2 8000 1/1/Context: Frame`,
		},
		never: "Context: Frame 0/0 (unattributed)",
	},
}

// Contexts are written as attribution.md specifies, both in a conversion and in a copy that keeps the packets of a conversion
// without contexts.
func TestContextOutput(t *testing.T) {
	for _, c := range outputCases {
		t.Run(c.name, func(t *testing.T) {
			input := []byte(`{"traceEvents":[` + c.events + `]}`)
			output := attributed(t, input, convert.Options{})
			verify(t, bytes.NewReader(output))
			lines := seen(t, output)
			for _, want := range c.want {
				if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, want) }) {
					t.Errorf("there is no %s in\n%s", want, strings.Join(lines, "\n"))
				}
			}
			if c.never != "" && slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, c.never) }) {
				t.Errorf("there is %s in\n%s", c.never, strings.Join(lines, "\n"))
			}
		})
	}
}

// The catalogue has a limit; omitted entries are counted.
func TestContextCatalogueLimit(t *testing.T) {
	const limit = 1 << 16
	var b strings.Builder
	b.WriteString(`{"traceEvents":[{"ph":"(","pid":1,"tid":1,"ts":0,"name":"T","id":"0x1"}`)
	for i := range limit + 1 {
		fmt.Fprintf(&b, ",\n"+`{"ph":"O","pid":1,"tid":1,"ts":%d,"name":"C","id":"0x1","args":{"snapshot":{}}}`, i)
	}
	b.WriteString("]}")
	var out bytes.Buffer
	report, err := convert.Convert(t.Context(), &out, strings.NewReader(b.String()), convert.Options{Attribute: &attribution.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	counted := false
	for _, p := range report.Problems {
		counted = counted || p.Name == problem.ContextLimit.Name()
	}
	instants := 0
	for _, line := range seen(t, out.Bytes()) {
		if strings.Contains(line, "/Contexts 0/0 ") {
			instants++
		}
	}
	if instants != limit || !counted {
		t.Errorf("%d instants in the catalogue, counted %v; want %d", instants, counted, limit)
	}
}
