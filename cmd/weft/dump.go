package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/timeline"
)

func dumpCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "dump",
		Usage:     "print the events of a trace, one per line",
		UsageText: "weft dump [flags] FILE",
		Description: `Prints the events as a conversion would write them, in time order, with begins
and ends paired and with lanes and flows resolved. Search the output with grep or
jq, or compare traces with diff.

A text line has tab-separated fields: time (ns), duration (ns, or "open" if the
slice never ends), kind, track, name and category, then key=value for the rest.
The kinds are slice, instant, counter, sample and end. An end has a line only if
it has arguments, or with --ends. "-" is standard input. docs/cli.md describes
the text and JSON forms.`,
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object per line", DisableDefaultText: true},
			&cli.BoolFlag{Name: "ends", Usage: "print a line for every end of a slice, with its thread time", DisableDefaultText: true},
			fromFlag(), argsFlag(), memoryFlag(), tempFlag(),
		}, profileFlags()...),
		Action: func(c *cli.Context) error {
			opts, err := inputOptions(c)
			if err != nil {
				return err
			}
			if c.NArg() > 1 {
				return usagef("dump takes one file, not %d", c.NArg())
			}
			return eachFile(c, env, func(name string, src *input) error {
				return dump(c, env, name, src, opts)
			})
		},
	}
}

func dump(c *cli.Context, env *environment, name string, src *input, opts convert.Options) error {
	progress := startProgress(env, inputName(name), src.size, !env.isTerminal(env.stdout))
	tr, err := convert.Open(c.Context, progress.reader(src), opts)
	progress.Stop()
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	trace := bridge.Timeline(tr)
	w := bufio.NewWriterSize(env.stdout, outputBuffer)
	d := dumper{trace: trace, tracks: map[trackKey]*dumpTrack{}}
	write := d.text
	if c.Bool("json") {
		write = d.json
	}
	ends := c.Bool("ends")
	err = trace.Walk(c.Context, func(item *timeline.Item) error {
		if item.Kind == timeline.ItemEnd && len(item.Args) == 0 && !ends {
			return nil // the line of the slice has its length already
		}
		_, err := w.Write(write(item))
		return err
	})
	if err == nil { // otherwise Flush has the same error once more
		err = w.Flush()
	}
	return errors.Join(err, tr.Close())
}

// A dumper formats items. Its buffer is used again for every line.
type dumper struct {
	trace  *timeline.Timeline
	tracks map[trackKey]*dumpTrack
	buf    []byte
}

type trackKey struct {
	id   timeline.TrackID
	lane uint32
}

// dumpTrack is what lines say about a track.
type dumpTrack struct {
	name   string // the whole path, for people
	pid    timeline.InputID
	tid    timeline.InputID
	hasPID bool // of the process that it belongs to: the input has a number
	hasTID bool
}

// maxTrackDepth bounds the walk to the root, whatever the timeline says.
const maxTrackDepth = 100

func (d *dumper) track(item *timeline.Item) *dumpTrack {
	key := trackKey{item.Track, item.Lane}
	if t := d.tracks[key]; t != nil {
		return t
	}
	t := &dumpTrack{}
	id := item.Track
	for range maxTrackDepth {
		if id == 0 {
			break
		}
		track := d.trace.Track(id)
		if d.isStreamLane(&track) {
			id = track.Parent
			continue
		}
		name := track.Title()
		switch track.Kind {
		case timeline.ProcessTrack:
			t.pid, t.hasPID = track.InputID, track.InputID.HasNumber()
		case timeline.ThreadTrack:
			t.tid, t.hasTID = track.InputID, track.InputID.HasNumber()
		}
		if t.name != "" {
			name += " / " + t.name
		}
		t.name, id = name, track.Parent
	}
	if item.Lane > 0 && d.trace.TrackKind(item.Track) == timeline.ThreadTrack && d.trace.FirstLane(item.Track) > 0 {
		t.name += " / " + timeline.RoleLane.String() // as in the output; the lanes of other tracks have their name
	}
	d.tracks[key] = t
	return t
}

// isStreamLane reports whether a track is a lane of a stream, which has the name of its thread.
func (d *dumper) isStreamLane(track *timeline.Track) bool {
	if track.Spec == nil || track.Spec.Role != timeline.RoleLane {
		return false
	}
	thread := d.trace.Track(track.Parent)
	return thread.Kind == timeline.ThreadTrack && thread.FullName() == track.Name
}

func kindName(kind timeline.ItemKind) string {
	switch kind {
	case timeline.ItemBegin:
		return "slice"
	case timeline.ItemEnd:
		return "end"
	case timeline.ItemInstant:
		return "instant"
	case timeline.ItemCounter:
		return "counter"
	case timeline.ItemSample:
		return "sample"
	}
	return fmt.Sprintf("kind%d", kind)
}
