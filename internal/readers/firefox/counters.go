package firefox

import (
	"cmp"
	"iter"
	"math"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// counter is a counter of a process (section 9).
type counter struct {
	name, category, description string
	pid                         identity // processed profiles only
	thread                      int64    // index of its process's main thread, for counters without a pid; none if not given
	graph, unit, label          string   // display settings, since version 62
	samples                     counterSamples
}

// counterSamples holds the samples of a counter: increments since the previous sample.
type counterSamples struct {
	time, count, number floats
	rows                int
}

// overhead is the cost of the profiler in a process; its times are in microseconds.
type overhead struct {
	pid                                       identity
	thread                                    int64 // as in counter
	time, locking, expired, counters, threads floats
	rows                                      int
}

func (d *decoder) readCounter(p *profile) error {
	if ok, err := d.hasCapacity(len(p.counters)); !ok {
		return err
	}
	c := &counter{thread: none}
	p.counters = append(p.counters, c)
	return d.object(func(key string) error {
		switch key {
		case "name":
			return d.text(&c.name)
		case "category":
			return d.text(&c.category)
		case "description":
			return d.text(&c.description)
		case "pid":
			return d.identity(&c.pid)
		case "mainThreadIndex":
			return d.integer(&c.thread)
		case "display":
			return d.readDisplay(c)
		case "samples":
			return d.readCounterSamples(&c.samples)
		case "sampleGroups", "sample_groups":
			return d.readGroups(c)
		}
		return d.Skip()
	})
}

func (d *decoder) readDisplay(c *counter) error {
	return d.object(func(key string) error {
		switch key {
		case "graphType":
			return d.text(&c.graph)
		case "unit":
			return d.text(&c.unit)
		case "label":
			return d.text(&c.label)
		}
		return d.Skip()
	})
}

// readGroups reads samples in the older form: a group, or a list of groups. It keeps only the first group that has samples.
func (d *decoder) readGroups(c *counter) error {
	group := func() error {
		into := &c.samples
		if into.rows > 0 {
			into = new(counterSamples)
		}
		err := d.object(func(key string) error {
			if key == "samples" {
				return d.readCounterSamples(into)
			}
			return d.Skip()
		})
		if into != &c.samples && into.rows > 0 {
			d.Log.AddN(problem.CounterInvalidValue, uint64(into.rows), d.Position(), "a second group of samples")
		}
		return err
	}
	b, err := d.Peek()
	if err != nil {
		return err
	}
	if b == '[' {
		return d.array(group)
	}
	return group()
}

func (d *decoder) readCounterSamples(s *counterSamples) error {
	var deltas floats
	length, err := d.table([]named{
		{"time", &s.time}, {"timeDeltas", &deltas}, {"count", &s.count}, {"number", &s.number},
	})
	s.time.accumulate(deltas)
	s.rows = d.rows(length, &s.time, &s.count)
	return err
}

// readOverheads reads profilerOverhead: one object, or a list with one per process.
func (d *decoder) readOverheads(p *profile) error {
	b, err := d.Peek()
	if err != nil {
		return err
	}
	if b == '[' {
		return d.array(func() error { return d.readOverhead(p) })
	}
	return d.readOverhead(p)
}

func (d *decoder) readOverhead(p *profile) error {
	if ok, err := d.hasCapacity(len(p.overheads)); !ok {
		return err
	}
	o := &overhead{thread: none}
	p.overheads = append(p.overheads, o)
	return d.object(func(key string) error {
		switch key {
		case "pid":
			return d.identity(&o.pid)
		case "mainThreadIndex":
			return d.integer(&o.thread)
		case "samples":
			length, err := d.table([]named{
				{"time", &o.time}, {"locking", &o.locking}, {"expiredMarkerCleaning", &o.expired},
				{"counters", &o.counters}, {"threads", &o.threads},
			})
			o.rows = d.rows(length, &o.time)
			return err
		}
		return d.Skip()
	})
}

// counterKind is the kind of the values on a counter's track.
type counterKind uint8

const (
	levelCounter counterKind = iota // the running sum
	rateCounter                     // increments per second
	cpuCounter                      // CPU time, as a share of wall time
	powerCounter                    // pWh, as watts
)

// kind derives the kind from the category and the display settings, as in the front end.
func (c *counter) kind() counterKind {
	switch {
	case c.category == "power" || c.unit == "pWh":
		return powerCounter
	case c.category == "CPU" && (c.unit == "" || c.unit == "percent"):
		return cpuCounter
	case c.graph == "line-rate":
		return rateCounter
	case c.graph == "" && c.category == "Bandwidth":
		return rateCounter
	}
	return levelCounter
}

// counterLabels holds the display names of Firefox counters that have no label.
var counterLabels = map[string]string{"malloc": "Memory", "processCPU": "Process CPU", "bandwidth": "Bandwidth"}

// key returns the key of a counter's track.
func (c *counter) key(kind counterKind) timeline.CounterKey {
	name := cmp.Or(c.label, counterLabels[c.name], c.name)
	k := timeline.CounterKey{Name: []byte(name), Description: c.description}
	if name != c.name {
		k.Description = c.name + ": " + c.description
	}
	unit := c.unit
	if unit == "" && (c.category == "Memory" || c.category == "Bandwidth") {
		unit = "bytes"
	}
	switch {
	case kind == powerCounter:
		k.UnitName = "W"
	case kind == cpuCounter:
		k.UnitName = "%"
	case kind == rateCounter && unit == "bytes":
		k.UnitName = "B/s"
	case kind == rateCounter && unit != "" && unit != "number":
		k.UnitName = unit + "/s"
	case kind == rateCounter:
		k.UnitName = "/s"
	case unit == "bytes":
		k.Unit = timeline.UnitBytes
	case unit != "number":
		k.UnitName = unit
	}
	return k
}

const (
	// wattSeconds is one pWh (1e-12 Wh) in watt seconds.
	wattSeconds = 3.6e-9
	// cpuNanosPerMilli is the CPU time, in ns, that a busy processor uses in a millisecond.
	cpuNanosPerMilli = 1e6
)

// addCounter adds a counter and its values.
func (c *converter) addCounter(process *process, ct *counter) error {
	if ct.samples.rows == 0 {
		return nil
	}
	kind := ct.kind()
	key := ct.key(kind)
	name := process.pid + " " + string(key.Name)
	key.Unique = c.counters[name] // counters with the same name stay separate
	c.counters[name]++
	track := c.b.Counter(process.track, &key)
	if kind == levelCounter {
		return c.addLevels(track, ct, process.delta)
	}
	return c.addRates(track, ct, kind, process.delta)
}

// counts yields the time of each row of a counter, in ms, and the increment since the previous row. The first increment
// includes values from before the recording and is replaced by 0 (section 9).
func (c *converter) counts(ct *counter, delta float64) iter.Seq2[float64, float64] {
	return func(yield func(time, count float64) bool) {
		s := &ct.samples
		for i := range s.rows {
			count, time := s.count[i], s.time[i]+delta
			if math.IsNaN(count) || math.IsNaN(time) {
				c.log.Add(problem.CounterInvalidValue, rowOf(i), ct.name)
				continue
			}
			if i == 0 {
				count = 0
			}
			if _, ok := c.nanos(time); !ok {
				c.log.Add(timeProblem(time), rowOf(i), ct.name)
			}
			if !yield(time, count) {
				return
			}
		}
	}
}

// addLevels adds the running sum of a counter.
func (c *converter) addLevels(track timeline.TrackID, ct *counter, delta float64) error {
	sum := 0.0
	for time, count := range c.counts(ct, delta) {
		sum += count
		if at, ok := c.nanos(time); ok {
			if err := c.addValue(track, at, sum); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRates adds increments per unit of time. A counter value in a trace lasts until the next one, so each rate is placed at the
// start of its interval, and a 0 follows the last interval.
func (c *converter) addRates(track timeline.TrackID, ct *counter, kind counterKind, delta float64) error {
	before := math.NaN()
	last := timeline.Nanos(none)
	for time, count := range c.counts(ct, delta) {
		from := before
		before = time
		if math.IsNaN(from) && count == 0 {
			from = time // no earlier increments
		} else if !(time > from) {
			from = time - c.interval
		}
		end, ok := c.nanos(time)
		if !ok {
			continue
		}
		last = max(last, end)
		at, ok := c.since(from)
		if !ok || from == time {
			continue
		}
		length := (math.Round(time*1e6) - math.Round(from*1e6)) / 1e6
		if err := c.addValue(track, at, kind.rate(count, length)); err != nil {
			return err
		}
	}
	if last == none {
		return nil
	}
	return c.addValue(track, last, 0)
}

// rate converts a count over a period, in ms, to the counter's unit.
func (k counterKind) rate(count, length float64) float64 {
	switch k {
	case cpuCounter:
		return 100 * perUnit(count, length*cpuNanosPerMilli) // percent of one processor; a process can use several
	case powerCounter:
		return perUnit(count*wattSeconds, length/1000)
	}
	return perUnit(count, length/1000)
}

// since converts the start of an interval like nanos, but replaces a time before the start of the trace with 0.
func (c *converter) since(ms float64) (timeline.Nanos, bool) {
	at, ok := c.nanos(ms)
	if !ok && timeProblem(ms) == problem.EventNegativeTimestamp {
		return 0, true
	}
	return at, ok
}

// perUnit divides a count by a length of time. It returns 0 if the length is not positive.
func perUnit(count, length float64) float64 {
	if !(length > 0) {
		return 0
	}
	return count / length
}

// addCounters adds the counters of all processes and the cost of the profiler.
func (c *converter) addCounters() error {
	return c.eachProfile(c.root, func(p *profile) error {
		for _, ct := range p.counters {
			if pr := c.processOf(p, ct.pid, ct.thread); pr != nil {
				if err := c.addCounter(pr, ct); err != nil {
					return err
				}
			}
		}
		for _, o := range p.overheads {
			if pr := c.processOf(p, o.pid, o.thread); pr != nil {
				if err := c.addOverhead(pr, o); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// processOf returns the process of a counter. In the processed form, it finds the process by its main thread or pid;
// otherwise, it returns the process of the profile. If the process does not exist yet, processOf creates it.
func (c *converter) processOf(p *profile, pid identity, main int64) *process {
	if pid.text == "" && p.isProcessed() && main >= 0 && main < int64(len(p.threads)) {
		return c.threads[p.firstThread+int(main)].process
	}
	if known := c.processes.byPID[pid.text]; known != nil && p.isProcessed() {
		return known
	}
	if p.process != nil && (pid.text == "" || !p.isProcessed()) {
		return p.process
	}
	return c.process(&thread{pid: pid}, !p.isProcessed())
}

// addOverhead adds the profiler's overhead in a process. Its times are in microseconds.
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
