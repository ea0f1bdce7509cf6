package firefox

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// hasJS reports whether a thread may have JavaScript frames in its samples.
func (th *threadState) hasJS() bool {
	for i := range th.th.samples.rows {
		if th.th.samples.stack[i] != none {
			return true
		}
	}
	return false
}

// calledFrame is a frame and its function. While a function runs, its frame changes with the line.
type calledFrame struct{ function, frame int32 }

// call is a call that has not ended yet.
type call struct {
	calledFrame
	start   float64
	samples int64
}

// addCalls adds slices for the functions in a thread's samples: a call lasts from the first sample that contains it, with the
// same callers, to the first one without it. The duration of the last sample is the result of lastLength. With onlyJS, frames
// that are not JavaScript are ignored.
func (c *converter) addCalls(th *threadState, track timeline.TrackID, onlyJS bool) error {
	s := &th.th.samples
	var open []call
	var stack []calledFrame
	last := int32(math.MinInt32)
	end := math.Inf(-1)
	for i := range s.rows {
		at := s.time[i] + th.delta
		if math.IsNaN(at) || at < end {
			if !onlyJS { // with onlyJS, addThreadSamples has handled the sample
				c.log.Add(problem.EventInvalidTimestamp, rowOf(i), th.th.name+": a sample out of order")
			}
			continue
		}
		end = at
		if s.stack[i] != last {
			last = s.stack[i]
			stack = th.stacks.appendFrames(stack[:0], last, onlyJS)
			same := 0
			for same < len(open) && same < len(stack) && open[same].function == stack[same].function {
				same++
			}
			if err := c.endCalls(th, track, open[same:], at); err != nil {
				return err
			}
			open = open[:same]
			for _, frame := range stack[same:] {
				open = append(open, call{calledFrame: frame, start: at})
			}
		}
		for j := range open {
			open[j].samples++
		}
	}
	return c.endCalls(th, track, open, end+c.lastLength(s))
}

// lastLength returns the duration of the last sample: its weight in call traces, otherwise one interval.
func (c *converter) lastLength(s *sampleTable) float64 {
	if s.weightType == weightTracing && s.rows > 0 {
		if w := s.weight.at(s.rows - 1); w >= 0 {
			return w
		}
	}
	return c.interval
}

// appendFrames appends the innermost maxCallDepth frames of a stack, outermost first.
func (s *stacks) appendFrames(dst []calledFrame, stack int32, onlyJS bool) []calledFrame {
	if !s.valid(stack) {
		return dst
	}
	for range s.reach() {
		if stack == none || len(dst) == maxCallDepth {
			break
		}
		s.walked++
		frame := s.t.stacks.frame.at(int(stack))
		if f := s.frame(frame); f != nil && (f.isJS || !onlyJS) {
			dst = append(dst, calledFrame{s.function(frame), frame})
		}
		stack = s.parent(stack)
	}
	slices.Reverse(dst)
	return dst
}

// function returns the index of a frame's function, or of its location if frames have no functions.
func (s *stacks) function(frame int32) int32 {
	if len(s.t.frames.fn) > 0 {
		return s.t.frames.fn.at(int(frame))
	}
	return s.t.frames.location.at(int(frame))
}

// maxCallDepth limits the number of frames used from one sample.
const maxCallDepth = 512

// endCalls adds the calls that end at a time, outermost first, so that they are ordered by start time.
func (c *converter) endCalls(th *threadState, track timeline.TrackID, calls []call, at float64) error {
	end, ok := c.nanos(at)
	for i := range calls {
		start, ok2 := c.nanos(calls[i].start)
		if !ok || !ok2 {
			c.log.Add(problem.EventInvalidTimestamp, problem.NoPosition, th.th.name+": a call")
			continue
		}
		f, _ := th.stacks.described(int(calls[i].frame))
		c.beginArgs()
		c.enc.CorrelateFunction(f.Function, f.File, f.Line, f.Column)
		if f.File != "" && c.wants(keyFile) {
			c.key(keyFile)
			c.enc.String(c.bounded([]byte(f.File)))
		}
		if f.Line > 0 && c.wants(keyLine) {
			c.key(keyLine)
			c.enc.Int(f.Line)
		}
		if f.Column > 0 && c.wants(keyColumn) {
			c.key(keyColumn)
			c.enc.Int(f.Column)
		}
		c.weftKey(keySamples)
		c.enc.Int(calls[i].samples)
		c.closeWeft()
		c.out = timeline.Event{
			Kind: timeline.Slice, Track: track, Event: c.event, Offset: -1, TS: start, Dur: end - start,
			Name: c.bounded([]byte(f.Function)), Args: c.enc.Args(),
		}
		c.event++
		if err := c.b.Add(&c.out); err != nil {
			return err
		}
	}
	return nil
}
