package firefox

import (
	"cmp"
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Types of weights (section 8). Profiles of the type tracing-ms are call traces, not samples.
const (
	weightSamples = "samples"
	weightTracing = "tracing-ms"
	weightBytes   = "bytes"
)

// bytesUnit is Perfetto's number for samples that are bytes.
const bytesUnit timeline.SampleUnit = 4

// sampleDescription describes the samples of the profile, as in the first thread that has any.
func (c *converter) sampleDescription() timeline.SampleDescription {
	d := timeline.SampleDescription{Source: "gecko"}
	for _, th := range c.threads {
		if th.th.samples.rows == 0 {
			continue
		}
		kind := cmp.Or(th.th.samples.weightType, weightSamples)
		if kind == weightBytes || c.root.meta.timeUnit == "bytes" {
			d.Counter, d.Unit = weightBytes, bytesUnit
		} else if kind != weightSamples {
			d.Counter = kind
		}
		break
	}
	return d
}

// addSamples adds the samples of all threads, and their other values.
func (c *converter) addSamples() error {
	for _, th := range c.threads {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		if th.th.argumentValues > 0 {
			c.log.AddN(problem.ArgumentValuesSkipped, uint64(th.th.argumentValues), problem.NoPosition, th.th.name)
		}
		if th.th.samples.rows == 0 {
			continue
		}
		if th.th.samples.weightType == weightTracing {
			if err := c.addCalls(th, th.track, false); err != nil {
				return err
			}
			continue
		}
		if err := c.addThreadSamples(th); err != nil {
			return err
		}
		if err := c.addActivity(th); err != nil {
			return err
		}
		if c.opts.JSCalls && th.hasJS() {
			if err := c.addCalls(th, c.b.RoleTrack(th.track, timeline.RoleCalls), true); err != nil {
				return err
			}
		}
	}
	return nil
}

// addThreadSamples adds the samples of a thread, with the CPU time and the delay of events as counters.
func (c *converter) addThreadSamples(th *threadState) error {
	s := &th.th.samples
	cpu, delay := c.sampleCounters(th)
	before := math.NaN() // ms, even of a sample before the trace
	for i := range s.rows {
		now := s.time[i] + th.delta
		at, ok := c.nanos(now)
		from := before
		before = now
		if !ok {
			c.log.Add(noTime(now), rowOf(i), th.th.name+": a sample")
			continue
		}
		c.out = timeline.Event{
			Kind: timeline.Sample, Track: th.track, Event: c.event, Offset: -1, TS: at,
			Callstack: th.stacks.sampled(s.stack[i]), Value: weight(s.weight.at(i)),
		}
		if err := c.b.Add(&c.out); err != nil {
			return err
		}
		c.event++
		if since, ok := c.since(from); ok && cpu != 0 && i > 0 { // see addRates
			if err := c.addValue(cpu, since, th.cpu.percent(s.cpuDelta.at(i), now, from)); err != nil {
				return err
			}
		}
		if v := s.eventDelay.at(i); delay != 0 && !math.IsNaN(v) {
			if err := c.addValue(delay, at, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// weight is the weight of a sample; null counts as one.
func weight(w float64) timeline.Number {
	switch {
	case math.IsNaN(w):
		return timeline.Int(1)
	case w == math.Trunc(w) && math.Abs(w) < 1<<53:
		return timeline.Int(int64(w))
	}
	return timeline.Float(w)
}

// addValue adds a value of a counter, unless it is NaN.
func (c *converter) addValue(track timeline.TrackID, at timeline.Nanos, v float64) error {
	if math.IsNaN(v) {
		return nil
	}
	c.out = timeline.Event{
		Kind: timeline.Counter, Track: track, Event: c.event, Offset: -1, TS: at,
		Value: number(v),
	}
	c.event++
	return c.b.Add(&c.out)
}

// number returns a value as an integer if it is one.
func number(v float64) timeline.Number {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return timeline.Int(int64(v))
	}
	return timeline.Float(v)
}

// addCounterValue is addValue for a time on the clock of the profile.
func (c *converter) addCounterValue(track timeline.TrackID, ms, v float64) error {
	at, ok := c.nanos(ms)
	if !ok {
		c.log.Add(problem.EventInvalidTimestamp, problem.NoPosition, "a counter")
		return nil
	}
	return c.addValue(track, at, v)
}

// cpuUse describes the CPU time of a thread.
type cpuUse struct {
	perMilli float64 // CPU time of a full processor per millisecond
	values   steady  // shares of the time, in percent
}

// percent is the share of a time that the thread used, at most 100; NaN if it is not known.
func (u *cpuUse) percent(used, at, from float64) float64 {
	nanos := math.Round(at*1e6) - math.Round(from*1e6)
	if math.IsNaN(used) || !(nanos > 0) {
		return math.NaN()
	}
	return min(100*used/(u.perMilli*(nanos/1e6)), 100)
}

// steady tracks whether a counter changes. A counter with one value from the first sample to the last becomes a fact
// about its thread instead of a track (section 8).
type steady struct {
	count   int
	value   float64
	changes bool
}

func (v *steady) see(value float64) {
	if math.IsNaN(value) {
		return
	}
	v.changes = v.changes || v.count > 0 && value != v.value
	v.value = value
	v.count++
}

// isFact reports whether there are values, and all are the same.
func (v *steady) isFact() bool { return v.count > 0 && !v.changes }

// findSteady looks for steady values in the samples of a thread.
func (c *converter) findSteady(th *threadState) {
	s := &th.th.samples
	if s.weightType == weightTracing {
		return
	}
	th.cpu = cpuUse{perMilli: c.cpuPerMilli()}
	before := math.NaN() // of the last sample that has a time; see addThreadSamples
	for i := range s.rows {
		from, at := before, s.time[i]+th.delta
		before = at
		if _, ok := c.nanos(at); !ok {
			continue
		}
		if _, ok := c.since(from); ok && i > 0 {
			th.cpu.values.see(th.cpu.percent(s.cpuDelta.at(i), at, from))
		}
		th.delay.see(s.eventDelay.at(i))
	}
}

// sampleCounters makes the counters of a thread's CPU time and event delay; 0 for one that is unknown or a fact.
func (c *converter) sampleCounters(th *threadState) (cpu, delay timeline.TrackID) {
	if th.cpu.values.changes {
		cpu = c.b.Counter(th.track, &timeline.CounterKey{Name: []byte("CPU %"), UnitName: "%"})
	}
	if th.delay.changes {
		delay = c.b.Counter(th.track, &timeline.CounterKey{Name: []byte("eventDelay"), UnitName: "ms"})
	}
	return cpu, delay
}

// cpuPerMilli is the CPU time of a full processor per millisecond, in the unit of the profile.
func (c *converter) cpuPerMilli() float64 {
	switch c.root.meta.cpuUnit {
	case "", "ns":
		return 1e6
	case "µs", "μs", "us":
		return 1e3
	}
	return c.cyclesPerMilli()
}

// cyclesPerMilli is the largest rate of CPU cycles of any thread, which stands for a full processor.
func (c *converter) cyclesPerMilli() float64 {
	if c.cycles == 0 {
		for _, th := range c.threads {
			s := &th.th.samples
			for i := 1; i < s.rows; i++ {
				if rate := s.cpuDelta.at(i) / (s.time[i] - s.time[i-1]); rate > c.cycles && !math.IsInf(rate, 0) {
					c.cycles = rate
				}
			}
		}
		c.cycles = cmp.Or(c.cycles, 1)
	}
	return c.cycles
}

// addActivity adds what the samples of a thread were doing, and for which document, each as slices of consecutive samples
// on a track of their own. A sample lasts until the next one, the last for an interval.
func (c *converter) addActivity(th *threadState) error {
	s := &th.th.samples
	categories := run{c: c, th: th, role: timeline.RoleCategories}
	windows := run{c: c, th: th, role: timeline.RoleSamplePages}
	var category, window int64
	last := int32(none)
	for i := range s.rows {
		stack := s.stack[i]
		switch {
		case stack == none:
			category, window = none, 0
		case stack != last:
			main, sub := th.stacks.category(stack)
			category = int64(main)<<16 | int64(max(sub, 0)&0xFFFF)
			if main < 0 || int(main) >= len(c.root.meta.categories) {
				category = none
			}
			if !c.isCategory(main) && main != none {
				c.log.Add(problem.FirefoxIndexInvalid, rowOf(i), th.th.name+": the category of a sample")
			}
			window = th.stacks.window(stack)
		}
		last = stack
		if window != 0 {
			c.useWindow(th, window)
		}
		at := s.time[i] + th.delta
		if err := categories.sample(at, category, category != none); err != nil {
			return err
		}
		if err := windows.sample(at, window, window != 0); err != nil {
			return err
		}
	}
	if err := categories.finish(); err != nil {
		return err
	}
	return windows.finish()
}

// run is a slice of consecutive samples with the same value.
type run struct {
	c    *converter
	th   *threadState
	role timeline.Role // of the track

	open        bool
	value       int64
	start, last float64
	samples     int64
	track       timeline.TrackID
}

// sample adds a sample; known says that it has a value.
func (r *run) sample(at float64, value int64, known bool) error {
	if math.IsNaN(at) {
		return nil
	}
	if r.open && (!known || value != r.value) {
		if err := r.end(at); err != nil {
			return err
		}
	}
	if known && !r.open {
		r.open, r.value, r.start, r.samples = true, value, at, 0
	}
	r.last = at
	r.samples++
	return nil
}

// finish ends the last slice.
func (r *run) finish() error {
	if !r.open {
		return nil
	}
	return r.end(r.last + r.c.interval)
}

// end writes the slice.
func (r *run) end(at float64) error {
	r.open = false
	c := r.c
	start, ok := c.nanos(r.start)
	end, ok2 := c.nanos(at)
	if !ok || !ok2 || end < start {
		return nil // samples out of order
	}
	if r.track == 0 {
		r.track = c.b.RoleTrack(r.th.track, r.role)
	}
	c.beginArgs()
	c.out = timeline.Event{
		Kind: timeline.Slice, Track: r.track, Event: c.event, Offset: -1, TS: start, Dur: end - start,
	}
	if r.role == timeline.RoleCategories {
		main, sub := int32(r.value>>16), int32(r.value&0xFFFF)
		c.out.Name = []byte(c.root.meta.categories[main].name)
		c.out.Category = c.categoryName(main, sub)
	} else {
		c.encodeWindow(r.value)
	}
	c.ownKey(keySamples)
	c.enc.Int(r.samples)
	c.closeOwn()
	c.out.Args = c.enc.Args()
	c.event++
	return c.b.Add(&c.out)
}

// encodeWindow names the slice of a window and adds the known facts about it.
func (c *converter) encodeWindow(window int64) {
	c.out.Name = strconv.AppendInt([]byte("window "), window, 10)
	c.key(keyWindow)
	c.enc.Int(window)
	page := c.pages.page(window)
	if page == nil {
		c.log.Add(problem.PageUnknown, problem.NoPosition, "")
		return
	}
	c.out.Name = c.bounded([]byte(page.URL))
	c.ownKey(keyTab)
	c.enc.Int(page.Tab)
	if top := c.pages.top(page); top != page {
		c.ownKey(keyTopWindow)
		c.enc.Int(top.Window)
	}
}
