package profileexport

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
)

// speedscopeSchema identifies the format of the file.
const speedscopeSchema = "https://www.speedscope.app/file-format-schema.json"

// speedscopeFrame is a frame in the file.
type speedscopeFrame struct {
	Name   string `json:"name"`
	File   string `json:"file,omitempty"`
	Line   int64  `json:"line,omitempty"`
	Column int64  `json:"col,omitempty"`
}

// WriteSpeedscope writes a file for speedscope, with a profile for each thread: its stacks in time order, with empty stacks for
// gaps. Times are nanoseconds from the start of the trace. The profile must be Ordered, and can be written only once.
func (p *Profile) WriteSpeedscope(ctx context.Context, w io.Writer, name string) error {
	p.internContextFrames()
	s := &speedscopeWriter{p: p, w: bufio.NewWriterSize(w, 1<<16)}
	s.raw(`{"$schema":`).json(speedscopeSchema).raw(`,"exporter":`).json("weft@" + pfwire.Version).raw(`,"name":`).json(name)
	s.raw(`,"activeProfileIndex":`).int(int64(p.busiest())).raw(`,"shared":{"frames":[`)
	for i := 1; i < len(p.stacks.frames); i++ {
		f := &p.stacks.frames[i]
		s.comma(i > 1).raw("\n").json(speedscopeFrame{f.Name, f.File, f.Line, f.Column})
	}
	s.raw("\n]},\"profiles\":[")
	if err := p.eachThread(ctx, s.profile); err != nil {
		return err
	}
	s.raw("\n]}\n")
	if s.err != nil {
		return s.err
	}
	return s.w.Flush()
}

// speedscopeWriter writes JSON and keeps the first error.
type speedscopeWriter struct {
	p       *Profile
	w       *bufio.Writer
	err     error
	any     bool
	weights []timeline.Nanos
	path    []FrameID
}

// profile writes the profile of a thread. In the file, weights follow the stacks, so the weights are collected in memory.
func (s *speedscopeWriter) profile(thread int, next func(*piece) (bool, error)) error {
	t := &s.p.Threads[thread]
	start := t.Start - s.p.tl.Totals().Start
	s.comma(s.any).raw("\n{\"type\":\"sampled\",\"name\":").json(t.Title()).raw(`,"unit":"nanoseconds","startValue":`).int(int64(start)).raw(`,"samples":[`)
	s.any = true
	s.weights = s.weights[:0]
	var x, last piece
	covered := t.Start
	for {
		ok, err := next(&x)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if x.length == 0 {
			continue
		}
		if x.start > covered && len(s.weights) > 0 {
			s.stack(&piece{}, true, x.start-covered)
			last = piece{}
		}
		if n := len(s.weights); n > 0 && last.length > 0 && last.stack == x.stack && last.contexts == x.contexts {
			s.weights[n-1] += x.length
		} else {
			s.stack(&x, false, x.length)
		}
		last, covered = x, max(covered, x.start+x.length)
		if s.err != nil {
			return s.err
		}
	}
	s.raw(`],"weights":[`)
	end := start
	for i, weight := range s.weights {
		s.comma(i > 0).int(int64(weight))
		grow(&end, weight)
	}
	s.raw(`],"endValue":`).int(int64(end)).raw("}")
	return s.err
}

// stack writes the frames of a stack.
func (s *speedscopeWriter) stack(x *piece, empty bool, weight timeline.Nanos) {
	s.comma(len(s.weights) > 0).raw("[")
	s.weights = append(s.weights, weight)
	if !empty {
		s.path = s.p.appendFrames(s.path[:0], x.contexts, x.stack)
		for i, id := range s.path {
			s.comma(i > 0).int(int64(id) - 1)
		}
	}
	s.raw("]")
}

func (s *speedscopeWriter) raw(text string) *speedscopeWriter {
	if _, err := s.w.WriteString(text); err != nil && s.err == nil {
		s.err = err
	}
	return s
}

func (s *speedscopeWriter) comma(needed bool) *speedscopeWriter {
	if needed {
		return s.raw(",")
	}
	return s
}

func (s *speedscopeWriter) int(n int64) *speedscopeWriter {
	var digits [20]byte
	if _, err := s.w.Write(strconv.AppendInt(digits[:0], n, 10)); err != nil && s.err == nil {
		s.err = err
	}
	return s
}

func (s *speedscopeWriter) json(v any) *speedscopeWriter {
	b, err := json.Marshal(v)
	if err != nil && s.err == nil {
		s.err = err
	}
	return s.raw(string(jsonscan.Escape(b)))
}
