package problem

import "slices"

// Names of formats, as in package convert.
const (
	chromeFormat   = "chrome-json"
	perfettoFormat = "perfetto"
	firefoxFormat  = "firefox"
	selfFormat     = "jsprofile"
	cpuFormat      = "cpuprofile"
	probesFormat   = "probes"
	otlpFormat     = "otlp"
	harFormat      = "har"
)

// usualProblems lists the harmless problems of most recordings in some formats, which are due to the way their producers record.
// what is the description for users; problems with the same description are counted together.
var usualProblems = []struct {
	what    string
	formats []string
	kinds   []Kind
}{
	{"flows without their other end", []string{chromeFormat, perfettoFormat}, []Kind{
		FlowEndWithoutStart, FlowStepWithoutStart, FlowNoEnclosingSlice, FlowNoNextSlice, FlowSelf, FlowUnfinished,
	}},
	{"flows with several ends", []string{chromeFormat, perfettoFormat}, []Kind{FlowFanOut, FlowBackwards}},
	{"slices cut off at the start or end of the recording", []string{chromeFormat, perfettoFormat}, []Kind{
		AsyncUnfinished, AsyncEndWithoutBegin, BeginWithoutEnd, BeginClosedByParent, BeginClosedByNext,
	}},
	{"slices cut off at the start or end of the recording", []string{perfettoFormat}, []Kind{EndWithoutBegin}},
	{"slices cut off at the start or end of the recording", []string{firefoxFormat}, []Kind{MarkerIncomplete}},
	{"slices cut off at the start or end of the recording", []string{probesFormat}, []Kind{EndWithoutStart, NeverEnded, UnbalancedStart}},
	{"slices cut off at the start or end of the recording", []string{otlpFormat}, []Kind{BeginWithoutEnd}},
	{"spans that refer to others outside of the recording", []string{otlpFormat}, []Kind{SpanParentUnknown, SpanLinkUnknown}},
	{"requests whose initiator or redirect is not in the recording", []string{harFormat}, []Kind{HARRequestUnknown}},
	{"times of requests that are not the sum of their phases", []string{harFormat}, []Kind{HARTimeMismatch}},
	{"clocks of hosts that differ", []string{otlpFormat}, []Kind{FlowBackwards}},
	{"slices that overlap", []string{chromeFormat, perfettoFormat}, []Kind{SliceOverlapMoved, AsyncOverlapMoved}},
	{"slices that overlap", []string{firefoxFormat}, []Kind{MarkerOverlapMoved}},
	{"reused or non-numeric ids", []string{chromeFormat}, []Kind{AsyncIDPerThread, TextID, PidRemapped}},
	{"reused or non-numeric ids", []string{firefoxFormat}, []Kind{PidRemapped}},
	{"samples out of order", []string{chromeFormat, perfettoFormat, cpuFormat}, []Kind{ProfileSamplesReordered}},
	{"samples out of order", []string{selfFormat}, []Kind{SamplesOutOfOrder}},
	{"names in another encoding", []string{selfFormat}, []Kind{TextRedecoded}},
	{"arguments that are given twice", []string{perfettoFormat}, []Kind{JSONDuplicateKey}},
	{"settings of the recording", []string{chromeFormat, perfettoFormat}, []Kind{MetadataValueOmitted}},
	{"settings of the recording", []string{perfettoFormat}, []Kind{PacketDetailSkipped}},
}

// Usual returns a short description of a harmless problem that most recordings in a format have, for example "flows without
// their other end". It returns "" for all other problems and unknown names.
func Usual(name, format string) string {
	for i := range usualProblems {
		u := &usualProblems[i]
		if slices.Contains(u.formats, format) && slices.ContainsFunc(u.kinds, func(k Kind) bool { return k.Name() == name }) {
			return u.what
		}
	}
	return ""
}
