package testkit

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Dump lists the items of a nested timeline in the order of Walk, one per line:
//
//	TS begin TRACK NAME dur=D|open cat=C tts=T args={…} stack=S id=ID@SCOPE flow=F end=F
//
// and ends, instants, counters and samples in the same form. The fields after NAME are optional. TRACK~LANE is an additional lane
// of a track, and TRACK#2 the second track with this path. A NAME that is not one word is quoted.
func Dump(ctx context.Context, t *timeline.Timeline) (string, error) {
	var out strings.Builder
	paths := Paths(t)
	err := t.Walk(ctx, func(it *timeline.Item) error {
		appendItem(&out, t, paths[it.Track], it)
		return nil
	})
	return out.String(), err
}

var itemKinds = [...]string{
	timeline.ItemBegin: "begin", timeline.ItemEnd: "end", timeline.ItemInstant: "instant",
	timeline.ItemCounter: "counter", timeline.ItemSample: "sample",
}

func appendItem(out *strings.Builder, t *timeline.Timeline, path string, it *timeline.Item) {
	fmt.Fprintf(out, "%d %s %s", it.TS, itemKinds[it.Kind], path)
	if it.Lane > 0 {
		fmt.Fprintf(out, "~%d", it.Lane)
	}
	switch it.Kind {
	case timeline.ItemBegin, timeline.ItemInstant:
		out.WriteString(" " + word(string(it.Name)))
	case timeline.ItemCounter:
		out.WriteString(" " + number(it.Value))
	case timeline.ItemSample:
		out.WriteString(" " + number(it.Value))
		if len(it.Name) > 0 {
			out.WriteString(" " + word(string(it.Name)))
		}
		if n, ok := it.CPU.Number(); ok {
			fmt.Fprintf(out, " cpu=%d", n)
		}
	}
	if it.Kind == timeline.ItemBegin {
		if it.Dur == timeline.NoTime {
			out.WriteString(" open")
		} else {
			fmt.Fprintf(out, " dur=%d", it.Dur)
		}
	}
	if len(it.Category) > 0 {
		fmt.Fprintf(out, " cat=%s", it.Category)
	}
	if it.Idle && it.Kind != timeline.ItemEnd {
		out.WriteString(" idle")
	}
	if at, ok := it.ThreadTime.Nanos(); ok {
		fmt.Fprintf(out, " tts=%d", at)
	}
	if same := t.CorrelationOf(it.Args); same != nil {
		fmt.Fprintf(out, " same=%q", same)
	}
	if len(it.Args) > 0 {
		out.WriteString(" args={" + ArgsText(t, it.Args) + "}")
	}
	if it.Callstack != 0 {
		out.WriteString(" stack=" + stackText(t, it.Callstack))
	}
	if it.AsyncID != "" {
		out.WriteString(" id=" + it.AsyncID)
		if it.AsyncScope != "" {
			out.WriteString("@" + it.AsyncScope)
		}
	}
	if it.DidNotEnd {
		out.WriteString(" did_not_end")
	}
	for _, f := range it.Flows {
		field := "flow"
		if f.Terminating {
			field = "end"
		}
		fmt.Fprintf(out, " %s=%d", field, f.ID)
	}
	out.WriteByte('\n')
}

// word returns a name as one word; "-" for no name.
func word(name string) string {
	switch quoted := strconv.Quote(name); {
	case name == "":
		return "-"
	case strings.Contains(name, " ") || quoted != `"`+name+`"`:
		return quoted
	}
	return name
}

func number(v timeline.Number) string {
	if v.IsInt() {
		return strconv.FormatInt(v.Int(), 10)
	}
	return strconv.FormatFloat(v.Float(), 'g', -1, 64) + "f"
}

func stackText(t *timeline.Timeline, id timeline.CallstackID) string {
	var names []string
	for _, f := range t.Callstack(id) {
		names = append(names, t.Frame(f).Function)
	}
	return strings.Join(names, ";")
}

// Path identifies a track: PID/TID, PID/async:NAME, root/track:NAME and so on.
func Path(t *timeline.Timeline, id timeline.TrackID) string {
	tr := t.Track(id)
	switch tr.Kind {
	case timeline.RootTrack:
		return "root"
	case timeline.ProcessTrack:
		return strconv.Itoa(int(tr.PID))
	case timeline.ThreadTrack:
		return Path(t, tr.Parent) + "/" + strconv.FormatInt(tr.TID, 10)
	}
	kind := map[timeline.TrackKind]string{
		timeline.NamedTrack: "track", timeline.AsyncTrack: "async", timeline.CounterTrack: "counter",
	}[tr.Kind]
	return Path(t, tr.Parent) + "/" + kind + ":" + strings.ReplaceAll(tr.Name, " ", "_")
}

// Paths returns the paths of all tracks. Later tracks with the same path get a number: PATH#2.
func Paths(t *timeline.Timeline) []string {
	paths, seen := make([]string, t.TrackCount()), map[string]int{}
	for id := range timeline.TrackID(t.TrackCount()) {
		path := Path(t, id)
		if seen[path]++; seen[path] > 1 {
			path += fmt.Sprint("#", seen[path])
		}
		paths[id] = path
	}
	return paths
}

// ArgsText formats arguments: k=1 s="text" d=0.5f p=@10 u=1u j=`[]` dict={…} array=[…].
func ArgsText(t *timeline.Timeline, args timeline.Args) string {
	var all []string
	for a := range t.ArgList(args) {
		all = append(all, argText(t, &a))
	}
	return strings.Join(all, " ")
}

func argText(t *timeline.Timeline, a *timeline.Arg) string {
	text := ""
	switch a.Kind {
	case timeline.ArgBool:
		text = strconv.FormatBool(a.Bool())
	case timeline.ArgInt:
		text = strconv.FormatInt(a.Int(), 10)
	case timeline.ArgUint:
		text = strconv.FormatUint(a.Uint(), 10) + "u"
	case timeline.ArgDouble:
		text = strconv.FormatFloat(a.Double(), 'g', -1, 64) + "f"
	case timeline.ArgString:
		text = strconv.Quote(string(a.Text()))
	case timeline.ArgPointer:
		text = "@" + strconv.FormatUint(a.Uint(), 16)
	case timeline.ArgJSON:
		text = "`" + string(a.Text()) + "`"
	case timeline.ArgDict, timeline.ArgArray:
		var members []string
		for m := range t.Members(*a) {
			members = append(members, argText(t, &m))
		}
		text = "{" + strings.Join(members, " ") + "}"
		if a.Kind == timeline.ArgArray {
			text = "[" + strings.Join(members, " ") + "]"
		}
	}
	if len(a.Key) == 0 {
		return text
	}
	return string(a.Key) + "=" + text
}

// Problems lists the counted problems, one kind per line: its name, its count, and the positions and details of the first cases.
func Problems(log *problem.Log) string {
	var out strings.Builder
	for _, total := range log.Totals() {
		fmt.Fprintf(&out, "%s %d:", total.Kind, total.Count)
		for _, c := range total.Cases {
			fmt.Fprintf(&out, " %v", c.Position)
			if c.Detail != "" {
				fmt.Fprintf(&out, " %q", c.Detail)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}
