package attribution_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/firefox"
	"github.com/weft-trace/weft/internal/timeline"
)

// firefoxTimeline returns a timeline with a few markers of a Firefox profile: window 3 in window 2, tab 7, and an unknown window
// 9.
func firefoxTimeline(t *testing.T, label string) *prepared {
	t.Helper()
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: t.TempDir()})
	b.AddPage(timeline.Page{Window: 2, Tab: 7, URL: "https://a.test/"})
	b.AddPage(timeline.Page{Window: 3, Tab: 7, Embedder: 2, URL: "https://b.test/frame"})
	b.SetAttribute("firefox.page.9", `{"tabID":7,"embedderInnerWindowID":2,"isPrivateBrowsing":false,"url":"https://c.test/"}`) // text, without effect
	process := b.Process(timeline.ProcessKey{Num: 100})
	thread := b.Thread(process, timeline.ThreadKey{Num: 100})
	b.SetThreadName(thread, 0, []byte("GeckoMain"))
	hasWeft := false
	marker := func(event uint32, name, category string, ts, dur timeline.Nanos, args func(e *timeline.ArgsEncoder)) {
		e := b.Args()
		e.Reset()
		hasWeft = false
		args(e)
		if label != "" {
			e.OwnKey([]byte(timeline.OwnArgs))
			if hasWeft {
				e.ExtendDict()
			} else {
				e.BeginDict()
			}
			e.Key([]byte("marker"))
			e.String([]byte(name))
			e.EndDict()
			name = label
		}
		err := b.Add(&timeline.Event{
			Kind: timeline.Slice, Track: thread, Event: event, TS: ts, Dur: dur, Name: []byte(name), Category: []byte(category),
			Args: e.Args(),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	window := func(id int64, more func(e *timeline.ArgsEncoder)) func(e *timeline.ArgsEncoder) {
		return func(e *timeline.ArgsEncoder) {
			e.Key([]byte("innerWindowID"))
			e.Int(id)
			if more != nil {
				more(e)
			}
			if id == 9 {
				return
			}
			hasWeft = true
			e.OwnKey([]byte(timeline.OwnArgs))
			e.BeginDict()
			e.Key([]byte("tab"))
			e.Int(7)
			e.EndDict()
		}
	}
	none := func(*timeline.ArgsEncoder) {}
	marker(0, "Runnable", "Other", 0, 1000_000, none)
	marker(1, "RefreshDriverTick", "Graphics", 100_000, 100_000, window(2, nil))
	marker(2, "Styles", "Layout", 110_000, 10_000, window(3, nil))
	marker(3, "DOMEvent", "DOM", 300_000, 200_000, window(3, func(e *timeline.ArgsEncoder) {
		e.Key([]byte("eventType"))
		e.String([]byte("click"))
		e.Key([]byte("latency"))
		e.Double(0.25)
	}))
	marker(4, "DOMEvent", "DOM", 600_000, 10_000, window(2, func(e *timeline.ArgsEncoder) {
		e.Key([]byte("eventType"))
		e.String([]byte("MozAfterPaint"))
		e.Key([]byte("latency"))
		e.Double(0.25)
	}))
	marker(5, "GCMinor", "GC / CC", 310_000, 20_000, none)
	marker(6, "Perform microtasks", "JavaScript", 350_000, 50_000, none)
	marker(7, "Image Load", "Other", 700_000, 10_000, window(9, nil))
	return prepare(t, b, log)
}

// Windows are frames in the tree of the pages, tabs have their own type, and user actions are input events.
func TestFirefox(t *testing.T) {
	testFirefox(t, "")
}

// Markers whose slices are named by labels are recognized by their own names, even if the label is another marker's name.
func TestFirefoxLabels(t *testing.T) {
	for _, label := range []string{"load /index.html", "DOMEvent", "GCMajor", "FunctionCall"} {
		t.Run(label, func(t *testing.T) { testFirefox(t, label) })
	}
}

func testFirefox(t *testing.T, label string) {
	a := firefoxTimeline(t, label).attribute(t, attribution.Rules{})
	// The windows name three frames, one of them unknown, so they have no common ancestor.
	a.want(t, 0, "Frame null null descendants 0 window/2,window/3,window/9")
	a.want(t, 1, "Frame window 2 args 0", "Tab tab 7 args 0")
	a.want(t, 2, "Frame window 3 args 0", "Tab tab 7 args 0")
	a.want(t, 3, "Frame window 3 args 0", "Tab tab 7 args 0", "InputEvent domevent 50 args 0")
	a.want(t, 4, "Frame window 2 args 0", "Tab tab 7 args 0")
	a.want(t, 5, "Frame isolate thread:100/100 isolate 0", "Trigger window 3 args 0", "Tab tab 7 args 0", "InputEvent domevent 50 args 0")
	a.want(t, 6, "Frame window 3 args 0", "Tab tab 7 args 0", "InputEvent domevent 50 args 0")
	a.want(t, 7, "Frame window 9 args 0")

	inner, _ := a.Contexts.Find(attribution.ScopeWindow, "3", attribution.Global)
	outer, _ := a.Contexts.Find(attribution.ScopeWindow, "2", attribution.Global)
	if parent := a.Contexts.Parent(inner, attribution.LastTime); parent != outer || a.Contexts.Label(inner, attribution.LastTime) != "https://b.test/frame" {
		t.Errorf("window 3 is %s below %s", a.Contexts.Label(inner, attribution.LastTime), a.identity(parent))
	}
	if len(a.Inputs) != 1 || a.Inputs[0].Type != "click" || a.Inputs[0].Start != 50_000 || a.Inputs[0].Latency != 450_000 {
		t.Errorf("inputs %+v", a.Inputs)
	}
	for _, row := range a.Table(tables.TableOptions{Type: "Page"}).Rows {
		if row.ID == "window/2" && (row.Name != "https://a.test/" || row.Self != 290_000 || row.SelfByCategory[producers.CategoryScript] != 190_000 || row.SelfByCategory[producers.CategoryStyle] != 10_000) {
			t.Errorf("page %+v", row)
		}
	}
}

// firefoxProfile reads a processed Firefox profile and attributes it.
func firefoxProfile(t *testing.T, profile string) *attributed {
	t.Helper()
	ctx := context.Background()
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: t.TempDir()})
	if err := firefox.Read(ctx, strings.NewReader(profile), b, firefox.Options{Options: readers.Options{Problems: log}}); err != nil {
		t.Fatal(err)
	}
	return prepare(t, b, log).attribute(t, attribution.Rules{})
}

// ffThread returns a thread of a processed profile with markers; names are indexes into the strings of firefoxProfileOf.
func ffThread(pid, process string, markers ...string) string {
	var name, start, end, phase, data []string
	for _, m := range markers {
		parts := strings.SplitN(m, "|", 5)
		name, start, end, phase, data = append(name, parts[0]), append(start, parts[1]), append(end, parts[2]), append(phase, parts[3]), append(data, parts[4])
	}
	list := func(l []string) string { return "[" + strings.Join(l, ",") + "]" }
	return `{"name":"GeckoMain","isMainThread":true,"processType":"` + process + `","pid":"` + pid + `","tid":` + pid +
		`,"registerTime":0,"samples":{"length":0,"stack":[],"time":[]},"stackTable":{"length":0,"frame":[],"prefix":[]},"frameTable":{"length":0,"func":[]},` +
		`"funcTable":{"length":0,"name":[]},"resourceTable":{"length":0},"markers":{"length":` + strconv.Itoa(len(markers)) + `,"name":` + list(name) +
		`,"startTime":` + list(start) + `,"endTime":` + list(end) + `,"phase":` + list(phase) + `,"category":` + list(slices.Repeat([]string{"0"}, len(markers))) +
		`,"data":` + list(data) + `},"stringArray":["Load","DOMEvent","Receive AsyncOpen in Parent","DispatchTransaction"]}`
}

// Firefox's requests belong to the contexts in which they were made, whatever process continues them (attribution.md, rule 7).
// All markers of a channel are one row, which has the largest number of bytes and lasts from the first start to the last end.
// Other events with the channel id have the contexts of the request for types without a context.
func TestFirefoxRequests(t *testing.T) {
	network := func(id, window, status, more string) string {
		return `{"type":"Network","id":` + id + `,"URI":"http://a.test/x","status":"STATUS_` + status + `"` + window + more + `}`
	}
	window := `,"innerWindowID":3`
	a := firefoxProfile(t, `{"meta":{"interval":1,"startTime":1000,"processType":0,"version":30,"preprocessedProfileVersion":50,"product":"Firefox",
		"categories":[{"name":"Other","color":"grey","subcategories":["Other"]}],
		"markerSchema":[{"name":"DOMEvent","display":[],"fields":[],"isStackBased":true},{"name":"Url","display":[],"fields":[],"isStackBased":true}]},
		"pages":[{"tabID":7,"innerWindowID":3,"url":"https://a.test/","embedderInnerWindowID":0}],"libs":[],"threads":[`+
		ffThread("1", "tab",
			`1|100|120|1|{"type":"DOMEvent","eventType":"click","latency":5,"innerWindowID":3}`,
			`0|110|130|1|`+network("8589934593", window, "START", ""),
			`0|130|150|1|`+network("8589934593", window, "STOP", `,"count":900`),
			`0|200|210|1|`+network("8589934594", "", "START", ""))+","+
		ffThread("2", "default",
			`2|113|null|0|{"type":"ChannelMarker","channelId":8589934593}`,
			`3|114|115|1|{"type":"Url","channelId":8589934593}`,
			`0|115|118|1|`+network("8589934593", "", "START", ""),
			`0|118|160|1|`+network("8589934593", "", "STOP", `,"count":500`),
			`2|300|null|0|{"type":"ChannelMarker","channelId":77}`)+`]}`)

	input := "InputEvent domevent 1095000" // the profile begins at 1 s
	sets := map[string][]string{}
	for event, set := range a.stampsByEvent(t) {
		sets[a.nameOf(t, event)] = append(sets[a.nameOf(t, event)], strings.Join(a.show(set, true), "; "))
	}
	for name := range sets {
		slices.Sort(sets[name])
	}
	byRequest := "Frame window 3 request 0; " + input + " request 0; Tab tab 7 request 0"
	want := map[string][]string{
		"DOMEvent":                    {"Frame window 3 args 0; " + input + " args 0; Tab tab 7 args 0"},
		"x · a.test":                  {"Frame window 3 args 0; " + input + " async 0; Tab tab 7 args 0", byRequest},
		"DispatchTransaction":         {byRequest},
		"Receive AsyncOpen in Parent": {byRequest},
	}
	if diff := cmp.Diff(want, sets); diff != "" {
		t.Errorf("contexts (-want +got)\n%s", diff)
	}
	for _, r := range a.Requests {
		switch got := strings.Join(a.show(r.Set, false), "; "); r.ID {
		case "8589934593":
			if got != "Frame window 3; "+input+"; Tab tab 7" || r.Bytes != 900 || r.Start != 1110_000_000 || r.End != 1160_000_000 {
				t.Errorf("request %s of %q: %d bytes, %d to %d", r.ID, got, r.Bytes, r.Start, r.End)
			}
		case "8589934594": // never ended
			if got != "" || r.Bytes != 0 || r.Start != 1200_000_000 || r.End != timeline.NoTime {
				t.Errorf("request %s of %q: %d bytes, %d to %d", r.ID, got, r.Bytes, r.Start, r.End)
			}
		case "77": // only its id is known
			if r.Start != timeline.NoTime || r.Set != 0 {
				t.Errorf("request %s %+v", r.ID, r)
			}
		default:
			t.Errorf("request %s", r.ID)
		}
	}
	for _, r := range a.Table(tables.TableOptions{Type: "Tab"}).Rows {
		if want := map[string]int64{"tab/7": 1, attribution.Unattributed: 1}[r.ID]; r.Requests != want {
			t.Errorf("%s has %d requests, want %d", r.ID, r.Requests, want)
		}
		if want := map[string]string{"tab/7": "tab 7", attribution.Unattributed: attribution.Unattributed}[r.ID]; r.Name != want {
			t.Errorf("%s is called %q, want %q", r.ID, r.Name, want)
		}
	}
}

// nameOf returns the name of an event.
func (a *attributed) nameOf(t *testing.T, event int) string {
	t.Helper()
	found := ""
	err := a.t.Occurrences(context.Background(), false, func(group []timeline.Head) error {
		for i := range group {
			if group[i].Event == uint32(event) && group[i].Kind != timeline.ItemEnd {
				found = string(a.t.Name(group[i].NameID))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
