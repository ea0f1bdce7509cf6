package profileexport

import (
	"io"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/weft-trace/weft/internal/timeline"
)

// Labels of samples in pprof profiles. The labels for contexts are their types in lower case.
const (
	labelProcess  = "process"
	labelThread   = "thread"
	labelCategory = "category"
	labelPID      = "pid" // numeric, if the process has a number
	labelTID      = "tid"
)

// WritePprof writes the profile in pprof format, compressed with gzip: for every stack its count, time and, if known, CPU time,
// with the thread, the category and the contexts as labels. The parameter name is the program's name in pprof. Equal profiles
// result in identical bytes.
func (p *Profile) WritePprof(w io.Writer, name string) error {
	totals := p.tl.Totals()
	out := &profile.Profile{
		SampleType:        []*profile.ValueType{{Type: p.Of.String(), Unit: "count"}, {Type: "time", Unit: "nanoseconds"}},
		DefaultSampleType: "time",
		PeriodType:        &profile.ValueType{Type: "time", Unit: "nanoseconds"},
		Period:            1,
		DurationNanos:     int64(totals.End - totals.Start),
		// All functions have names, so pprof does not need to look them up.
		Mapping: []*profile.Mapping{{ID: 1, File: name, HasFunctions: true, HasFilenames: true, HasLineNumbers: true, HasInlineFrames: true}},
	}
	if p.HasCPU {
		out.SampleType = append(out.SampleType, &profile.ValueType{Type: "cpu", Unit: "nanoseconds"})
	}
	b := pprofBuilder{p: p, out: out, locations: map[FrameID]*profile.Location{}, functions: map[functionKey]*profile.Function{}}
	for i := range p.Sums {
		b.add(&p.Sums[i])
	}
	return out.Write(w)
}

// pprofBuilder builds a pprof profile. Its locations are frames.
type pprofBuilder struct {
	p         *Profile
	out       *profile.Profile
	locations map[FrameID]*profile.Location
	functions map[functionKey]*profile.Function
	path      []FrameID
}

// functionKey identifies a function. pprof stores lines separately.
type functionKey struct{ name, file string }

func (b *pprofBuilder) add(s *Sum) {
	if s.Count == 0 && s.Time == 0 && s.CPU == 0 {
		return
	}
	out := &profile.Sample{Value: []int64{s.Count, int64(s.Time)}, Label: map[string][]string{}, NumLabel: map[string][]int64{}}
	if b.p.HasCPU {
		out.Value = append(out.Value, int64(s.CPU))
	}
	b.path = b.p.appendFrames(b.path[:0], s.contexts, s.stack)
	for i := len(b.path) - 1; i >= 0; i-- {
		out.Location = append(out.Location, b.location(b.path[i]))
	}
	t := &b.p.Threads[s.Thread]
	for _, l := range []struct{ key, value string }{
		{labelProcess, t.Process}, {labelThread, t.Name}, {labelCategory, b.p.category(s.Category)},
	} {
		if l.value != "" {
			out.Label[l.key] = []string{l.value}
		}
	}
	for _, l := range []struct {
		key string
		id  timeline.InputID
	}{{labelPID, t.PID}, {labelTID, t.TID}} {
		if l.id.HasNumber() && !l.id.IsNumber && l.id.Num != 0 {
			out.NumLabel[l.key] = []int64{l.id.Num}
		}
	}
	if b.p.contexts != nil {
		for _, c := range b.p.contexts.lists[s.contexts] {
			out.Label[strings.ToLower(c.typ)] = []string{c.name}
		}
	}
	b.out.Sample = append(b.out.Sample, out)
}

// location returns the location of a frame.
func (b *pprofBuilder) location(id FrameID) *profile.Location {
	if l := b.locations[id]; l != nil {
		return l
	}
	f := b.p.stacks.frames[id]
	key := functionKey{f.Name, f.File}
	fn := b.functions[key]
	if fn == nil {
		fn = &profile.Function{ID: uint64(len(b.out.Function)) + 1, Name: f.Name, SystemName: f.Name, Filename: f.File}
		b.functions[key] = fn
		b.out.Function = append(b.out.Function, fn)
	}
	l := &profile.Location{
		ID:      uint64(len(b.out.Location)) + 1,
		Mapping: b.out.Mapping[0],
		Line:    []profile.Line{{Function: fn, Line: f.Line, Column: f.Column}},
	}
	b.locations[id] = l
	b.out.Location = append(b.out.Location, l)
	return l
}

// category returns the text of a category.
func (p *Profile) category(id timeline.CategoryID) string {
	if id == 0 {
		return ""
	}
	return string(p.tl.Category(id))
}
