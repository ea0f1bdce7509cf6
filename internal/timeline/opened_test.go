package timeline

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nestedEvents are begins, ends and instants of three threads, as a trace of weft has them: each thread nests, many things happen at
// one time, and some slices have no end.
func nestedEvents(seed uint64) (events []Event) {
	random := rand.New(rand.NewPCG(seed, 0))
	ts, open := Nanos(0), [4]int{}
	for range 4000 {
		ts += Nanos(random.IntN(3)) * 500
		ev := Event{Kind: Begin, Track: TrackID(1 + random.IntN(3)), Event: uint32(len(events)), TS: ts, Offset: int64(len(events))}
		if random.IntN(3) > 0 {
			ev.ThreadTS = NewCPUTime(Nanos(random.IntN(8))*100 - 100)
		}
		switch n := random.IntN(10); {
		case n < 5 && open[ev.Track] > 0:
			ev.Kind = End
			open[ev.Track]--
			if n == 0 {
				ev.Args = Args("\x22\x04\x08\x01\x20\x05")
			}
		case n < 9:
			ev.Name, ev.Category, ev.DidNotEnd = fmt.Append(nil, "slice ", n), []byte("c"), n == 8
			open[ev.Track]++
		default:
			ev.Kind, ev.Name = Instant, []byte("instant")
		}
		events = append(events, ev)
	}
	return events
}

// threadsBuilder returns a Builder with three threads, tracks 2 to 4.
func threadsBuilder(t *testing.T, memory int64) (b *Builder, threads [4]TrackID) {
	b = testBuilder(t, memory)
	process := b.Process(ProcessKey{Num: 1})
	for i := 1; i < len(threads); i++ {
		threads[i] = b.Thread(process, ThreadKey{Num: int64(i)})
	}
	b.Args().Key([]byte("key"))
	return b, threads
}

// resolved lists what a walk gives, but for the places of ends in the input and, unless asked for, ordinals.
func resolved(t *testing.T, tl *Timeline, ordinals bool) (lines []string) {
	walk(t, tl, func(it *Item) {
		at, timed := it.ThreadTime.Nanos()
		line := fmt.Sprint(it.Kind, it.TS, it.Dur, it.Track, it.Lane, string(it.Name), string(it.Category), it.DidNotEnd, at, timed, []byte(it.Args))
		if it.Kind != ItemEnd {
			line += fmt.Sprint(" ", it.Event, it.Offset)
		}
		if ordinals {
			line += fmt.Sprint(" ", it.Ordinal)
		}
		lines = append(lines, line)
	})
	return append(lines, fmt.Sprint(tl.TimeUnit(), tl.ThreadTimeUnit(), tl.Totals()))
}

// Slices that are ended where they are on the way are those that begins and ends make, and the same for every budget.
func TestOpened(t *testing.T) {
	for seed := range uint64(20) {
		events := nestedEvents(seed)
		var ordinals []string
		for _, memory := range []int64{largeBudget, 300 << 10, noMemory} {
			plain, threads := threadsBuilder(t, memory)
			b, _ := threadsBuilder(t, memory)
			var open [4][]Opened
			ended := 0
			for _, ev := range events {
				of := ev.Track
				ev.Track = threads[of]
				add(t, plain, ev)
				n := len(open[of])
				switch {
				case ev.Kind == Begin:
					o, err := b.AddOpened(&ev)
					if err != nil {
						t.Fatal(err)
					}
					open[of] = append(open[of], o)
					continue
				case ev.Kind == End:
					o := open[of][n-1]
					open[of] = open[of][:n-1]
					done, err := b.EndOpened(&o, &ev)
					if err != nil {
						t.Fatal(err)
					}
					if done {
						ended++
						continue
					}
				}
				add(t, b, ev)
			}
			if ended < 500 {
				t.Fatalf("only %d slices ended on the way", ended)
			}
			pairs := resolved(t, finishAndNest(t, plain), false)
			tl := finishAndNest(t, b)
			if diff := cmp.Diff(pairs, resolved(t, tl, false)); diff != "" {
				t.Fatalf("seed %d, memory %d: -pairs +opened\n%s", seed, memory, diff)
			}
			if ordinals == nil {
				ordinals = resolved(t, tl, true)
			}
			if diff := cmp.Diff(ordinals, resolved(t, tl, true)); diff != "" {
				t.Fatalf("seed %d, memory %d: -large budget +this one\n%s", seed, memory, diff)
			}
		}
	}
}

const largeBudget = 1 << 30
