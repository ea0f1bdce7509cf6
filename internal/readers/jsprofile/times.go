package jsprofile

import (
	"context"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Times are when the samples of a self-profile were taken, and what else tells its place in a trace.
type Times struct {
	Times     []timeline.Nanos // sorted, as Read would add them without Places
	Script    []timeline.Nanos // times of the samples with JavaScript on the stack, sorted
	Resources []string         // the scripts
	Origin    *timeline.Nanos  // the time origin: the times count from 1970; nil: it is not known
	Step      timeline.Nanos   // in which the page saw times
	Offset    int64            // of the profile in the input, in bytes
}

// ReadTimes reads the times of the profiles of r, which is unpacked, in the order of the input. The error is Read's.
func ReadTimes(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) ([]Times, error) {
	profiles, err := parse(ctx, r, b, opts)
	if err != nil {
		return nil, err
	}
	all := make([]Times, len(profiles))
	for i, p := range profiles {
		all[i] = p.times(opts.originOf(p))
	}
	return all, nil
}

// times returns the times of a profile, from 1970 on if its time origin is known.
func (p *profile) times(origin *timeline.Nanos) Times {
	t := Times{Origin: origin, Offset: p.offset, Times: make([]timeline.Nanos, 0, p.samples.Len())}
	for _, s := range p.samples.All() {
		t.Times = append(t.Times, s.ts)
		if s.stack >= 0 {
			t.Script = append(t.Script, s.ts)
		}
	}
	t.Step = stepOf(t.Times)
	for _, times := range [...]*[]timeline.Nanos{&t.Times, &t.Script} {
		slices.Sort(*times)
		if origin == nil {
			continue
		}
		kept := (*times)[:0]
		for _, ts := range *times {
			if ts, ok := shift(ts, *origin); ok {
				kept = append(kept, ts)
			}
		}
		*times = kept
	}
	for _, resource := range p.resources.All() {
		t.Resources = append(t.Resources, *resource)
	}
	return t
}

// The steps in which browsers let pages see times: finer ones for pages that are isolated from others.
const (
	fineStep   timeline.Nanos = 5_000
	coarseStep timeline.Nanos = 100_000
)

// stepOf returns the step of a page's times.
func stepOf(times []timeline.Nanos) timeline.Nanos {
	for _, ts := range times {
		if ts%coarseStep != 0 {
			return fineStep
		}
	}
	return coarseStep
}
