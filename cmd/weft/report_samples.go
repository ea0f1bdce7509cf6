package main

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/report"
)

// maxCallers is the number of callers that tables for people name.
const maxCallers = 3

// makeSamplesReport makes the report samples.
func makeSamplesReport(p *report.Profiles, opts report.Options) (reportResult, error) {
	r, err := p.Samples(opts)
	if err != nil {
		return reportResult{}, err
	}
	result := reportResult{json: r}
	for i := range r.Threads {
		t := &r.Threads[i]
		result.threads = append(result.threads, threadTables{
			ThreadID: t.ThreadID, source: t.Source,
			summary: []string{
				fmt.Sprintf("%d samples stand for %s ms of %s ms; gaps: %d of %s ms; busy runs: %d", t.Samples, millis(t.Covered),
					millis(t.End-t.Start), t.Gaps, millis(t.GapTime), t.BusyRuns),
			},
			tables: []table{statesTable(t), functionsTable(t), bucketsTable(t)},
		})
	}
	return result, nil
}

func statesTable(t *report.ThreadSamples) table {
	out := table{name: "states", title: "time by state", columns: []column{
		{"state", "state", textColumn}, {"class", "class", textColumn}, {"samples", "samples", countColumn},
		{"time_ns", "ms", timeColumn}, {"", "share", shareColumn},
	}}
	for _, s := range t.States {
		out.rows = append(out.rows, []cell{
			textCell(s.State), textCell(s.Class), countCell(s.Samples), timeCell(s.Time), shareCell(s.Time, t.Covered),
		})
	}
	return out
}

func functionsTable(t *report.ThreadSamples) table {
	out := table{name: "functions", title: "functions, by their own time", columns: []column{
		{"self_samples", "self samples", countColumn}, {"self_ns", "self ms", timeColumn},
		{"script_ns", "script", timeColumn}, {"rendering_ns", "rendering", timeColumn}, {"gc_ns", "gc", timeColumn}, {"other_ns", "other", timeColumn},
		{"total_samples", "total samples", countColumn}, {"total_ns", "total ms", timeColumn},
		{"function", "function", textColumn}, {"location", "location", textColumn},
	}, note: more(len(t.Functions), t.FunctionCount, "functions")}
	for i := range t.Functions {
		f := &t.Functions[i]
		self := f.Self.Sum()
		out.rows = append(out.rows, []cell{
			countCell(self.Samples), timeCell(self.Time), timeCell(f.Self.Script.Time), timeCell(f.Self.Rendering.Time), timeCell(f.Self.GC.Time),
			timeCell(f.Self.Other.Time + f.Self.Idle.Time), countCell(f.Total.Samples), timeCell(f.Total.Time),
			textCell(f.Function), textCell(f.Location()),
		})
	}
	return out
}

func bucketsTable(t *report.ThreadSamples) table {
	out := table{name: "buckets", title: "time in buckets", columns: []column{
		{"start_ns", "from ms", timeColumn}, {"samples", "samples", countColumn}, {"script_ns", "script", timeColumn},
		{"rendering_ns", "rendering", timeColumn}, {"gc_ns", "gc", timeColumn}, {"other_ns", "other", timeColumn}, {"idle_ns", "idle", timeColumn},
	}}
	for i := range t.Buckets {
		b := &t.Buckets[i]
		out.rows = append(out.rows, []cell{
			timeCell(b.Start), countCell(b.Sum().Samples), timeCell(b.Script.Time), timeCell(b.Rendering.Time), timeCell(b.GC.Time),
			timeCell(b.Other.Time), timeCell(b.Idle.Time),
		})
	}
	return out
}

// makeGCReport makes the report gc.
func makeGCReport(p *report.Profiles, opts report.Options) (reportResult, error) {
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
		result.threads = append(result.threads, threadTables{
			ThreadID: t.ThreadID, source: t.Source,
			summary: []string{
				fmt.Sprintf("garbage collector: %d samples, %s ms of %s ms covered", t.Samples, millis(t.Time), millis(t.Covered)),
				fmt.Sprintf("stacks: %d own, %d of the sample before, %d of the sample behind, %d unknown", t.Stacks.Own, t.Stacks.Previous,
					t.Stacks.Next, t.Stacks.None),
				fmt.Sprintf("busy runs: %d, of 50 ms and more: %d, only because of the collector: %d", t.BusyRuns, t.LongRuns, t.Explained),
			},
			tables: []table{gcStacksTable(t), gcFunctionsTable(t), gcRunsTable(t), gcBucketsTable(t)},
		})
	}
	return result, nil
}

var gcTimeColumns = []column{
	{"samples", "samples", countColumn}, {"gc_samples", "gc samples", countColumn}, {"total_ns", "total ms", timeColumn},
	{"gc_ns", "gc ms", timeColumn}, {"own_ns", "own ms", timeColumn},
}

func gcTimeCells(g *report.GCTime) []cell {
	return []cell{countCell(g.Samples), countCell(g.GCSamples), timeCell(g.Total), timeCell(g.GC), timeCell(g.Own)}
}

func gcStacksTable(t *report.ThreadGC) table {
	out := table{name: "stacks", title: "call stacks that it interrupted", columns: append(gcTimeColumns[:len(gcTimeColumns):len(gcTimeColumns)], stackColumns...),
		note: more(len(t.ByStack), t.Counts.ByStack, "stacks")}
	for i := range t.ByStack {
		s := &t.ByStack[i]
		out.rows = append(out.rows, append(gcTimeCells(&s.GCTime), stackCells(s.Frames)...))
	}
	return out
}

func gcFunctionsTable(t *report.ThreadGC) table {
	out := table{name: "functions", title: "functions that it interrupted", columns: append(gcTimeColumns[:len(gcTimeColumns):len(gcTimeColumns)], stackColumns[:2]...),
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

func gcRunsTable(t *report.ThreadGC) table {
	out := table{name: "runs", title: "busy runs that are long only because of it", columns: []column{
		{"start_ns", "from ms", timeColumn}, {"samples", "samples", countColumn}, {"time_ns", "ms", timeColumn}, {"gc_ns", "gc ms", timeColumn},
	}}
	for _, r := range t.Runs {
		out.rows = append(out.rows, []cell{timeCell(r.Start), countCell(r.Samples), timeCell(r.Time), timeCell(r.GC)})
	}
	return out
}

func gcBucketsTable(t *report.ThreadGC) table {
	out := table{name: "buckets", title: "time in buckets", columns: []column{
		{"start_ns", "from ms", timeColumn}, {"samples", "samples", countColumn}, {"gc_samples", "gc samples", countColumn},
		{"covered_ns", "covered ms", timeColumn}, {"gc_ns", "gc ms", timeColumn}, {"", "share", shareColumn},
	}}
	for _, b := range t.Buckets {
		out.rows = append(out.rows, []cell{
			timeCell(b.Start), countCell(b.Samples), countCell(b.GCSamples), timeCell(b.Covered), timeCell(b.GC), shareCell(b.GC, b.Covered),
		})
	}
	return out
}

// makeLayoutReport makes the report layout-thrashing.
func makeLayoutReport(p *report.Profiles, opts report.Options) (reportResult, error) {
	r := p.LayoutThrashing(opts)
	result := reportResult{json: r}
	for i := range r.Threads {
		t := &r.Threads[i]
		result.threads = append(result.threads, threadTables{
			ThreadID: t.ThreadID, source: t.Source,
			summary: []string{
				fmt.Sprintf("style and layout that script forced: %d %s, %s ms; other: %d %s, %s ms", t.Count, t.Basis, millis(t.Total),
					t.Unforced.Count, t.Basis, millis(t.Unforced.Total)),
				fmt.Sprintf("stacks that force it: %d, of them thrashing: %d", t.StackCount, t.Thrashing),
			},
			tables: []table{forcedTable(t)},
		})
	}
	return result, nil
}

func forcedTable(t *report.ThreadForced) table {
	out := table{name: "stacks", title: "call stacks that force style and layout", columns: append([]column{
		{"count", string(t.Basis), countColumn}, {"style_ns", "style ms", timeColumn}, {"layout_ns", "layout ms", timeColumn},
		{"total_ns", "total ms", timeColumn}, {"episodes", "episodes", countColumn}, {"runs", "runs", countColumn},
		{"max_ns_per_run", "most ms a run", timeColumn}, {"max_episodes_per_run", "most episodes a run", countColumn},
		{"thrashing", "thrashing", flagColumn},
	}, stackColumns...), note: more(len(t.ByStack), t.StackCount, "stacks")}
	for i := range t.ByStack {
		s := &t.ByStack[i]
		out.rows = append(out.rows, append([]cell{
			countCell(s.Count), timeCell(s.Style), timeCell(s.Layout), timeCell(s.Total), countCell(int64(s.Episodes)), countCell(int64(s.Runs)),
			timeCell(s.MaxPerRun), countCell(int64(s.MaxEpisodesPerRun)), flagCell(s.Thrashing),
		}, stackCells(s.Frames)...))
	}
	return out
}

// unknownStack is shown where nothing is known of the stack.
const unknownStack = "(no stack)"

var stackColumns = []column{{"function", "function", textColumn}, {"location", "location", textColumn}, {"callers", "called by", textColumn}}

// stackCells says of a stack what its innermost function is, and who called it.
func stackCells(outermostFirst []report.Frame) []cell {
	n := len(outermostFirst)
	if n == 0 {
		return []cell{textCell(unknownStack), textCell(""), textCell("")}
	}
	leaf := outermostFirst[n-1]
	var callers []string
	for i := n - 2; i >= 0; i-- {
		if len(callers) == maxCallers {
			callers = append(callers, fmt.Sprintf("… %d more", i+1))
			break
		}
		callers = append(callers, outermostFirst[i].Function)
	}
	return []cell{textCell(leaf.Function), textCell(leaf.Location()), textCell(strings.Join(callers, " < "))}
}

// more says that a table is not complete.
func more(shown, all int, what string) string {
	if shown == all {
		return ""
	}
	return fmt.Sprintf("%d of %d %s; --top 0 shows all", shown, all, what)
}
