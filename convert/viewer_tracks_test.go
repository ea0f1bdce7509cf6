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

// tree returns a line for each track that is described: its path, the key by which it merges with others, and its description.
func (v *viewed) tree() (lines []string) {
	name := func(d *pb.TrackDescriptor) string {
		switch p, th := d.GetProcess(), d.GetThread(); {
		case p != nil:
			return strings.Join(append([]string{fmt.Sprintf("%s %d", p.GetProcessName(), p.GetPid())}, p.ProcessLabels...), " | ")
		case th != nil:
			return fmt.Sprintf("%s %d", th.GetThreadName(), th.GetTid())
		}
		return d.GetName()
	}
	for _, d := range v.tracks {
		path := name(d)
		for up := v.tracks[d.GetParentUuid()]; up != nil; up = v.tracks[up.GetParentUuid()] {
			path = name(up) + " > " + path
		}
		if d.GetThread() != nil {
			path = fmt.Sprintf("%d > %s", d.GetThread().GetPid(), path)
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

// TestTracksForViewers compares the tracks of inputs, as packets describe them, with what docs/viewer.md promises.
func TestTracksForViewers(t *testing.T) {
	request := func(page, at string) string {
		return `{"startedDateTime":"2024-02-29T12:34:56.` + at + `Z","time":300,"pageref":"` + page + `","request":{"method":"GET","url":"https://e.org/a"}}`
	}
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
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := gocmp.Diff(c.want, view(t, c.input, convert.Options{}).tree()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
