package timeline

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// aheadTimeline has slices of two threads with arguments, in pairs at one time, and at one time a group that is as large
// as it is said.
func aheadTimeline(t *testing.T, memory int64, large int) *Timeline {
	b := testBuilder(t, memory)
	threads := []TrackID{threadOf(b, 0), threadOf(b, 1)}
	event := uint32(0)
	put := func(ts Nanos) {
		b.Args().Reset()
		b.Args().Key([]byte("k"))
		b.Args().Int(int64(event))
		add(t, b, Event{Kind: Slice, Track: threads[event%2], Event: event, TS: ts, Dur: 3, Name: []byte("work"), ThreadTS: NoTime, ThreadDur: NoTime,
			Args: slices.Clone(b.Args().Args())})
		event++
	}
	for i := range 3000 {
		put(Nanos(i / 2 * 10))
	}
	for range large {
		put(50_000)
	}
	for i := range 100 {
		put(Nanos(60_000 + i))
	}
	return finishAndNest(t, b)
}

// argOf returns the argument of an occurrence.
func argOf(tl *Timeline, o *Occurrence) (v int64) {
	for a := range tl.ArgList(o.Args) {
		v = a.Int()
	}
	return v
}

// PreparedAhead calls for the same groups as Occurrences does, with the values made of them; large groups have none.
func TestPreparedAhead(t *testing.T) {
	for _, memory := range []int64{1 << 30, noMemory} {
		for _, large := range []int{0, maxAhead, maxAhead + 1} {
			t.Run(fmt.Sprintf("%d at one time, %d bytes", large, memory), func(t *testing.T) {
				tl := aheadTimeline(t, memory, large)
				text := func(group []Occurrence) (s string) {
					for i := range group {
						s += fmt.Sprintln(group[i].Ordinal, group[i].TS, group[i].End, argOf(tl, &group[i]))
					}
					return s
				}
				var want, got []string
				if err := tl.Occurrences(context.Background(), true, func(group []Occurrence) error {
					want = append(want, text(group))
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				without := 0
				err := PreparedAhead(context.Background(), tl, func(o *Occurrence, v *int64) { *v = argOf(tl, o) }, func(group []Occurrence, values []int64) error {
					got = append(got, text(group))
					if values == nil {
						without += len(group)
						return nil
					}
					for i := range group {
						if v := argOf(tl, &group[i]); len(values) != len(group) || values[i] != v {
							t.Errorf("of record %d, %d was made of %d", group[i].Ordinal, values[i], v)
						}
					}
					return nil
				})
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("other groups than without a goroutine; %v", err)
				}
				got = nil
				if err := tl.OccurrencesAhead(context.Background(), true, func(group []Occurrence) error {
					got = append(got, text(group))
					return nil
				}); err != nil || !slices.Equal(got, want) {
					t.Errorf("other groups without values; %v", err)
				}
				wantWithout := 0
				if large > maxAhead {
					wantWithout = large
				}
				if without != wantWithout {
					t.Errorf("%d occurrences had no values, want %d", without, wantWithout)
				}
			})
		}
	}
}

// PreparedAhead ends with the error of its caller, and when it is cancelled; nothing reads any more then.
func TestPreparedAheadEnds(t *testing.T) {
	tl := aheadTimeline(t, noMemory, maxAhead+1)
	failed := errors.New("failed")
	for _, after := range []int{0, 1, 500, 900} {
		n := 0
		fail := func([]Occurrence, []int) error {
			if n++; n > after {
				return failed
			}
			return nil
		}
		reading := 0 // what the race detector sees
		err := PreparedAhead(context.Background(), tl, func(*Occurrence, *int) { reading++ }, fail)
		if reading++; err != failed || n != after+1 {
			t.Errorf("after %d calls: %v", n, err)
		}

		ctx, cancel := context.WithCancel(context.Background())
		n = 0
		err = PreparedAhead(ctx, tl, func(*Occurrence, *int) {}, func([]Occurrence, []int) error {
			if n++; n > after {
				cancel()
			}
			return nil
		})
		if cancel(); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d calls: %v", n, err)
		}
	}
}
