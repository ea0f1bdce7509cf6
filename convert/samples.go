package convert

import (
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
)

// Samples says in which form call-stack samples are written.
type Samples uint8

const (
	// SamplesStackSample writes them with everything that is known of them. Perfetto shows them since v58.
	SamplesStackSample Samples = iota
	// SamplesStreamingProfile writes call stacks and times in microseconds, which every version of Perfetto shows.
	SamplesStreamingProfile
	// SamplesNone leaves samples out. Slices made of samples stay.
	SamplesNone
)

var sampleForms = [...]string{
	SamplesStackSample: "stack-sample", SamplesStreamingProfile: "streaming-profile", SamplesNone: "none",
}

// String returns "stack-sample", "streaming-profile" or "none".
func (s Samples) String() string {
	if int(s) < len(sampleForms) {
		return sampleForms[s]
	}
	return fmt.Sprintf("Samples(%d)", uint8(s))
}

// ParseSamples is the inverse of String.
func ParseSamples(name string) (Samples, error) {
	if i := slices.Index(sampleForms[:], name); i >= 0 {
		return Samples(i), nil
	}
	return 0, suggest.Unknown("form", name, sampleForms[:])
}

// form returns the form as package pfwire calls it.
func (s Samples) form() pfwire.SampleForm {
	switch s {
	case SamplesStreamingProfile:
		return pfwire.StreamingProfiles
	case SamplesNone:
		return pfwire.NoSamples
	}
	return pfwire.StackSamples
}

// written returns how many samples of a timeline are in an output that was written in this form.
func (s Samples) written(tl *timeline.Timeline) int64 {
	if s == SamplesNone {
		return 0
	}
	return tl.Totals().Samples - int64(tl.Problems().Count(problem.SampleWithoutStack))
}
