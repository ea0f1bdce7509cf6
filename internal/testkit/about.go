package testkit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// About describes a timeline without its items, one fact per line: processes, threads, counters and their details, frames with a
// file, pages, attributes, clocks, and the description of samples.
func About(t *timeline.Timeline) string {
	var out strings.Builder
	paths := Paths(t)
	for id := range timeline.TrackID(t.TrackCount()) {
		if tr := t.Track(id); tr.Used {
			aboutTrack(&out, paths[id], &tr)
		}
	}
	for id := 1; id <= t.FrameCount(); id++ {
		if f := t.Frame(timeline.FrameID(id)); f.File != "" || f.Line > 0 {
			fmt.Fprintf(&out, "frame %s: %s:%d:%d", f.Function, f.File, f.Line, f.Column)
			if f.Mapping != 0 {
				fmt.Fprintf(&out, " at %#x of %v", f.Address, t.Mapping(f.Mapping))
			}
			out.WriteByte('\n')
		}
	}
	for _, p := range t.Pages() {
		fmt.Fprintf(&out, "page %+v\n", p)
	}
	for _, a := range t.Attributes() {
		switch {
		case a.IsInt:
			fmt.Fprintf(&out, "attribute %s: %d\n", a.Key, a.Int)
		case strconv.CanBackquote(a.Text):
			fmt.Fprintf(&out, "attribute %s: `%s`\n", a.Key, a.Text)
		default:
			fmt.Fprintf(&out, "attribute %s: %q\n", a.Key, a.Text)
		}
	}
	if c := t.Clocks(); c.Trace != 0 || len(c.Readings) > 0 {
		fmt.Fprintf(&out, "clock %d %d\n", c.Trace, c.Readings)
	}
	if d := t.SampleDescription(); d != (timeline.SampleDescription{}) {
		fmt.Fprintf(&out, "samples %+v\n", d)
	}
	return out.String()
}

func aboutTrack(out *strings.Builder, path string, tr *timeline.Track) {
	switch {
	case tr.Kind == timeline.ProcessTrack, tr.Kind == timeline.ThreadTrack:
		fmt.Fprintf(out, "track %s: %s", path, word(tr.Name))
		if tr.Assigned && tr.Title() != tr.Name {
			fmt.Fprintf(out, ", shown as %q", tr.Title())
		}
		if len(tr.Labels) > 0 {
			fmt.Fprintf(out, ", labels %q", tr.Labels)
		}
		if tr.HasRank {
			fmt.Fprintf(out, ", rank %d", tr.Rank)
		}
		out.WriteByte('\n')
		for _, f := range tr.Facts {
			fmt.Fprintf(out, "fact %s %v: %s in %d samples from %d to %d\n", path, f.Kind, f.Value(), f.Samples, f.Start, f.End)
		}
	case tr.Counter != nil && (tr.Counter.Unit != 0 || tr.Counter.UnitName != "" || tr.Counter.Description != ""):
		fmt.Fprintf(out, "counter %s: unit %d %q %q\n", path, tr.Counter.Unit, tr.Counter.UnitName, tr.Counter.Description)
	}
}
