package eventstream

import (
	"bufio"
	"context"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// Write writes all events of a timeline as a stream.
func Write(ctx context.Context, dst io.Writer, tl *timeline.Timeline, h *Header) error {
	w := bufio.NewWriterSize(dst, 64<<10)
	if _, err := w.Write(h.Append(nil)); err != nil {
		return err
	}
	rows, enc, footer := resolved.NewReader(tl), NewEncoder(tl), Footer{Complete: true}
	defer rows.Close()
	if _, err := rows.Walk(ctx, resolved.Options{}, func(row *resolved.Row) error {
		footer.Count(row)
		_, err := w.Write(enc.Event(row))
		return err
	}); err != nil {
		return err
	}
	footer.AddProblems(tl.Problems(), enc.Truncated)
	if _, err := w.Write(footer.Append(nil)); err != nil {
		return err
	}
	return w.Flush()
}

// AddProblems adds the problems of the input, and the number of truncated events.
func (f *Footer) AddProblems(found *problem.Log, cut uint64) {
	for _, total := range found.Totals() {
		f.addProblem(total.Kind, total.Count)
	}
	if cut > 0 {
		f.addProblem(problem.EventSizeLimit, cut)
	}
}

func (f *Footer) addProblem(k problem.Kind, n uint64) {
	f.Problems = append(f.Problems, Problem{Name: k.Name(), Severity: k.Severity().String(), Count: n})
}

// IsUsual reports whether a problem is common in the format of one of the inputs.
func (p *Problem) IsUsual(inputs []Input) bool {
	return slices.ContainsFunc(inputs, func(in Input) bool { return problem.Usual(p.Name, in.Format) != "" })
}

// Lost returns the number of times that input data was lost: in total, and excluding problems that are common in the format
// of an input.
func (f *Footer) Lost(inputs []Input) (all, unusual uint64) {
	for _, p := range f.Problems {
		if p.Severity != problem.Lost.String() {
			continue
		}
		all = problem.Sum(all, p.Count)
		if !p.IsUsual(inputs) {
			unusual = problem.Sum(unusual, p.Count)
		}
	}
	return all, unusual
}
