package attribution_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/timeline"
)

// The calls of a self-profile belong to their scripts, by resource, and to the page, by origin (jsprofile.md 3, and
// attribution.md, The types). Calls without a resource have the script of their caller.
func TestSelfProfile(t *testing.T) {
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: t.TempDir()})
	err := jsprofile.Read(t.Context(), strings.NewReader(`{"resources":["https://a.test/app.js","https://cdn.test/lib.js"],
		"frames":[{"name":"main","resourceId":0,"line":1,"column":1},{"name":"lib","resourceId":1,"line":2,"column":2},{"name":"fetch"}],
		"stacks":[{"frameId":0},{"frameId":1,"parentId":0},{"frameId":2,"parentId":1}],
		"samples":[{"timestamp":10,"stackId":0},{"timestamp":20,"stackId":1},{"timestamp":30,"stackId":2},{"timestamp":40}]}`), b, jsprofile.Options{Options: readers.Options{Problems: log}})
	if err != nil {
		t.Fatal(err)
	}
	a := prepare(t, b, log).attribute(t, attribution.Rules{})
	got := map[string][]string{}
	for event, set := range a.stampsByEvent(t) {
		got[a.nameOf(t, event)] = a.show(set, true)
	}
	page := "Frame origin https://a.test args 0"
	want := map[string][]string{
		"main":  {page, "Script script https://a.test/app.js args 0"},
		"lib":   {page, "Script script https://cdn.test/lib.js args 0"},
		"fetch": {page, "Script script https://cdn.test/lib.js args 0"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contexts (-want +got)\n%s", diff)
	}
}

// PipelineReporter names the animation frame by the same numbers as compositor slices: sequence and layer tree
// (attribution.md, The types).
func TestFrameReporter(t *testing.T) {
	a := attribute(t, events(
		x("DrawFrame", 1, 0, `,"args":{"layerTreeId":2,"frameSeqId":7}`),
		`{"ph":"b","name":"PipelineReporter","cat":"cc","id2":{"local":"0x1"},"ts":5,"pid":1,"tid":1,"args":{"frame_reporter":{"frame_sequence":7,"layer_tree_host_id":2}}}`,
		`{"ph":"e","name":"PipelineReporter","cat":"cc","id2":{"local":"0x1"},"ts":9,"pid":1,"tid":1}`,
		`{"ph":"b","name":"PipelineReporter","cat":"cc","id":"0x1","ts":5,"pid":1,"tid":1,"args":{"frame_reporter":{"frame_sequence":8,"layer_tree_host_id":2}}}`,
		`{"ph":"e","name":"PipelineReporter","cat":"cc","id":"0x1","ts":9,"pid":1,"tid":1}`,
	), attribution.Rules{})
	a.want(t, 0, "GraphicsFrame graphics 2.7 args 0")
	a.want(t, 1, "GraphicsFrame graphics 2.7 args 0")
	a.want(t, 3, "GraphicsFrame graphics 2.8 args 0")
	if row := rowOf(a.Table(tables.TableOptions{Type: "GraphicsFrame"}), "graphics/2.7@1", ""); row == nil || row.Name != "frame 2.7" {
		t.Errorf("the row is %+v", row)
	}
}

// Firefox samples are not asynchronous work: the slices of documents on a separate track belong to the documents, and add no
// cost to the thread.
//
// Firefox names processes by the origins of their pages; that does not make them self-profiles.
func TestSamplePages(t *testing.T) {
	profile := `{"meta":{"interval":1,"startTime":0,"processType":0,"version":30,"preprocessedProfileVersion":50,"product":"Firefox",
		"categories":[{"name":"Other","color":"grey","subcategories":["Other"]}],"markerSchema":[]},
		"pages":[{"tabID":7,"innerWindowID":3,"url":"https://a.test/","embedderInnerWindowID":0}],"libs":[],"threads":[
		{"name":"GeckoMain","isMainThread":true,"processType":"tab","processName":"https://a.test","eTLD+1":"https://a.test","pid":"1","tid":1,"registerTime":0,
		"samples":{"length":3,"stack":[2,1,0],"time":[10,11,12]},
		"stackTable":{"length":3,"frame":[0,1,2],"prefix":[null,0,1],"category":[0,0,0],"subcategory":[0,0,0]},
		"frameTable":{"length":3,"func":[0,0,0],"innerWindowID":[0,3,0],"address":[-1,-1,-1],"category":[0,0,0]},
		"funcTable":{"length":1,"name":[0],"isJS":[false],"resource":[-1],"fileName":[null]},"resourceTable":{"length":0},
		"markers":{"length":1,"name":[0],"startTime":[20],"endTime":[21],"phase":[1],"category":[0],"data":[null]},"stringArray":["f"]}]}`
	a := firefoxProfile(t, profile)
	var pages []string
	for event, set := range a.stampsByEvent(t) {
		pages = append(pages, a.nameOf(t, event)+": "+strings.Join(a.show(set, true), "; "))
	}
	// In the first two samples, the innermost frame with a window has window 3.
	if want := []string{"https://a.test/: Frame window 3 args 0; Tab tab 7 args 0"}; !slices.Equal(pages, want) {
		t.Errorf("contexts %q, want %q", pages, want)
	}
	for _, r := range a.Table(tables.TableOptions{Type: "Frame"}).Rows {
		if r.Async != 0 {
			t.Errorf("%s has %d ns of asynchronous slices", r.ID, r.Async)
		}
	}
}
