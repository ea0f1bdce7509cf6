package perfetto

import (
	"cmp"
	"fmt"
	"math"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
)

// counterValue is a scaled and accumulated value of a counter track.
type counterValue struct {
	track timeline.TrackID
	value timeline.Number
}

// counterEvent converts an event of type COUNTER.
func (r *reader) counterEvent() error {
	e := &r.ev
	if e.Values == 0 {
		r.notConverted("TrackEvent of type 4 without value")
		return nil
	}
	uuid, _ := r.eventUUID()
	t := r.tracks.find(uuid)
	if t == nil || t.kind != counterTrack {
		r.notConverted("counter value on a track without a preceding counter descriptor")
		return nil
	}
	if len(e.Annotations) > 0 {
		r.notConverted("arguments of a counter value")
	}
	if len(e.Flows)+len(e.Terminating) > 0 {
		r.notConverted("flow of a counter value")
	}
	return r.addCounter(t.id, r.counterNumber(uuid, t, e.number()))
}

// number returns the value of a counter event.
func (e *trackEvent) number() timeline.Number {
	if e.IsDouble {
		return timeline.Float(e.Double)
	}
	return timeline.Int(e.Int)
}

func (r *reader) addCounter(track timeline.TrackID, value timeline.Number) error {
	e := &r.ev
	r.out = timeline.Event{
		Kind: timeline.Counter, Track: track, Event: e.index, Offset: r.offset,
		TS: e.ts, Value: value,
	}
	return r.b.Add(&r.out)
}

// counterNumber converts an encoded value to the value of its counter: it scales the value and, if the counter is incremental,
// accumulates it (perfetto.md 7).
func (r *reader) counterNumber(uuid uint64, t *track, v timeline.Number) timeline.Number {
	if v.IsInt() {
		scaled, exact := mulInt(v.Int(), t.multiplier)
		if exact {
			if t.incremental {
				scaled = r.seq.AddInt(uuid, scaled)
			}
			return timeline.Int(scaled)
		}
	}
	decimal := v.Float() * float64(t.multiplier)
	if t.incremental {
		decimal = r.seq.AddDouble(uuid, decimal)
	}
	return timeline.Float(decimal)
}

// mulInt multiplies two integers and reports whether the product fits in an int64.
func mulInt(a, b int64) (int64, bool) {
	if b == 1 || a == 0 {
		return a, true
	}
	c := a * b
	if c/b != a || a == math.MinInt64 {
		return 0, false
	}
	return c, true
}

// extraCounters reads the counter values of a slice or instant: it sets the thread time of the event and returns the other
// values. Values are paired by position with the track uuids of the event or, if the event lacks them, of the defaults; surplus
// uuids have no value (perfetto.md 15).
func (r *reader) extraCounters() []counterValue {
	e := &r.ev
	if len(e.ExtraValues)+len(e.ExtraDoubleValues) == 0 {
		return nil
	}
	var others []counterValue
	add := func(uuids []uint64, i int, v timeline.Number) {
		if i >= len(uuids) {
			r.notConverted("extra counter value without track")
			return
		}
		t := r.tracks.find(uuids[i])
		if t == nil || t.kind != counterTrack {
			r.notConverted("extra counter value on a track without a preceding counter descriptor")
			return
		}
		n := r.counterNumber(uuids[i], t, v)
		if t.threadTime {
			e.threadTime = timeline.Nanos(n.Int())
			return
		}
		others = append(others, counterValue{t.id, n})
	}
	uuids := e.ExtraTracks
	if len(uuids) == 0 {
		uuids = r.seq.Defaults.ExtraTracks
	}
	for i, v := range e.ExtraValues {
		add(uuids, i, timeline.Int(int64(v)))
	}
	uuids = e.ExtraDoubleTracks
	if len(uuids) == 0 {
		uuids = r.seq.Defaults.ExtraDoubleTracks
	}
	for i, v := range e.ExtraDoubleValues {
		add(uuids, i, timeline.Float(math.Float64frombits(v)))
	}
	return others
}

// threadTimeDelta sets the thread time of an event that stores the time as a difference from the counter of its thread.
func (r *reader) threadTimeDelta() {
	uuid, _ := r.eventUUID()
	if t := r.tracks.byUUID[uuid]; t != nil {
		if t.clock == 0 {
			t = r.tracks.byUUID[t.parent]
		}
		if t == nil {
			t = new(track)
		}
		if counter := r.tracks.byUUID[t.clock]; counter != nil && counter.threadTime {
			if delta, exact := mulInt(r.fields.ThreadTimeDelta, counter.multiplier); exact {
				r.ev.threadTime = timeline.Nanos(r.seq.AddInt(t.clock, 0) + delta)
				return
			}
		}
	}
	r.notConverted(fmt.Sprintf("TracePacket field %d", schema.TracePacket_WeftThreadTimeDelta))
}

// describeCounter applies a CounterDescriptor.
func (t *track) describeCounter(d *message.CounterDescriptor, key *timeline.CounterKey) {
	t.kind = counterTrack
	t.multiplier, t.incremental = cmp.Or(d.Multiplier(), 1), d.IsIncremental()
	if unit := d.Unit(); unit <= uint64(timeline.UnitBytes) {
		key.Unit = timeline.CounterUnit(unit)
	}
	key.UnitName, key.ShareKey = string(d.UnitName()), string(d.ShareKey())
	// A thread-time counter whose name is neither empty nor thread_time is an ordinary counter (perfetto.md 7).
	name := string(key.Name)
	t.threadTime = d.Type() == schema.CounterDescriptor_CounterThreadTimeNS && (name == "" || name == "thread_time")
	if d.Type() == schema.CounterDescriptor_CounterThreadInstructionCount && name == "" {
		key.Name = []byte("thread_instruction_count")
	}
}
