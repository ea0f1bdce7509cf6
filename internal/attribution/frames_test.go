package attribution_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/timeline"
)

// frameEvent returns an instant about frames on the browser's main thread.
func frameEvent(name string, ts int, data string) string {
	return fmt.Sprintf(`{"ph":"I","s":"t","name":%q,"ts":%d,"pid":9,"tid":9,"args":{"data":%s}}`, name, ts, data)
}

// frameState is the state of a frame at a point in time.
type frameState struct {
	url, parent string
	pid         int64
}

func (a *attributed) frameAt(t *testing.T, id string, process int64, us timeline.Nanos) frameState {
	t.Helper()
	n, ok := a.Contexts.Find(attribution.ScopeFrame, id, process)
	if !ok {
		t.Fatalf("no frame %s", id)
	}
	ts := us * timeline.Microsecond
	s := frameState{url: a.Contexts.Url(n, ts)}
	if parent := a.Contexts.Parent(n, ts); parent != 0 {
		s.parent = a.identity(parent)
	}
	s.pid, _ = a.Contexts.Pid(n, ts)
	return s
}

// The test reads the events about frames, each with all its fields (attribution.md, The types).
func TestFrameEvents(t *testing.T) {
	a := attribute(t, events(
		`{"ph":"M","name":"thread_name","pid":9,"tid":9,"args":{"name":"CrBrowserMain"}}`,
		frameEvent("TracingStartedInBrowser", 10, `{"frameTreeNodeId":4,"persistentIds":true,"frames":[`+
			`{"frame":"A","url":"http://a.test/","name":"","processId":1,"isOutermostMainFrame":true,"isInPrimaryMainFrame":true},`+
			`{"frame":"B","url":"http://b.test/","name":"b","processId":1,"parent":"A"}]}`),
		x("work", 1, 20, `,"args":{"data":{"frame":"B"}}`),
		// B moves to another site, in a process whose pid is still unknown, and then names its parent itself; the browser takes
		// precedence.
		frameEvent("FrameCommittedInBrowser", 100, `{"frame":"B","url":"http://c.test/","name":"b","parent":"A","processPseudoId":"0x77"}`),
		frameEvent("ProcessReadyInBrowser", 110, `{"frame":"B","processPseudoId":"0x77","processId":2}`),
		`{"ph":"X","name":"CommitLoad","ts":120,"dur":5,"pid":2,"tid":1,"args":{"data":{"frame":"B","url":"http://c.test/#x","isMainFrame":false,"parent":"Z"}}}`,
		frameEvent("FrameCommittedInBrowser", 130, `{"frame":"C","url":"http://d.test/","name":"","parent":"B","processPseudoId":"0x88"}`),
		frameEvent("FrameDeletedInBrowser", 200, `{"frame":"B"}`),
		x("late", 1, 210, `,"args":{"data":{"frame":"B"}}`),
		`{"ph":"X","name":"CommitLoad","ts":220,"dur":5,"pid":3,"tid":1,"args":{"data":{"frame":"D","url":"http://e.test/","isMainFrame":false,"parent":"A"}}}`,
	), attribution.Rules{})
	for _, test := range []struct {
		frame string
		us    timeline.Nanos
		want  frameState
	}{
		{"A", 20, frameState{"http://a.test/", "", 1}},
		{"B", 20, frameState{"http://b.test/", "frame/A", 1}},
		{"B", 105, frameState{"http://c.test/", "frame/A", 2}}, // resolved when the process was ready
		{"B", 150, frameState{"http://c.test/#x", "frame/A", 2}},
		{"C", 150, frameState{"http://d.test/", "frame/B", 0}}, // its process was never ready
		{"B", 205, frameState{}},
		{"D", 230, frameState{"http://e.test/", "frame/A", 3}},
	} {
		if got := a.frameAt(t, test.frame, attribution.Global, test.us); got != test.want {
			t.Errorf("frame %s at %d: %+v, want %+v", test.frame, test.us, got, test.want)
		}
	}
	// Pages are the roots of the tree at that time: the late work belongs to a deleted frame.
	got := map[string]timeline.Nanos{}
	for _, r := range a.Table(tables.TableOptions{Type: tables.TypePage}).Rows {
		got[r.ID] = r.Self
	}
	if got["frame/A"] != 20_000 || got["frame/B"] != 10_000 {
		t.Errorf("pages %v, want 20 µs of A and 10 µs of B", got)
	}
}

// Old Chrome versions named frames by addresses, which are local to the process of the frame.
func TestFramesByAddress(t *testing.T) {
	a := attribute(t, events(
		frameEvent("TracingStartedInBrowser", 0, `{"frames":[{"frame":"0x10","url":"http://a.test/","processId":1},`+
			`{"frame":"0x20","url":"http://b.test/","processId":1,"parent":"0x10"},{"frame":"0x10","url":"http://other.test/","processId":2}]}`),
		x("work", 1, 20, `,"args":{"data":{"frame":"0x20"}}`),
	), attribution.Rules{})
	a.want(t, 1, "Frame frame 0x20 args 0")
	if got, want := a.frameAt(t, "0x20", 1, 20), (frameState{"http://b.test/", "frame/0x10@1", 1}); got != want {
		t.Errorf("0x20 is %+v, want %+v", got, want)
	}
	if got, want := a.frameAt(t, "0x10", 2, 20), (frameState{"http://other.test/", "", 2}); got != want {
		t.Errorf("0x10 in process 2 is %+v, want %+v", got, want)
	}
}

// The url of a frame can come from events that happen to contain the url of its document: navigationStart, ParseHTML, and the
// request for the document. Requests are used only if no other event has the url, and scripts in the document only if no request
// has it.
func TestAddressOfFrame(t *testing.T) {
	at := func(name string, ts int, args string) string {
		return fmt.Sprintf(`{"ph":"I","s":"t","name":%q,"ts":%d,"pid":1,"tid":1,"args":%s}`, name, ts, args)
	}
	request := func(ts int, members string) string {
		return at("ResourceSendRequest", ts, `{"data":{"requestId":"1.`+fmt.Sprint(ts)+`","frame":"F",`+members+`}}`)
	}
	image := request(1, `"url":"http://a.test/a.png","resourceType":"Image","initiator":{"type":"script","url":"http://a.test/a.js"}`)
	document := request(2, `"url":"http://a.test/document","resourceType":"Document"`)
	parser := request(3, `"url":"http://a.test/b.png","resourceType":"Image","initiator":{"type":"parser","url":"http://a.test/parsed"}`)
	navigation := at("navigationStart", 4, `{"frame":"F","data":{"documentLoaderURL":"http://a.test/navigation"}}`)
	parse := `{"ph":"X","name":"ParseHTML","ts":5,"dur":1,"pid":1,"tid":1,"args":{"beginData":{"frame":"F","url":"http://a.test/parse"}}}`
	script := func(name, url string, line int) string {
		return fmt.Sprintf(`{"ph":"X","name":%q,"ts":1,"dur":1,"pid":1,"tid":1,"args":{"data":{"frame":"F","url":%q,"lineNumber":%d,"columnNumber":1}}}`, name, url, line)
	}
	inline := script("FunctionCall", "http://a.test/inline.html?a/b.js#c", 9)
	for _, test := range []struct {
		name, want string
		list       []string
	}{
		{"image", "", []string{image}},
		{"inline", "http://a.test/inline.html?a/b.js#c", []string{inline}},
		{"inline later", "http://a.test/inline.html?a/b.js#c", []string{inline, script("FunctionCall", "http://a.test/other.html", 1)}},
		{"inline in a folder", "http://a.test/", []string{script("FunctionCall", "http://a.test/", 9)}},
		{"inline by its line", "http://a.test/app", []string{script("EvaluateScript", "http://a.test/app", 2)}},
		{"inline against a request", "http://a.test/document", []string{inline, document}},
		{"inline after navigation", "http://a.test/navigation", []string{navigation, strings.Replace(inline, `"ts":1`, `"ts":9`, 1)}},
		{"script of its own", "", []string{
			script("EvaluateScript", "http://cdn.test/a.js", 1), script("FunctionCall", "http://cdn.test/a.js?page=a.html", 7),
			script("FunctionCall", "http://a.test/app", 9), script("FunctionCall", "http://", 9), script("EvaluateScript", "inline", 9),
		}},
		{"document", "http://a.test/document", []string{image, document, parser}},
		{"parser", "", []string{image, parser}}, // the parser of a document, or of a style sheet
		{"navigation", "http://a.test/navigation", []string{parser, navigation, request(9, `"url":"http://a.test/late","resourceType":"Document"`)}},
		{"parse", "http://a.test/parse", []string{document, parse, parser}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := attribute(t, events(test.list...), attribution.Rules{})
			if got := a.frameAt(t, "F", attribution.Global, 100).url; got != test.want {
				t.Errorf("the url is %q, want %q", got, test.want)
			}
		})
	}
}
