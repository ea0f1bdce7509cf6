package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/gen/perfetto/protos"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/options"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// TestRenamed gives every track, process and thread of what recordings convert to another name, and the attributes that describe
// pages and threads of Firefox to people another text: what attribution, reports and flows say of them is the same up to these
// names. A second renaming calls all of them like tracks that weft makes.
func TestRenamed(t *testing.T) {
	forEachRecording(t, func(t *testing.T, data []byte) {
		var converted bytes.Buffer
		_, err := convert.Convert(context.Background(), &converted, bytes.NewReader(data), convert.Options{TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		want := answersOf(t, converted.Bytes())
		for name, give := range map[string]func(i int) string{
			"random":      randomNames(),
			"like weft's": func(i int) string { return weftNames[i%len(weftNames)] },
		} {
			if diff := cmp.Diff(want, answersOf(t, renamed(t, converted.Bytes(), give))); diff != "" {
				t.Errorf("%s: answers with old names (-) and new ones (+) differ:\n%.3000s", name, diff)
			}
		}
	})
}

// weftNames are names that weft gives to tracks of its own.
var weftNames = []string{
	"Overlapping slices", "GPU objects", "Global instants", "Process instants", "Other events", "Clock sync", "Thread state", "JS samples",
	"V8 state", "Browser activity", "Sample category", "Network", "Allocations", "JS Tracer", "Context: Frame", "Contexts",
	"(contexts and states)",
}

func randomNames() func(int) string {
	r := rand.New(rand.NewPCG(1, 2))
	return func(i int) string { return fmt.Sprintf("%x-%d", r.Uint64(), i) }
}

// renamed gives all tracks, processes and threads of a trace new names, and facts for people new texts.
func renamed(t *testing.T, trace []byte, name func(i int) string) []byte {
	t.Helper()
	var all protos.Trace
	if err := proto.Unmarshal(trace, &all); err != nil {
		t.Fatal(err)
	}
	for i, p := range all.Packet {
		for _, a := range p.GetTraceAttributes().GetAttribute() {
			if strings.HasPrefix(a.GetKey(), "firefox.") {
				a.Value = &protos.TraceAttributes_Attribute_StringValue{StringValue: name(i)}
			}
		}
		for _, m := range p.GetChromeEvents().GetMetadata() {
			if strings.HasPrefix(m.GetName(), "firefox.") {
				m.Value = &protos.ChromeMetadata_StringValue{StringValue: name(i)}
			}
		}
		d := p.GetTrackDescriptor()
		if d == nil || d.Counter != nil { // what counters count is said by their names alone
			continue
		}
		switch {
		case d.Process != nil:
			d.Process.ProcessName = proto.String(name(i))
		case d.Thread != nil:
			d.Thread.ThreadName = proto.String(name(i))
		case d.GetName() != "":
			d.StaticOrDynamicName = &protos.TrackDescriptor_Name{Name: name(i)}
		}
	}
	out, err := proto.Marshal(&all)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// answers are what weft says about a trace, without names of tracks.
type answers struct {
	Contexts  []string // of slices and instants, by ordinal
	Costs     map[string]string
	Inputs    int
	LongTasks int
	Samples   []string
	Flows     []string
}

func answersOf(t *testing.T, data []byte) (a answers) {
	t.Helper()
	ctx := context.Background()
	tr, err := convert.Open(ctx, bytes.NewReader(data), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	tl := bridge.Timeline(tr)
	rules, err := options.Options{}.Rules()
	if err != nil {
		t.Fatal(err)
	}
	res, err := engine.Run(ctx, tl, rules)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	err = tl.Walk(ctx, func(it *timeline.Item) error {
		if it.Kind != timeline.ItemBegin && it.Kind != timeline.ItemInstant {
			return nil
		}
		set, err := res.Of(it.Ordinal)
		if err != nil || set == 0 {
			return err
		}
		a.Contexts = append(a.Contexts, fmt.Sprintf("%d %d %s: %v", it.Ordinal, it.TS, it.Name, res.Set(set)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	a.Costs = map[string]string{}
	for _, typ := range tables.Of(res).Types() {
		if tables.Of(res).IsDerived(typ) { // rows are processes and threads, by name
			continue
		}
		table, err := tables.Of(res).Table(tables.TableOptions{Type: typ})
		if err != nil {
			t.Fatal(err)
		}
		text, err := table.JSON()
		if err != nil {
			t.Fatal(err)
		}
		a.Costs[typ] = string(text)
	}
	a.Inputs, a.LongTasks = len(res.Inputs), len(res.LongTasks())
	profiles, err := report.Collect(ctx, tl)
	if err != nil {
		t.Fatal(err)
	}
	samples, err := profiles.Samples(report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range samples.Threads {
		thread.Process, thread.Thread = "", ""
		a.Samples = append(a.Samples, fmt.Sprintf("%+v", thread))
	}
	slices.Sort(a.Samples) // threads come in the order of their names
	index, err := flowindex.NewIndex(ctx, tl)
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	err = index.Walk(ctx, func(f flowindex.Flow, first flowindex.Member, label flowindex.Label) error {
		a.Flows = append(a.Flows, fmt.Sprintf("%+v %+v %+v", f, first, label))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}
