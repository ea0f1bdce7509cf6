package reportpage

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/report"
)

// The page of a recording without busy threads shows its slices, and a page with nothing to show states that.
func TestPagesOfOtherEvents(t *testing.T) {
	spans, err := os.ReadFile(filepath.Join(recording.Testdata(t), "traces", "otlp", "server.otlp"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"spans", string(spans), "<h2 id=slices-title>"},
		{"requests", string(spans), "Which requests cost most?</h2>\n<p class=lead>Tracks were busy for "},
		{"archive", `{"log":{"version":"1.2","creator":{"name":"x"},"entries":[{"startedDateTime":"2024-02-29T12:34:56Z","time":3,
			"request":{"method":"GET","url":"https://a.example/x"},"timings":{"wait":3}}]}}`, "<h2 id=slices-title>"},
		{"counters", `[{"ph":"C","pid":1,"ts":1,"name":"memory","args":{"bytes":1}}]`, "The trace has no slices and no samples"},
		{"empty", `[]`, "The trace has no events."},
	} {
		t.Run(c.name, func(t *testing.T) {
			if page := pageOf(t, c.name, bytes.NewReader([]byte(c.text)), Options{}); !strings.Contains(page, c.want) {
				t.Errorf("the page does not say %q", c.want)
			}
		})
	}
}

// Requests are drawn once, even if no thread is busy; the page names no command for the omitted ones.
func TestPageOfRequests(t *testing.T) {
	var events []string
	for i := range 2 * report.AllRows {
		events = append(events, fmt.Sprintf(`{"ph":"I","s":"t","pid":1,"tid":1,"ts":%d,"name":"ResourceSendRequest","args":{"data":{"requestId":"%d","url":"http://a.test/"}}}`, i, i),
			fmt.Sprintf(`{"ph":"I","s":"t","pid":1,"tid":1,"ts":%d,"name":"ResourceFinish","args":{"data":{"requestId":"%d"}}}`, i+1, i))
	}
	page := pageOf(t, "requests", strings.NewReader("["+strings.Join(events, ",")+"]"), Options{})
	if n := strings.Count(page, "<div class=waterfall>"); n != 1 || !strings.Contains(page, "The page has 20 of 40 requests.") {
		t.Errorf("%d waterfalls", n)
	}
}

// The legend groups functions by the host of their url, without the user name and query of the url.
func TestHostsInLegends(t *testing.T) {
	const profile = `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,3]},
		{"id":2,"callFrame":{"functionName":"f","url":"https://bob:SECRET@h1.example/x.js","lineNumber":1}},
		{"id":3,"callFrame":{"functionName":"g","url":"https://h2.example?tok=SECRET","lineNumber":1}}],
		"startTime":0,"endTime":4000,"samples":[2,3,2,3],"timeDeltas":[1000,1000,1000,1000]}`
	page := pageOf(t, "profile", strings.NewReader(profile), Options{})
	if !strings.Contains(page, "h1.example") || !strings.Contains(page, "h2.example") {
		t.Error("the hosts are not in the legend")
	}
	if strings.Contains(page, "SECRET") {
		t.Error("the page holds a secret of a url")
	}
}
