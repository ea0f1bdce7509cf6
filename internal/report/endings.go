package report

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
)

// endings tells slices whose end the input has from those that were closed for want of one. A Perfetto trace that weft wrote
// says so in an argument, because every slice needs an end there.
type endings struct {
	args *timeline.ArgSelection // nil: no slice has such an argument
}

func newEndings(tl *timeline.Timeline) endings {
	found := false
	args := tl.SelectArgs(func(name string) bool {
		found = found || name == "did_not_end"
		return name == "weft" || name == "did_not_end"
	})
	if !found {
		return endings{}
	}
	return endings{args}
}

// has reports whether the input has an end of a slice.
func (e endings) has(it *timeline.Item) bool {
	if it.Dur == timeline.NoTime || it.DidNotEnd {
		return false
	}
	if e.args == nil {
		return true
	}
	for arg := range e.args.List(it.Args) {
		if string(arg.Key) != "weft" || arg.Kind != timeline.ArgDict {
			continue
		}
		for member := range e.args.Members(arg) {
			if string(member.Key) == "did_not_end" {
				return false
			}
		}
	}
	return true
}

// endOf returns when a slice ends that does.
func endOf(it *timeline.Item) timeline.Nanos { return it.TS + min(it.Dur, math.MaxInt64-max(it.TS, 0)) }
