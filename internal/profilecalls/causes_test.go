package profilecalls

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// cause is the reason why a sample is lost.
type cause int

const (
	inCollection cause = iota // taken in a garbage collection
	heldCall                  // an event locks a call that is not on the sample's stack
	notInvoked                // its event is not known to run JavaScript
	otherCause
	causes
)

// causeOf returns the reason why a sample is lost. The parameter events holds the open events, outermost first.
func causeOf(b *Builder, stack v8profile.NodeIndex, events []Event) cause {
	if slices.ContainsFunc(events, collects) {
		return inCollection
	}
	b.setStack(stack)
	switch {
	case b.equalFrom(0, b.lock()) < b.lock():
		return heldCall
	case len(events) > 0 && !events[len(events)-1].Class.Invokes():
		return notInvoked
	}
	return otherCause
}

// lostTimes holds the total time of a thread's samples, and the lost time by cause.
type lostTimes struct {
	all  timeline.Nanos
	lost [causes]timeline.Nanos
	// inCollections counts the calls that begin in a garbage collection, except calls inside another such call.
	inCollections int
}

// lostByCause runs a Builder and totals the lost time by cause.
func lostByCause(tr *trace, r *v8profile.Recording, mode Mode) (l lostTimes) {
	p, f := r.Profile, NewFrames(r.Profile)
	b := NewBuilder(f, mode, func(*Call) {})
	events := tr.events[threadKey{r.Process, r.Thread}]
	var open []Event
	before := Stats{}
	next := 0
	for ; b.next < p.Len(); next = b.next {
		// One sample at a time: the events before it, and then the sample.
		for len(events) > 0 && (events[0].TS < b.samples.Time(next) || events[0].TS == b.samples.Time(next) && events[0].End > events[0].TS) {
			b.Event(&events[0])
			open = append(open, events[0])
			events = events[1:]
		}
		b.endEvents(b.samples.Time(next))
		known := b.stats.Calls
		b.sample(b.samples.Time(next))
		b.next++
		kept := open[:0]
		for _, ev := range open {
			if ev.End > b.samples.Time(next) {
				kept = append(kept, ev)
			}
		}
		open = kept
		if i := b.lock(); i < len(b.calls) && b.calls[i].order >= known && slices.ContainsFunc(open, collects) {
			l.inCollections++
		}
		if stack := b.seen; len(b.lost.waiting) > 0 {
			b.lost.settle(&b.stats)
			l.lost[causeOf(b, stack, open)] += b.stats.LostTime - before.LostTime
			before = b.stats
		}
	}
	stats, err := b.Finish()
	if err != nil {
		panic(err)
	}
	l.all = stats.Time
	return l
}

func collects(ev Event) bool { return ev.Class.Collects() }

// lossy lists the recordings in which the DevTools rules lose samples, or create calls in garbage collections. The last recording
// is in this package's testdata.
var lossy = []string{
	"chrome/chrome-devtools-small", "chrome/chrome-with-selfprof-and-inspector", "chrome/chrome-devtools-medium",
	"node/node-v24-all-node_trace", "node-v20-sampled",
}

// TestLostByCause compares the losses in recorded traces, summed over all threads for each set of rules, with the table in
// testdata.
func TestLostByCause(t *testing.T) {
	var table bytes.Buffer
	for _, name := range lossy {
		var tr *trace
		if strings.Contains(name, "/") {
			tr = recorded(t, name)
		} else {
			tr = readTrace(t, recording.Read(t, filepath.Join("testdata", name+".json.gz")))
		}
		for mode, rules := range []string{DevTools: "devtools", Refined: "refined"} {
			var sum lostTimes
			for _, r := range tr.profiles {
				if !r.Chosen || r.Orphan {
					continue
				}
				l := lostByCause(tr, r, Mode(mode))
				sum.all += l.all
				sum.inCollections += l.inCollections
				for c := range l.lost {
					sum.lost[c] += l.lost[c]
				}
			}
			together := timeline.Nanos(0)
			for _, lost := range sum.lost {
				together += lost
			}
			if Mode(mode) == Refined && (together*100 >= 3*sum.all || sum.inCollections > 0) {
				t.Errorf("%s: refined loses %d of %d ns; %d calls begin in collections", name, together, sum.all, sum.inCollections)
			}
			part := func(n timeline.Nanos) string { return fmt.Sprintf("%.2f %%", 100*float64(n)/float64(sum.all)) }
			fmt.Fprintf(&table, "| `%s` | `%s` | %d ms | %s | %s | %s | %s | %s | %d |\n", filepath.Base(name), rules, sum.all/1_000_000,
				part(sum.lost[heldCall]), part(sum.lost[notInvoked]), part(sum.lost[inCollection]), part(sum.lost[otherCause]),
				part(together), sum.inCollections)
		}
	}
	want, err := os.ReadFile(filepath.Join("testdata", "lost.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(want, table.Bytes()) {
		t.Errorf("testdata/lost.txt is\n%s\nthis is lost:\n%s", want, table.String())
	}
}
