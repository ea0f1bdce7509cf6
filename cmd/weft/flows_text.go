package main

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// flowText writes flows as text.
type flowText struct {
	*flowPrinter
	on   table.Terminal
	tree flowTree
}

// row writes a line of a table.
func (t *flowText) row(format string, args ...any) error {
	_, err := fmt.Fprintln(t.w, strings.TrimRight(fmt.Sprintf(format, args...), " "))
	return err
}

// head writes the column headings.
func (t *flowText) head(format string, args ...any) error {
	_, err := fmt.Fprintln(t.w, t.on.Heading(fmt.Sprintf(format, args...)))
	return err
}

// placed writes a line with a marker's place between two texts. On narrow terminals it shortens the place.
func (t *flowText) placed(before string, m *marker, after string) error {
	place := t.place(m)
	if t.on.Columns > 0 {
		place = table.Elide(place, max(t.on.Columns-words.Width(before)-words.Width(after), minTextWidth))
	}
	_, err := fmt.Fprintln(t.w, before+place+after)
	return err
}

// narrowColumns is the terminal width below which the list omits columns that would push markers off screen.
const narrowColumns = 100

// narrow reports whether the terminal is too narrow for all columns of the list.
func (t *flowText) narrow() bool { return t.on.Columns > 0 && t.on.Columns < narrowColumns }

// narrowCell returns the one number that a narrow list shows for a flow: its sort key, or its marker count.
func (t *flowText) narrowCell(f *flowindex.Flow, connected int) (title string, width int, cell string) {
	switch t.sort {
	case "length":
		return "LENGTH", 14, table.MomentText(max(f.End-f.Start, 0))
	case "connected":
		return "CONNECTED", 9, table.Thousands(connected)
	case "threads":
		return "THREADS", 7, table.Thousands(f.Threads)
	case "processes":
		return "PROCESSES", 9, table.Thousands(f.Processes)
	}
	return "MARKERS", 7, table.Thousands(f.Members)
}

func (t *flowText) listHead() error {
	if t.narrow() {
		title, width, _ := t.narrowCell(&flowindex.Flow{}, 0)
		return t.head("%-24s %*s  %s", "FLOW", width, title, "FIRST MARKER")
	}
	return t.head("%-36s %7s %9s %9s %16s  %s", "FLOW", "MARKERS", "PROCESSES", "CONNECTED", "LENGTH", "FIRST MARKER")
}

func (t *flowText) listed(f flowindex.Flow, connected int, first *marker) error {
	if t.narrow() {
		_, width, cell := t.narrowCell(&f, connected)
		return t.placed(fmt.Sprintf("%-24s %*s  ", printable(t.name(f)), width, cell), first, "")
	}
	return t.placed(fmt.Sprintf("%-36s %7s %9s %9s %16s  ", printable(t.name(f)), table.Thousands(f.Members), table.Thousands(f.Processes), table.Thousands(connected), table.MomentText(max(f.End-f.Start, 0))), first, "")
}

func (t *flowText) listEnd(listed, found, all int) error {
	of, more := table.Count(all, "flow"), ""
	if found == 0 && t.grep != "" {
		more = fmt.Sprintf("; weft find %s FILE also finds what has no flow", shellWord(printable(t.grep)))
	}
	if listed < found {
		of, more = table.Count(found, "flow"), "; --limit 0 shows all"
	}
	_, err := fmt.Fprintf(t.w, "%s of %s%s\n", table.Thousands(listed), of, more)
	return err
}

func (t *flowText) flow(f flowindex.Flow) error {
	kind := f.Kind + " id"
	if f.Name != "" || f.Category != "" {
		kind += fmt.Sprintf(", name %q, category %q", f.Name, f.Category)
	}
	ended := "ended"
	if !f.Ended {
		ended = "not ended"
	}
	line := fmt.Sprintf("%s (%s): %s on %s, %s long, from %s on, %s", printable(t.name(f)), kind,
		table.Count(f.Members, "marker"), table.Count(f.Threads, "thread"), table.MomentText(max(f.End-f.Start, 0)), t.since(f.Start), ended)
	_, err := fmt.Fprintln(t.w, t.on.Wrap(line, 2))
	return err
}

func (t *flowText) member(_ flowindex.Flow, m *marker) error {
	from := ""
	if m.Previous >= 0 && m.Previous != m.N-1 {
		from = fmt.Sprintf("  (from %d)", m.Previous+1)
	}
	return t.placed(fmt.Sprintf("%5d %s", m.N+1, t.line(m)), m, from)
}

func (t *flowText) markerHead(m *marker) error {
	return t.placed(t.line(m), m, "")
}

func (t *flowText) membership(f flowindex.Flow, m *marker, previous, next []*marker) error {
	if _, err := fmt.Fprintf(t.w, "  %s: marker %s of %s\n", printable(t.name(f)), table.Thousands(m.N+1), table.Thousands(f.Members)); err != nil {
		return err
	}
	for _, side := range []struct {
		name    string
		markers []*marker
	}{{"previous", previous}, {"next", next}} {
		for _, other := range side.markers {
			if err := t.placed(fmt.Sprintf("    %-8s %s", side.name, t.line(other)), other, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// line describes a marker: its time, length and event. Callers append its place.
func (t *flowText) line(m *marker) string {
	length := "-"
	switch {
	case m.End == timeline.NoTime:
		length = "open"
	case m.End > m.TS:
		length = table.MomentText(m.End - m.TS)
	}
	return fmt.Sprintf("%16s %14s  event %-9d ", t.since(m.TS), length, m.Event)
}

func (t *flowText) place(m *marker) string {
	name := m.Name
	if name == "" {
		name = "(no name)"
	}
	return table.Elide(name, maxName) + " · " + pathText(m.track.name)
}

// pathText shortens the path of a track. It replaces command lines with program names.
func pathText(track string) string {
	parts := strings.Split(track, " / ")
	for i, part := range parts {
		parts[i] = table.Elide(timeline.Program(part), maxName)
	}
	return strings.Join(parts, " / ")
}

// since formats a time as the time since the start of the trace.
func (t *flowText) since(ts timeline.Nanos) string { return table.MomentText(ts - t.span.Start) }
