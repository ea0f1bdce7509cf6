package main

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxCallers is the number of callers that tables for people name.
const maxCallers = 3

// samplesReport makes the report samples.
func samplesReport(p *report.Profiles, opts report.Options) (reportResult, error) {
	r, err := p.Samples(opts)
	if err != nil {
		return reportResult{}, err
	}
	result := reportResult{json: r}
	for i := range r.Threads {
		t := &r.Threads[i]
		result.threads = append(result.threads, threadTables{
			ThreadID: t.ThreadID, source: t.Source, shows: t.Shows, idle: t.Busy == 0,
			summary: []string{
				fmt.Sprintf("%s for %s ms of %s ms; %s; busy for %s ms", samplesStand(t.Samples), millis(t.Covered),
					millis(t.End-t.Start), gaps(t), millis(t.Busy)),
			},
			tables: samplesTables(t, p.Start),
		})
	}
	return result, nil
}

// samples says how many samples there are.
func samples(n int64) string {
	if n == 1 {
		return "1 sample"
	}
	return thousands(n) + " samples"
}

// samplesStand begins a sentence with them.
func samplesStand(n int64) string {
	if n == 1 {
		return "1 sample stands"
	}
	return samples(n) + " stand"
}

// gaps says how many gaps there are between samples, and how long they are together.
func gaps(t *report.ThreadSamples) string {
	switch t.Gaps {
	case 0:
		return "no gaps"
	case 1:
		return "1 gap of " + millis(t.GapTime) + " ms"
	}
	return fmt.Sprintf("%s gaps, %s ms in total", thousands(t.Gaps), millis(t.GapTime))
}

func samplesTables(t *report.ThreadSamples, start timeline.Nanos) []table {
	return []table{statesTable(t), functionsTable(t), bucketsTable(t, start)}
}

func statesTable(t *report.ThreadSamples) table {
	out := table{name: "states", title: "time by state", key: "time_ns", columns: []column{
		texts("state", "state"), texts("class", "class"), counts("samples", "samples"), times("time_ns", "ms"), shares("share"),
	}}
	for _, s := range t.States {
		out.rows = append(out.rows, []cell{
			textCell(s.State), textCell(s.Class), countCell(s.Samples), timeCell(s.Time), shareCell(s.Time, t.Covered),
		})
	}
	return out
}

// functionsTable has the time of functions by class.
func functionsTable(t *report.ThreadSamples) table {
	out := table{name: "functions", title: "functions, by self time", key: "self_ns", columns: []column{
		spare(1, counts("self_samples", "self samples")), times("self_ns", "self ms"),
		spare(3, countedTimes("script", "script")), spare(6, countedTimes("rendering", "rendering")), spare(5, countedTimes("gc", "gc")), spare(4, countedTimes("other", "other")),
		spare(2, counts("total_samples", "total samples")), times("total_ns", "total ms"),
		texts("function", "function"), texts("location", "location"),
	}, note: more(len(t.Functions), t.FunctionCount, "functions")}
	for i := range t.Functions {
		f := &t.Functions[i]
		self := f.Self.Sum()
		out.rows = append(out.rows, []cell{
			countCell(self.Samples), timeCell(self.Time), classCell(f.Self.Script), classCell(f.Self.Rendering), classCell(f.Self.GC),
			classCell(f.Self.Other), countCell(f.Total.Samples), timeCell(f.Total.Time), textCell(f.Function), textCell(f.Location()),
		})
	}
	return out
}

// classCell shows the time of one class of states and the samples behind it.
func classCell(c report.ClassTime) cell { return countedCell(c.Time, c.Samples) }

func bucketsTable(t *report.ThreadSamples, start timeline.Nanos) table {
	out := table{name: "buckets", title: "time in buckets", key: "start_ns", columns: []column{
		moments("start_ns", "from"), counts("samples", "samples"), countedTimes("script", "script"), countedTimes("rendering", "rendering"),
		countedTimes("gc", "gc"), countedTimes("other", "other"), countedTimes("idle", "idle"),
	}}
	for i := range t.Buckets {
		b := &t.Buckets[i]
		out.rows = append(out.rows, []cell{
			momentCell(b.Start, start), countCell(b.Sum().Samples), classCell(b.Script), classCell(b.Rendering), classCell(b.GC), classCell(b.Other),
			classCell(b.Idle),
		})
	}
	return out
}

// gcReport makes the report gc.
func gcReport(p *report.Profiles, opts report.Options) (reportResult, error) {
	r, err := p.GC(opts)
	if err != nil {
		return reportResult{}, err
	}
	result := reportResult{json: r}
	for i := range r.Threads {
		t := &r.Threads[i]
		if t.Samples == 0 && t.Time == 0 && len(r.Threads) > 1 {
			continue // most threads of a browser
		}
		tables := threadTables{
			ThreadID: t.ThreadID, source: t.Source,
			summary: []string{
				fmt.Sprintf("garbage collector: %s, %s ms; all: %s, %s ms", samples(t.Samples), millis(t.Time), samples(t.AllSamples), millis(t.Covered)),
				fmt.Sprintf("GC call stacks: %s recorded, %s from the previous sample, %s from the next sample, %s unknown", thousands(t.Stacks.Own), thousands(t.Stacks.Previous),
					thousands(t.Stacks.Next), thousands(t.Stacks.None)),
				fmt.Sprintf("busy runs: %s, 50 ms or longer: %s, only because of the collector: %s", thousands(t.BusyRuns), thousands(t.LongRuns), thousands(t.Explained)),
			},
			tables: gcTables(t, p.Start),
		}
		if t.Unmarked {
			tables.summary = []string{"the samples have no markers, so they do not show when the garbage collector ran"}
		}
		result.threads = append(result.threads, tables)
	}
	return result, nil
}

func gcTables(t *report.ThreadGC, start timeline.Nanos) []table {
	return []table{gcStacksTable(t), gcFunctionsTable(t), gcRunsTable(t, start), gcBucketsTable(t, start)}
}

var gcTimeColumns = [...]column{
	counts("samples", "samples"), counts("gc_samples", "gc samples"), spare(2, times("total_ns", "total ms")), times("gc_ns", "gc ms"),
	spare(3, times("own_ns", "own ms")),
}

func gcTimeCells(g *report.GCTime) []cell {
	return []cell{countCell(g.Samples), countCell(g.GCSamples), timeCell(g.Total), timeCell(g.GC), timeCell(g.Own)}
}

func gcStacksTable(t *report.ThreadGC) table {
	out := table{name: "stacks", title: "call stacks that the collector interrupted", key: "gc_ns", columns: append(gcTimeColumns[:], stackColumns[:]...),
		note: more(len(t.ByStack), t.Counts.ByStack, "stacks")}
	for i := range t.ByStack {
		s := &t.ByStack[i]
		out.rows = append(out.rows, append(gcTimeCells(&s.GCTime), stackCells(s.Frames)...))
	}
	return out
}

func gcFunctionsTable(t *report.ThreadGC) table {
	out := table{name: "functions", title: "functions that the collector interrupted", key: "gc_ns", columns: append(gcTimeColumns[:], stackColumns[:2]...),
		note: more(len(t.ByFunction), t.Counts.ByFunction, "functions")}
	for i := range t.ByFunction {
		f := &t.ByFunction[i]
		name := f.Function
		if name == "" {
			name = unknownStack
		}
		out.rows = append(out.rows, append(gcTimeCells(&f.GCTime), textCell(name), textCell(f.Location())))
	}
	return out
}

func gcRunsTable(t *report.ThreadGC, start timeline.Nanos) table {
	out := table{name: "runs", title: "busy runs that are long only because of the collector", key: "start_ns", columns: []column{
		moments("start_ns", "from"), counts("samples", "samples"), counts("gc_samples", "gc samples"), times("time_ns", "ms"), times("gc_ns", "gc ms"),
	}}
	for _, r := range t.Runs {
		out.rows = append(out.rows, []cell{momentCell(r.Start, start), countCell(r.Samples), countCell(r.GCSamples), timeCell(r.Time), timeCell(r.GC)})
	}
	return out
}

func gcBucketsTable(t *report.ThreadGC, start timeline.Nanos) table {
	out := table{name: "buckets", title: "time in buckets", key: "start_ns", columns: []column{
		moments("start_ns", "from"), counts("samples", "samples"), counts("gc_samples", "gc samples"), times("covered_ns", "covered ms"),
		times("gc_ns", "gc ms"), shares("share"),
	}}
	for _, b := range t.Buckets {
		out.rows = append(out.rows, []cell{
			momentCell(b.Start, start), countCell(b.Samples), countCell(b.GCSamples), timeCell(b.Covered), timeCell(b.GC), shareCell(b.GC, b.Covered),
		})
	}
	return out
}

// layoutReport makes the report layout-thrashing.
func layoutReport(p *report.Profiles, opts report.Options) (reportResult, error) {
	r := p.LayoutThrashing(opts)
	result := reportResult{json: r}
	for i := range r.Threads {
		t := &r.Threads[i]
		result.threads = append(result.threads, threadTables{
			ThreadID: t.ThreadID, source: t.Source,
			summary: []string{
				fmt.Sprintf("style and layout forced by script: %s, %s ms; other: %s, %s ms", countOf(t.Count, t.Basis), millis(t.Total),
					countOf(t.Unforced.Count, t.Basis), millis(t.Unforced.Total)),
				fmt.Sprintf("stacks that force it: %s, thrashing: %s", thousands(t.StackCount), thousands(t.Thrashing)),
			},
			tables: layoutTables(t),
		})
	}
	return result, nil
}

// countOf says how many samples or slices there are.
func countOf(n int64, basis report.Basis) string {
	if n == 1 {
		return "1 " + strings.TrimSuffix(string(basis), "s")
	}
	return thousands(n) + " " + string(basis)
}

func layoutTables(t *report.ThreadForced) []table {
	out := table{name: "stacks", title: "call stacks that force style and layout", key: "total_ns", columns: append([]column{
		{name: "basis"}, counts("count", string(t.Basis)), {name: "style_ns", title: "style ms", kind: timeColumn, count: "style_count"},
		{name: "layout_ns", title: "layout ms", kind: timeColumn, count: "layout_count"}, times("total_ns", "total ms"),
		spare(3, counts("episodes", "episodes")), spare(4, counts("runs", "runs")),
		{name: "max_ns_per_run", title: "max ms per run", kind: timeColumn, count: "max_ns_per_run_count", spare: 5},
		spare(6, counts("max_episodes_per_run", "max episodes per run")), spare(2, flags("thrashing", "thrashing")),
	}, stackColumns[:]...), note: more(len(t.ByStack), t.StackCount, "stacks")}
	for i := range t.ByStack {
		s := &t.ByStack[i]
		out.rows = append(out.rows, append([]cell{
			textCell(string(t.Basis)), countCell(s.Count), countedCell(s.Style, s.StyleCount), countedCell(s.Layout, s.LayoutCount), timeCell(s.Total),
			countCell(int64(s.Episodes)), countCell(int64(s.Runs)), countedCell(s.MaxPerRun, s.MaxPerRunCount), countCell(int64(s.MaxEpisodesPerRun)),
			flagCell(s.Thrashing),
		}, stackCells(s.Frames)...))
	}
	return []table{out}
}

// unknownStack is shown where nothing is known of the stack.
const unknownStack = "(no stack)"

var stackColumns = [...]column{texts("function", "function"), texts("location", "location"), spare(1, texts("callers", "called by"))}

// stackCells says of a stack what its innermost function is, and who called it: for people only the nearest callers.
func stackCells(outermostFirst []report.Frame) []cell {
	n := len(outermostFirst)
	if n == 0 {
		return []cell{textCell(unknownStack), textCell(""), textCell("")}
	}
	leaf := outermostFirst[n-1]
	var callers []string
	for i := n - 2; i >= 0; i-- {
		callers = append(callers, outermostFirst[i].Function)
	}
	called := textCell(strings.Join(callers, " < "))
	if hidden := len(callers) - maxCallers; hidden > 0 {
		called.short = fmt.Sprintf("%s < … %s more", strings.Join(callers[:maxCallers], " < "), thousands(hidden))
	}
	return []cell{textCell(leaf.Function), textCell(leaf.Location()), called}
}

// more says that a table is not complete.
func more(shown, all int, what string) string {
	if shown == all {
		return ""
	}
	return fmt.Sprintf("%s of %s %s; --limit 0 shows all", thousands(shown), thousands(all), what)
}
