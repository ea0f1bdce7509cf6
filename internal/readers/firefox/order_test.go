package firefox

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// ranked returns the names of processes and threads in the order in which viewers show them.
func ranked(t *testing.T, profile string) string {
	t.Helper()
	tl, _, err := suite.Load(t, strings.NewReader(profile), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	names := make([]string, tl.TrackCount())
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tr := tl.Track(id); tr.Kind == timeline.ThreadTrack {
			if names[tr.Rank] != "" || !tr.HasRank {
				t.Errorf("%s has rank %d, %v", tr.Name, tr.Rank, tr.HasRank)
			}
			process := tl.Track(tr.Parent)
			names[tr.Rank] = string('0'+process.Rank) + " " + process.Name + "/" + tr.Name
		}
	}
	return strings.Join(names[:strings.Count(profile, `"tid"`)], "\n")
}

// The process of the recorded tab comes first, unless the profile keeps its own order. Here, the parent process uses the web
// page most often and is the busiest, and an extension comes first in the profile.
func TestOrder(t *testing.T) {
	const (
		parent = `"processName":"parent","processType":"default","pid":"1"`
		other  = `"processName":"extension","processType":"tab","pid":"2"`
		page   = `"processName":"page","processType":"tab","pid":"3"`
	)
	thread := func(process, name, tid, cpu, windows string) string {
		n := len(strings.Split(windows, ","))
		data := `{"type":"T","innerWindowID":` + strings.ReplaceAll(windows, ",", `},{"type":"T","innerWindowID":`) + `}`
		list := func(one string) string { return "[" + strings.Repeat(one+",", n-1) + one + "]" }
		return `{` + process + `,"name":"` + name + `","tid":` + tid + `,"samples":{"length":2,"stack":[null,null],"time":[1,2],"threadCPUDelta":[9999,` + cpu +
			`]},"markers":{"length":` + string(rune('0'+n)) + `,"name":` + list("0") + `,"startTime":` + list("1") + `,"endTime":` + list("null") +
			`,"phase":` + list("0") + `,"category":` + list("null") + `,"data":[` + data + `]}}`
	}
	profile := func(meta string) string {
		return `{"meta":{"preprocessedProfileVersion":66,"startTime":0` + meta + `},"shared":{"stringArray":["m"]},
			"pages":[{"tabID":5,"innerWindowID":20,"url":"moz-extension://x/","embedderInnerWindowID":0},
				{"tabID":7,"innerWindowID":30,"url":"https://a.test/","embedderInnerWindowID":0},
				{"tabID":7,"innerWindowID":31,"url":"https://b.test/","embedderInnerWindowID":30}],"threads":[` +
			strings.Join([]string{
				thread(other, "GeckoMain", "20", "50", "20,31,31"),
				thread(parent, "Timer", "11", "900", "20"),
				thread(parent, "GeckoMain", "10", "100", "30,30,30"),
				thread(page, "Idle helper", "32", "0", "31"),
				thread(page, "Helper", "31", "30", "31"),
				thread(page, "GeckoMain", "30", "20", "30"),
			}, ",") + `]}`
	}
	for _, c := range []struct{ name, meta, want string }{
		{"web", "", "1 parent/GeckoMain|2 extension/GeckoMain|0 page/GeckoMain|1 parent/Timer|0 page/Helper|0 page/Idle helper"},
		{"active tab", `,"configuration":{"activeTabID":5}`, "1 parent/GeckoMain|0 extension/GeckoMain|2 page/GeckoMain|1 parent/Timer|2 page/Helper|2 page/Idle helper"},
		{"kept", `,"keepProfileThreadOrder":true`, "0 extension/GeckoMain|1 parent/Timer|1 parent/GeckoMain|2 page/Idle helper|2 page/Helper|2 page/GeckoMain"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.ReplaceAll(ranked(t, profile(c.meta)), "\n", "|"); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}

// Intervals with the same name form one row, in the group of the first interval, regardless of the other categories.
func TestRowsAreInOneGroup(t *testing.T) {
	tl, _, err := suite.Load(t, strings.NewReader(`{"meta":{"preprocessedProfileVersion":66,"startTime":0,"categories":[{"name":"DOM"},{"name":"Timer"}],
		"markerSchema":[{"name":"T","isStackBased":false,"fields":[]},{"name":"S","isStackBased":true,"fields":[]}]},"shared":{"stringArray":["m"]},
		"threads":[{"processType":"default","pid":"1","tid":2,"name":"GeckoMain","markers":{"length":3,"name":[0,0,0],"startTime":[2,1,1.5],"endTime":[5,3,4],"phase":[1,1,1],
		"category":[1,0,1],"data":[{"type":"T"},{"type":"T"},{"type":"T"}]}}]}`), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	rows := 0
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tr := tl.Track(id); tr.Name == "m" {
			rows++
			if place := tl.Place(id); place != (timeline.Place{Group: "Markers", Within: "DOM"}) {
				t.Errorf("a track of the row is in %+v", place)
			}
		}
	}
	if rows != 3 {
		t.Errorf("%d tracks", rows)
	}
}
