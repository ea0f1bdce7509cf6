package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// TestSameEvents exports the events of recordings, both intact and damaged, before and after conversion: they are the same
// messages in the same order with the same ids. Only the position of an event in the input differs. Marks for long tasks, which a
// conversion adds, do not count as events.
func TestSameEvents(t *testing.T) {
	forEachInput(t, func(t *testing.T, data []byte) {
		want, ok := loadTimeline(t, data)
		if !ok {
			t.Skip("too little remains")
		}
		forms := []pftrace.Packets{pftrace.Plain}
		if len(data) < shortInput {
			forms = append(forms, pftrace.Compact)
		}
		for _, form := range forms {
			var out bytes.Buffer
			_, err := convert.Convert(t.Context(), &out, bytes.NewReader(data), convert.Options{TempDir: t.TempDir(), Packets: form})
			if err != nil {
				t.Fatal(err)
			}
			got, ok := loadTimeline(t, out.Bytes())
			if !ok {
				t.Fatal("the result is unreadable")
			}
			compareEvents(t, string(form), want, got)
		}
	})
}

// loadTimeline opens a trace as weft export does; it returns false if a damaged recording cannot be read.
func loadTimeline(t *testing.T, data []byte) (*timeline.Timeline, bool) {
	t.Helper()
	tr, err := convert.Open(context.Background(), bytes.NewReader(data), convert.Options{TempDir: t.TempDir(), NoLongTasks: true})
	if err != nil && damaged(t.Name()) {
		return nil, false
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return timeline.Of(tr), true
}

// compareEvents compares the events of two traces as messages, without loading all of them.
func compareEvents(t *testing.T, what string, want, got *timeline.Timeline) {
	t.Helper()
	seed := maphash.MakeSeed()
	hashes := func(tl *timeline.Timeline) (all []uint64) {
		e := eventstream.NewEncoder(tl)
		walkRows(t, tl, func(row *resolved.Row) { all = append(all, maphash.Bytes(seed, e.Event(row))) })
		return all
	}
	a, b := hashes(want), hashes(got)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("%s: event %d of %d:\n- %s+ %s", what, i, len(a), line(t, want, i), line(t, got, i))
			return
		}
	}
	if len(a) != len(b) {
		t.Errorf("%s: %d events became %d", what, len(a), len(b))
	}
}

// line returns the event at an index in a trace as JSON.
func line(t *testing.T, tl *timeline.Timeline, place int) (text string) {
	lines := eventstream.NewLines(tl)
	walkRows(t, tl, func(row *resolved.Row) {
		if place == 0 {
			text = fmt.Sprintf("%.2000s", lines.Event(row))
		}
		place--
	})
	return text
}

// walkRows calls fn for all events in a trace, without their positions in the input.
func walkRows(t *testing.T, tl *timeline.Timeline, fn func(*resolved.Row)) {
	t.Helper()
	rows := resolved.NewReader(tl)
	defer rows.Close()
	_, err := rows.Walk(t.Context(), resolved.Options{NoPositions: true}, func(row *resolved.Row) error {
		fn(row)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestSameEventsCases is like TestSameEvents, for cases that are rare in recordings.
func TestSameEventsCases(t *testing.T) {
	for name, events := range map[string]string{
		"asynchronous slices that overlap": `
			{"ph":"b","cat":"c","name":"a","id":"0x1","scope":"s","pid":1,"ts":1},{"ph":"b","cat":"c","name":"b","id":"0x1","scope":"s","pid":1,"ts":2},
			{"ph":"e","cat":"c","name":"a","id":"0x1","scope":"s","pid":1,"ts":3},{"ph":"e","cat":"c","name":"b","id":"0x1","scope":"s","pid":1,"ts":4}`,
		"asynchronous ids of all kinds": `
			{"ph":"b","cat":"c","name":"a","id":7,"pid":1,"ts":1,"args":{"weft":{"id":"mine"}}},{"ph":"n","cat":"c","name":"in a","id":7,"pid":1,"ts":2},
			{"ph":"e","cat":"c","name":"a","id":7,"pid":1,"ts":3,"args":{"id":"8","weft":{"id":"9"}}},{"ph":"n","cat":"c","name":"n","id":"7","pid":1,"ts":1},
			{"ph":"b","cat":"c","name":"open","id2":{"global":"0x01"},"pid":1,"ts":2},{"ph":"n","cat":"c","name":"in open","id2":{"global":"0x01"},"pid":1,"ts":9},
			{"ph":"b","cat":"c","name":"local","id2":{"local":"λ"},"pid":2,"ts":2},{"ph":"e","cat":"c","name":"local","id2":{"local":"λ"},"pid":2,"ts":2},
			{"ph":"n","cat":"c","name":"empty","id":"","scope":"s","pid":1,"ts":1},{"ph":"S","cat":"c","name":"old","id":1,"pid":1,"ts":1},{"ph":"n","cat":"c","name":"x","id":"0x1","scope":"id","pid":1,"ts":5}`,
		"an asynchronous slice that ends with the one around it": `
			{"ph":"b","cat":"c","name":"a","id":1,"scope":"s","pid":1,"ts":1},{"ph":"b","cat":"c","name":"b","id":1,"scope":"s","pid":1,"ts":2},
			{"ph":"e","cat":"c","name":"a","id":1,"scope":"s","pid":1,"ts":3}`,
		"slices of a thread that overlap, longest on a lane": `
			{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":5},{"ph":"X","name":"b","pid":1,"tid":1,"ts":3,"dur":9},{"ph":"X","name":"c","pid":1,"tid":1,"ts":3,"dur":1},
			{"ph":"X","name":"d","pid":1,"tid":1,"ts":4,"dur":9},{"ph":"i","name":"i","pid":1,"tid":1,"ts":4},{"ph":"X","name":"e","pid":1,"tid":1,"ts":3,"dur":0}`,
		"flows that lead in a circle": `
			{"ph":"X","name":"A","pid":1,"tid":1,"ts":0,"dur":9},{"ph":"X","name":"B","pid":1,"tid":2,"ts":0,"dur":9},
			{"ph":"s","id":1,"name":"f","cat":"f","pid":1,"tid":1,"ts":1},{"ph":"f","bp":"e","id":1,"name":"f","cat":"f","pid":1,"tid":2,"ts":2},
			{"ph":"s","id":2,"name":"f","cat":"f","pid":1,"tid":2,"ts":1},{"ph":"f","bp":"e","id":2,"name":"f","cat":"f","pid":1,"tid":1,"ts":2},
			{"ph":"X","name":"C","pid":1,"tid":3,"ts":5,"dur":1}`,
		"a producer that begins with its consumer": `
			{"ph":"i","name":"i","pid":1,"tid":1,"ts":3},{"ph":"X","name":"to","pid":1,"tid":1,"ts":3,"dur":9},{"ph":"C","name":"n","pid":1,"tid":1,"ts":3,"args":{"v":1}},
			{"ph":"X","name":"around","pid":1,"tid":2,"ts":3,"dur":9},{"ph":"X","name":"from","pid":1,"tid":2,"ts":3,"dur":4},{"ph":"i","name":"after","pid":1,"tid":2,"ts":3},
			{"ph":"s","id":1,"name":"f","cat":"f","pid":1,"tid":2,"ts":4},{"ph":"f","bp":"e","id":1,"name":"f","cat":"f","pid":1,"tid":1,"ts":6}`,
		"ends of flows that bind to nothing": `
			{"ph":"X","name":"a","pid":1,"tid":1,"ts":3,"dur":0},{"ph":"s","id":1,"name":"f","cat":"f","pid":1,"tid":5,"ts":3},{"ph":"C","name":"n","pid":1,"tid":1,"ts":3,"args":{"v":1}},
			{"ph":"f","bp":"e","id":"x","name":"f","cat":"f","pid":1,"tid":5,"ts":3},{"ph":"B","name":"b","pid":1,"tid":1,"ts":3},{"ph":"E","pid":1,"tid":1,"ts":3}`,
	} {
		t.Run(name, func(t *testing.T) {
			data := []byte(`{"traceEvents":[` + events + `]}`)
			for _, form := range []pftrace.Packets{pftrace.Plain, pftrace.Compact} {
				var out bytes.Buffer
				if _, err := convert.Convert(t.Context(), &out, bytes.NewReader(data), convert.Options{Packets: form}); err != nil {
					t.Fatal(err)
				}
				want, _ := loadTimeline(t, data)
				got, _ := loadTimeline(t, out.Bytes())
				compareEvents(t, string(form), want, got)
				checkNumbers(t, want)
				checkNumbers(t, got)
			}
		})
	}
}

// TestSameEventsShuffled is like TestSameEvents, for weft traces with shuffled packets, for which conclusions from packet order
// are wrong.
func TestSameEventsShuffled(t *testing.T) {
	path := recording.Path(t, "traces/chrome/chrome-devtools-tiny.json")
	opts := convert.Options{TempDir: t.TempDir(), Packets: pftrace.Plain, Compression: pftrace.Uncompressed}
	var whole bytes.Buffer
	if _, err := convert.Convert(t.Context(), &whole, bytes.NewReader(recording.Read(t, path)), opts); err != nil {
		t.Fatal(err)
	}
	var packets [][]byte
	for rest := whole.Bytes(); len(rest) > 0; {
		_, _, n := protowire.ConsumeField(rest)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		packets, rest = append(packets, rest[:n]), rest[n:]
	}
	for seed := range uint64(4) {
		events := slices.Clone(packets)[len(packets)/4:] // the descriptions come first
		random := rand.New(rand.NewPCG(seed, 0))
		random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		shuffled := bytes.Join(append(slices.Clone(packets[:len(packets)/4]), events...), nil)
		var out bytes.Buffer
		if _, err := convert.Convert(t.Context(), &out, bytes.NewReader(shuffled), opts); err != nil {
			t.Fatal(err)
		}
		if report, err := pftrace.Verify(t.Context(), bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{}); err != nil || !report.OK() {
			t.Errorf("seed %d: the verifier finds %+v, error %v", seed, report, err)
		}
		want, _ := loadTimeline(t, shuffled)
		got, _ := loadTimeline(t, out.Bytes())
		compareEvents(t, fmt.Sprint("seed ", seed), want, got)
	}
}

// TestEventNumbers checks that the numbers of events match their order in the trace.
func TestEventNumbers(t *testing.T) {
	forEachRecording(t, func(t *testing.T, data []byte) {
		tl, _ := loadTimeline(t, data)
		checkNumbers(t, tl)
	})
}

func checkNumbers(t *testing.T, tl *timeline.Timeline) {
	t.Helper()
	if err := tl.NumberEvents(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := uint64(0)
	err := tl.Walk(t.Context(), func(it *timeline.Item) error {
		if it.Kind == timeline.ItemEnd || it.Kind == timeline.ItemSample {
			return nil
		}
		next++
		if id := tl.EventID(it.Ordinal); id != next {
			return fmt.Errorf("event %d (%q) has the id %d", next, it.Name, id)
		}
		if ordinal, ok := tl.EventOrdinal(next); !ok || ordinal != it.Ordinal {
			return fmt.Errorf("id %d belongs to ordinal %d, not %d", next, it.Ordinal, ordinal)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, ok := tl.EventOrdinal(next + 1); ok || tl.EventCount() != next {
		t.Errorf("%d events are numbered, and there are %d", tl.EventCount(), next)
	}
}
