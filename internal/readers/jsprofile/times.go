package jsprofile

import (
	"context"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Times are when the samples of a self-profile were taken.
type Times struct {
	Times     []timeline.Nanos // sorted, as Read would add them without Clues
	Resources []string         // the scripts
	Origin    bool             // the times count from 1970, because the time origin is known
	Step      timeline.Nanos   // in which the page saw times
	Profiles  int              // of the input; only the first one counts
}

// ReadTimes reads the times of the first profile of r, which is unpacked. The error is that of Read.
func ReadTimes(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) (*Times, error) {
	profiles, err := parse(ctx, r, b, opts)
	if err != nil {
		return nil, err
	}
	p := profiles[0]
	origin := p.origin
	if opts.TimeOrigin != nil {
		origin = opts.TimeOrigin
	} else if origin == nil {
		origin = p.started
	}
	t := &Times{Origin: origin != nil, Profiles: len(profiles)}
	for _, s := range p.samples.All() {
		t.Times = append(t.Times, s.ts)
	}
	slices.Sort(t.Times)
	t.Step = stepOf(t.Times)
	if origin != nil {
		kept := t.Times[:0]
		for _, ts := range t.Times {
			if ts, ok := shift(ts, *origin); ok {
				kept = append(kept, ts)
			}
		}
		t.Times = kept
	}
	for _, resource := range p.resources.All() {
		t.Resources = append(t.Resources, *resource)
	}
	return t, nil
}
