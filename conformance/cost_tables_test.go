package conformance

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// costSums holds the sums of the columns that add up to the same value however the rows of a cost table divide the costs.
type costSums struct {
	Busy, CPU, WithoutCPU, ForcedStyle, ForcedLayout timeline.Nanos
	Slices, Instants, Freed, Styles, Layouts         int64

	Async                      timeline.Nanos // 0 if divided by thread or category
	LongTasks, Requests, Bytes int64          // 0 if divided by category
	RequestTime                timeline.Nanos // 0 if divided by category
}

// sumsOf adds up the rows of a table.
func sumsOf(t *tables.Table) (s costSums, unattributed timeline.Nanos) {
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.ID == "(unattributed)" {
			unattributed += r.Self
		}
		s.Busy += r.Self
		s.CPU += r.CPU
		s.WithoutCPU += r.WithoutCPU
		s.ForcedStyle += r.ForcedStyle
		s.ForcedLayout += r.ForcedLayout
		s.Slices += r.Slices
		s.Instants += r.Instants
		s.Freed += r.Freed
		s.Styles += r.ForcedStyles
		s.Layouts += r.ForcedLayouts
		s.Async += r.Async
		s.LongTasks += r.LongTasks
		s.Requests += r.Requests
		s.Bytes += r.NetworkBytes
		s.RequestTime += r.RequestTime
	}
	return s, unattributed
}

// The sums of a cost table's columns are the same however its rows divide the costs: nothing is counted twice, and nothing is
// missing except from columns that cannot be divided.
func TestCostTablesAddUp(t *testing.T) {
	for _, name := range []string{
		"chrome/chrome-devtools-tiny.json", "chrome/chrome-devtools-ui-saved-small.json", "chrome/chrome-with-selfprof-and-inspector.json",
		"firefox/processed/ff-processed-tiny.json", "perfetto/chrome-devtools-tiny.pftrace", "node/node-v24-small-1-node_trace.json",
		"cpuprofile/cdp-page-small.cpuprofile", "jsprofile/selfprof-medium.json",
	} {
		t.Run(name, func(t *testing.T) {
			_, result := attributeRecording(t, recording.Bytes(t, "traces/"+name), convert.Options{})
			tableOf := func(opts tables.TableOptions) *tables.Table {
				table, err := tables.Of(result).Table(opts)
				if err != nil {
					t.Fatal(err)
				}
				return table
			}
			want, none := sumsOf(tableOf(tables.TableOptions{Type: tables.TypeProcess}))
			if want.Busy == 0 || none != 0 {
				t.Fatalf("processes are busy for %d ns, and %d ns are of no process", want.Busy, none)
			}
			for _, typ := range append(tables.Of(result).Types(), tables.Of(result).TrackTypes()...) {
				for group := tables.GroupNone; group <= tables.GroupType; group++ {
					if !tables.Of(result).CanGroup(typ, group) {
						continue
					}
					for split := tables.SplitNone; split <= tables.SplitCategory; split++ {
						table := tableOf(tables.TableOptions{Type: typ, Group: group, Split: split})
						want := want
						if typ == tables.TypeThread || split == tables.SplitThread || split == tables.SplitCategory {
							want.Async = 0
						}
						if split == tables.SplitCategory {
							want.LongTasks, want.Requests, want.Bytes, want.RequestTime = 0, 0, 0, 0
						}
						got, none := sumsOf(table)
						if diff := cmp.Diff(want, got); diff != "" {
							t.Errorf("%s by %s (-want +got):\n%s", typ, table.By, diff)
						}
						if table.Busy != got.Busy || table.Unattributed != none {
							t.Errorf("%s by %s: busy %d, unattributed %d; rows have %d and %d", typ, table.By, table.Busy, table.Unattributed, got.Busy, none)
						}
					}
				}
			}
		})
	}
}

// The costs of contexts in the parts of a trace add up to their costs in the whole trace (attribution.md, Cost), because windows
// clip intervals.
func TestCostWindowsAddUp(t *testing.T) {
	for _, name := range []string{"chrome/chrome-devtools-tiny.json", "firefox/processed/ff-processed-tiny.json"} {
		input := recording.Bytes(t, "traces/"+name)
		selfTimes := func(from, to timeline.Nanos) map[string]timeline.Nanos {
			window := attribution.Options{From: from, To: to, FromStart: true}
			_, result := attributeRecording(t, input, convert.Options{Attribute: &window})
			table, err := tables.Of(result).Table(tables.TableOptions{Type: "Frame", Split: tables.SplitCategory})
			if err != nil {
				t.Fatal(err)
			}
			self := map[string]timeline.Nanos{}
			for _, r := range table.Rows {
				if r.Self > 0 {
					self[r.ID+" "+r.Part] += r.Self
				}
			}
			return self
		}
		const step = 333_333_333 // ns
		sums := map[string]timeline.Nanos{}
		for from := timeline.Nanos(0); from < 5*step; from += step {
			to := from + step
			if from == 4*step {
				to = 0 // the end
			}
			for row, ns := range selfTimes(from, to) {
				sums[row] += ns
			}
		}
		if diff := cmp.Diff(selfTimes(0, 0), sums); diff != "" {
			t.Errorf("%s (-all +parts):\n%s", name, diff)
		}
	}
}
