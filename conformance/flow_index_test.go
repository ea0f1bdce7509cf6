package conformance

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// TestFlowIndex compares the arrows in a flowindex.Index with the tables of flows, for the small cases and the
// recordings, both original and converted.
func TestFlowIndex(t *testing.T) {
	root := filepath.Join(recording.Testdata(t), "conformance", "chrome-json")
	withFlows := 0
	for _, name := range folders(t, filepath.Join(root, "cases"), numCases) {
		dir := filepath.Join(root, "cases", name)
		input, err := os.ReadFile(filepath.Join(dir, "input.json"))
		if err != nil {
			t.Fatal(err)
		}
		want := arrowsOf(readTable(t, "flows", filepath.Join(dir, "expected_flows.tsv")))
		if len(want) > 0 {
			withFlows++
		}
		compareArrows(t, name, input, want)
	}
	for _, name := range folders(t, filepath.Join(root, "real"), numRecordings) {
		dir := filepath.Join(root, "real", name)
		source, err := os.ReadFile(filepath.Join(dir, "source.txt"))
		if err != nil {
			t.Fatal(err)
		}
		path := recording.Path(t, strings.TrimSpace(string(source)))
		want := arrowsOf(readTable(t, "flows", filepath.Join(dir, "flows.tsv.gz")))
		if len(want) > 0 {
			withFlows++
		}
		compareArrows(t, name, recording.Read(t, path), want)
	}
	if withFlows < 20 {
		t.Errorf("only %d traces with flows", withFlows)
	}
}

// arrowsOf returns the time, duration and name of both ends of the arrows in a table.
func arrowsOf(flows *table) []string {
	var arrows []string
	for _, r := range flows.rows {
		arrow := make(row, 0, 6)
		for _, column := range []string{"out_ts_ns", "out_dur_ns", "out_name", "in_ts_ns", "in_dur_ns", "in_name"} {
			arrow = append(arrow, r[flows.column(column)])
		}
		arrows = append(arrows, arrow.String())
	}
	slices.Sort(arrows)
	return arrows
}

func compareArrows(t *testing.T, name string, input []byte, want []string) {
	t.Helper()
	converted, _ := convertTrace(t, input, convert.Options{})
	for _, form := range []struct {
		name  string
		trace []byte
	}{{"as it is", input}, {"converted", converted}} {
		if diff := cmp.Diff(want, indexedArrows(t, form.trace)); diff != "" {
			t.Errorf("%s, %s (-want +got):\n%s", name, form.name, diff)
		}
	}
}

// indexedArrows returns the arrows of an index in the form of arrowsOf.
func indexedArrows(t *testing.T, input []byte) []string {
	t.Helper()
	ctx := context.Background()
	trace, err := loadTimeline(ctx, bytes.NewReader(input), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer trace.Close()
	index, err := flowindex.NewIndex(ctx, trace)
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	names := map[uint64]string{}
	err = trace.Walk(ctx, func(it *timeline.Item) error {
		if it.Kind != timeline.ItemEnd {
			names[it.Ordinal] = string(it.Name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var arrows []string
	for number := range index.Len() {
		f, err := index.Flow(number)
		if err != nil {
			t.Fatal(err)
		}
		var members []flowindex.Member
		err = index.Members(ctx, f, func(m flowindex.Member) error {
			members = append(members, m)
			if m.Previous >= 0 {
				arrows = append(arrows, indexedArrow(&members[m.Previous], &m, names))
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(arrows)
	return arrows
}

// indexedArrow formats an arrow as in the tables: from the slice that starts first.
func indexedArrow(from, to *flowindex.Member, names map[uint64]string) string {
	if to.TS < from.TS {
		from, to = to, from
	}
	var arrow row
	for _, m := range []*flowindex.Member{from, to} {
		dur := "-1"
		if m.End != timeline.NoTime {
			dur = strconv.FormatInt(int64(m.End-m.TS), 10)
		}
		arrow = append(arrow, strconv.FormatInt(int64(m.TS), 10), dur, names[m.Ordinal])
	}
	return arrow.String()
}
