package main

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-trace/weft/convert"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// screenWidth is the width of text that is not written to a terminal.
const screenWidth = 100

// screen builds text that fits the terminal. It shortens long lines in the middle, and omits lines of long lists.
type screen struct {
	bytes.Buffer
	width int
	on    table.Terminal
	rows  int // per list; -1: as many as fit on the screen, 0: all
}

func newScreen(env *environment) *screen {
	s := &screen{width: screenWidth, on: env.terminal(env.stdout), rows: -1}
	if s.on.Columns > 0 {
		s.width = max(s.on.Columns, 40)
	}
	return s
}

// line adds a line.
func (s *screen) line(text string) { fmt.Fprintln(s, table.Elide(text, s.width)) }

// labelWidth is the width of the label column.
const labelWidth = 12

// row adds a line with a label. If the label is "", the line continues the line above it. If the text is empty, row adds nothing.
func (s *screen) row(label, text string) {
	if text != "" {
		s.line(words.PadRight("  "+label, labelWidth+2) + table.Elide(text, s.width-labelWidth-2))
	}
}

// list adds lines with a label, and the number of lines left out. The parameter limit applies only if rows is -1.
func (s *screen) list(label string, limit int, lines []string) {
	switch {
	case s.rows == 0 || s.rows > 0 && len(lines) <= s.rows:
		limit = len(lines)
	case s.rows > 0:
		limit = s.rows + 1 // including the line with the number of others
	}
	for i, text := range lines {
		switch {
		case i == limit-1 && len(lines) > limit && limit > 1:
			s.row("", fmt.Sprintf("… and %s more", table.Thousands(int64(len(lines)-i))))
			return
		case i == limit:
			return
		case i > 0:
			label = ""
		}
		s.row(label, text)
	}
}

// fill adds one line with the words of a list that fit, and the number of the others.
func (s *screen) fill(label string, list []string) {
	room, line := s.width-labelWidth-2, ""
	for i, word := range list {
		next := word
		if i > 0 {
			next = line + ", " + word
		}
		more := ""
		if rest := len(list) - i - 1; rest > 0 {
			more = fmt.Sprintf(", … %s more", table.Thousands(rest))
		}
		if i > 0 && words.Width(next+more) > room {
			line += fmt.Sprintf(", … %s more", table.Thousands(len(list)-i))
			break
		}
		line = next
	}
	s.row(label, line)
}

// overview describes a recording in at most 40 lines by default.
func (s *screen) overview(name string, r *convert.Report, o *report.Overview, part bool) {
	rec := &o.Recording
	what := title(rec, r.Format)
	title := table.Elide(inputName(name), max(s.width-words.Width(what)-2, 20)) + ": " + what
	fmt.Fprintln(s, s.on.Heading(table.Elide(title, s.width)))
	s.row("length", lengthLine(rec, r))
	s.row("busy", s.on.Spark(o.Busy[:]))
	s.row("file", fileLine(r))
	s.fill("events", eventWords(r))
	if part {
		s.row("part", "what follows is about the selected part only")
	}
	s.list("command", 1, rec.Commands)
	s.list("pages", 3, pageLines(o.Pages))
	s.list("processes", 5, processLines(o.Processes))
	s.list("threads", 5, threadLines(o.Threads))
	s.list("sampled", 3, sampledLines(o.Threads))
	s.fill("categories", categoryWords(o.Categories))
	if r.Span != nil {
		s.list("long tasks", 4, taskLines(o.Tasks, r.Span.Start))
		s.list("inputs", 4, inputLines(o.Inputs, r.Span.Start))
	}
	s.fill("contexts", contextWords(o))
	s.row("problems", problemsLine(r))
	s.next(name, r, o)
}

// next adds commands to copy. FILE replaces a file name that is too long for the screen.
func (s *screen) next(name string, r *convert.Report, o *report.Overview) {
	lines := nextLines(shellWord(name), r, o)
	if slices.ContainsFunc(lines, func(line string) bool { return words.Width(line) > s.width-labelWidth-2 }) {
		lines = nextLines("FILE", r, o)
	}
	s.rows = 0
	s.list("next", len(lines), lines)
}

// formatTitles describes inputs whose producer is unknown.
var formatTitles = map[convert.Format]string{
	convert.FormatChromeJSON: "a trace in Chrome's JSON format", convert.FormatPerfetto: "a Perfetto trace",
	convert.FormatCPUProfile: "a V8 CPU profile", convert.FormatFirefox: "a profile of the Firefox Profiler",
	convert.FormatJSProfile: "a JavaScript self-profile of a page", convert.FormatProbes: "probe lines of a tracer",
	convert.FormatOTLP: "spans of OpenTelemetry", convert.FormatHAR: "an HTTP archive",
}

// title describes a recording in a few words.
func title(rec *report.Recording, format convert.Format) string {
	if rec.Producer == "" {
		return formatTitles[format]
	}
	return "a recording of " + strings.TrimSpace(rec.Producer+" "+rec.Version)
}

// lengthLine states the length, date and system of a recording.
func lengthLine(rec *report.Recording, r *convert.Report) string {
	line := "no events"
	if r.Span != nil {
		line = lengthText(r.Span.End - r.Span.Start)
		if r.Tracks.Processes > 0 {
			line += ", " + threadsText(r.Tracks)
		}
	}
	if rec.Recorded != "" {
		line += ", recorded " + recordedText(rec.Recorded)
	}
	if rec.System != "" {
		line += " on " + rec.System
	}
	return line
}

// recordedText formats the time of a recording. Text other than an RFC 3339 time is kept as the producer wrote it.
func recordedText(recorded string) string {
	t, err := time.Parse(time.RFC3339, recorded)
	if err != nil {
		return printable(recorded)
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

func fileLine(r *convert.Report) string {
	line := string(r.Format)
	if len(r.Containers) > 0 {
		line += " in " + strings.Join(r.Containers, " in ")
	}
	line += ", " + formatSize(r.BytesIn)
	if r.BytesUnpacked != r.BytesIn {
		line += " (" + formatSize(r.BytesUnpacked) + " unpacked)"
	}
	return line
}

// eventWords counts events by kind.
func eventWords(r *convert.Report) (words []string) {
	e := &r.Events
	for _, kind := range []struct {
		n         int64
		one, many string
	}{
		{e.Slices, "slice", "slices"}, {e.Instants, "instant", "instants"}, {e.CounterValues, "counter value", "counter values"},
		{e.Samples, "sample", "samples"}, {e.Flows, "flow", "flows"}, {e.Screenshots, "screenshot", "screenshots"},
	} {
		if kind.n > 0 {
			words = append(words, table.Plural(kind.n, kind.one, kind.many))
		}
	}
	if own := addedText(e); own != "" {
		words = append(words, own)
	}
	if r.Span == nil {
		return []string{"none"}
	}
	return words
}

func pageLines(pages []report.PageTime) (lines []string) {
	for i := range pages {
		lines = append(lines, fmt.Sprintf("%11s  %s", milliText(pages[i].Busy), pages[i].URL))
	}
	return lines
}

// processLines returns a line for each busy process.
func processLines(processes []report.ProcessTime) (lines []string) {
	for i := range processes {
		p := &processes[i]
		if p.Busy == 0 {
			break
		}
		line := fmt.Sprintf("%11s  %s", milliText(p.Busy), table.Elide(p.Recorded.Title(p.Process, p.PID), maxName))
		if shows := cmp.Or(p.Shows, strings.Join(p.Labels, ", ")); shows != "" && shows != p.Process {
			line += "  " + shows
		}
		lines = append(lines, line)
	}
	return lines
}

// threadLines returns a line for each busy thread.
func threadLines(threads []report.ThreadTime) (lines []string) {
	for i := range threads {
		t := &threads[i]
		if t.Busy == 0 {
			break
		}
		lines = append(lines, fmt.Sprintf("%11s  %s", milliText(t.Busy), threadPlace(t)))
	}
	return lines
}

// threadPlace names a thread with the page it shows, or otherwise with its process.
func threadPlace(t *report.ThreadTime) string {
	line := t.ShownTID().Title(table.Elide(t.Thread, 40), "tid")
	if t.Shows != "" && t.Shows != t.Process {
		return line + "  " + t.Shows
	}
	return line + " of " + table.Elide(t.ProcessTitle(), maxName)
}

// sampledLines returns a line for each thread with samples, busiest first.
func sampledLines(threads []report.ThreadTime) (lines []string) {
	for i := range threads {
		t := &threads[i]
		if t.Samples == 0 {
			continue
		}
		lines = append(lines, fmt.Sprintf("%s of %s, %s", table.Plural(t.Samples, "sample", "samples"),
			t.ShownTID().Title(table.Elide(t.Thread, 40), "tid"), "about every "+milliText(t.Sampled/timeline.Nanos(t.Samples))))
	}
	return lines
}

func categoryWords(categories []report.CategoryCount) (words []string) {
	for i := range categories {
		words = append(words, fmt.Sprintf("%s %s", printable(categories[i].Category), table.Thousands(categories[i].Events)))
	}
	return words
}

func taskLines(tasks []report.OverviewTask, start timeline.Nanos) (lines []string) {
	for i := range tasks {
		t := &tasks[i]
		line := fmt.Sprintf("%11s  at %s on %s", milliText(t.Duration), table.MomentText(t.Start-start), t.ShownTID().Title(table.Elide(t.Thread, 24), "tid"))
		if t.Name != "" {
			note := producers.RecorderNote(t.Name)
			line += ": " + placeText(t.Name, t.Location, screenWidth-labelWidth-5-words.Width(line+note))
			line = strings.TrimSuffix(line+" "+note, " ")
		}
		lines = append(lines, line)
	}
	return lines
}

// placeText formats a name and its location to fit in room columns. It shortens the location first.
func placeText(name, location string, room int) string {
	text := table.Elide(printable(name), max(room, minTextWidth))
	if room -= words.Width(text) + 1; location != "" && room >= minTextWidth {
		text += " " + table.Elide(printable(location), room)
	}
	return text
}

func inputLines(inputs []report.OverviewInput, start timeline.Nanos) (lines []string) {
	for i := range inputs {
		in := &inputs[i]
		lines = append(lines, fmt.Sprintf("%11s  %s at %s", milliText(in.Latency), in.Kind, table.MomentText(in.Start-start)))
	}
	return lines
}

func contextWords(o *report.Overview) (words []string) {
	for _, c := range o.Contexts {
		words = append(words, fmt.Sprintf("%s %s", printable(c.Type), table.Thousands(int64(c.Count))))
	}
	return words
}

// problemsLine counts the problems in one line.
func problemsLine(r *convert.Report) string {
	if len(r.Problems) == 0 {
		return problemCounts(r)
	}
	return problemCounts(r) + "; weft info --problems lists them"
}

// problemCounts counts the problems. It omits usual ones if there are others.
func problemCounts(r *convert.Report) string {
	if counts := countProblems(r, unusual(r)); counts != "" {
		return counts
	}
	if len(r.Problems) > 0 {
		return "none but the usual"
	}
	return "none"
}

// maxSuggested is the maximum number of suggested commands.
const maxSuggested = 6

// nextLines returns commands that show more about a file, most useful first.
func nextLines(file string, r *convert.Report, o *report.Overview) (lines []string) {
	add := func(is bool, what, command string) {
		if is {
			lines = append(lines, fmt.Sprintf("%-27s weft %s %s", what, command, file))
		}
	}
	sampled := slices.ContainsFunc(o.Threads, func(t report.ThreadTime) bool { return t.Samples > 0 })
	add(len(o.Inputs) > 0, "why was a click slow?", "report input")
	add(len(o.Tasks) > 0, "what is in long tasks?", "report tasks")
	add(o.Devices, "how busy were devices?", "report slices")
	add(sampled, "which functions took time?", "report samples")
	add(hasContexts(o, "Request") || r.Format == convert.FormatHAR, "which requests were slow?", "report spans")
	add(len(o.Contexts) > 0, costQuestion(o), "report cost")
	add(!o.Devices && r.Events.Slices > 0, "which slices took time?", "report slices")
	add(r.Events.Flows > 0, "what led to what?", "flows")
	lines = lines[:min(len(lines), maxSuggested-1)]
	add(true, "how can I view it?", "view")
	return lines
}

// costQuestion returns the question that the first table of weft report cost answers.
func costQuestion(o *report.Overview) string {
	switch {
	case o.HasPages:
		return "what did each page cost?"
	case hasContexts(o, "Script"):
		return "what did each script cost?"
	case hasContexts(o, "Request"):
		return "what did each request cost?"
	}
	return "what was the time spent on?"
}

// hasContexts reports whether a file has contexts of a type.
func hasContexts(o *report.Overview, typ string) bool {
	return slices.ContainsFunc(o.Contexts, func(c costtables.TypeCount) bool { return c.Type == typ })
}

// shellWord quotes a file name for a shell where necessary. A name that starts with a dash, which would be a flag, gets the
// prefix "./".
func shellWord(name string) string {
	if len(name) > 1 && name[0] == '-' {
		name = "./" + name
	}
	if name != "" && strings.IndexFunc(name, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || strings.ContainsRune("-_./:@%+,", r) || r > 0x7f)
	}) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
