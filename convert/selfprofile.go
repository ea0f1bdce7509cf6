package convert

import (
	"github.com/weft-trace/weft/convert/jsprofile"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// SelfProfileOptions say what JS self-profiles leave open. What is given here counts, whatever the input says.
type SelfProfileOptions struct {
	// SampleInterval is the time between two samples; 0: what the input says, or what its samples show.
	SampleInterval timeline.Nanos

	// TimeOrigin is the moment from which the times of the page count, its performance.timeOrigin; nil: what the input
	// says, or 0.
	TimeOrigin *timeline.Nanos

	// End is the time, from the time origin, at which the recording ended; the last sample lasts until then. nil: what the
	// input says; else the last sample lasts one interval.
	End *timeline.Nanos

	// ThreadName is the name of the thread; "": "JS main". A profile does not say whether it is one of a page or a worker.
	ThreadName string
}

// selfProfile returns the options of the reader of self-profiles.
func (o *Options) selfProfile(log *problem.Log) jsprofile.Options {
	return jsprofile.Options{
		Problems:   log,
		Interval:   o.SelfProfile.SampleInterval,
		TimeOrigin: o.SelfProfile.TimeOrigin,
		End:        o.SelfProfile.End,
		ThreadName: o.SelfProfile.ThreadName,
		Offset:     o.TimeOffset,
		KeepArg:    o.Args.keep(),
	}
}
