package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/report"
)

// The times of a load are relative to its navigation. The browser's own pages, empty pages, and shifts right after an input do
// not count. A window of shifts ends after a second without a shift.
func TestLoads(t *testing.T) {
	event := func(name string, us int, args string) string {
		return fmt.Sprintf(`{"ph":"I","s":"t","cat":"loading","pid":1,"tid":1,"ts":%d,"name":%q,"args":{"frame":"F",%s}}`, us, name, args)
	}
	navigation := func(us int, id, url string) string {
		return event("navigationStart", us, fmt.Sprintf(`"data":{"navigationId":%q,"documentLoaderURL":%q,"isOutermostMainFrame":true}`, id, url))
	}
	shift := func(us int, score float64, recent bool) string {
		return event("LayoutShift", us, fmt.Sprintf(`"data":{"weighted_score_delta":%g,"score":9,"had_recent_input":%v}`, score, recent))
	}
	input := "[" + strings.Join([]string{
		navigation(1000, "own", "chrome://newtab/"), navigation(1000, "none", ""), navigation(2000, "page", "http://a.test/x.html"),
		event("firstContentfulPaint", 5000, `"data":{"navigationId":"page"}`), event("largestContentfulPaint::Candidate", 5000, `"data":{"navigationId":"page"}`),
		event("largestContentfulPaint::Candidate", 9000, `"data":{"navigationId":"page"}`), event("largestContentfulPaint::Candidate", 9000, `"data":{"navigationId":"own"}`),
		event("MarkDOMContent", 6000, `"data":{"frame":"F"}`), event("MarkLoad", 7000, `"data":{"frame":"F"}`),
		shift(10_000, 0.25, false), shift(500_000, 0.5, true), shift(1_009_000, 0.125, false), shift(2_010_000, 0.0625, false),
	}, ",") + "]"
	loaded, err := load.One(t.Context(), strings.NewReader(input), load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	all, err := report.CollectAll(t.Context(), loaded.Timeline, attribution.Rules{}, report.AllOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(all.Loads)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"pages":[{"url":"http://a.test/x.html","ts_ns":2000000,"first_contentful_paint_ns":3000000,"largest_contentful_paint_ns":7000000,"dom_content_loaded_ns":4000000,"load_ns":5000000}],` +
		`"layout_shift":{"process":"","pid":1,"thread":"","tid":1,"score":0.375,"ts_ns":10000000,"end_ns":1009000000,"shifts":2}}`
	if string(got) != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
