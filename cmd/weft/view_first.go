//go:build !wasm

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/view"
)

// The default first view of the UI: the busy part of the timeline, expanded tracks, and pinned tracks.

// convertToLookAt converts a trace and finds its first view. The function survey, which may be nil, is called with the trace
// before attribution. If packets are kept and attributed, no timeline exists, so the whole trace is shown.
func convertToLookAt(ctx context.Context, dst io.Writer, src io.Reader, opts convert.Options, survey func(*load.Trace) error) (*convert.Report, view.FirstView, error) {
	if opts.KeepPackets && opts.Attribute != nil {
		report, err := convert.Convert(ctx, dst, src, opts)
		return report, view.FirstView{}, err
	}
	t, err := load.OneWithSurvey(ctx, src, opts, survey)
	if err != nil {
		return nil, view.FirstView{}, err
	}
	defer t.Close()
	if err := t.Write(ctx, dst, nil); err != nil {
		return nil, view.FirstView{}, err
	}
	first, err := firstView(ctx, t.Timeline, t.Report)
	return t.Report, first, err
}

const (
	maxExpanded = 3 // maximum number of processes in a trace to expand
	maxPinned   = 3 // maximum number of pages' processes whose tracks to pin
)

// Regular expressions for the paths of tracks. Paths contain no threads.
const (
	topLevel = `^(?!System$)(?:(?! > ).)*$` // processes, and tracks beside them; System contains only clock marks
	// Long tasks and contexts of threads with given tids. The UI adds the tid to the name of each track of a thread.
	ofThreads = ` > \(contexts and states\) \((%s)\) > (Long tasks|Context: .*) \(\d+\)$`
)

// firstView finds the first view of a trace.
func firstView(ctx context.Context, tl *timeline.Timeline, report *convert.Report) (first view.FirstView, err error) {
	if report.Tracks.Processes <= maxExpanded {
		first.Commands = append(first.Commands, view.ExpandPaths(topLevel))
	}
	if report.Span == nil {
		return first, nil
	}
	b := busy{span: *report.Span, starts: make([]int64, tl.TrackCount())}
	if err := tl.Scan(ctx, b.add); err != nil {
		return first, err
	}
	first.Window = b.window()
	if tids := b.pages(tl); len(tids) > 0 {
		first.Commands = append(first.Commands, view.PinPaths(fmt.Sprintf(ofThreads, strings.Join(tids, "|"))))
	}
	return first, nil
}

// busy counts starts, ends and values over time, and starts by track.
type busy struct {
	span   convert.Span
	bins   [512]int64 // equal parts of the span
	starts []int64    // by track
	total  int64      // sum of bins
}

// minBusy is the number of starts, ends and values below which the whole trace is shown.
const minBusy = 100

func (b *busy) add(group []timeline.Record) error {
	for i := range group {
		r := &group[i]
		switch r.Kind() {
		case timeline.Slice, timeline.Begin, timeline.Instant:
			b.starts[r.Track()]++
			b.count(r.TS())
		case timeline.Counter, timeline.Sample:
			b.count(r.TS())
			continue
		default:
			continue
		}
		if end := r.End(); end != timeline.NoTime {
			b.count(end)
		}
	}
	return nil
}

func (b *busy) count(ts timeline.Nanos) {
	part := float64(ts-b.span.Start) / float64(b.span.End-b.span.Start+1)
	b.bins[min(max(int(part*float64(len(b.bins))), 0), len(b.bins)-1)]++
	b.total++
}

// window returns the part of the trace without the first and the last 0.5 % of starts, ends and values, with some room around
// it; nil if that is nearly the whole trace.
func (b *busy) window() *view.Window {
	if b.total < minBusy {
		return nil
	}
	from, to := 0, len(b.bins)
	for n := b.bins[from]; from < to-1 && n*200 < b.total; n += b.bins[from] {
		from++
	}
	for n := b.bins[to-1]; to > from+1 && n*200 < b.total; n += b.bins[to-1] {
		to--
	}
	if from, to = max(from-1, 0), min(to+1, len(b.bins)); (to-from)*10 > len(b.bins)*9 {
		return nil
	}
	at := func(bin int) int64 {
		return int64(b.span.Start) + int64(float64(b.span.End-b.span.Start)/float64(len(b.bins))*float64(bin))
	}
	w := &view.Window{Start: at(from), End: min(at(to), int64(b.span.End))}
	if w.Start >= w.End {
		return nil
	}
	return w
}

// pages returns the tids of the pages' main threads with the most starts.
func (b *busy) pages(tl *timeline.Timeline) (tids []string) {
	var mains []timeline.TrackID
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tl.TrackKind(id) != timeline.ThreadTrack || b.starts[id] == 0 {
			continue
		}
		switch tr := tl.Track(id); {
		case tr.Name == producers.ChromeRendererMain, tr.Name == producers.GeckoMain && tl.Role(tr.Parent) != timeline.RoleMainProcess:
			mains = append(mains, id)
		}
	}
	slices.SortStableFunc(mains, func(i, j timeline.TrackID) int { return cmp.Compare(b.starts[j], b.starts[i]) })
	for _, id := range mains[:min(len(mains), maxPinned)] {
		tids = append(tids, strconv.FormatInt(tl.Track(id).TID, 10))
	}
	return tids
}

// requested replaces the default first view as the flags require. For that it also reads an input that was not converted.
func (v *viewing) requested(ctx context.Context, first *view.FirstView, name string, in *stored, report *convert.Report) error {
	for _, regex := range v.pin {
		first.Commands = append(first.Commands, view.PinNames(regex))
	}
	if v.event == nil && v.window.Whole() {
		return nil
	}
	first.Window = nil
	var span selection.Span
	if report != nil && report.Span != nil {
		span = selection.Span{Start: report.Span.Start, End: report.Span.End}
	}
	if v.event != nil || report == nil {
		tr, tl, err := openTimeline(ctx, name, in.reader(), v.opts)
		if err != nil {
			return err
		}
		defer tr.Close()
		span = selection.SpanOf(tl)
		if v.event != nil {
			if first.Event, err = findEvent(ctx, tl, *v.event, report == nil); err != nil {
				return fmt.Errorf("%s: %w", inputName(name), err)
			}
		}
	}
	if v.window.Whole() {
		return nil
	}
	from, to, err := v.window.In(span)
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(name), err)
	}
	first.Window = &view.Window{Start: int64(max(from, span.Start)), End: int64(min(to, span.End))}
	return nil
}
