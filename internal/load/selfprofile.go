package load

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// SelfProfileOptions provides information that JS self-profiles lack. It overrides the input.
type SelfProfileOptions struct {
	// SampleInterval is the time between two samples; 0: as in the input, or as derived from its samples.
	SampleInterval trace.Nanos

	// TimeOrigin is the page's performance.timeOrigin, to which the profile's times are relative; nil: as in the input, or 0.
	TimeOrigin *trace.Nanos

	// End is the end of the recording, relative to the time origin; the last sample lasts until then. nil: as in the input, or
	// one interval after the last sample.
	End *trace.Nanos

	// ThreadName is the name of the thread; "": "JS main". A profile does not indicate whether it comes from a page or a worker.
	ThreadName string

	// Required rejects inputs that are not self-profiles. Otherwise, these options do not affect such inputs.
	Required bool
}

// given describes the options that are set: "a time origin, an end".
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

// check rejects inputs to which the options do not apply.
func (o *SelfProfileOptions) check(f Format) error {
	const what = FormatJSProfile
	switch {
	case f == what:
		return nil
	case o.Required && o.given() != "":
		return fmt.Errorf("this is %s; %s can be given only for %s, so leave it out", formats[f], o.given(), formats[what])
	case o.Required:
		return fmt.Errorf("this is %s and not %s", formats[f], formats[what])
	}
	return nil
}

// pages holds the processes and offsets of self-profiles in a merge.
type pages struct {
	places []*jsprofile.Place
	offset timeline.Nanos // the reader adds this to all times and drops negative results
	input  string         // name of the input; "": unknown
}

// selfProfileOptions returns the options for the self-profile reader.
func (l *loader) selfProfileOptions() jsprofile.Options {
	o := &l.opts
	return jsprofile.Options{
		Options:    l.readerOptions(),
		Interval:   o.SelfProfile.SampleInterval,
		TimeOrigin: o.SelfProfile.TimeOrigin,
		End:        o.SelfProfile.End,
		ThreadName: o.SelfProfile.ThreadName,
		NoCalls:    o.JSCalls == JSCallsOff,

		ProfileMemory: o.profileMemory(),
	}
}

// readSelfProfile reads self-profiles. In a trace, each profile is a thread in its page's process, because viewers would add up
// the samples from several profilers on the same thread.
func (l *loader) readSelfProfile(ctx context.Context, r io.Reader) error {
	opts := l.selfProfileOptions()
	opts.Places = l.pages.places
	opts.Offset += l.pages.offset
	if input := l.pages.input; input != "" {
		opts.ThreadName = cmp.Or(opts.ThreadName, jsprofile.DefaultThreadName) + " (" + input + ")"
	}
	return jsprofile.Read(ctx, r, l.builder, opts)
}
