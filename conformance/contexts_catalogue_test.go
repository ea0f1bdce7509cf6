package conformance

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// The catalogue is one row: no two of its instants have the same time, or Perfetto would stack them and drop those
// deeper than 512. It is within the recording, and contains every context in use.
func TestContextCatalogue(t *testing.T) {
	for _, name := range append([]string{"traces/chrome/chrome-everything-small.json"}, againRecordings...) {
		t.Run(name, func(t *testing.T) {
			c := readCatalogue(t, findRecording(t, name))
			if len(c.tracks) != 1 || c.stacked > 0 || c.outside > 0 || len(c.missing) > 0 || c.used == 0 {
				t.Errorf("%d entries on %d tracks, %d at the time of another, %d outside of the recording; missing: %v",
					len(c.entries), len(c.tracks), c.stacked, c.outside, c.missing)
			}
		})
	}
}

// Tests the catalogue with contexts whose properties all become known at the same time, at the start or the end of a trace, and
// with a trace that is too short for distinct times.
func TestContextCatalogueOfOneTime(t *testing.T) {
	const contexts = 1500
	for _, test := range []struct {
		name           string
		at, start, end int // microseconds
		tracks         int
	}{
		{"at the start", 0, 0, 100, 1},
		{"in the middle", 50, 0, 100, 1},
		{"at the end", 100, 0, 100, 1},
		{"in a short trace", 0, 0, 1, 2}, // of 1,001 ns
		{"in a trace without length", 0, 0, 0, contexts},
	} {
		t.Run(test.name, func(t *testing.T) {
			var b strings.Builder
			fmt.Fprintf(&b, `{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":%d,"name":"T"}`, test.start, test.end-test.start)
			for i := range contexts {
				fmt.Fprintf(&b, ",\n"+`{"ph":"(","pid":1,"tid":1,"ts":%d,"name":"C","id":"0x%x"},{"ph":")","pid":1,"tid":1,"ts":%d,"name":"C","id":"0x%x"}`, test.at, i, test.at, i)
			}
			b.WriteString("]}")
			c := readCatalogue(t, []byte(b.String()))
			if len(c.entries) != contexts || len(c.tracks) != test.tracks || c.stacked > 0 || c.outside > 0 {
				t.Errorf("%d entries on %d tracks, %d at the time of another, %d outside of the recording; want %d on %d",
					len(c.entries), len(c.tracks), c.stacked, c.outside, contexts, test.tracks)
			}
		})
	}
}

// contextCatalogue is the catalogue of an attributed trace.
type contextCatalogue struct {
	entries          []timeline.Nanos
	tracks           map[timeline.TrackID]timeline.Nanos // time of the last entry
	stacked, outside int
	used             int      // contexts of slices and instants
	missing          []string // contexts without an entry
}

// readCatalogue attributes a trace and reads the catalogue from the output.
func readCatalogue(t *testing.T, input []byte) *contextCatalogue {
	t.Helper()
	attributed := converted(t, input, convert.Options{Attribute: &attribution.Options{}})
	report, err := pftrace.Verify(t.Context(), bytes.NewReader(attributed), pftrace.VerifyOptions{})
	if err != nil || !report.OK() {
		t.Errorf("%v, %+v", err, report)
	}
	tl, err := loadTimeline(t.Context(), bytes.NewReader(attributed), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	c := &contextCatalogue{tracks: map[timeline.TrackID]timeline.Nanos{}}
	first, last, known, used := timeline.NoTime, timeline.NoTime, map[string]bool{}, map[string]bool{}
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		switch tr := tl.Track(it.Track); {
		case it.Kind != timeline.ItemBegin && it.Kind != timeline.ItemInstant && it.Kind != timeline.ItemEnd:
		case tr.Name == "Contexts" && tr.Parent == 0:
			if before, ok := c.tracks[it.Track]; ok && before == it.TS {
				c.stacked++
			}
			c.tracks[it.Track] = it.TS
			c.entries = append(c.entries, it.TS)
			for a := range tl.ArgList(it.Args) {
				if string(a.Key) == "id" {
					known[string(a.Text())] = true
				}
			}
		case !strings.HasPrefix(tr.Name, "Context: "):
			if first == timeline.NoTime {
				first = it.TS
			}
			last = it.TS
			for id := range noted(tl, it.Args) {
				used[id] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, ts := range c.entries {
		if ts < first || ts > last {
			c.outside++
		}
	}
	c.used = len(used)
	for id := range used {
		if !known[id] {
			c.missing = append(c.missing, id)
		}
	}
	return c
}

// noted returns the ids of the contexts of a slice or instant.
func noted(tl *timeline.Timeline, args timeline.Args) map[string]bool {
	ids := map[string]bool{}
	for a := range tl.ArgList(args) {
		if string(a.Key) != engine.NoteKey || a.Kind != timeline.ArgDict {
			continue
		}
		for typ := range tl.Members(a) {
			for m := range tl.Members(typ) {
				if id := string(m.Text()); string(m.Key) == "id" && id != "(unattributed)" {
					ids[id] = true
				}
			}
		}
	}
	return ids
}
