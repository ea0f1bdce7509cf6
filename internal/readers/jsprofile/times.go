package jsprofile

import (
	"context"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Times contains the sample times of a self-profile, and other clues to its position in a trace.
type Times struct {
	Times     []timeline.Nanos // sorted; Read adds the same times if Places is nil
	Script    []timeline.Nanos // times of the samples with JavaScript on the stack, sorted
	Resources []string         // addresses of the scripts
	Origin    *timeline.Nanos  // the time origin; nil: unknown. With an origin, the times are relative to 1970
	Step      timeline.Nanos   // resolution of the page's clock
	Offset    int64            // position of the profile in the input, in bytes
}

// ReadTimes reads the times of the unpacked profiles in r, in input order. It returns the same kinds of errors as Read.
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

// times returns the times of a profile. If its time origin is known, they are relative to 1970.
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

// Resolutions of the clocks that browsers provide to pages; isolated pages have the finer resolution.
const (
	fineStep   timeline.Nanos = 5_000
	coarseStep timeline.Nanos = 100_000
)

// stepOf returns the resolution of a page's times.
func stepOf(times []timeline.Nanos) timeline.Nanos {
	for _, ts := range times {
		if ts%coarseStep != 0 {
			return fineStep
		}
	}
	return coarseStep
}
