package report

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Frames counts the frames of a browser, and lists those that were late or not shown.
type Frames struct {
	All     int64 `json:"all"`
	Dropped int64 `json:"dropped"`
	Partial int64 `json:"partial"`
	Late    int64 `json:"late"`

	Processes int          `json:"processes"` // that produced them
	Uncounted int64        `json:"uncounted"` // frames left out of these numbers, because there are too many
	List      []ShownFrame `json:"-"`         // all except FrameShown, longest first
}

// FrameOutcome is the fate of a frame.
type FrameOutcome string

// The outcomes.
const (
	FrameDropped FrameOutcome = "dropped" // no part of it was shown
	FramePartial FrameOutcome = "partial" // the compositor's part was shown; the main thread's was dropped or came later
	FrameLate    FrameOutcome = "late"    // it was shown, but took at least Tasks.Min
	FrameShown   FrameOutcome = "shown"   // in time, or there was nothing to show
)

// ShownFrame is a frame that was late or not fully shown.
type ShownFrame struct {
	ThreadID
	Start    timeline.Nanos `json:"ts_ns"`
	Duration timeline.Nanos `json:"dur_ns"` // until it was shown or given up
	Outcome  FrameOutcome   `json:"outcome"`
	Moving   bool           `json:"affects_smoothness"` // an animation visibly stutters; only Chrome records this
	// Task is the task in Tasks that overlaps the frame longest, in the same process; "": none.
	Task     string          `json:"task,omitempty"`
	TaskTime *timeline.Nanos `json:"task_ns"` // how long Task overlaps the frame
}

// frameFacts combines the facts from all reports about a frame.
type frameFacts struct {
	ShownFrame
	presented bool // a part of it was shown
	lost      bool // a part of it was not shown
}

// frameKey identifies a Chrome frame. The compositor reports a frame twice if the main thread's part comes later.
type frameKey struct {
	process                timeline.TrackID
	source, host, sequence int64
}

// maxFrames bounds the kept frames: 18 minutes at 60 per second.
const maxFrames = 1 << 16

// frameFinder finds the frames of a trace: Chrome's PipelineReporter slices and Firefox's CONTENT_FRAME_TIME slices.
type frameFinder struct {
	tl     *timeline.Timeline
	opts   *TaskOptions
	args   *timeline.ArgSelection
	frames []frameFacts
	more   int64            // frames that are not kept
	byKey  map[frameKey]int // index in frames
}

// findFrames returns the frames of a trace; nil if it has none. The tasks must have been found.
func (c *taskCollector) findFrames(ctx context.Context) (*Frames, error) {
	if !c.hasFrames() {
		return nil, nil
	}
	f := frameFinder{tl: c.tl, opts: &c.opts, byKey: map[frameKey]int{}}
	f.args = c.tl.SelectArgs(func(name string) bool {
		return slices.Contains([]string{"frame_reporter", "chrome_frame_reporter", "state", "affects_smoothness", "frame_source", "layer_tree_host_id", "frame_sequence"}, name)
	})
	anywhere := func(timeline.TrackID) bool { return true }
	if err := c.tl.WalkSlices(ctx, anywhere, f.item); err != nil {
		return nil, err
	}
	out := &Frames{All: int64(len(f.frames)), Uncounted: f.more}
	processes := map[string]bool{}
	for i := range f.frames {
		frame := &f.frames[i]
		processes[frame.Process+"\x00"+frame.PID.String()] = true
		switch frame.Outcome = frame.outcome(c.out.Min); frame.Outcome {
		case FrameShown:
			continue
		case FrameDropped:
			out.Dropped++
		case FramePartial:
			out.Partial++
		case FrameLate:
			out.Late++
		}
		c.blame(&frame.ShownFrame)
		out.List = append(out.List, frame.ShownFrame)
	}
	out.Processes = len(processes)
	slices.SortStableFunc(out.List, func(a, b ShownFrame) int {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Start, b.Start))
	})
	return out, nil
}

// hasFrames reports whether the trace may have frame slices.
func (c *taskCollector) hasFrames() bool {
	for id := range c.tl.NameCount() {
		if name := c.tl.Name(timeline.NameID(id + 1)); producers.PipelineReporter.Is(name) || producers.ContentFrame.Is(name) {
			return true
		}
	}
	return false
}

func (f *frameFinder) item(it *timeline.Item) error {
	chrome := producers.PipelineReporter.Is(it.Name)
	if it.Kind != timeline.ItemBegin || !hasEnd(&it.Head) || !chrome && !producers.ContentFrame.Is(it.Name) || f.opts.Include != nil && !f.opts.Include(it) {
		return nil
	}
	frame := frameFacts{ShownFrame: ShownFrame{Start: it.TS, Duration: it.Dur}}
	key := frameKey{process: f.tl.Above(it.Track, timeline.ProcessTrack)}
	if chrome {
		if err := it.ReadArgs(); err != nil {
			return err
		}
		for arg := range f.args.List(it.Args) {
			if arg.Kind == timeline.ArgDict {
				f.read(arg, &frame, &key)
			}
		}
		if i, ok := f.byKey[key]; ok && key.sequence != 0 {
			f.frames[i].join(&frame)
			return nil
		}
	} else {
		frame.presented = true
	}
	if len(f.frames) < maxFrames {
		frame.ThreadID = threadID(f.tl, ownerOf(f.tl, it.Track))
		f.byKey[key] = len(f.frames)
		f.frames = append(f.frames, frame)
	} else {
		f.more++
	}
	return nil
}

// read reads Chrome's data about a frame.
func (f *frameFinder) read(reporter timeline.Arg, frame *frameFacts, key *frameKey) {
	for arg := range f.args.Members(reporter) {
		switch string(arg.Key) {
		case "state":
			state := string(arg.Text())
			frame.presented = state == "STATE_PRESENTED_ALL" || state == "STATE_PRESENTED_PARTIAL"
			frame.lost = state == "STATE_DROPPED"
		case "affects_smoothness":
			frame.Moving = arg.Kind == timeline.ArgBool && arg.Bool()
		case "frame_source":
			key.source = arg.Int()
		case "layer_tree_host_id":
			key.host = arg.Int()
		case "frame_sequence":
			key.sequence = arg.Int()
		}
	}
	frame.lost = frame.lost || frame.presented && frame.Moving
}

// join adds another report about the same frame.
func (f *frameFacts) join(other *frameFacts) {
	end := max(f.Start+f.Duration, other.Start+other.Duration)
	f.Start = min(f.Start, other.Start)
	f.Duration = end - f.Start
	f.presented, f.lost, f.Moving = f.presented || other.presented, f.lost || other.lost, f.Moving || other.Moving
}

func (f *frameFacts) outcome(late timeline.Nanos) FrameOutcome {
	switch {
	case f.lost && !f.presented:
		return FrameDropped
	case f.lost:
		return FramePartial
	case f.presented && f.Duration >= late:
		return FrameLate
	}
	return FrameShown
}

// blame finds the task that overlaps a frame longest.
func (c *taskCollector) blame(f *ShownFrame) {
	var longest *Task
	most := timeline.Nanos(0)
	for i := range c.out.Tasks {
		t := &c.out.Tasks[i]
		if during := min(t.Start+t.Duration, f.Start+f.Duration) - max(t.Start, f.Start); during > most && t.PID == f.PID && t.Process == f.Process && t.Recorded == f.Recorded {
			longest, most = t, during
		}
	}
	if longest != nil {
		f.Task, _ = longest.Telling()
		f.TaskTime = &most
	}
}

// line summarizes the frames in one line.
func (r *Frames) line(late timeline.Nanos) string {
	more := ""
	if r.Uncounted > 0 {
		more = fmt.Sprintf("; %s more are not counted", table.Thousands(r.Uncounted))
	}
	of := ""
	if r.Processes > 1 {
		of = " of " + table.Thousands(r.Processes) + " processes"
	}
	return fmt.Sprintf("%s%s: %s dropped, %s partial, %s of %s and more%s", table.Count(r.All, "frame"), of, table.Thousands(r.Dropped),
		table.Thousands(r.Partial), table.Thousands(r.Late), table.WholeMillis(late), more)
}

const framesTable = "frames"

// table returns a table of the frames that were late or not shown.
func (r *Frames) table(start timeline.Nanos) *table.Table {
	var list []ShownFrame
	var notes []string
	if r == nil {
		notes = []string{"this trace does not know of frames; record Chrome with the category cc, or Firefox with its feature for graphics"}
	} else if list = r.List; len(list) == 0 {
		notes = []string{"no frame was late or left out"}
	}
	t := table.Table{Name: framesTable, Notes: notes, Title: "frames that were late or not shown, the longest first", Key: "dur_ns", RowNoun: "frames", Hidden: true, Nested: true}
	return table.New(t, list, columns(
		[]table.TypedColumn[ShownFrame]{
			table.Moments("ts_ns", "at", start, func(f *ShownFrame) timeline.Nanos { return f.Start }),
			table.Times("dur_ns", "ms", func(f *ShownFrame) timeline.Nanos { return f.Duration }),
			table.Texts("outcome", "frame", func(f *ShownFrame) string { return string(f.Outcome) }),
			table.Flags("affects_smoothness", "stutters", func(f *ShownFrame) bool { return f.Moving }).DropOrder(2).IfAny(),
		},
		spare(1, threads("", "of", func(f *ShownFrame) *ThreadID { return &f.ThreadID }, placeCell)),
		[]table.TypedColumn[ShownFrame]{
			table.Cells(table.Column{Key: "task", Title: "longest task meanwhile"}, func(f *ShownFrame) table.Cell {
				return table.Cell{Text: f.Task, Short: table.Elide(f.Task, nameWidth)}
			}).Noted(producers.RecorderNote).IfAny(),
			table.OptionalTimes("task_ns", "ms of it", func(f *ShownFrame) *timeline.Nanos { return f.TaskTime }).IfAny(),
		},
	)...)
}
