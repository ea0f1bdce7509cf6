package profileexport

import (
	"bufio"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/words"
)

// WriteFolded writes a line for each stack, in the form that flame graph scripts read: process, thread and frames, separated by
// semicolons, followed by a space and the time in nanoseconds. Stacks without time are omitted. The lines are sorted.
func (p *Profile) WriteFolded(w io.Writer) error {
	lines := map[string]int64{}
	var path []FrameID
	var b strings.Builder
	for i := range p.Sums {
		s := &p.Sums[i]
		if s.Time <= 0 {
			continue
		}
		b.Reset()
		t := &p.Threads[s.Thread]
		if t.Process != "" {
			b.WriteString(foldedName(t.Process) + ";")
		}
		b.WriteString(foldedName(t.Name))
		path = p.appendFrames(path[:0], s.contexts, s.stack)
		for _, id := range path {
			b.WriteByte(';')
			b.WriteString(foldedName(p.stacks.frames[id].Name))
		}
		lines[b.String()] += int64(s.Time)
	}
	out := bufio.NewWriter(w)
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		out.WriteString(line)
		out.WriteByte(' ')
		out.WriteString(strconv.FormatInt(lines[line], 10))
		if err := out.WriteByte('\n'); err != nil {
			return err
		}
	}
	return out.Flush()
}

// foldedName escapes a name so that it is one frame on one line.
func foldedName(name string) string {
	return strings.ReplaceAll(words.PrintableLine(name), ";", ":")
}
