package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

const spanMillisecond = 1000 * timeline.Microsecond

// spanJSON is a span with times in milliseconds. Ids are two hex digits.
func spanJSON(id, parent, name, kind string, from, to int, more string) string {
	if parent != "" {
		parent = fmt.Sprintf(`"parentSpanId":"00000000000000%s",`, parent)
	}
	return fmt.Sprintf(`{"traceId":"0000000000000000000000000000000a","spanId":"00000000000000%s",%s"name":%q,"kind":"SPAN_KIND_%s","startTimeUnixNano":"%d000000","endTimeUnixNano":"%d000000"%s}`,
		id, parent, name, kind, 1000+from, 1000+to, more)
}

func service(name string, spans ...string) string {
	return fmt.Sprintf(`{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":%q}}]},"scopeSpans":[{"spans":[%s]}]}`, name, strings.Join(spans, ","))
}

// cart is a trace with a request of 100 ms in shop that calls prices twice concurrently, and then a database.
//
//	shop    GET /cart   |0------------------------------------------------100|
//	shop    call           |10-----------------40|
//	prices  GET /price       |15-----------35|
//	shop    call              |20------------------------50|
//	prices  GET /price          |25----------------45|       fails
//	shop    SELECT                                        |60-------90|
//	prices  audit                                                       |95----130|
var cart = `{"resourceSpans":[` + service("shop",
	spanJSON("01", "", "GET /cart", "SERVER", 0, 100, ""),
	spanJSON("02", "01", "call", "CLIENT", 10, 40, ""),
	spanJSON("03", "01", "call", "CLIENT", 20, 50, ""),
	spanJSON("06", "01", "SELECT", "CLIENT", 60, 90, `,"attributes":[{"key":"db.system.name","value":{"stringValue":"postgresql"}}]`),
) + "," + service("prices",
	spanJSON("04", "02", "GET", "SERVER", 15, 35, `,"attributes":[{"key":"http.route","value":{"stringValue":"/price"}}]`),
	spanJSON("05", "03", "GET", "SERVER", 25, 45, `,"attributes":[{"key":"http.route","value":{"stringValue":"/price"}}],"status":{"code":2,"message":"no price"}`),
	spanJSON("07", "01", "audit", "CONSUMER", 95, 130, ""),
) + `]}`

func collectSpans(t *testing.T, text string, opts report.SpanOptions) *report.Spans {
	t.Helper()
	tr, err := convert.Open(t.Context(), strings.NewReader(text), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	r, err := report.CollectSpans(t.Context(), timeline.Of(tr), opts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Self time is the time that no child covers, however many run at once and wherever they run. Calls lead to other
// services.
func TestSpans(t *testing.T) {
	r := collectSpans(t, cart, report.SpanOptions{})
	ms := func(n timeline.Nanos) string { return fmt.Sprint(int64(n / spanMillisecond)) }
	var got []string
	for _, o := range r.Operations {
		got = append(got, strings.Join([]string{o.Service, o.Operation, o.Kind, fmt.Sprint(o.Count, o.Errors), ms(o.Self), ms(o.Total), ms(o.P50), ms(o.P99), ms(o.Max)}, " "))
	}
	for _, c := range r.Calls {
		got = append(got, fmt.Sprint(c.From, " > ", c.To, " ", c.Calls, " ", c.Errors, " ", ms(c.P50), " ", ms(c.Total)))
	}
	for _, f := range r.Failures {
		got = append(got, fmt.Sprint(f.Service, " ", f.Operation, " ", f.Message, " ", f.Count, " ", ms(f.First)))
	}
	want := []string{
		"prices GET /price server 2 1 40 40 20 20 20",
		"prices audit consumer 1 0 35 35 35 35 35",
		"shop SELECT client 1 0 30 30 30 30 30",
		"shop GET /cart server 1 0 25 100 100 100 100", // 0–10, 50–60 and 90–95
		"shop call client 2 0 20 60 30 30 30",
		"shop > prices 3 1 20 75",
		"shop > postgresql 1 0 30 30",
		"prices GET /price no price 1 1025",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The critical path leads from the end of the request backwards, always into the child that ended last; audit is cut at the end
// of the request, and the first call is not on the path, because the second one overlaps it and ended later.
func TestCriticalPath(t *testing.T) {
	var got []string
	for _, s := range collectSpans(t, cart, report.SpanOptions{Path: true}).Path {
		from := s.Start/spanMillisecond - 1000
		got = append(got, fmt.Sprintf("%d-%d %s %s %d", from, from+s.Duration/spanMillisecond, s.Service, s.Operation, s.Depth))
	}
	want := []string{
		"0-20 shop GET /cart 0", "20-25 shop call 1", "25-45 prices GET /price 2", "45-50 shop call 1", "50-60 shop GET /cart 0",
		"60-90 shop SELECT 1", "90-95 shop GET /cart 0", "95-100 prices audit 1",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The service of an archive request is its host, and its ids come from the traceparent header.
func TestSpansOfArchives(t *testing.T) {
	entry := func(at, url string, ms, status int, header string) string {
		return fmt.Sprintf(`{"startedDateTime":"1970-01-01T00:00:0%sZ","time":%d,"request":{"method":"GET","url":%q,"headers":[%s]},"response":{"status":%d,"statusText":"Gone"},"timings":{"send":0,"wait":%[2]d,"receive":0}}`,
			at, ms, url, header, status)
	}
	r := collectSpans(t, `{"log":{"version":"1.2","creator":{"name":"x","version":"1"},"pages":[],"entries":[`+strings.Join([]string{
		entry("1.000", "https://a.example/x?q", 30, 200, ""), entry("2.000", "https://a.example/y", 50, 410, `{"name":"traceparent","value":"00-0000000000000000000000000000000a-0000000000000001-01"}`),
		entry("3.000", "https://b.example:81/", 5, 200, ""),
	}, ",")+`]}}`, report.SpanOptions{Path: true})
	if len(r.Operations) != 2 || r.Operations[0].Service != "a.example" || r.Operations[0].Count != 2 || r.Operations[0].Errors != 1 || r.Operations[0].Self != 80*spanMillisecond ||
		r.Operations[1].Service != "b.example:81" || r.Failures[0].Message != "410 Gone" || len(r.Path) != 1 || r.Path[0].Span != "0000000000000001" {
		t.Errorf("%+v", r)
	}
}

// A span that starts before its parent, because clocks differ, is not a separate request.
func TestEarlySpansAreNoRoots(t *testing.T) {
	r := collectSpans(t, `{"resourceSpans":[`+service("shop", spanJSON("01", "", "GET /", "SERVER", 10, 100, ""))+","+
		service("prices", spanJSON("02", "01", "GET", "SERVER", 5, 40, `,"status":{"code":2}`), spanJSON("03", "99", "orphan", "SERVER", 50, 60, ""))+`]}`, report.SpanOptions{})
	if r.Early != 1 || r.Roots != 2 || r.RootErrors != 0 || r.Errors != 1 {
		t.Errorf("%d early, %d roots, %d failed roots, %d errors: %+v", r.Early, r.Roots, r.RootErrors, r.Errors, r)
	}
	if notes := r.Report().Notes; len(notes) != 1 || !strings.HasPrefix(notes[0], "1 span starts before its parent,") {
		t.Errorf("%q", notes)
	}
}
