package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/weft-trace/weft/internal/migrate"
	"github.com/weft-trace/weft/internal/table"
)

// migrationProgress shows the progress of a migration: as a status line on a terminal, otherwise as one log line per minute.
type migrationProgress struct {
	*migration
	mu       sync.Mutex
	terminal bool
	logged   bool      // write one line per minute
	last     time.Time // time of the latest log line
	shown    bool
}

func (p *migrationProgress) begin(m *migration) {
	p.migration = m
	p.terminal = !m.context.Bool("quiet") && m.env.isTerminal(m.env.stderr)
	p.logged, p.last = !m.context.Bool("quiet"), time.Now()
}

// update shows the current progress.
func (p *migrationProgress) update(state migrate.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.terminal:
		line := []rune(progressLine(&state))
		if width := p.env.width(p.env.stderr); width > 0 {
			line = line[:min(len(line), width-1)]
		}
		fmt.Fprint(p.env.stderr, clearLine+string(line))
		p.shown = true
	case p.logged && time.Since(p.last) >= time.Minute:
		p.last = time.Now()
		fmt.Fprintln(p.env.stderr, progressLine(&state))
	}
}

// print clears the status line and calls fn, which may write to the terminal.
func (p *migrationProgress) print(fn func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.env.stderr, clearLine)
		p.shown = false
	}
	fn()
}

func (p *migrationProgress) end() { p.print(func() {}) }

// progressLine describes the progress of a migration: "12,345 of 80,000 files (3 failed), 41.2 GiB of 260 GiB, 231 MB/s, ETA 15m".
func progressLine(p *migrate.Progress) string {
	least := ""
	if !p.Complete {
		least = "at least "
	}
	line := fmt.Sprintf("%s of %s%s", table.Thousands(p.Done), least, table.Plural(p.Files, "file", "files"))
	if p.Failed > 0 {
		line += fmt.Sprintf(" (%s failed)", table.Thousands(p.Failed))
	}
	line += fmt.Sprintf(", %s of %s, %.0f MB/s", formatSize(p.BytesDone), formatSize(p.Bytes), p.Rate/1e6)
	if p.Left >= 0 {
		line += ", ETA " + etaText(p.Left)
	}
	return line
}

// etaText formats a remaining time, rounded.
func etaText(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Round(time.Minute).Minutes()))
	}
	return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
}

// errStopped ends a migration that stopped early and printed why.
var errStopped = errors.New("stopped")

// stopped explains why a migration stopped early and how to continue.
func (m *migration) stopped(s *migrate.Summary, err error) error {
	stop := (*migrate.Stopped)(nil)
	isStop := errors.As(err, &stop)
	if !isStop && !errors.Is(err, context.Canceled) {
		return err
	}
	text := "interrupted"
	if isStop {
		text = "stopped: " + stop.Reason
	}
	fmt.Fprintf(m.env.stderr, "weft: %s\n", printable(text))
	if s != nil && m.json {
		if err := writeJSON(m.env.stdout, s); err != nil {
			return err
		}
	}
	if s != nil && s.Run != nil && !m.context.Bool("quiet") {
		least := ""
		if s.Run.MoreToFind {
			least = "at least "
		}
		fmt.Fprintf(m.env.stderr, "  this run: %s; %s%s left (%s)\n  The same command goes on.\n", runLine(s.Run), least,
			table.Plural(s.Run.Left, "file is", "files are"), formatSize(s.Run.LeftBytes))
	}
	if isStop {
		return errStopped
	}
	return err
}

// runLine summarizes a run.
func runLine(r *migrate.RunTotals) string {
	line := fmt.Sprintf("%s converted", table.Thousands(r.Converted))
	for _, part := range []struct {
		n    int64
		what string
	}{{r.Failed, "failed"}, {r.FailedBefore, "failed before and not tried again"}, {r.Unchanged, "unchanged"}, {r.Skipped, "skipped"},
		{r.Forgotten, "gone and forgotten"}} {
		if part.n > 0 {
			line += fmt.Sprintf(", %s %s", table.Thousands(part.n), part.what)
		}
	}
	took := time.Duration(r.Seconds * float64(time.Second))
	line += fmt.Sprintf(", in %s", took.Round(time.Millisecond))
	if r.BytesRead > 0 && r.Seconds > 0 {
		line += fmt.Sprintf(" (%.1f MB/s)", float64(r.BytesRead)/r.Seconds/1e6)
	}
	return line
}

// print writes the summary, as JSON to standard output or as text to w.
func (m *migration) print(s *migrate.Summary, w io.Writer) error {
	if m.json {
		return writeJSON(m.env.stdout, s)
	}
	if m.context.Bool("quiet") {
		return nil
	}
	var b strings.Builder
	m.writeTotals(&b, s)
	if !nothingDone(s.Run) {
		writeFormats(&b, s)
		writeProblemTotals(&b, s)
		writeKinds(&b, s)
		writeLook(&b, s)
	}
	m.writeNext(&b, s)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTotals summarizes the archive and the run in a few lines.
func (m *migration) writeTotals(b *strings.Builder, s *migrate.Summary) {
	done, failed, skipped := s.Total(migrate.Done), s.Total(migrate.Failed), s.Total(migrate.Skipped)
	fmt.Fprintf(b, "%s: %s converted, %s → %s", printable(m.context.String("out")), table.Plural(done.Files, "trace", "traces"),
		formatSize(done.Bytes), formatSize(done.BytesOut))
	if failed.Files > 0 {
		fmt.Fprintf(b, "; %s failed", table.Thousands(failed.Files))
	}
	if skipped.Files > 0 {
		fmt.Fprintf(b, "; %s skipped", table.Thousands(skipped.Files))
	}
	if s.Archives > 0 {
		fmt.Fprintf(b, "; from files and %s", table.Plural(s.Archives, "archive", "archives"))
	}
	b.WriteByte('\n')
	switch r := s.Run; {
	case r == nil:
	case nothingDone(r) && r.Found == 0:
		b.WriteString("  nothing to do: there are no inputs left; --status sums up\n")
	case nothingDone(r):
		fmt.Fprintf(b, "  nothing to do: %s unchanged", table.Plural(r.Unchanged, "file is", "files are"))
		if r.FailedBefore > 0 {
			fmt.Fprintf(b, "; %s before and not tried again", table.Plural(r.FailedBefore, "failed", "failed"))
		}
		b.WriteString("; --status sums up\n")
	default:
		fmt.Fprintf(b, "  this run: %s\n", runLine(r))
	}
	if s.Run != nil && s.Run.OutOfShard {
		b.WriteString("  these are the numbers of this shard; --finish sums up all of them\n")
	}
}

// nothingDone reports whether a run changed nothing.
func nothingDone(r *migrate.RunTotals) bool {
	return r != nil && r.Converted+r.Failed+r.Skipped+r.Forgotten == 0
}

func writeFormats(b *strings.Builder, s *migrate.Summary) {
	if len(s.Formats) == 0 {
		return
	}
	b.WriteString("by format:\n")
	columns := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i := range s.Formats {
		f := &s.Formats[i]
		events := f.Events.Slices + f.Events.Instants + f.Events.CounterValues + f.Events.Samples
		fmt.Fprintf(columns, "  %s\t%s\t%s → %s\t%s\n", f.Format, table.Plural(f.Files, "file", "files"), formatSize(f.Bytes),
			formatSize(f.BytesOut), table.Plural(events, "event", "events"))
	}
	columns.Flush()
}

func writeProblemTotals(b *strings.Builder, s *migrate.Summary) {
	if len(s.Problems) == 0 {
		return
	}
	b.WriteString("data problems, by number of files (docs/data-problems.md):\n")
	problems := slices.Clone(s.Problems)
	slices.SortStableFunc(problems, func(a, b migrate.ProblemTotals) int { return cmp.Compare(b.Files, a.Files) })
	columns := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for i := range problems[:min(len(problems), maxProblemKinds)] {
		p := &problems[i]
		fmt.Fprintf(columns, "  %s\t%s\t%s\n", p.Name, table.Plural(int64(min(p.Count, 1<<62)), "case", "cases"), table.Plural(p.Files, "file", "files"))
	}
	columns.Flush()
	if n := len(problems) - maxProblemKinds; n > 0 {
		fmt.Fprintf(b, "  and %d more kinds; --json lists all\n", n)
	}
}

// maxProblemKinds keeps the summary short enough for one screen.
const maxProblemKinds = 10

func writeKinds(b *strings.Builder, s *migrate.Summary) {
	state := migrate.State("")
	for i := range s.Kinds {
		k := &s.Kinds[i]
		if k.State != state {
			state = k.State
			fmt.Fprintf(b, "%s:\n", state)
		}
		more := ""
		if k.Files > int64(len(k.Paths)) {
			more = ", …"
		}
		fmt.Fprintf(b, "  %s: %s: %s%s\n", k.Kind, table.Plural(k.Files, "file", "files"), printable(strings.Join(k.Paths, ", ")), more)
	}
}

// writeLook lists the files that need attention.
func writeLook(b *strings.Builder, s *migrate.Summary) {
	if len(s.Look) == 0 {
		return
	}
	b.WriteString("to look at:\n")
	for i := range s.Look {
		l := &s.Look[i]
		if l.Kind == "" {
			fmt.Fprintf(b, "  %s: lost data: %s\n", printable(l.Input), table.Plural(int64(min(l.Lost, 1<<62)), "case", "cases"))
			continue
		}
		fmt.Fprintf(b, "  %s: %s: %s\n", printable(l.Input), l.Kind, printable(l.Reason))
	}
}

// writeNext suggests the next commands.
func (m *migration) writeNext(b *strings.Builder, s *migrate.Summary) {
	out := shellWord(printable(m.context.String("out")))
	if s.OlderVersions > 0 {
		fmt.Fprintf(b, "%s made by another version of weft; --redo version converts them again\n", table.Plural(s.OlderVersions, "output was", "outputs were"))
	}
	if s.OtherOptions > 0 {
		fmt.Fprintf(b, "%s made with other options\n", table.Plural(s.OtherOptions, "output was", "outputs were"))
	}
	if s.Total(migrate.Failed).Files > 0 {
		fmt.Fprintf(b, "To try again what failed: weft migrate --out %s --retry-failed\n", out)
	}
}

// printDryRun prints what a run would do.
func (m *migration) printDryRun(s *migrate.Summary) error {
	var b strings.Builder
	b.WriteString("would do, and nothing was written:\n")
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i := range s.Decided {
		d := &s.Decided[i]
		fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\n", d.Action, d.Reason, table.Plural(d.Files, "file", "files"), formatSize(d.Bytes))
	}
	columns.Flush()
	_, err := io.WriteString(m.env.stdout, b.String())
	return err
}
