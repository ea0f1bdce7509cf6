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

// SelfProfileOptions say what JS self-profiles leave open. They take precedence over what the input says.
type SelfProfileOptions struct {
	// SampleInterval is the time between two samples; 0: what the input says, or what its samples show.
	SampleInterval trace.Nanos

	// TimeOrigin is the moment from which the times of the page count, its performance.timeOrigin; nil: what the input
	// says, or 0.
	TimeOrigin *trace.Nanos

	// End is the time, from the time origin, at which the recording ended; the last sample lasts until then. nil: what the
	// input states; otherwise the last sample lasts one interval.
	End *trace.Nanos

	// ThreadName is the name of the thread; "": "JS main". A profile does not say whether it is one of a page or a worker.
	ThreadName string

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
	case o.Required && o.given() != "":
		return fmt.Errorf("this is %s; %s can be given only for %s, so leave it out", formats[f], o.given(), formats[what])
	case o.Required:
		return fmt.Errorf("this is %s and not %s", formats[f], formats[what])
	}
	return nil
}

// pages are where self-profiles of a merge go.
type pages struct {
	places []*jsprofile.Place
	offset timeline.Nanos // is added to the times of all of them, by their reader: it leaves out what is before 0
	input  string         // whose profiles they are; "": nothing shows that
}

// selfProfile returns the options of the reader of self-profiles.
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

// readSelfProfile reads self-profiles. In a trace, a profile is a thread in the process of its page, because samples of several recorders
// on one thread would be added up as if they were of one.
func (l *loader) readSelfProfile(ctx context.Context, r io.Reader) error {
	opts := l.selfProfileOptions()
	opts.Places = l.pages.places
	opts.Offset += l.pages.offset
	if of := l.pages.input; of != "" {
		opts.ThreadName = cmp.Or(opts.ThreadName, jsprofile.DefaultThreadName) + " (" + of + ")"
	}
	return jsprofile.Read(ctx, r, l.builder, opts)
}
