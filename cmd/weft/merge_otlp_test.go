package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// A page and its server are linked: the server-timing header of a response names the span that produced it. An arrow leads from
// each request to its span and from the span to the response, and the offset from the wall clock is consistent with causality.
func TestMergeBrowserAndServer(t *testing.T) {
	const folder = "../../testdata/traces/otlp/"
	report, out := merged(t, "browser="+folder+"browser.json.gz", "server="+folder+"server.otlp")
	server := report.Inputs[1]
	// The wall clock is more exact than the arrows, and agrees with them; the page is not known to be on the server's host.
	if server.By != "wall clock" || !server.AtLeast || !strings.Contains(server.Evidence, "arrows") {
		t.Errorf("the server is placed by %s: %q", server.By, server.Evidence)
	}
	// One arrow from each request and one to each response: for the page, its icon and three requests of its script.
	if report.Events.Flows != 10 {
		t.Errorf("%d arrows, want 10", report.Events.Flows)
	}
	tl := timelineOf(t, out)
	members := map[uint64][]string{}
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		for _, f := range it.Flows {
			members[f.ID] = append(members[f.ID], string(it.Name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	chains := 0
	for _, names := range members {
		if strings.Join(names, " > ") == "ResourceSendRequest > GET /api/items > ResourceReceiveResponse" {
			chains++
		}
	}
	if chains != 3 {
		t.Errorf("%d requests of the script lead to the server and back, want 3: %v", chains, members)
	}
}

// The server's work is charged to the page's contexts, which pass along the arrows between the two. Each request names its frame,
// except the request for the document, which has no frame yet; one of the requests was sent while a script ran.
func TestAttributeBrowserAndServer(t *testing.T) {
	const folder = "../../testdata/traces/otlp/"
	_, out := merged(t, "browser="+folder+"browser.json.gz", "server="+folder+"server.otlp")
	for typ, want := range map[string]map[string]string{
		// The times of the spans: three of the API (6420892, 6222626 and 5560828 ns) and one of the icon (52789).
		"Frame":   {"http://127.0.0.1:33761/": "18257135", "(unattributed)": "229753"},
		"Script":  {"http://127.0.0.1:33761/": "6420892", "(unattributed)": "12065996"},
		"Request": {"items: GET /api/items": "18204346", "items: GET": "52789", "items: GET /{$}": "229753"},
	} {
		rows, err := csv.NewReader(bytes.NewReader(runWeft(t, "report", "cost", "--csv", "--type", typ, "--by", "process", out))).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		name, part, self := slices.Index(rows[0], "name"), slices.Index(rows[0], "part"), slices.Index(rows[0], "self_ns")
		got := map[string]string{}
		for _, row := range rows[1:] {
			if row[part] == "items 4711" {
				got[row[name]] = row[self]
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the server worked for %v, want %v", typ, got, want)
		}
	}
}

// An HTTP archive and a server's spans are on one clock. The request names the client's span, which is the parent of the server's
// span, and the response names the server's own span.
func TestMergeArchiveAndSpans(t *testing.T) {
	const trace = "5b8efff798038103d269b633813fc60c"
	dir := t.TempDir()
	archive, spans := filepath.Join(dir, "page.har"), filepath.Join(dir, "api.json")
	for path, content := range map[string]string{
		archive: `{"log":{"entries":[{"startedDateTime":"2024-02-29T12:34:56.100Z","time":50,
			"request":{"method":"GET","url":"https://e.org/api","headers":[{"name":"traceparent","value":"00-` + trace + `-00000000000000a1-01"}]},
			"response":{"status":200,"headers":[{"name":"Server-Timing","value":"db;dur=3, traceparent;desc=\"00-` + trace + `-00000000000000b2-01\""}]},
			"timings":{"blocked":1,"send":1,"wait":38,"receive":10}}]}}`,
		spans: `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"api"}}]},"scopeSpans":[{"spans":[
			{"traceId":"` + trace + `","spanId":"00000000000000b2","parentSpanId":"00000000000000a1","name":"GET /api","kind":2,
			 "startTimeUnixNano":"1709210096110000000","endTimeUnixNano":"1709210096130000000"}]}]}]}`,
	} {
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	report, out := merged(t, archive, spans)
	if in := report.Inputs[1]; in.Offset != 0 {
		t.Errorf("the spans are moved: %+v", in)
	}
	var arrows []string
	err := timelineOf(t, out).Walk(context.Background(), func(it *timeline.Item) error {
		for range it.Flows {
			arrows = append(arrows, string(it.Name))
		}
		return nil
	})
	if got, want := strings.Join(arrows, ", "), "api · e.org, GET /api, GET /api, receive"; err != nil || got != want {
		t.Errorf("arrows between %s, want %s, error %v", got, want, err)
	}
}

// The spans of one trace are in the files of three services. An arrow leads from a parent to each of its children, whatever their
// kinds; another arrow represents a link to a span in another file. Only spans in no file are unknown.
func TestMergeSpansOfServices(t *testing.T) {
	const trace, children = "5b8efff798038103d269b633813fc60c", 200
	span := func(id, parent, start, end int, more string) string {
		return fmt.Sprintf(`{"traceId":"%s","spanId":"%016x","parentSpanId":"%016x","name":"%x","startTimeUnixNano":%d,"endTimeUnixNano":%d%s}`,
			trace, id, parent, id, int64(1709210096_000000000)+int64(start), int64(1709210096_000000000)+int64(end), more)
	}
	list := []string{span(0xb0, 0xff, 1, 2, ""), span(0xb1, 0xa0, 5, 9, `,"kind":2`)}
	for i := range children {
		list = append(list, span(0xb100+i, 0xa0, 10+2*i, 11+2*i, ""))
	}
	dir := t.TempDir()
	var files []string
	for name, spans := range map[string][]string{
		"a.json": {span(0xa0, 0, 0, 1000, ""), span(0xa1, 0xa0, 100, 900, ""), span(0xa2, 0xa0, 200, 950, "")},
		"b.json": list,
		"c.json": {span(0xc0, 0, 2000, 2100, `,"links":[{"traceId":"`+trace+`","spanId":"00000000000000a1"},{"traceId":"`+trace+`","spanId":"00000000000000ee"}]`)},
	} {
		path := filepath.Join(dir, name)
		files = append(files, path)
		text := `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"` + name + `"}}]},"scopeSpans":[{"spans":[` +
			strings.Join(spans, ",") + `]}]}]}`
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	report, _ := merged(t, files...)
	// To the children, to the child that runs beside a sibling in a.json, and for the link.
	if report.Events.Flows != children+1+1+1 {
		t.Errorf("%d arrows, want %d", report.Events.Flows, children+3)
	}
	counts := map[string]uint64{}
	for _, p := range report.Problems {
		counts[p.Input+" "+p.Name] += p.Count
	}
	if want := map[string]uint64{"b span_parent_unknown": 1, "c span_link_unknown": 1}; !maps.Equal(counts, want) {
		t.Errorf("problems %v, want %v", counts, want)
	}
}

// The span of a document's load starts before the server's span, although the server's span is its parent. This does not move the
// clocks; the offset comes from the page's fetch.
func TestMergeDocumentLoad(t *testing.T) {
	const trace = "5b8efff798038103d269b633813fc60c"
	dir := t.TempDir()
	browser, server := filepath.Join(dir, "browser.json"), filepath.Join(dir, "server.json")
	span := func(id, parent string, kind int, start, end int64) string {
		return fmt.Sprintf(`{"traceId":"%s","spanId":"00000000000000%s","parentSpanId":"%s","name":"%s","kind":%d,"startTimeUnixNano":%d,"endTimeUnixNano":%d}`,
			trace, id, parent, id, kind, 1709210096_000000000+start, 1709210096_000000000+end)
	}
	load := span("b1", "00000000000000a1", 1, 0, 400e6)
	document := span("a1", "", 2, 100e6, 200e6)
	for name, c := range map[string]struct{ browser, server string }{
		"document": {load, document},
		"fetch":    {load + "," + span("b2", "00000000000000b1", 3, 300e6, 340e6), document + "," + span("a2", "00000000000000b2", 2, 310e6, 330e6)},
	} {
		for path, spans := range map[string]string{browser: c.browser, server: c.server} {
			text := `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]},"scopeSpans":[{"spans":[` + spans + `]}]}]}`
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		report, _ := merged(t, browser, server)
		if in := report.Inputs[1]; in.Offset != 0 || len(report.Notes) > 0 {
			t.Errorf("%s: %+v, %q", name, in, report.Notes)
		}
		if report.Events.Flows == 0 {
			t.Errorf("%s: no arrow from the server to the load", name)
		}
	}
}
