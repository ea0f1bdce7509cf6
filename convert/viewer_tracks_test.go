package convert_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	pb "github.com/weft-trace/weft/gen/perfetto/protos"
)

// tree returns a line for each described track: its path, its merge key and its description.
func (v *viewed) tree() (lines []string) {
	name := func(d *pb.TrackDescriptor) string {
		switch p, th := d.GetProcess(), d.GetThread(); {
		case p != nil:
			return strings.Join(append([]string{fmt.Sprintf("%s %d", p.GetProcessName(), p.GetPid())}, p.ProcessLabels...), " | ")
		case th != nil:
			return strings.TrimSpace(fmt.Sprintf("%s %d", th.GetThreadName(), th.GetTid()))
		}
		return d.GetName()
	}
	for _, d := range v.tracks {
		path := name(d)
		for up := v.tracks[d.GetParentUuid()]; up != nil; up = v.tracks[up.GetParentUuid()] {
			path = name(up) + " > " + path
		}
		if key := d.GetSiblingMergeKey(); key != "" {
			path += " key=" + key
		}
		if about := cmp.Or(d.GetDescription(), strings.Join(d.GetProcess().GetCmdline(), " ")); about != "" {
			path += " (" + about + ")"
		}
		lines = append(lines, path)
	}
	slices.Sort(lines)
	return lines
}

// TestTracksForViewers compares the tracks of inputs, as the packets describe them, with docs/viewer.md.
func TestTracksForViewers(t *testing.T) {
	request := func(page, at string) string {
		return `{"startedDateTime":"2024-02-29T12:34:56.` + at + `Z","time":300,"pageref":"` + page + `","request":{"method":"GET","url":"https://e.org/a"}}`
	}
	span := func(id, start, end, more string) string {
		return `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},{"key":"process.pid","value":{"intValue":"10"}}]},
			"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"00000000000000` + id + `","name":"n",` + more +
			`"startTimeUnixNano":"` + start + `","endTimeUnixNano":"` + end + `"}]}]}]}` + "\n"
	}
	const shop = " (service.name shop, process.pid 10)"
	for _, c := range []struct {
		name, input string
		want        []string
	}{
		{
			"pages of an archive: requests below the root, in lanes of one row, with a child so that viewers show them",
			`{"log":{"creator":{"name":"WebInspector","version":"537.36"},"pages":[{"id":"page_1","startedDateTime":"2024-02-29T12:34:56.1Z","title":"https://e.org/",
				"pageTimings":{"onLoad":812}}],"entries":[` + request("page_1", "200") + `,` + request("page_1", "300") + `]}}`,
			[]string{
				"Network: https://e.org/ > Page events",
				"Network: https://e.org/ key=page_1 1709210096100000000 (HTTP archive of WebInspector 537.36)",
				"Network: https://e.org/ key=page_1 1709210096100000000 (HTTP archive of WebInspector 537.36)",
			},
		},
		{
			"requests of no page, and of one that is not known, are the child",
			`{"log":{"entries":[` + request("", "200") + `,` + request("other", "300") + `]}}`,
			[]string{"Network > Requests", "Network key=Network (HTTP archive)", "Network: other > Requests", "Network: other key=other (HTTP archive)"},
		},
		{
			"roots that run at once have a row each, with the children that run beside others, and say what their resource is; a child is on the thread of its parent",
			span("aa", "100", "200", ``) + span("ab", "110", "190", ``) + span("ac", "120", "150", `"parentSpanId":"00000000000000aa",`) +
				span("ad", "130", "210", `"parentSpanId":"00000000000000aa",`) +
				span("ae", "300", "400", `"attributes":[{"key":"thread.id","value":{"intValue":"7"}}],`) + span("af", "310", "320", `"parentSpanId":"00000000000000ae",`),
			[]string{"shop 10", "shop 10 > 7", "shop 10 > Spans key=1" + shop, "shop 10 > Spans key=1" + shop, "shop 10 > Spans key=2" + shop},
		},
		{
			"processes and threads that Perfetto cannot hold have a number with theirs at its end, names say the same of all, and nothing twice",
			`[{"ph":"M","name":"process_name","pid":0,"args":{"name":"python"}},{"ph":"M","name":"process_labels","pid":0,"args":{"labels":"GPU 0"}},
				{"ph":"M","name":"process_name","pid":1,"args":{"name":"python"}},{"ph":"M","name":"process_labels","pid":1,"args":{"labels":"GPU 1"}},
				{"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"stream 7 "}},{"ph":"M","name":"thread_name","pid":1,"tid":48,"args":{"name":"thread 48 (python)"}},
				{"ph":"M","name":"process_name","pid":2,"args":{"name":"/opt/chromium/chromium --type=renderer --lang=en"}},
				{"ph":"X","name":"k","ts":1,"dur":1,"pid":0,"tid":7},{"ph":"X","name":"k","ts":1,"dur":1,"pid":1,"tid":48},{"ph":"X","name":"k","ts":1,"dur":1,"pid":2,"tid":2}]`,
			[]string{
				"chromium --type=renderer 2 (/opt/chromium/chromium --type=renderer --lang=en)", "chromium --type=renderer 2 > 2",
				`python (GPU 0) 10000000 | GPU 0 (In the input: pid 0, named "python")`, "python (GPU 0) 10000000 | GPU 0 > stream 7 7",
				"python (GPU 1) 1 | GPU 1", "python (GPU 1) 1 | GPU 1 > python 48",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := view(t, c.input, convert.Options{})
			if diff := gocmp.Diff(c.want, v.tree()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := gocmp.Diff(c.want, view(t, string(v.bytes), convert.Options{}).tree()); diff != "" {
				t.Errorf("converted again: -want +got:\n%s", diff)
			}
		})
	}
}
