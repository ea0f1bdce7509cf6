package jsprofile

import (
	"cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

const (
	// maxDepth limits the nesting of a thread's slices, including a marker, to the depth that Perfetto shows. Browsers
	// record at most half of that depth.
	maxDepth = 512
	// maxShown limits the number of a stack's frames that become slices; a marker may be on top of them.
	maxShown = maxDepth - 1
)

// cancelEvery is the number of samples between checks of the context.
const cancelEvery = 1 << 12

// samples adds all samples. A busy run is added as a whole, because its samples share stacks (C5).
func (t *thread) samples() error {
	all := &t.p.samples
	for i := 0; i < all.Len(); {
		j := i + 1
		if all.At(i).state != idle {
			for j < all.Len() && all.At(j).state != idle && t.adjoins(j-1) {
				j++
			}
		}
		if err := t.run(i, j); err != nil {
			return err
		}
		i = j
	}
	return t.activity.finish(t)
}

// adjoins reports whether a sample lasts until the next one.
func (t *thread) adjoins(i int) bool {
	_, gap := t.length(i)
	return gap == 0
}

// run adds the samples from first up to, but not including, last. Browsers omit the stack of a garbage collection. The
// collection receives the stack of the code that it interrupted: from the nearest earlier sample in the run or, if no
// earlier sample has a stack, from the nearest later one (C6).
func (t *thread) run(first, last int) error {
	previous, next := noIndex, first
	for i := first; i < last; i++ {
		if i%cancelEvery == 0 && t.ctx.Err() != nil {
			return t.ctx.Err()
		}
		s := t.p.samples.At(i)
		stack, source := t.stackOf(s), gcRecorded
		if stack != noIndex {
			previous = stack
		} else if s.state == collecting {
			stack, source = previous, gcPrevious
			if stack == noIndex {
				for next = max(next, i); next < last && t.stackOf(t.p.samples.At(next)) == noIndex; next++ {
				}
				if source = gcNone; next < last {
					stack, source = t.stackOf(t.p.samples.At(next)), gcNext
				}
			}
		}
		if err := t.sample(i, stack, source); err != nil {
			return err
		}
	}
	return nil
}

// stackOf returns the stack of a sample, or noIndex if it is missing or invalid.
func (t *thread) stackOf(s *sample) int32 {
	if s.stack == noIndex || t.stacks.depth(s.stack) == 0 {
		return noIndex
	}
	return s.stack
}

// sample adds one sample: slices, states, gaps and the sample itself.
func (t *thread) sample(i int, stack int32, source gcSource) error {
	s := t.p.samples.At(i)
	length, gap := t.length(i)
	if s.stack != noIndex && t.stackOf(s) == noIndex {
		t.log.Add(problem.BadStack, problem.Position{Event: -1, Offset: s.offset}, "")
	}
	if !t.opts.NoCalls {
		if err := t.calls.update(t, s, stack); err != nil {
			return err
		}
	}
	if err := t.activity.sample(t, s, length, source); err != nil {
		return err
	}
	t.out = timeline.Event{Kind: timeline.Sample, Track: t.track, TS: s.ts, Value: timeline.Int(int64(length)), Callstack: t.callstack(s, stack)}
	if err := t.add(s.offset); err != nil {
		return err
	}
	if gap == 0 && i+1 < t.p.samples.Len() {
		return nil
	}
	if err := t.calls.close(t, 0, s.ts+length, s.offset); err != nil || gap == 0 {
		return err
	}
	return t.gap(s, s.ts+length, gap)
}

// gap adds an instant where samples are missing (C3).
func (t *thread) gap(s *sample, ts, gap timeline.Nanos) error {
	t.log.Add(problem.SamplingGap, problem.Position{Event: -1, Offset: s.offset}, "")
	args := t.b.Args()
	args.Reset()
	beginWeft(args)
	args.Key([]byte("length_ns"))
	args.Int(int64(gap))
	args.EndDict()
	t.out = timeline.Event{Kind: timeline.Instant, Track: t.track, TS: ts, Name: []byte("sampling gap"), Args: args.Args()}
	return t.add(s.offset)
}

// callstack returns the call stack of a sample, with its marker on top.
func (t *thread) callstack(s *sample, stack int32) timeline.CallstackID {
	var id timeline.CallstackID
	if stack != noIndex {
		id = t.stacks.call(stack)
	}
	if !s.state.onTop() {
		return id
	}
	if t.markers[s.state] == 0 {
		t.markers[s.state] = t.b.Frame(timeline.Frame{Function: t.p.states.markerName(s.state)})
	}
	return t.b.PushFrame(id, t.markers[s.state])
}

// markerName returns the name that a marker has among functions (C8).
func (s *states) markerName(id state) string { return "(" + s.names[id] + ")" }

// calls are the open slices of a thread.
type calls struct {
	open   []openCall // outermost first
	seen   int64      // number of samples so far
	stacks []int32    // scratch for the entries of a stack
}

// openCall is an open slice.
type openCall struct {
	key   callKey
	since int64 // number of samples before it
}

// callKey identifies the content of a slice: a frame, or a state (C7, C8).
type callKey struct {
	frame int32 // noIndex: a state
	state state
}

// update opens and closes slices to match the stack and the marker of a sample: slices that match the previous sample
// at the same depth stay open (C7).
func (c *calls) update(t *thread, s *sample, stack int32) error {
	c.stacks = c.stacks[:0]
	if stack != noIndex {
		if t.stacks.depths[stack] > maxShown {
			t.log.Add(problem.StackLimit, problem.Position{Event: -1, Offset: s.offset}, "")
		}
		c.stacks = t.stacks.appendFrames(c.stacks, stack)
	}
	depth := len(c.stacks)
	if s.state.onTop() {
		depth++
	}
	key := func(i int) callKey {
		if i == len(c.stacks) {
			return callKey{frame: noIndex, state: s.state}
		}
		return callKey{frame: t.p.stacks.At(int(c.stacks[i])).frame}
	}
	same := 0
	for same < min(depth, len(c.open)) && c.open[same].key == key(same) {
		same++
	}
	if err := c.close(t, same, s.ts, s.offset); err != nil {
		return err
	}
	for i := same; i < depth; i++ {
		entry := stack
		if i < len(c.stacks) {
			entry = c.stacks[i]
		}
		if err := t.begin(s, key(i), entry); err != nil {
			return err
		}
		c.open = append(c.open, openCall{key(i), c.seen})
	}
	c.seen++
	return nil
}

// begin opens a slice. The parameter entry is the stack entry of its frame, or the stack below its marker.
func (t *thread) begin(s *sample, key callKey, entry int32) error {
	args := t.b.Args()
	args.Reset()
	name, category := anonymous, "js"
	if key.frame == noIndex {
		name, category = t.p.states.markerName(key.state), t.p.states.names[key.state]
	} else {
		f := t.p.frames.At(int(key.frame))
		name = cmp.Or(f.name, anonymous)
		args.CorrelateFunction(f.name, t.p.resource(f), int64(f.line), int64(f.column))
		t.locations.add(args, t.p.resource(f), f)
	}
	if entry != noIndex {
		beginWeft(args)
		args.Key([]byte("stackId"))
		args.Int(int64(entry))
		args.EndDict()
	}
	t.name, t.category = append(t.name[:0], name...), append(t.category[:0], category...)
	t.out = timeline.Event{Kind: timeline.Begin, Track: t.track, TS: s.ts, Name: t.name, Category: t.category, Args: args.Args()}
	return t.add(s.offset)
}

// close ends all open slices except the outermost ones, whose number is keep. It ends the innermost slice first.
func (c *calls) close(t *thread, keep int, ts timeline.Nanos, offset int64) error {
	for i := len(c.open) - 1; i >= keep; i-- {
		args := t.b.Args()
		args.Reset()
		beginWeft(args)
		args.Key([]byte("samples"))
		args.Int(c.seen - c.open[i].since)
		args.EndDict()
		t.out = timeline.Event{Kind: timeline.End, Track: t.track, TS: ts, Args: args.Args()}
		if err := t.add(offset); err != nil {
			return err
		}
		c.open = c.open[:i]
	}
	return nil
}

// locationKeys selects the arguments that give the location of a function's definition (C10).
type locationKeys struct{ url, line, column bool }

func (k *locationKeys) add(args *timeline.ArgsEncoder, resource string, f *frame) {
	if k.url && resource != "" {
		args.Key([]byte("url"))
		args.String([]byte(resource))
	}
	if k.line && f.line > 0 {
		args.Key([]byte("line"))
		args.Int(int64(f.line))
	}
	if k.column && f.column > 0 {
		args.Key([]byte("column"))
		args.Int(int64(f.column))
	}
}

// beginWeft opens the dictionary of arguments that weft adds.
func beginWeft(args *timeline.ArgsEncoder) {
	args.OwnKey([]byte(timeline.OwnArgs))
	args.BeginDict()
}
