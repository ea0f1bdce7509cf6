//go:build !js

package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// chromePage returns Chrome's recording of a page with a frame in it. All ids are the same in every such recording; the URLs
// contain the name.
func chromePage(name string, at int) string {
	events := []string{
		`{"ph":"M","name":"process_name","pid":5,"tid":5,"args":{"name":"Browser"}}`,
		`{"ph":"I","s":"t","name":"TracingStartedInBrowser","ts":%d00,"pid":5,"tid":5,"args":{"data":{"frames":[` +
			`{"frame":"F1","url":"https://NAME.test/","processId":6},{"frame":"F2","url":"https://NAME.test/in","parent":"F1","processPseudoId":"0x7"}]}}}`,
		`{"ph":"N","name":"Tree","cat":"c","id":"0x1","scope":"T","ts":%d00,"pid":6,"tid":6}`,
		`{"ph":"O","name":"Tree","cat":"c","id":"0x1","scope":"T","ts":%d01,"pid":6,"tid":6,"args":{"snapshot":{"url":"https://NAME.test/tree","parent":{"id_ref":"0x3","pid_ref":-1,"scope":"T"}}}}`,
		`{"ph":"N","name":"Tree","cat":"c","id":"0x3","scope":"T","ts":%d00,"pid":5,"tid":5}`,
		`{"ph":"O","name":"Tree","cat":"c","id":"0x3","scope":"T","ts":%d01,"pid":5,"tid":5,"args":{"snapshot":{"url":"https://NAME.test/root"}}}`,
		`{"ph":"N","name":"Tree","cat":"c","id":"0x2","scope":"T","ts":%d00,"pid":5,"tid":5}`,
		`{"ph":"O","name":"Tree","cat":"c","id":"0x2","scope":"T","ts":%d01,"pid":5,"tid":5,"args":{"snapshot":{"parent":{"id_ref":"0x1","pid_ref":6,"scope":"T"}}}}`,
		`{"ph":"X","name":"FunctionCall","ts":%d10,"dur":20,"pid":6,"tid":6,"args":{"data":{"frame":"F1","isolate":"I1"}}}`,
		`{"ph":"X","name":"FunctionCall","ts":%d40,"dur":20,"pid":6,"tid":6,"args":{"data":{"frame":"F2","isolate":"I1"}}}`,
		`{"ph":"I","s":"t","name":"ResourceSendRequest","ts":%d45,"pid":6,"tid":6,"args":{"data":{"requestId":"6.1","frame":"F2","url":"https://NAME.test/x"}}}`,
		`{"ph":"I","s":"t","name":"ProcessReadyInBrowser","ts":%d60,"pid":5,"tid":5,"args":{"data":{"frame":"F2","processPseudoId":"0x7","processId":6}}}`,
		`{"ph":"X","name":"XHRLoad","ts":%d70,"dur":5,"pid":6,"tid":6,"args":{"data":{"requestId":"6.1"}}}`,
		`{"ph":"X","name":"MinorGC","ts":%d80,"dur":5,"pid":6,"tid":6,"args":{}}`,
		`{"ph":"b","cat":"benchmark,latencyInfo","name":"InputLatency::MouseDown","id":"0x9","ts":%d81,"pid":5,"tid":5,"args":{"chrome_latency_info":{"trace_id":77}}}`,
		`{"ph":"X","name":"LatencyInfo.Flow","ts":%d82,"dur":2,"pid":5,"tid":5,"args":{"chrome_latency_info":{"trace_id":77}}}`,
		`{"ph":"e","cat":"benchmark,latencyInfo","name":"InputLatency::MouseDown","id":"0x9","ts":%d84,"pid":5,"tid":5,"args":{}}`,
		`{"ph":"(","name":"Work","cat":"c","id":"0x2","scope":"T","ts":%d85,"pid":5,"tid":5}`,
		`{"ph":"X","name":"step","ts":%d86,"dur":3,"pid":5,"tid":5}`,
		`{"ph":")","name":"Work","cat":"c","id":"0x2","scope":"T","ts":%d90,"pid":5,"tid":5}`,
	}
	for i, e := range events {
		if strings.Contains(e, "%d") {
			e = fmt.Sprintf(e, 10_000_000+at)
		}
		events[i] = strings.ReplaceAll(e, "NAME", name)
	}
	return `{"metadata":{"clock-domain":"LINUX_CLOCK_MONOTONIC"},"traceEvents":[` + strings.Join(events, ",\n") + `]}`
}

// firefoxPage returns a similar Firefox recording: one tab with nested windows.
func firefoxPage(t *testing.T, name string, start int64) string {
	path := recording.Large(t, "conformance/firefox-flows/profiles/01_simple_chain_term.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer(
		`"startTime":1700000000000,`, fmt.Sprintf(`"startTime":%d,`, start),
		`"pages":[]`, fmt.Sprintf(`"pages":[{"tabID":7,"innerWindowID":2,"url":"https://%s.test/","embedderInnerWindowID":0},`+
			`{"tabID":7,"innerWindowID":3,"url":"https://%[1]s.test/in","embedderInnerWindowID":2}]`, name),
		`"startTime":[1,3],"endTime":[null,null],"phase":[0,0]`, `"startTime":[1,3],"endTime":[2,6],"phase":[1,1]`,
		`"data":[{"type":"F","flow":1},{"type":"F","flow":1}],"length":2},"samples":{"stack":[],"timeDeltas":[],"weightType":"samples","weight":null,"length":0}},`,
		`"data":[{"type":"F","innerWindowID":2,"flow":1},{"type":"F","innerWindowID":3,"flow":1}],"length":2},"samples":{"stack":[],"timeDeltas":[],"weightType":"samples","weight":null,"length":0}},`,
	).Replace(string(text))
}

func textSource(name, text string) merge.Source {
	return merge.Source{Name: name, File: name + ".json", Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }}
}

// contextCosts returns the costs of the contexts of each type, and closes the trace.
func contextCosts(t *testing.T, tr *trace.Trace) map[string][]attribution.Row {
	t.Helper()
	defer tr.Close()
	res, err := attribution.Run(t.Context(), tr, attribution.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	all := map[string][]attribution.Row{}
	for _, typ := range res.Types() {
		table, err := res.Table(attribution.TableOptions{Type: typ})
		if err != nil {
			t.Fatal(err)
		}
		all[typ] = table.Rows
	}
	return all
}

// opened opens a trace. If ctx provides several inputs, it opens the trace merged from them.
func opened(t *testing.T, ctx context.Context, text string) *trace.Trace {
	t.Helper()
	tr, err := convert.Open(ctx, strings.NewReader(text), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// withoutIDs returns rows in a form common to all recordings of a page: sorted and without ids. It drops isolates, which share a
// row.
func withoutIDs(rows ...attribution.Row) (texts []string) {
	for _, r := range rows {
		if r.ID == "(unattributed)" || r.Name == "garbage collector and compiler" {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSuffix(r.Name, "@second"), " @") // the names of input events contain a time
		r.ID, r.Name, r.Parent, r.Members = "", name, "", nil
		texts = append(texts, fmt.Sprintf("%+v", r))
	}
	slices.Sort(texts)
	return texts
}

// Two recordings whose contexts have the same ids, in processes with the same pids, share no contexts, either on the merged
// timeline or in its output: each context has the costs from its own recording. Inputs from the same process share all contexts.
func TestMergedContexts(t *testing.T) {
	recordings := map[string][2]string{
		"chrome":  {chromePage("first", 0), chromePage("second", 500_000)},
		"firefox": {firefoxPage(t, "first", 1_700_000_000_000), firefoxPage(t, "second", 1_800_000_000_000)},
	}
	for format, texts := range recordings {
		t.Run(format, func(t *testing.T) {
			var alone [2]map[string][]attribution.Row
			for i := range texts {
				alone[i] = contextCosts(t, opened(t, t.Context(), texts[i]))
			}
			job := func(same ...[]int) *merge.Job {
				return &merge.Job{
					Sources: []merge.Source{textSource("first", texts[0]), textSource("second", texts[1])},
					Options: merge.Options{Reference: -1, Same: same, Offsets: []merge.GivenOffset{{Input: 1}}},
				}
			}
			got := contextCosts(t, openMerged(t, job()))
			for typ, rows := range alone[0] {
				if typ == "Entity" {
					continue
				}
				want := withoutIDs(append(slices.Clone(rows), alone[1][typ]...)...)
				if diff := cmp.Diff(want, withoutIDs(got[typ]...)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", typ, diff)
				}
			}
			var out bytes.Buffer
			if _, err := convertMerged(t.Context(), &out, job(), convert.Options{}); err != nil {
				t.Fatal(err)
			}
			if result, err := pftrace.Verify(t.Context(), bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{}); err != nil || !result.OK() {
				t.Errorf("the output is not valid: %v", err)
			}
			if diff := cmp.Diff(got, contextCosts(t, opened(t, t.Context(), out.String()))); diff != "" {
				t.Errorf("read back (-merged +read):\n%s", diff)
			}
			again := &merge.Job{
				Sources: []merge.Source{textSource("first", strings.ReplaceAll(texts[0], "first.test", "third.test")), textSource("pair", out.String())},
				Options: merge.Options{Reference: -1, Offsets: []merge.GivenOffset{{Input: 1}}},
			}
			if n, want := len(contextCosts(t, openMerged(t, again))["Frame"]), 3*len(alone[0]["Frame"])-2; n != want {
				t.Errorf("%d frames of the merge and a third recording, want %d", n, want)
			}
			shared := contextCosts(t, openMerged(t, job([]int{0, 1})))
			if n, want := len(shared["Frame"]), len(alone[0]["Frame"]); n != want {
				t.Errorf("%d frames of inputs of one process, want %d", n, want)
			}
		})
	}
}

// A dispatched event has its time on its recording's clock. It stays associated with its input event however it is shifted: in a
// merge, in the output of a merge, in a merge of that output, and with an offset for one recording.
func TestMovedDispatches(t *testing.T) {
	const events = `[
		{"ph":"b","name":"EventTiming","cat":"devtools.timeline","id":"0x5","ts":60000,"pid":1,"tid":1,"args":{"data":{"type":"click","timeStamp":10,"processingStart":13}}},
		{"ph":"e","name":"EventTiming","cat":"devtools.timeline","id":"0x5","ts":90000,"pid":1,"tid":1},
		{"ph":"X","name":"EventDispatch","cat":"devtools.timeline","ts":60900,"dur":50,"pid":1,"tid":1,"args":{"data":{"type":"click","timestamp":60000}}}]`
	other := textSource("other", `[{"ph":"X","name":"work","ts":1,"dur":5,"pid":9,"tid":9}]`)
	open := func(text string, opts convert.Options) *trace.Trace {
		t.Helper()
		tr, err := convert.Open(t.Context(), strings.NewReader(text), opts)
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	cost := func(tr *trace.Trace) trace.Nanos {
		t.Helper()
		for _, row := range contextCosts(t, tr)["InputEvent"] {
			if row.ID != "(unattributed)" {
				return row.Self
			}
		}
		return 0
	}
	merged := func(name, text string) *merge.Job {
		return &merge.Job{
			Sources: []merge.Source{other, textSource(name, text)},
			Options: merge.Options{Reference: 0, Offsets: []merge.GivenOffset{{Input: 1, Offset: 7_000_000_123}}},
		}
	}
	var out bytes.Buffer
	if _, err := convertMerged(t.Context(), &out, merged("moved", events), convert.Options{}); err != nil {
		t.Fatal(err)
	}
	if result, err := pftrace.Verify(t.Context(), bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{Strict: true}); err != nil || !result.OK() {
		t.Errorf("the output is not valid: %v", err)
	}
	const want = 50 * trace.Microsecond
	for name, got := range map[string]trace.Nanos{
		"alone": cost(open(events, convert.Options{})), "merged": cost(openMerged(t, merged("moved", events))),
		"read back": cost(open(out.String(), convert.Options{})), "merged again": cost(openMerged(t, merged("twice", out.String()))),
		"with an offset": cost(open(events, convert.Options{TimeOffset: trace.Second})),
	} {
		if got != want {
			t.Errorf("%s: the click costs %d ns, want %d", name, got, want)
		}
	}
}
