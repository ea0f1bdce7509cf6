package report_test

import (
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
)

// networkOf returns the report on the requests in a trace. Each event is given as its name without "Resource", a space, and its
// data; the events are 10 µs apart.
func networkOf(t *testing.T, events ...string) *report.Network {
	t.Helper()
	var b strings.Builder
	for i, e := range events {
		name, data, _ := strings.Cut(e, " ")
		fmt.Fprintf(&b, `,{"ph":"I","s":"t","cat":"devtools.timeline","pid":1,"tid":1,"ts":%d,"name":"Resource%s","args":{"data":{%s}}}`, 10*(i+1), name, data)
	}
	return allOf(t, "["+b.String()[1:]+"]", selection.Query{}).Network
}

// Each request ends or has a reason for not ending. A long url is truncated. A data: url does not count.
func TestRequests(t *testing.T) {
	n := networkOf(t,
		`SendRequest "requestId":"500","url":"http://a.test/500"`, `ReceiveResponse "requestId":"500","statusCode":500,"statusText":"Oops"`,
		`SendRequest "requestId":"cut","url":"http://a.test/cut"`, `ReceiveResponse "requestId":"cut","statusCode":200`, `Finish "requestId":"cut","didFail":true`,
		`SendRequest "requestId":"dead","url":"http://a.test/dead"`, `Finish "requestId":"dead","didFail":true`,
		`SendRequest "requestId":"long","url":"http://a.test/long?`+strings.Repeat("x", 5000)+`"`, `Finish "requestId":"long"`,
		`SendRequest "requestId":"data","url":"data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>"`, `Finish "requestId":"data"`,
		`SendRequest "requestId":"open","url":"http://a.test/open"`, `Finish "requestId":"before"`)
	if n.Requests != 5 || n.Failed != 3 || n.Unfinished != 2 || n.Unfollowed != 0 {
		t.Errorf("%+v", n)
	}
	got := []string{}
	for i := range n.Waterfall.Spans {
		s := &n.Waterfall.Spans[i]
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %d %v %s", s.Name, s.Duration/1000, s.Failed, s.Message)))
	}
	want := []string{"GET /500 10 true 500 Oops", "GET /cut 20 true broken off", "GET /dead 10 true no answer", "GET /long 10 false", "GET /open 0 false not finished"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Requests that are not followed do not count as unfinished; a request that is sent again when the limit is reached counts as
// redirected.
func TestManyRequests(t *testing.T) {
	events := []string{}
	for i := range report.MaxOpenRequests + 1 {
		events = append(events, fmt.Sprintf(`SendRequest "requestId":"%d","url":"http://a.test/%d"`, i, i))
	}
	n := networkOf(t, append(events, events[0], `Finish "requestId":"0"`)...)
	if n.Requests != report.MaxOpenRequests+2 || n.Unfollowed != 1 || n.Unfinished != report.MaxOpenRequests-1 || len(n.Slowest) != 2 || n.Slowest[0].Message != "redirected" {
		t.Errorf("%d requests, %d not followed, %d without an end, %d with one", n.Requests, n.Unfollowed, n.Unfinished, len(n.Slowest))
	}
}

// A Firefox request counts once for all processes that recorded it, a record with an end wins, and requests without an id count
// individually.
func TestRequestsOfFirefox(t *testing.T) {
	thread := func(pid string, markers ...string) string {
		n := len(markers)
		list := func(text string) string { return strings.TrimSuffix(strings.Repeat(text+",", n), ",") }
		ends := list("120")
		return fmt.Sprintf(`{"name":"a","pid":%q,"tid":%s,"stringArray":["m"],"markers":{"length":%d,"name":[%s],"startTime":[%s],"endTime":[%s],"phase":[%s],"data":[%s]}}`,
			pid, pid, n, list("0"), list("107"), ends, list("1"), strings.Join(markers, ","))
	}
	request := func(more string) string {
		return `{"type":"Network","startTime":107,"endTime":120,"requestStart":108,"responseStart":109,"responseEnd":119,` + more + `}`
	}
	n := allOf(t, `{"meta":{"preprocessedProfileVersion":33,"startTime":0},"threads":[`+
		thread("1", request(`"id":1,"URI":"http://a.test/1","status":"STATUS_START"`), request(`"id":2,"URI":"http://a.test/2","status":"STATUS_START"`),
			request(`"URI":"http://a.test/3","status":"STATUS_STOP","count":5`))+","+
		thread("2", request(`"id":1,"URI":"http://a.test/1","status":"STATUS_STOP","responseStatus":404,"count":7`), request(`"URI":"http://a.test/4","status":"STATUS_STOP","count":-5`),
			request(`"URI":"data:text/plain,x","id":9,"status":"STATUS_STOP"`))+`]}`, selection.Query{}).Network
	if n == nil || n.Requests != 4 || n.Failed != 1 || n.Unfinished != 1 || n.Unfollowed != 0 || n.Bytes != 12 {
		t.Fatalf("%+v", n)
	}
	for i := range n.Slowest {
		if r := &n.Slowest[i]; r.Length != 13_000_000 || r.Wait != 2_000_000 {
			t.Errorf("%+v", r)
		}
	}
}
