package report_test

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
)

// visited is the trace of a visit to a.test. A script of its renderer takes 10 ms, before the url of the page is known. The
// script starts work of 30 ms in the browser, and of 40 ms in the renderer of a frame from b.test. The frame's own script takes 5
// ms and requests a font for a style sheet. A page of the browser itself takes 90 ms.
const visited = `{"traceEvents":[
	{"ph":"M","pid":1,"name":"process_name","args":{"name":"Renderer"}},{"ph":"M","pid":9,"name":"process_name","args":{"name":"Browser"}},
	{"ph":"M","pid":3,"name":"process_name","args":{"name":"Renderer of b"}},{"ph":"M","pid":4,"name":"process_name","args":{"name":"WebUI"}},
	{"ph":"X","cat":"devtools.timeline","name":"FunctionCall","ts":1000,"dur":10000,"pid":1,"tid":1,"args":{"data":{"frame":"A","url":"http://a.test/a.js"}}},
	{"ph":"s","cat":"f","name":"f","id":1,"ts":2000,"pid":1,"tid":1},{"ph":"s","cat":"f","name":"f","id":2,"ts":3000,"pid":1,"tid":1},
	{"ph":"f","bp":"e","cat":"f","name":"f","id":1,"ts":12000,"pid":9,"tid":9},{"ph":"f","bp":"e","cat":"f","name":"f","id":2,"ts":12000,"pid":3,"tid":3},
	{"ph":"X","cat":"toplevel","name":"Work","ts":12000,"dur":30000,"pid":9,"tid":9},
	{"ph":"X","cat":"toplevel","name":"Work","ts":12000,"dur":40000,"pid":3,"tid":3},
	{"ph":"X","cat":"devtools.timeline","name":"FunctionCall","ts":53000,"dur":5000,"pid":3,"tid":3,"args":{"data":{"frame":"B","url":"http://b.test/b.js"}}},
	{"ph":"I","s":"t","cat":"devtools.timeline","name":"ResourceSendRequest","ts":53500,"pid":3,"tid":3,"args":{"data":{"frame":"B","requestId":"1","url":"http://b.test/font",
		"resourceType":"Font","initiator":{"type":"parser","url":"http://b.test/roboto.css"}}}},
	{"ph":"X","cat":"devtools.timeline","name":"FunctionCall","ts":1000,"dur":90000,"pid":4,"tid":4,"args":{"data":{"frame":"C","url":"chrome://popup/a.js"}}},
	{"ph":"I","s":"t","cat":"devtools.timeline","name":"CommitLoad","ts":60000,"pid":1,"tid":1,"args":{"data":{"frame":"A","url":"http://a.test/","isMainFrame":true}}},
	{"ph":"I","s":"t","cat":"devtools.timeline","name":"CommitLoad","ts":60000,"pid":3,"tid":3,"args":{"data":{"frame":"B","url":"http://b.test/frame.html","parent":"A"}}},
	{"ph":"I","s":"t","cat":"devtools.timeline","name":"CommitLoad","ts":60000,"pid":4,"tid":4,"args":{"data":{"frame":"C","url":"chrome://popup/"}}}]}`

// Pages are documents that a user navigated to, each with its frames and the work done for it elsewhere; the browser's own
// pages come last. The overview has the same times as the cost table. A process shows what its own threads run.
func TestPagesOfAVisit(t *testing.T) {
	o := overviewOf(t, visited, selection.Query{})
	if diff := gocmp.Diff([]report.PageTime{{URL: "http://a.test/", Busy: 85 * ms}, {URL: "chrome://popup/", Busy: 90 * ms}}, o.Pages); diff != "" {
		t.Error(diff)
	}
	shows := map[string]string{}
	for _, p := range o.Processes {
		shows[p.Process] = p.Shows
	}
	want := map[string]string{"Renderer": "http://a.test/", "Renderer of b": "http://b.test/frame.html", "Browser": "", "WebUI": "chrome://popup/"}
	if diff := gocmp.Diff(want, shows); diff != "" {
		t.Error(diff)
	}
	costs := allOf(t, visited, selection.Query{}).Costs
	if len(costs) == 0 || costs[0].Type != "Page" {
		t.Fatalf("%d tables of costs", len(costs))
	}
	for i := range costs[0].Rows {
		r := &costs[0].Rows[i]
		for _, page := range o.Pages {
			if page.URL == r.Name && page.Busy != r.Self {
				t.Errorf("%s: %d in the overview, %d in the table of costs", r.Name, page.Busy, r.Self)
			}
		}
	}
}
