package attribution_test

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
)

// Names of types are found whatever their case; input and page are names that people have for some, and a type of the trace comes first.
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
			if m := &a.Sets.Members[i]; types.Have(m) {
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
	if !slices.ContainsFunc(a.Sets.Members, func(m attribution.Member) bool { return all.Have(&m) }) {
		t.Error("the zero NamedTypes have none")
	}
}
