package report

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Job is the position of one process in a distributed training run, as recorded in the trace of the process.
type Job struct {
	Rank      int64  `json:"rank"`                 // in a merge: the rank of the reference
	Ranks     int    `json:"ranks,omitempty"`      // the number of merged ranks; 0: not a merge
	WorldSize int64  `json:"world_size,omitempty"` // number of ranks; 0: unknown
	Backend   string `json:"backend,omitempty"`    // of the communication: "nccl"
}

// Device is the utilisation of a GPU or another device. Simultaneous work on several streams counts once.
type Device struct {
	Device  int64            `json:"device"`         // the producer's number for it
	Name    string           `json:"name,omitempty"` // "NVIDIA H100 80GB HBM3"
	Rank    *int64           `json:"rank,omitempty"` // of the process; nil: unknown
	Process string           `json:"process"`
	PID     timeline.InputID `json:"pid"`
	Kernels int64            `json:"kernels"`
	Copies  int64            `json:"copies"` // memory copies and fills
	Bytes   int64            `json:"bytes"`  // copied and filled, where recorded

	// Window is the time from the start of the first work on any device of the trace to the end of the last such work. Busy is
	// the time in which the device worked, and Idle is the rest.
	Window timeline.Nanos `json:"window_ns"`
	Busy   timeline.Nanos `json:"busy_ns"`
	Idle   timeline.Nanos `json:"idle_ns"`
	// Compute, Communication and Copy are the times with computing kernels, with communicating kernels, and with copies and
	// fills. Hidden is the time of communication and copies during which the device also computes.
	Compute       timeline.Nanos `json:"compute_ns"`
	Communication timeline.Nanos `json:"communication_ns"`
	Copy          timeline.Nanos `json:"copy_ns"`
	Hidden        timeline.Nanos `json:"hidden_ns"`

	Recorded RecordedAs `json:"-"`
}

// Stream is the utilisation of a device stream.
type Stream struct {
	ThreadID
	Rank    *int64         `json:"rank,omitempty"` // as in Device
	Device  int64          `json:"device"`
	Kernels int64          `json:"kernels"`
	Copies  int64          `json:"copies"`
	Window  timeline.Nanos `json:"window_ns"` // as in Device
	Busy    timeline.Nanos `json:"busy_ns"`
	Idle    timeline.Nanos `json:"idle_ns"`
	Overlap timeline.Nanos `json:"overlap_ns"` // time with several slices at once
	// LongestIdle is the longest gap between two slices of the stream, and LongestIdleAt its start; 0 and nil without gaps.
	LongestIdle   timeline.Nanos  `json:"longest_idle_ns,omitempty"`
	LongestIdleAt *timeline.Nanos `json:"longest_idle_ts_ns,omitempty"`
}

// Step is one iteration of training or inference, as marked by PyTorch's profiler.
type Step struct {
	Name string `json:"name"` // "ProfilerStep#4"
	ThreadID
	Rank     *int64         `json:"rank,omitempty"` // as in Device
	Start    timeline.Nanos `json:"ts_ns"`
	Duration timeline.Nanos `json:"dur_ns"`
	// DeviceBusy is the time in which the devices of the step's recording worked during the step, summed over all these devices.
	// Work that the step launched may also run after it.
	DeviceBusy timeline.Nanos `json:"device_busy_ns"`
	// DeviceBusy consists of three parts: in Compute, kernels compute; in Communication, kernels only communicate; and in Copy,
	// only copies and fills run.
	Compute       timeline.Nanos `json:"compute_ns"`
	Communication timeline.Nanos `json:"exposed_communication_ns"`
	Copy          timeline.Nanos `json:"exposed_copy_ns"`
	Devices       int            `json:"devices"`
}

// Memory limits for devices.
const (
	maxDevices = 1 << 8
	maxStreams = 1 << 12
	maxSteps   = 1 << 16
)

// The kinds of work that can run on a device, and on a stream, at the same time.
const (
	computing = iota
	communicating
	copying
	workKinds
)

// deviceCounter determines how busy devices are.
type deviceCounter struct {
	tl      *timeline.Timeline
	wanted  *timeline.ArgSelection
	devices []*deviceWork
	streams []*streamWork
	byID    map[deviceKey]*deviceWork
	byTrack map[timeline.TrackID]*streamWork
	steps   []Step
	started []startedStep     // by step
	ranks   map[string]*int64 // by input
	first   timeline.Nanos    // start of the first work
	last    timeline.Nanos    // end of the last work

	uncounted int64 // work and steps for which there is no room
}

// deviceKey identifies a device of a process: joined files can use the same number for different devices.
type deviceKey struct {
	process timeline.TrackID
	number  int64
}

type deviceWork struct {
	Device
	input string // see timeline.Track
	busy  busyTimes
}

// startedStep is the state at the start of a step.
type startedStep struct {
	input  string
	worked [workKinds]timeline.Nanos // busy times of the input's devices until then
}

type streamWork struct {
	Stream
	track       timeline.TrackID
	on          *deviceWork
	until, next timeline.Nanos // the ends of the slices that end last and second to last
	any         bool
}

// busyTimes sums the times of a device by the set of kinds of work in progress. Work arrives sorted by start, so the only state
// is when each kind of work ends.
type busyTimes struct {
	any   bool
	now   timeline.Nanos
	until [workKinds]timeline.Nanos
	spent [1 << workKinds]timeline.Nanos // by set of kinds
}

// advance adds up the time until now.
func (b *busyTimes) advance(now timeline.Nanos) {
	for b.any && b.now < now {
		set, next := 0, now
		for kind, until := range b.until {
			if until > b.now {
				set |= 1 << kind
				next = min(next, until)
			}
		}
		sum(&b.spent[set], next-b.now)
		b.now = next
	}
}

// begin handles the start of some work.
func (b *busyTimes) begin(kind int, from, to timeline.Nanos) {
	if !b.any {
		*b = busyTimes{any: true, now: from, until: [workKinds]timeline.Nanos{from, from, from}}
	}
	b.advance(from)
	b.until[kind] = max(b.until[kind], to)
}

// finish adds up the time of work that has not ended yet.
func (b *busyTimes) finish() {
	for _, until := range b.until {
		b.advance(until)
	}
}

// with returns the time with work of any of the given kinds.
func (b *busyTimes) with(kinds int) (t timeline.Nanos) {
	for set, spent := range b.spent {
		if set&kinds != 0 {
			sum(&t, spent)
		}
	}
	return t
}

func newDeviceCounter(tl *timeline.Timeline) *deviceCounter {
	return &deviceCounter{
		tl: tl, byID: map[deviceKey]*deviceWork{}, byTrack: map[timeline.TrackID]*streamWork{}, ranks: map[string]*int64{},
		wanted: tl.SelectArgs(func(name string) bool { return name == "device" || name == "stream" || name == "bytes" }),
	}
}

// begin handles the start of a slice on a thread, and returns the table that the slice belongs to and the number of bytes that it
// copied.
func (c *deviceCounter) begin(it *timeline.Item, thread timeline.TrackID, o *openSum) (kind SliceKind, moved int64) {
	switch string(it.Category) {
	case producers.CPUOperator:
		return Operators, 0
	case producers.UserAnnotation:
		c.beginStep(it, thread, o)
		return ThreadSlices, 0
	case producers.Kernel:
		kind = Kernels
	case producers.GPUMemcpy, producers.GPUMemset:
		kind = Copies
	default:
		return ThreadSlices, 0
	}
	var device int64
	var onDevice, onStream bool
	for arg := range c.wanted.List(it.Args) {
		if arg.Kind != timeline.ArgInt {
			continue
		}
		switch string(arg.Key) {
		case "device":
			device, onDevice = arg.Int(), true
		case "stream":
			onStream = true
		case "bytes":
			moved = arg.Int()
		}
	}
	if !onDevice || !onStream {
		return ThreadSlices, 0 // from another producer, for which the category means something else
	}
	if it.Dur != timeline.NoTime {
		c.work(it, kind, thread, device, moved)
	}
	return kind, max(moved, 0)
}

// work handles a slice of device work.
func (c *deviceCounter) work(it *timeline.Item, kind SliceKind, thread timeline.TrackID, device, moved int64) {
	s := c.stream(thread, device)
	if s == nil {
		c.uncounted++
		return
	}
	end := endOf(&it.Head)
	if len(c.streams) == 1 && !s.any {
		c.first, c.last = it.TS, end
	}
	c.last = max(c.last, end)
	if kind == Copies {
		s.Copies++
		s.on.Copies++
		sum(&s.on.Bytes, moved)
	} else {
		s.Kernels++
		s.on.Kernels++
	}
	s.on.busy.begin(workOf(it), it.TS, end)
	s.begin(it.TS, end)
}

// isDeviceWork reports whether slices of a category are device work.
func isDeviceWork(category []byte) bool {
	return producers.IsGPUWork(category) && string(category) != producers.GPUAnnotation
}

// workOf returns the kind of a slice of device work.
func workOf(it *timeline.Item) int {
	switch {
	case string(it.Category) != producers.Kernel:
		return copying
	case isCommunication(it.Name):
		return communicating
	}
	return computing
}

// isCommunication reports whether a kernel exchanges data with other devices. NCCL and RCCL kernels do so; they are recognised by
// their names.
func isCommunication(kernel []byte) bool {
	return bytes.HasPrefix(kernel, []byte("nccl")) || bytes.HasPrefix(kernel, []byte("rccl"))
}

// stream returns the stream of a thread; nil if there are too many.
func (c *deviceCounter) stream(thread timeline.TrackID, device int64) *streamWork {
	if s := c.byTrack[thread]; s != nil {
		return s
	}
	key := deviceKey{c.tl.TrackParent(thread), device}
	d := c.byID[key]
	if len(c.streams) == maxStreams || d == nil && len(c.devices) == maxDevices {
		return nil
	}
	if d == nil {
		process := c.tl.Track(key.process)
		input := process.Input
		d = &deviceWork{input: input, Device: Device{
			Device: device, Name: c.deviceName(input, device), Rank: c.rankOf(input), Process: process.FullName(), PID: process.InputID, Recorded: recordedTrack(&process),
		}}
		c.byID[key] = d
		c.devices = append(c.devices, d)
	}
	s := &streamWork{Stream: Stream{ThreadID: threadID(c.tl, thread), Rank: d.Rank, Device: device}, track: thread, on: d}
	c.byTrack[thread] = s
	c.streams = append(c.streams, s)
	return s
}

// deviceName returns the model of a device, according to an input.
func (c *deviceCounter) deviceName(input string, device int64) string {
	prefix, suffix := factOf(input, "deviceProperties["), "].id"
	for _, a := range c.tl.Attributes() {
		if a.IsInt && a.Int == device && strings.HasPrefix(a.Key, prefix) && strings.HasSuffix(a.Key, suffix) {
			return c.attribute(strings.TrimSuffix(a.Key, "id") + "name").Text
		}
	}
	return ""
}

// factOf returns the attribute key of a fact that an input states about its trace.
func factOf(input, key string) string {
	if input == "" {
		return key
	}
	return timeline.InputFacts + input + "." + key
}

// The facts about the position of a process in a distributed training run.
const (
	rankFact      = "distributedInfo.rank"
	worldSizeFact = "distributedInfo.world_size"
	backendFact   = "distributedInfo.backend"
)

// rankOf returns the rank of the processes of an input; nil if unknown.
func (c *deviceCounter) rankOf(input string) *int64 {
	rank, known := c.ranks[input]
	if !known {
		if a := c.attribute(factOf(input, rankFact)); a.IsInt {
			rank = &a.Int
		}
		c.ranks[input] = rank
	}
	return rank
}

// attribute returns a fact about the trace as a whole; the zero Attribute if there is none.
func (c *deviceCounter) attribute(key string) (found timeline.Attribute) {
	for _, a := range c.tl.Attributes() {
		if a.Key == key {
			return a
		}
	}
	return found
}

// begin handles the start of work on the stream.
func (s *streamWork) begin(from, to timeline.Nanos) {
	if s.any && from > s.until && from-s.until > s.LongestIdle {
		at := s.until
		s.LongestIdle, s.LongestIdleAt = from-at, &at
	}
	if !s.any {
		s.any, s.until, s.next = true, from, from
	}
	sum(&s.Busy, to-max(from, s.until))
	second := min(to, s.until)
	sum(&s.Overlap, second-max(from, s.next))
	s.next, s.until = max(s.next, second), max(s.until, to)
}

// beginStep handles a slice that may be a step.
func (c *deviceCounter) beginStep(it *timeline.Item, thread timeline.TrackID, o *openSum) {
	number, ok := strings.CutPrefix(string(it.Name), producers.StepPrefix)
	if _, err := strconv.ParseUint(number, 10, 64); !ok || err != nil || it.Dur == timeline.NoTime {
		return
	}
	if len(c.steps) == maxSteps {
		c.uncounted++
		return
	}
	process := c.tl.Track(c.tl.TrackParent(thread))
	input := process.Input
	c.steps = append(c.steps, Step{Name: string(it.Name), ThreadID: threadID(c.tl, thread), Rank: c.rankOf(input), Start: it.TS, Duration: it.Dur})
	c.started = append(c.started, startedStep{input, c.busyUntil(input, it.TS)})
	o.step = int32(len(c.steps))
}

func (c *deviceCounter) end(it *timeline.Item, o *openSum) {
	if o.step > 0 {
		start, step := &c.started[o.step-1], &c.steps[o.step-1]
		worked := c.busyUntil(start.input, it.TS)
		step.Compute, step.Communication, step.Copy = worked[computing]-start.worked[computing], worked[communicating]-start.worked[communicating], worked[copying]-start.worked[copying]
		step.DeviceBusy = step.Compute + step.Communication + step.Copy
	}
}

// busyUntil returns how long all devices of an input have worked up to now, by kind of work. Each moment of a device counts only
// for the first kind of work in progress.
func (c *deviceCounter) busyUntil(input string, now timeline.Nanos) (worked [workKinds]timeline.Nanos) {
	for _, d := range c.devices {
		if d.input == input {
			d.busy.advance(now)
			for set, spent := range d.busy.spent[1:] {
				sum(&worked[bits.TrailingZeros(uint(set+1))], spent)
			}
		}
	}
	return worked
}

// finish adds the results to a report.
func (c *deviceCounter) finish(out *Slices) {
	window, devices := c.last-c.first, map[string]int{}
	slices.SortStableFunc(c.devices, compareDevices)
	for _, d := range c.devices {
		d.busy.finish()
		d.Window, d.Busy = window, d.busy.with(1<<workKinds-1)
		d.Idle = window - d.Busy
		d.Compute, d.Communication, d.Copy = d.busy.with(1<<computing), d.busy.with(1<<communicating), d.busy.with(1<<copying)
		d.Hidden = d.Compute + d.busy.with(1<<communicating|1<<copying) - d.Busy
		out.Devices = append(out.Devices, d.Device)
		devices[d.input]++
	}
	slices.SortStableFunc(c.streams, func(a, b *streamWork) int { return compareDevices(a.on, b.on) })
	for _, s := range c.streams {
		s.Window, s.Idle = window, window-s.Busy
		out.Streams = append(out.Streams, s.Stream)
	}
	for i := range c.steps {
		c.steps[i].Devices = devices[c.started[i].input]
	}
	slices.SortStableFunc(c.steps, func(a, b Step) int { return compareRanks(a.Rank, b.Rank) })
	out.Steps, out.UncountedWork = c.steps, c.uncounted
	out.Job = c.job()
}

// compareDevices sorts by rank, input and number.
func compareDevices(a, b *deviceWork) int {
	return cmp.Or(compareRanks(a.Rank, b.Rank), cmp.Compare(a.input, b.input), cmp.Compare(a.Device.Device, b.Device.Device))
}

// compareRanks sorts unknown ranks first.
func compareRanks(a, b *int64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}

// job returns the position of the trace in a distributed training run; nil: unknown.
func (c *deviceCounter) job() *Job {
	rank := c.attribute(rankFact)
	if !rank.IsInt {
		return nil
	}
	job := &Job{Rank: rank.Int, WorldSize: c.attribute(worldSizeFact).Int, Backend: c.attribute(backendFact).Text}
	for _, a := range c.tl.Attributes() {
		if a.IsInt && strings.HasPrefix(a.Key, timeline.InputFacts) && strings.HasSuffix(a.Key, "."+rankFact) {
			job.Ranks++
		}
	}
	return job
}
