package load

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/attribution"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/recording"
)

// costsOf returns the cost tables of an attribution as JSON.
func costsOf(t *testing.T, r *engine.Result) map[string]string {
	t.Helper()
	costs := map[string]string{}
	of := tables.Of(r)
	for _, typ := range of.Types() {
		table, err := of.Table(tables.TableOptions{Type: typ})
		if err != nil {
			t.Fatal(err)
		}
		text, err := table.JSON()
		if err != nil {
			t.Fatal(err)
		}
		costs[typ] = string(text)
	}
	return costs
}

// An opened trace is attributed in the same way as a conversion.
func TestOpenedTracesAreAttributedAlike(t *testing.T) {
	for _, name := range recording.Some([]string{
		"chrome/chrome-devtools-tiny.json.gz", "chrome/chrome-devtools-small.json.gz", "chrome/chrome-everything-small.json.gz",
		"firefox/gecko/ff-gecko-tiny.json.gz", "perfetto/chrome-paired-tiny.pftrace.gz",
	}) {
		t.Run(name, func(t *testing.T) {
			input := recording.Read(t, filepath.Join(recording.Testdata(t), "traces", filepath.FromSlash(name)))
			asked, err := One(t.Context(), bytes.NewReader(input), Options{Attribute: new(attribution.Options), TempDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer asked.Close()
			want := costsOf(t, asked.attributed)

			plain, err := One(t.Context(), bytes.NewReader(input), Options{TempDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			rules, err := engine.RulesOf(&engine.Options{})
			if err != nil {
				t.Fatal(err)
			}
			result, err := engine.Run(context.Background(), plain.Timeline, rules)
			if err != nil {
				t.Fatal(err)
			}
			defer result.Close()
			if got := costsOf(t, result); len(want) == 0 || !maps.Equal(got, want) {
				t.Errorf("the costs are\n%v\nwant\n%v", got, want)
			}
		})
	}
}
