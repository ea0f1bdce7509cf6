package firefox

import (
	"cmp"
	"math"
	"strconv"

	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// addCounters adds the counters of all processes, and what the profiler cost them.
func (c *converter) addCounters() error {
	return c.eachProfile(c.root, func(p *profile) error {
		for _, ct := range p.counters {
			if pr := c.processOf(p, ct.pid); pr != nil {
				if err := c.addCounter(pr, ct); err != nil {
					return err
				}
			}
		}
		for _, o := range p.overheads {
			if pr := c.processOf(p, o.pid); pr != nil {
				if err := c.addOverhead(pr, o); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// eachProfile calls fn for a profile and those of its child processes.
func (c *converter) eachProfile(p *profile, fn func(*profile) error) error {
	if err := fn(p); err != nil {
		return err
	}
	for _, child := range p.children {
		if err := c.eachProfile(child, fn); err != nil {
			return err
		}
	}
	return nil
}

// processOf returns the process with a pid, else that of the profile.
func (c *converter) processOf(p *profile, pid identity) *process {
	if known := c.processes.byPID[pid.text]; known != nil && p.isProcessed() {
		return known
	}
	if p.process != nil && (pid.text == "" || !p.isProcessed()) {
		return p.process
	}
	pr := c.process(&thread{pid: pid}, !p.isProcessed())
	return pr
}

// addOverhead adds what the profiler cost a process. Times are microseconds.
func (c *converter) addOverhead(pr *process, o *overhead) error {
	for _, one := range []struct {
		name   string
		values floats
	}{{"locking", o.locking}, {"expired marker cleaning", o.expired}, {"counters", o.counters}, {"threads", o.threads}} {
		if len(one.values) == 0 {
			continue
		}
		key := timeline.CounterKey{Name: []byte("Profiler overhead: " + one.name), UnitName: "µs"}
		track := c.b.Counter(pr.track, &key)
		for i := range o.rows {
			if err := c.addCounterValue(track, o.time[i]/1000+pr.delta, one.values.at(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRest adds the times without recording, allocations and the events of the JS tracer.
func (c *converter) addRest() error {
	for _, th := range c.threads {
		if err := c.addAllocations(th, "JS allocation", &th.th.jsAllocations); err != nil {
			return err
		}
		if err := c.addAllocations(th, "Native allocation", &th.th.nativeAllocations); err != nil {
			return err
		}
		if err := c.addTracer(th); err != nil {
			return err
		}
	}
	return c.addPauses()
}

// addPauses adds the times in which the profiler was paused, which in the processed form each thread of a process has.
func (c *converter) addPauses() error {
	added := map[*process]bool{}
	for _, th := range c.threads {
		if len(th.th.pauses) > 0 && !added[th.process] {
			added[th.process] = true
			if err := c.addProcessPauses(th.process, th.th.pauses); err != nil {
				return err
			}
		}
	}
	return c.eachProfile(c.root, func(p *profile) error {
		if p.process == nil || added[p.process] {
			return nil
		}
		return c.addProcessPauses(p.process, p.pauses)
	})
}

func (c *converter) addProcessPauses(pr *process, pauses []pause) error {
	for _, one := range pauses {
		from, to := one.start+pr.delta, one.end+pr.delta
		if math.IsNaN(from) { // it began before the recording
			from = min(c.start, to)
		}
		if math.IsNaN(to) { // it ended behind it
			to = max(c.end, from)
		}
		err := c.addSlice(c.b.Child(pr.track, PausedName), cmp.Or(one.reason, "paused"), from, to, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// addSlice adds a slice with arguments that args adds to the encoder; args may be nil.
func (c *converter) addSlice(track timeline.TrackID, name string, from, to float64, args func()) error {
	start, ok := c.nanos(from)
	end, ok2 := c.nanos(to)
	if !ok || !ok2 || end < start {
		c.log.Add(problem.EventInvalidTimestamp, problem.NoPosition, name)
		return nil
	}
	c.beginArgs()
	if args != nil {
		args()
		c.closeOwn()
	}
	c.out = timeline.Event{
		Kind: timeline.Slice, Track: track, Event: c.event, Offset: -1, TS: start, Dur: end - start,
		ThreadTS: timeline.NoTime, ThreadDur: timeline.NoTime, Name: []byte(name), Args: c.enc.Args(),
	}
	c.event++
	return c.b.Add(&c.out)
}

// addAllocations adds the allocations of a thread as instants, which they are in the raw form.
func (c *converter) addAllocations(th *threadState, name string, a *allocationTable) error {
	for i := range a.rows {
		at, ok := c.nanos(a.time[i] + th.delta)
		if !ok {
			c.log.Add(problem.EventInvalidTimestamp, rowOf(i), name)
			continue
		}
		c.beginArgs()
		for _, text := range [...]struct {
			key    ownKey
			column *texts
		}{{keyClassName, &a.class}, {keyTypeName, &a.kind}, {keyCoarseType, &a.coarse}} {
			if t, _ := text.column.at(int32(i)); len(t) > 0 {
				c.key(text.key)
				c.enc.String(t)
			}
		}
		if size := a.weight.at(i); !math.IsNaN(size) {
			c.key(keySize)
			c.encodeNumber(size)
		}
		c.out = timeline.Event{
			Kind: timeline.Instant, Track: c.b.Child(th.track, AllocationsName), Event: c.event, Offset: -1, TS: at,
			ThreadTS: timeline.NoTime, ThreadDur: timeline.NoTime, Name: []byte(name), Args: c.enc.Args(),
			Callstack: th.stacks.callstack(a.stack.at(i)),
		}
		c.event++
		if err := c.b.Add(&c.out); err != nil {
			return err
		}
	}
	return nil
}

// addTracer adds the events of the JS tracer, whose times are microseconds, as slices.
func (c *converter) addTracer(th *threadState) error {
	t := &th.th.tracer
	for i := range t.rows {
		name := th.tables.strings.text(t.event[i])
		if th.raw && c.root.tracerDictionary.len() > 0 {
			name = c.root.tracerDictionary.text(t.event[i])
		}
		from := t.time[i]/1000 + th.delta
		length := t.duration.at(i) / 1000
		if math.IsNaN(length) {
			length = 0
		}
		err := c.addSlice(c.b.Child(th.track, JSTracerName), name, from, from+length, func() {
			for _, place := range [...]struct {
				key   ownKey
				value int32
			}{{keyLine, t.line.at(i)}, {keyColumn, t.columnOf.at(i)}} {
				if place.value > 0 {
					c.key(place.key)
					c.enc.Int(int64(place.value))
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// setAttributes keeps what the profile says about the recording as facts about the trace (spec 11).
func (c *converter) setAttributes() {
	m := &c.root.meta
	set := func(key, value string) {
		if value != "" {
			c.b.SetAttribute("firefox."+key, value)
		}
	}
	if m.version != 0 {
		c.b.SetIntAttribute("firefox.version", m.version)
	}
	if m.isProcessed {
		c.b.SetIntAttribute("firefox.preprocessedProfileVersion", m.preprocessed)
	}
	set("startTime", m.startTimeText)
	set("startTimeAsClockMonotonicNanosecondsSinceBoot", m.monotonic)
	if m.interval > 0 {
		set("interval", strconv.FormatFloat(m.interval, 'g', -1, 64))
	}
	for _, a := range m.attributes {
		set(a.key, a.value)
	}
	for _, a := range c.root.attributes {
		set(a.key, a.value)
	}
	for _, a := range c.pages.attributes() {
		set(a.key, a.value)
	}
	for _, th := range c.threads {
		set("thread."+strconv.Itoa(th.index), th.describe())
	}
}

// describe returns a thread as JSON, with the times when it and its process began and ended.
func (th *threadState) describe() string {
	b := []byte("{")
	for _, one := range []struct{ key, text string }{
		{"name", th.th.name}, {"pid", th.th.pid.text}, {"tid", th.th.tid.text}, {"processType", th.th.processType},
		{"processName", th.th.processName}, {"eTLD+1", th.th.site},
	} {
		if one.text == "" {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), one.key...), '"', ':')
		b = appendQuoted(b, one.text)
	}
	for _, one := range []struct {
		key string
		t   float64
	}{
		{"processStartupTime", th.th.startup}, {"processShutdownTime", th.th.shutdown},
		{"registerTime", th.th.register}, {"unregisterTime", th.th.unregister},
	} {
		if math.IsNaN(one.t) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), one.key...), '"', ':')
		b = strconv.AppendFloat(b, one.t+th.delta, 'g', -1, 64)
	}
	return string(append(b, '}'))
}
