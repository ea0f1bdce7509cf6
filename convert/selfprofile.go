package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/readers/perfetto"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/unpack"
	"github.com/weft-trace/weft/trace"
)

// SelfProfileOptions say what JS self-profiles leave open. They take precedence over what the input says.
type SelfProfileOptions struct {
	// SampleInterval is the time between two samples; 0: what the input says, or what its samples show.
	SampleInterval trace.Nanos

	// TimeOrigin is the moment from which the times of the page count, its performance.timeOrigin; nil: what the input
	// says, or 0. With Join it is a time on the clock of that trace; nil: what that says.
	TimeOrigin *trace.Nanos

	// End is the time, from the time origin, at which the recording ended; the last sample lasts until then. nil: what the
	// input says; else the last sample lasts one interval.
	End *trace.Nanos

	// ThreadName is the name of the thread; "": "JS main". A profile does not say whether it is one of a page or a worker.
	ThreadName string

	// Join opens the trace of Chrome that was recorded beside the profile, JSON or Perfetto, plain or packed. The output is that trace, with
	// the profile as one more thread in the process of the page, and Report.Joined says how its place was found. It is an
	// error if the trace does not tell. Join is called twice; what it returns is closed.
	Join func() (io.ReadCloser, error)

	// Required makes it an error if the input is not a self-profile. Otherwise these options do not affect it.
	Required bool
}

// given lists what is given of what self-profiles leave open: "a time origin, an end".
func (o *SelfProfileOptions) given() string {
	var names []string
	for _, part := range []struct {
		given bool
		name  string
	}{
		{o.SampleInterval != 0, "a sample interval"}, {o.TimeOrigin != nil, "a time origin"}, {o.End != nil, "an end"},
		{o.ThreadName != "", "a thread name"},
	} {
		if part.given {
			names = append(names, part.name)
		}
	}
	return strings.Join(names, ", ")
}

// check refuses inputs that are not what the options ask for.
func (o *SelfProfileOptions) check(f Format) error {
	const what = FormatJSProfile
	switch {
	case f == what:
		return nil
	case o.Join != nil:
		return fmt.Errorf("this is %s; only %s can be joined with a trace, and has to be the input", formats[f], formats[what])
	case o.Required && o.given() != "":
		return fmt.Errorf("this is %s; %s can be given only for %s, so leave it out", formats[f], o.given(), formats[what])
	case o.Required:
		return fmt.Errorf("this is %s and not %s", formats[f], formats[what])
	}
	return nil
}

// Joined says how a JS self-profile was placed in a trace of Chrome.
type Joined struct {
	By          string      `json:"by"`             // "samples" or "navigation"; see docs/formats/jsprofile.md
	TimeOrigin  trace.Nanos `json:"time_origin_ns"` // of the page, on the clock of the trace
	Uncertainty trace.Nanos `json:"uncertainty_ns"` // at most
	PID         int64       `json:"pid"`
	TID         int64       `json:"tid"`
}

// readJoined reads the trace of SelfProfileOptions.Join, and then r, which are self-profiles.
func (l *loader) readJoined(ctx context.Context, r io.Reader) error {
	var clues *jsprofile.Clues
	err := l.readBeside(ctx, func(beside io.Reader, format Format) (err error) {
		if format == FormatPerfetto {
			clues, err = l.cluesOfPerfetto(ctx, beside)
		} else {
			clues, err = jsprofile.ReadClues(ctx, beside)
		}
		return err
	})
	if err == nil {
		first := timeline.Input{Unmarked: true}
		err = l.addInput(first, func() error {
			return l.readBeside(ctx, func(beside io.Reader, format Format) error { return l.readFormat(ctx, beside, format) })
		})
	}
	if err != nil {
		return fmt.Errorf("the trace to join: %w", err)
	}
	profile := l.opts.selfProfile(l.problems)
	profile.CountSamples = !weighAs(l.builder, jsprofile.Samples)
	profile.Clues = clues
	profile.Matched = func(m jsprofile.Match) {
		l.report.Joined = append(l.report.Joined, Joined{m.By, trace.Nanos(m.Origin), trace.Nanos(m.Uncertainty), m.PID, m.TID})
	}
	second := timeline.Input{Unmarked: true, Shares: func(int, timeline.ProcessKey) bool { return true }}
	return l.addInput(second, func() error { return jsprofile.Read(ctx, r, l.builder, profile) })
}

// cluesOfPerfetto reads the clues of a Perfetto trace, whose packets have to be understood and sorted for that.
func (l *loader) cluesOfPerfetto(ctx context.Context, beside io.Reader) (*jsprofile.Clues, error) {
	problems := new(problem.Log) // they are counted when the trace is read for the output
	b := timeline.NewBuilder(timeline.Options{Memory: l.opts.Memory, TempDir: l.opts.TempDir, Problems: problems})
	if err := perfetto.Read(ctx, beside, b, perfetto.Options{Problems: problems, TempDir: l.opts.TempDir}); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	tl, err := b.Finish(ctx)
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	var clues *jsprofile.Clues
	if err = tl.Nest(ctx); err == nil {
		clues, err = jsprofile.CluesOf(ctx, tl)
	}
	return clues, errors.Join(err, tl.Close())
}

// readBeside opens and unpacks the trace to join, which must be one of Chrome.
func (l *loader) readBeside(ctx context.Context, use func(io.Reader, Format) error) error {
	file, err := l.opts.SelfProfile.Join()
	if err != nil {
		return err
	}
	defer file.Close()
	unpacked, err := unpack.Open(ctx, file, l.opts.TempDir)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	plain := newReplay(unpacked, replayMemory, l.opts.TempDir)
	defer plain.Close()
	format, err := detect(plain)
	if err != nil {
		return err
	}
	if format != FormatChromeJSON && format != FormatPerfetto {
		return fmt.Errorf("this is %s, and neither %s nor %s", formats[format], formats[FormatChromeJSON],
			formats[FormatPerfetto])
	}
	return use(plain, format)
}

// selfProfile returns the options of the reader of self-profiles.
func (o *Options) selfProfile(log *problem.Log) jsprofile.Options {
	return jsprofile.Options{
		Problems:   log,
		Interval:   timeline.Nanos(o.SelfProfile.SampleInterval),
		TimeOrigin: (*timeline.Nanos)(o.SelfProfile.TimeOrigin),
		End:        (*timeline.Nanos)(o.SelfProfile.End),
		ThreadName: o.SelfProfile.ThreadName,
		Offset:     timeline.Nanos(o.TimeOffset),
		Memory:     o.profileMemory(),

		NoCalls:       o.JSCalls == JSCallsOff,
		SeparateCalls: o.JSCalls == JSCallsSeparate,
		KeepArg:       o.keepArg(),
	}
}
