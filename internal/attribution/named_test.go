package attribution_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/attribution"
)

// Type names are found ignoring case; input and page are aliases, and a type of the trace takes precedence.
func TestTypesNamed(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"I","s":"t","name":"FrameCommittedInBrowser","ts":0,"pid":9,"tid":9,"args":{"data":{"frame":"ROOT","url":"http://a.test/","processId":1}}}`,
		`{"ph":"I","s":"t","name":"FrameCommittedInBrowser","ts":1,"pid":9,"tid":9,"args":{"data":{"frame":"F","url":"http://b.test/","parent":"ROOT","processId":1}}}`,
		x("FunctionCall", 1, 10, `,"args":{"data":{"frame":"F","url":"http://b.test/b.js"}}`),
	), attribution.Rules{})
	named := func(name string) (names []string) {
		types, known, ok := attribution.TypesNamed(a.Result, name)
		if !ok || !slices.Contains(known, attribution.PageType) || !slices.Contains(known, "frame") {
			return []string{"unknown"}
		}
		for i := range a.Sets.Members {
			if m := &a.Sets.Members[i]; types.Contains(m) {
				typ, name := types.Name(a.Result, m)
				names = append(names, typ+" "+name)
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	for name, want := range map[string][]string{
		"frame": {"Frame http://a.test/", "Frame http://b.test/"}, "FRAME": {"Frame http://a.test/", "Frame http://b.test/"}, "page": {"page http://a.test/"}, "script": {"Script http://b.test/b.js"},
		"input": nil, "pages": {"unknown"}, "": {"unknown"},
	} {
		if got := named(name); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	all := attribution.NamedTypes{}
	if !slices.ContainsFunc(a.Sets.Members, func(m attribution.Member) bool { return all.Contains(&m) }) {
		t.Error("the zero NamedTypes have none")
	}
}

// Contexts without a url have readable names: the host of a frame's scripts, or the process or worker of an isolate. Ids are
// complete.
func TestContextNames(t *testing.T) {
	const frame, other, empty = "AAAABBBBCCCCDDDDEEEEFFFF00001111", "BBBBBBBBCCCCDDDDEEEEFFFF00001111", "CCCCBBBBCCCCDDDDEEEEFFFF00001111"
	call := func(tid, ts int, data string) string {
		return fmt.Sprintf(`{"ph":"X","pid":10,"tid":%d,"ts":%d,"dur":1,"name":"FunctionCall","args":{"data":{%s}}}`, tid, ts, data)
	}
	a := attribute(t, []byte(`[{"ph":"M","pid":10,"tid":10,"name":"process_name","args":{"name":"Renderer"}},
		{"ph":"M","pid":10,"tid":11,"name":"thread_name","args":{"name":"DedicatedWorker thread"}},`+
		call(10, 1, `"frame":"`+frame+`","url":"http://ads.test/a.js","isolate":"7"`)+","+
		call(10, 3, `"frame":"`+frame+`","url":"https://site.test:81/b.js?x=http://y/"`)+","+
		call(10, 5, `"frame":"`+frame+`","url":"https://user:secret@site.test:81/c.js"`)+","+
		call(10, 7, `"frame":"`+other+`","url":"","stackTrace":[{"url":"app://id/x.js"},{"url":"http://ads.test/a.js"}]`)+","+
		call(10, 9, `"frame":"`+empty+`"`)+","+
		call(11, 11, `"url":"http://site.test/js/worker.js?next=/a/b","isolate":"8"`)+`]`), attribution.Rules{})
	want := map[string]string{
		"frame/" + frame: "site.test:81 (frame AAAABB)", "frame/" + other: "app://id (frame BBBBBB)", "frame/" + empty: "frame CCCCBB",
		"isolate/7@10": "isolate of Renderer 10", "isolate/8@10": "isolate of worker worker.js 11",
	}
	got := map[string]string{}
	c := a.Contexts
	for id := range c.Nodes[1:] {
		node := attribution.NodeID(id + 1)
		if n := c.Nodes[node]; n.Scope == attribution.ScopeFrame || n.Scope == attribution.ScopeIsolate {
			got[n.Identity.String()] = c.Label(node, attribution.LastTime)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
