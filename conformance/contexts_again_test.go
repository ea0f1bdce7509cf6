package conformance

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// The result of an attribution does not depend on whether and how the trace was attributed before.

// againRecordings lists a recording from each kind of producer.
var againRecordings = []string{
	"traces/chrome/chrome-devtools-tiny.json", "traces/perfetto/chrome-devtools-tiny.pftrace", "traces/firefox/gecko/ff-gecko-tiny.json",
}

// writeBacks lists the tested parts of an attribution: nothing, each part alone, and all but one.
var writeBacks = map[string]attribution.WriteBack{
	"nothing":   {NoNotes: true, NoTracks: true, NoCatalogue: true, NoCosts: true},
	"notes":     {NoTracks: true, NoCatalogue: true, NoCosts: true},
	"tracks":    {NoNotes: true, NoCatalogue: true, NoCosts: true},
	"catalogue": {NoNotes: true, NoTracks: true, NoCosts: true},
	"costs":     {NoNotes: true, NoTracks: true, NoCatalogue: true},
	"no notes":  {NoNotes: true},
}

// findRecording reads a recording in testdata.
func findRecording(t *testing.T, name string) []byte {
	t.Helper()
	return recording.Bytes(t, name)
}

// converted converts an input and returns the output.
func converted(t *testing.T, input []byte, opts convert.Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := convert.Convert(context.Background(), &out, bytes.NewReader(input), opts); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// samePackets reports whether two traces have the same packets in the same bundles.
func samePackets(t *testing.T, a, b []byte) bool {
	t.Helper()
	return slices.EqualFunc(packets(t, a), packets(t, b), bytes.Equal)
}

// Attributing a Perfetto trace that was attributed before, with any parts and sources, gives the same bytes as
// attributing the original; writing nothing gives the original.
func TestAttributionTakesEarlierAway(t *testing.T) {
	for _, name := range recording.Some(againRecordings) {
		input := findRecording(t, name)
		traces := map[string][]byte{"": input}
		if !strings.HasSuffix(name, ".pftrace") {
			traces = map[string][]byte{}
			for _, codec := range []pftrace.Compression{pftrace.Uncompressed, pftrace.Zlib, pftrace.Zstd} {
				traces[" "+string(codec)] = converted(t, input, convert.Options{Compression: codec})
			}
		}
		for form, trace := range traces {
			t.Run(recording.Name(name)+form, func(t *testing.T) {
				complete := attributed(t, trace, convert.Options{KeepPackets: true})
				sameFindings(t, trace, complete)
				if again := attributed(t, complete, convert.Options{KeepPackets: true}); !bytes.Equal(again, complete) {
					t.Error("attributing twice gives another trace")
				}
				for way, w := range writeBacks {
					opts := convert.Options{KeepPackets: true, WriteBack: w}
					part := attributed(t, trace, opts)
					if again := attributed(t, complete, opts); !bytes.Equal(again, part) {
						t.Errorf("%s: %d bytes after everything was written before, %d otherwise", way, len(again), len(part))
					}
					if again := attributed(t, part, convert.Options{KeepPackets: true}); !bytes.Equal(again, complete) {
						t.Errorf("everything is %d bytes after %s was written, %d without", len(again), way, len(complete))
					}
					if way == "nothing" && !samePackets(t, part, trace) {
						t.Error("nothing is written, but the packets differ")
					}
				}
				sources := attribution.Options{Sources: []attribution.Via{attribution.ViaArgs, attribution.ViaIsolate}}
				few := attributedBy(t, trace, sources, convert.Options{KeepPackets: true})
				if again := attributedBy(t, complete, sources, convert.Options{KeepPackets: true}); !bytes.Equal(again, few) {
					t.Error("the output of other sources is still there")
				}
				if again := attributed(t, few, convert.Options{KeepPackets: true}); !bytes.Equal(again, complete) {
					t.Error("the output of other sources makes a difference")
				}
			})
		}
	}
}

// sameFindings checks that a copy breaks no rule that its original follows. A producer's trace can start in the middle
// of events.
func sameFindings(t *testing.T, original, trace []byte) {
	t.Helper()
	before, after := findings(t, original), findings(t, trace)
	if !maps.Equal(before, after) {
		t.Errorf("verify finds %v, in the original %v", after, before)
	}
}

// findings returns how often a trace breaks each rule.
func findings(t *testing.T, trace []byte) map[string]uint64 {
	t.Helper()
	report, err := pftrace.Verify(context.Background(), bytes.NewReader(trace), pftrace.VerifyOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]uint64{}
	for _, f := range report.Findings {
		if !f.Warning {
			counts[f.Rule] = f.Count
		}
	}
	return counts
}

// attributedBy converts an input with the given attribution options.
func attributedBy(t *testing.T, input []byte, how attribution.Options, opts convert.Options) []byte {
	t.Helper()
	opts.Attribute = &how
	return converted(t, input, opts)
}

// seen returns what readers get from a trace: its events with their arguments and contexts, its tracks and its
// attributes.
func seen(t *testing.T, trace []byte) (lines []string) {
	t.Helper()
	tl, err := loadTimeline(context.Background(), bytes.NewReader(trace), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		tr := tl.Track(it.Track)
		up := tl.Track(tr.Parent)
		var args []string
		for a := range tl.ArgList(it.Args) {
			var b bytes.Buffer
			showArg(&b, tl, a)
			args = append(args, b.String())
		}
		slices.Sort(args) // additions come before or after typed arguments
		parent := up.Name
		if up.Kind == timeline.ThreadTrack {
			parent += fmt.Sprintf("%d/%d", up.PID, up.TID)
		}
		lines = append(lines, fmt.Sprintf("%d %d %s/%s %d/%d %s %s %s %s", it.Kind, it.TS, parent, tr.Name, tr.PID, tr.TID, it.Name, it.Category,
			tl.CorrelationOf(it.Args), strings.Join(args, "")))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range tl.Attributes() {
		if a.Key != "weft.input_format" && !strings.HasPrefix(a.Key, "weft.problem.") { // set by the last conversion
			lines = append(lines, fmt.Sprintf("%s %d %s", a.Key, a.Int, a.Text))
		}
	}
	slices.Sort(lines) // simultaneous events are in track order, which depends on the input
	return lines
}

func showArg(b *bytes.Buffer, tl *timeline.Timeline, a timeline.Arg) {
	fmt.Fprintf(b, " %s=", a.Key)
	switch a.Kind {
	case timeline.ArgDict, timeline.ArgArray:
		b.WriteByte('{')
		for m := range tl.Members(a) {
			showArg(b, tl, m)
		}
		b.WriteByte('}')
	case timeline.ArgString, timeline.ArgJSON:
		fmt.Fprintf(b, "%q", a.Text())
	default:
		fmt.Fprintf(b, "%d:%d", a.Kind, a.Uint())
	}
}

// sameSeen compares results of seen.
func sameSeen(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: line %d is\n%s, want\n%s", what, i, got[i], want[i])
			return
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d lines, want %d", what, len(got), len(want))
	}
}

// costTables returns the cost tables of a trace as JSON, by type.
func costTables(t *testing.T, trace []byte, opts attribution.Options, split tables.SplitBy) map[string]string {
	t.Helper()
	_, result := attributeRecording(t, trace, convert.Options{Attribute: &opts})
	byType := map[string]string{}
	for _, typ := range tables.Of(result).Types() {
		table, err := tables.Of(result).Table(tables.TableOptions{Type: typ, Split: split})
		if err != nil {
			t.Fatal(err)
		}
		text, err := table.JSON()
		if err != nil {
			t.Fatal(err)
		}
		byType[typ] = string(text)
	}
	return byType
}

// wholeCosts returns the cost tables of a trace with undivided rows.
func wholeCosts(t *testing.T, trace []byte) map[string]string {
	t.Helper()
	return costTables(t, trace, attribution.Options{}, tables.SplitNone)
}

// A conversion with attribution gives the same events, contexts, tracks and costs whether the trace was attributed
// before or not, in either form and with any parts. Attributing its result changes no byte.
func TestAttributionAgain(t *testing.T) {
	for _, name := range recording.Some(againRecordings) {
		t.Run(recording.Name(name), func(t *testing.T) {
			input := findRecording(t, name)
			if !strings.HasSuffix(name, ".pftrace") {
				input = converted(t, input, convert.Options{})
			}
			before := attributed(t, input, convert.Options{KeepPackets: true})
			complete := attributed(t, input, convert.Options{})
			sameCosts(t, wholeCosts(t, complete), wholeCosts(t, input))
			all := seen(t, complete)
			for way, w := range writeBacks {
				opts := convert.Options{WriteBack: w, Compression: pftrace.Zlib}
				part := attributed(t, input, opts)
				verify(t, bytes.NewReader(part))
				want := seen(t, part)
				sameSeen(t, way+" after an attribution beside the packets", seen(t, attributed(t, before, opts)), want)
				sameSeen(t, way+" after a conversion with attribution", seen(t, attributed(t, complete, opts)), want)
				sameSeen(t, "everything after "+way, seen(t, attributed(t, part, convert.Options{})), all)
				opts.KeepPackets = true
				if again := attributed(t, part, opts); way != "nothing" && !bytes.Equal(again, part) {
					t.Errorf("attributing the conversion with %s gives other bytes", way)
				}
			}
		})
	}
}

// sameCosts compares cost tables.
func sameCosts(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, typ := range slices.Sorted(maps.Keys(want)) {
		if got[typ] != want[typ] {
			t.Errorf("the costs of %s are\n%s, want\n%s", typ, got[typ], want[typ])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d tables of costs, want %d", len(got), len(want))
	}
}

// Attributing a converted and attributed trace again gives the same bytes, and the costs of its input, because
// the written contexts contain what the conversion drops from events.
func TestAttributingTwice(t *testing.T) {
	for _, name := range []string{
		"traces/chrome/chrome-devtools-tiny.json", "traces/chrome/chrome-array-tiny.json",
		"traces/firefox/gecko/ff-gecko-tiny.json", "traces/node/node-v24-small-1-node_trace.json", "traces/cpuprofile/cdp-tiny.cpuprofile",
		"traces/jsprofile/selfprof-small.json",
	} {
		t.Run(recording.Name(name), func(t *testing.T) {
			input := findRecording(t, name)
			for _, codec := range []pftrace.Compression{pftrace.Uncompressed, pftrace.Zlib, pftrace.Zstd} {
				opts := convert.Options{Compression: codec, KeepPackets: true}
				once := attributed(t, input, opts)
				if again := attributed(t, once, opts); !bytes.Equal(again, once) {
					t.Errorf("%v: attributed again, %d bytes became %d others", codec, len(once), len(again))
				}
				if codec == pftrace.Uncompressed {
					sameCosts(t, wholeCosts(t, once), wholeCosts(t, input))
				}
			}
		})
	}
}
