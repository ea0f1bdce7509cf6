package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/timeline"
)

// flowText writes flows for people.
type flowText struct {
	*flowPrinter
	on   terminal
	tree flowTree
}

// row writes a line of a table, as long as the terminal is wide.
func (t *flowText) row(format string, args ...any) error {
	return t.writeRow(strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// head writes the names of columns.
func (t *flowText) head(format string, args ...any) error {
	return t.writeRow(t.on.heading(fmt.Sprintf(format, args...)))
}

func (t *flowText) writeRow(line string) error {
	_, err := t.w.Write(t.on.cut([]byte(line + "\n")))
	return err
}

// narrowColumns is the width of a terminal below which the list has no columns that push the markers out of it.
const narrowColumns = 100

// narrow reports whether the terminal has no room for all columns of the list.
func (t *flowText) narrow() bool { return t.on.columns > 0 && t.on.columns < narrowColumns }

func (t *flowText) listHead() error {
	if t.narrow() {
		return t.head("%-36s %7s  %s", "FLOW", "MARKERS", "FIRST MARKER")
	}
	return t.head("%-36s %7s %9s %16s  %s", "FLOW", "MARKERS", "CONNECTED", "LENGTH", "FIRST MARKER")
}

func (t *flowText) listed(f flowindex.Flow, connected int, first *marker) error {
	if t.narrow() {
		return t.row("%-36s %7s  %s", printable(t.name(f)), thousands(f.Members), t.place(first))
	}
	return t.row("%-36s %7s %9s %16s  %s", printable(t.name(f)), thousands(f.Members), thousands(connected), momentText(max(f.End-f.Start, 0)), t.place(first))
}

func (t *flowText) listEnd(listed, all int) error {
	_, err := fmt.Fprintf(t.w, "%s of %s\n", thousands(listed), count(all, "flow"))
	return err
}

func (t *flowText) flow(f flowindex.Flow) error {
	kind := f.Kind() + " id"
	if f.Name != "" || f.Category != "" {
		kind += fmt.Sprintf(", name %q, category %q", f.Name, f.Category)
	}
	ended := "ended"
	if !f.Ended {
		ended = "not ended"
	}
	_, err := fmt.Fprintf(t.w, "%s (%s): %s on %s, %s long, from %s on, %s\n", printable(t.name(f)), kind,
		count(f.Members, "marker"), count(f.Threads, "thread"), momentText(max(f.End-f.Start, 0)), t.since(f.Start), ended)
	return err
}

func (t *flowText) member(_ flowindex.Flow, m *marker) error {
	from := ""
	if m.Previous >= 0 && m.Previous != m.N-1 {
		from = fmt.Sprintf("  (from %d)", m.Previous+1)
	}
	_, err := fmt.Fprintf(t.w, "%5d %s%s\n", m.N+1, t.line(m), from)
	return err
}

func (t *flowText) markerHead(m *marker) error {
	_, err := fmt.Fprintf(t.w, "%s\n", t.line(m))
	return err
}

func (t *flowText) membership(f flowindex.Flow, m *marker, previous, next []*marker) error {
	if _, err := fmt.Fprintf(t.w, "  %s: marker %s of %s\n", printable(t.name(f)), thousands(m.N+1), thousands(f.Members)); err != nil {
		return err
	}
	for _, side := range []struct {
		name    string
		markers []*marker
	}{{"previous", previous}, {"next", next}} {
		for _, other := range side.markers {
			if _, err := fmt.Fprintf(t.w, "    %-8s %s\n", side.name, t.line(other)); err != nil {
				return err
			}
		}
	}
	return nil
}

// line describes a marker: when, how long, which event, what, where.
func (t *flowText) line(m *marker) string {
	length := "-"
	switch {
	case m.End == timeline.NoTime:
		length = "open"
	case m.End > m.TS:
		length = momentText(m.End - m.TS)
	}
	return fmt.Sprintf("%16s %14s  event %-9d %s", t.since(m.TS), length, m.Event, t.place(m))
}

func (t *flowText) place(m *marker) string {
	name := m.Name
	if name == "" {
		name = "(no name)"
	}
	parts := strings.Split(m.track.name, " / ")
	for i, part := range parts {
		parts[i] = elide(part)
	}
	return printable(elide(name) + " · " + strings.Join(parts, " / "))
}

// elide shortens a long name in the middle: some processes are named by their whole command line.
func elide(name string) string {
	const head, tail = 40, 19
	if utf8.RuneCountInString(name) <= head+1+tail {
		return name
	}
	runes := []rune(name)
	return string(runes[:head]) + "…" + string(runes[len(runes)-tail:])
}

// since writes a time of the trace as the time since its start.
func (t *flowText) since(ts timeline.Nanos) string { return momentText(ts - t.span.Start) }
