package attribution

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// Input events, their timings and types have limits; entries beyond them are counted.
func TestInputLimits(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	empty, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { empty.Close() })
	c := newCollecting(empty, 1)
	for i := range maxInputs + 3 {
		c.found.inputs.add(c, Input{node: NodeID(i + 1)})
	}
	if n := len(c.found.inputs.List); n != maxInputs || c.contexts.dropped != 3 {
		t.Errorf("%d inputs, %d were counted", n, c.contexts.dropped)
	}
	c = newCollecting(empty, 1)
	for i := range maxUnnamed + 4 {
		c.found.inputs.begin(c, &event{Head: &timeline.Head{End: timeline.NoTime}, ordinal: uint64(i), name: &nameInfo{}})
	}
	if n := len(c.found.inputs.unnamed); n != maxUnnamed || c.contexts.dropped != 4 {
		t.Errorf("%d inputs whose id is not known, %d were counted", n, c.contexts.dropped)
	}
	c = newCollecting(empty, 1)
	for i := range MaxTypes + 5 {
		c.found.inputs.typeOf(c, fmt.Append(nil, i))
	}
	if n := len(c.found.inputs.types); n != MaxTypes || c.contexts.dropped != 5 {
		t.Errorf("%d types of events, %d were counted", n, c.contexts.dropped)
	}
	c = newCollecting(empty, 1)
	for i := range maxInputs + 6 {
		s := &event{Head: &timeline.Head{TS: timeline.Nanos(i)}, track: &track{}, facts: &arguments{asyncID: []byte("0x1")}}
		c.found.inputs.timing(c, s)
		c.contexts.Size = 0 // the limit in bytes is a separate one
	}
	if n := len(c.found.inputs.timings); n != maxInputs || c.contexts.dropped != 6 {
		t.Errorf("%d timings, %d were counted", n, c.contexts.dropped)
	}
}

func TestOriginOf(t *testing.T) {
	for name, want := range map[string]string{
		"http://a.localhost:8701": "http://a.localhost:8701", "https://a.test": "https://a.test",
		"https://a.test/": "", "a.test": "", "Renderer": "", "JS self-profile": "", "": "", "http://": "", "https://a.test?q": "",
		"https://user@a.test": "",
	} {
		if got := originOf(name); got != want {
			t.Errorf("originOf(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestIdentityText(t *testing.T) {
	for text, want := range map[string]Identity{
		"frame/ABC":                     {Scope: "frame", ID: "ABC", Process: Global},
		"ptr/0x1@12":                    {Scope: "ptr", ID: "0x1", Process: 12},
		"script/http://a.test/x@2.js":   {Scope: "script", ID: "http://a.test/x@2.js", Process: Global},
		"script/http://a.test/x@2":      {Scope: "script", ID: "http://a.test/x@2", Process: Global},
		"isolate/thread:3/3@3":          {Scope: "isolate", ID: "thread:3/3", Process: 3},
		"latency/-1696839411733659":     {Scope: "latency", ID: "-1696839411733659", Process: Global},
		"RenderFrame/0x2@-5":            {Scope: "RenderFrame", ID: "0x2", Process: -5},
		"ptr/user@example.test@4294967": {Scope: "ptr", ID: "user@example.test", Process: 4294967},
	} {
		got, ok := parseIdentity(text)
		if !ok || got != want || got.String() != text {
			t.Errorf("parseIdentity(%q) = %+v, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "frame", "frame/"} {
		if got, ok := parseIdentity(text); ok {
			t.Errorf("parseIdentity(%q) = %+v", text, got)
		}
	}
}

// The keys of data sorted on disk agree with its order.
func TestKeys(t *testing.T) { testkit.CheckKeys(t, evidenceOrder) }

// A pid in the arguments of an event means the process that had it when recorded, even if weft has renumbered that process. If
// two processes in inputs with the same id space had this pid, the argument means the process that kept the pid.
func TestPidOf(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	var now [3]timeline.TrackID
	for i, space := range []string{"", "", "other"} { // the second is in another container
		b.SetMachine(uint32(i))
		now[i] = b.Process(timeline.ProcessKey{Num: 7})
		b.SetIDSpace(now[i], space)
		if i > 0 {
			b.NumberTaken(now[i])
		}
		ev := timeline.Event{Kind: timeline.Slice, Track: b.Thread(now[i], timeline.ThreadKey{Num: 7}), Dur: 1, Name: []byte("work")}
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	tl, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	c := newCollecting(tl, 1)
	if !tl.Track(now[1]).Renumbered || !tl.Track(now[2]).Renumbered {
		t.Fatal("the later processes have kept their pids")
	}
	for _, test := range []struct {
		space     string
		pid, want int64
	}{{"", 7, 7}, {"other", 7, c.found.tracks[now[2]].pid}, {"other", 8, 8}} {
		if got := c.pidOf(test.space, test.pid); got != test.want {
			t.Errorf("pid %d of %q is %d, want %d", test.pid, test.space, got, test.want)
		}
	}
}
