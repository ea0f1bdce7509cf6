package firefox

import (
	"cmp"
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Weight types (section 8). Samples with weights of type tracing-ms are call traces.
const (
	weightSamples = "samples"
	weightTracing = "tracing-ms"
	weightBytes   = "bytes"
)

// bytesUnit is Perfetto's unit for sample weights in bytes.
const bytesUnit timeline.SampleUnit = 4

// sampleDescription describes the samples of the profile, according to the first thread with samples.
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

// addSamples adds the samples of all threads, and the tracks and counters derived from them.
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
		activity := c.findActivity(th)
		if err := c.addThreadSamples(th, activity); err != nil {
			return err
		}
		if err := c.addActivity(th, activity); err != nil {
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

// addThreadSamples adds the samples of a thread, and its CPU time and event delay as counters.
func (c *converter) addThreadSamples(th *threadState, activity []activity) error {
	s := &th.th.samples
	cpu, delay := c.sampleCounters(th)
	before := math.NaN() // ms; also set by samples before the trace
	for i := range s.rows {
		now := s.time[i] + th.delta
		at, ok := c.nanos(now)
		from := before
		before = now
		if !ok {
			c.log.Add(timeProblem(now), rowOf(i), th.th.name+": a sample")
			continue
		}
		c.out = timeline.Event{
			Kind: timeline.Sample, Track: th.track, Event: c.event, Offset: -1, TS: at,
			Callstack: th.stacks.sampled(s.stack[i]), Value: weight(s.weight.at(i)), Idle: c.isIdle(activity[i].category),
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

// isIdle reports whether a sample's category means that the thread is waiting for work.
func (c *converter) isIdle(category int64) bool {
	if category == none {
		return false
	}
	main, _ := splitCategory(category)
	return c.root.meta.categories[main].name == idleCategory
}

// weight returns the weight of a sample; null counts as one.
func weight(w float64) timeline.Number {
	if math.IsNaN(w) {
		return timeline.Int(1)
	}
	return number(w)
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

// number returns a value, as an integer if it is a whole number and its magnitude is below 2^53.
func number(v float64) timeline.Number {
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return timeline.Int(int64(v))
	}
	return timeline.Float(v)
}

// addCounterValue is like addValue, but for a time on the profile's clock.
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
	perMilli float64 // CPU time of a busy processor per millisecond
	changes  bool    // the thread's share of CPU time changes
}

// percent returns the CPU time that the thread used in a period, as a percentage of a busy processor's CPU time: at most 100, or
// NaN if unknown.
func (u *cpuUse) percent(used, at, from float64) float64 {
	nanos := math.Round(at*1e6) - math.Round(from*1e6)
	if math.IsNaN(used) || !(nanos > 0) {
		return math.NaN()
	}
	return min(100*used/(u.perMilli*(nanos/1e6)), 100)
}

// steady tracks whether a value changes. A value that all samples share becomes a fact about the thread instead of a
// track (section 8).
type steady struct {
	count       int64
	value       float64
	changes     bool
	first, last float64 // ms
}

// observe adds the value during a period.
func (v *steady) observe(value, from, to float64) {
	if math.IsNaN(value) {
		return
	}
	if v.count == 0 {
		v.value, v.first, v.last = value, from, to
	}
	v.changes = v.changes || value != v.value
	v.count++
	v.first, v.last = min(v.first, from), max(v.last, to)
}

// fact returns the value as a fact about a thread, or false if it changes, is missing or is outside the trace.
func (c *converter) fact(v *steady, kind timeline.FactKind) (f timeline.Fact, ok bool) {
	from, ok := c.since(v.first)
	to, ok2 := c.nanos(v.last)
	return timeline.Fact{Kind: kind, Number: number(v.value), Samples: v.count, Start: from, End: to},
		v.count > 0 && !v.changes && ok && ok2
}

// findFacts adds the CPU time and event delay of a thread as facts if they are the same in all its samples; otherwise, it
// records that they change.
func (c *converter) findFacts(th *threadState) {
	s := &th.th.samples
	if s.rows == 0 || s.weightType == weightTracing {
		return
	}
	th.cpu.perMilli = c.cpuPerMilli()
	var cpu, delay steady
	before := math.NaN() // see addThreadSamples
	for i := range s.rows {
		from, at := before, s.time[i]+th.delta
		before = at
		if _, ok := c.nanos(at); !ok {
			continue
		}
		if _, ok := c.since(from); ok && i > 0 {
			cpu.observe(th.cpu.percent(s.cpuDelta.at(i), at, from), from, at)
		}
		delay.observe(s.eventDelay.at(i), at, at)
	}
	th.cpu.changes, th.delayChanges = cpu.changes, delay.changes
	if f, ok := c.fact(&cpu, timeline.FactCPU); ok {
		c.addFact(th, f)
	}
	if f, ok := c.fact(&delay, timeline.FactEventDelay); ok {
		c.addFact(th, f)
	}
}

func (c *converter) addFact(th *threadState, f timeline.Fact) {
	th.facts = append(th.facts, f)
	c.b.AddFact(th.track, f)
}

// sampleCounters creates counters for a thread's CPU time and event delay. It returns 0 for a value that does not change.
func (c *converter) sampleCounters(th *threadState) (cpu, delay timeline.TrackID) {
	if th.cpu.changes {
		cpu = c.b.Counter(th.track, &timeline.CounterKey{Name: []byte("CPU %"), UnitName: "%"})
	}
	if th.delayChanges {
		delay = c.b.Counter(th.track, &timeline.CounterKey{Name: []byte("eventDelay"), UnitName: "ms"})
	}
	return cpu, delay
}

// cpuPerMilli returns the CPU time of a busy processor per millisecond, in the unit of the profile.
func (c *converter) cpuPerMilli() float64 {
	switch c.root.meta.cpuUnit {
	case "", "ns":
		return 1e6
	case "µs", "μs", "us":
		return 1e3
	}
	return c.cyclesPerMilli()
}

// cyclesPerMilli returns the highest rate of CPU cycles in any thread, as an estimate for a busy processor.
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

// activity is the category and document of a sample.
type activity struct {
	category int64 // with the subcategory, see splitCategory; none: unknown
	window   int64 // 0: unknown
}

func splitCategory(category int64) (main, sub int32) {
	return int32(category >> 16), int32(category & 0xFFFF)
}

// findActivity returns the activity in each sample of a thread. The result is valid until the next call.
func (c *converter) findActivity(th *threadState) []activity {
	c.activity = c.activity[:0]
	var current activity
	last := int32(none)
	for i, stack := range th.th.samples.stack[:th.th.samples.rows] {
		switch {
		case stack == none:
			current = activity{category: none}
		case stack != last:
			main, sub := th.stacks.category(stack)
			current.category = int64(main)<<16 | int64(max(sub, 0)&0xFFFF)
			if main < 0 || int(main) >= len(c.root.meta.categories) {
				current.category = none
			}
			if !c.isCategory(main) && main != none {
				c.log.Add(problem.FirefoxIndexInvalid, rowOf(i), th.th.name+": the category of a sample")
			}
			current.window = th.stacks.window(stack)
		}
		last = stack
		c.activity = append(c.activity, current)
	}
	return c.activity
}

// findSteadyCategory reports whether all samples of a thread have the same category, which becomes a fact.
func (c *converter) findSteadyCategory(th *threadState, samples []activity) bool {
	var category steady
	for i := range samples {
		at := th.th.samples.time[i] + th.delta
		if math.IsNaN(at) {
			continue
		}
		if _, ok := c.nanos(at); !ok || samples[i].category == none {
			return false
		}
		category.observe(float64(samples[i].category), at, at+c.interval)
	}
	f, ok := c.fact(&category, timeline.FactCategory)
	if !ok {
		return false
	}
	main, sub := splitCategory(int64(category.value))
	one := &c.root.meta.categories[main]
	f.Number, f.Text = timeline.Number{}, one.name
	c.addFact(th, f)
	if sub > 0 && int(sub) < len(one.subcategories) {
		f.Kind, f.Text = timeline.FactSubcategory, one.subcategories[sub]
		c.addFact(th, f)
	}
	return true
}

// addActivity adds two tracks for the categories and documents of a thread's samples, with one slice per run of equal samples. A
// sample lasts until the next sample, and the last sample lasts one interval. A category that never changes becomes a fact
// instead.
func (c *converter) addActivity(th *threadState, samples []activity) error {
	steady := c.findSteadyCategory(th, samples)
	categories := run{c: c, th: th, role: timeline.RoleCategories}
	windows := run{c: c, th: th, role: timeline.RoleSamplePages}
	for i, now := range samples {
		if now.window != 0 {
			c.useWindow(th, now.window)
		}
		at := th.th.samples.time[i] + th.delta
		if err := categories.sample(at, now.category, now.category != none && !steady); err != nil {
			return err
		}
		if err := windows.sample(at, now.window, now.window != 0); err != nil {
			return err
		}
	}
	if err := categories.finish(); err != nil {
		return err
	}
	return windows.finish()
}

// run builds slices from consecutive samples with the same value.
type run struct {
	c    *converter
	th   *threadState
	role timeline.Role // role of the track

	open        bool
	value       int64
	start, last float64
	samples     int64
	track       timeline.TrackID
}

// sample adds a sample, which can end the open slice and start another one; if known is false, the sample has no value.
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

// end adds the open slice, which ends at the given time.
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
		main, sub := splitCategory(r.value)
		c.out.Name = []byte(c.root.meta.categories[main].name)
		c.out.Idle = string(c.out.Name) == idleCategory
		c.out.Category = append([]byte(timeline.StateCategory+","), c.categoryName(main, sub)...)
	} else {
		c.encodeWindow(r.value)
	}
	c.weftKey(keySamples)
	c.enc.Int(r.samples)
	c.closeWeft()
	c.out.Args = c.enc.Args()
	c.event++
	return c.b.Add(&c.out)
}

// idleCategory is the category of samples taken while a thread waited for work.
const idleCategory = "Idle"

// encodeWindow sets the name of a window's slice and adds facts about its page.
func (c *converter) encodeWindow(window int64) {
	c.out.Name, c.out.Category = strconv.AppendInt([]byte("window "), window, 10), []byte(timeline.StateCategory)
	if c.wants(keyWindow) {
		c.key(keyWindow)
		c.enc.Int(window)
	}
	page := c.pages.page(window)
	if page == nil {
		c.log.Add(problem.PageUnknown, problem.NoPosition, "")
		return
	}
	c.out.Name = c.bounded([]byte(page.URL))
	c.weftKey(keyTab)
	c.enc.Int(page.Tab)
	if top := c.pages.top(page); top != page {
		c.weftKey(keyTopWindow)
		c.enc.Int(top.Window)
	}
}
