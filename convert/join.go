//go:build !js

package convert

import (
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/trace"
)

// readJoined reads self-profiles and the trace of SelfProfileOptions.Join: the short form of a merge of the two. It returns the size of the
// profiles.
func (l *loader) readJoined(ctx context.Context, profiles *replay) (size int64, err error) {
	if err := profiles.readAll(); err != nil {
		return 0, err
	}
	job := &merge.Job{
		Sources: []merge.Source{
			{Name: "the trace", File: "the trace to join", Open: l.opts.SelfProfile.Join},
			{Name: "the profile", Open: func() (io.ReadCloser, error) { return io.NopCloser(profiles.whole()), nil }},
		},
		Options: merge.Options{CutAtZero: true},
		Joined:  true,
	}
	asked := l.opts
	defer func() { l.opts = asked }()
	origin := asked.SelfProfile.TimeOrigin
	if origin != nil {
		job.Offsets = []merge.GivenOffset{{Input: 1, Offset: *origin}}
	}
	l.opts.From, l.opts.SelfProfile.TimeOrigin = FormatAuto, new(trace.Nanos) // the trace says what the times count from
	m := l.newMerger(job)
	m.formats[1] = FormatJSProfile
	if err := m.place(ctx); err != nil {
		return 0, whyUnplaced(err)
	}
	l.joined = m.formats[0]
	if origin == nil {
		if err := l.reportJoined(job.Plan.Inputs[1].Pages); err != nil {
			return 0, err
		}
	}
	return profiles.size(), m.readAll(ctx)
}

// whyUnplaced returns why a profile has no place in a trace, without what would help if there were several inputs with names.
func whyUnplaced(err error) error {
	if unplaced := (*merge.UnplacedError)(nil); errors.As(err, &unplaced) && unplaced.Why != nil {
		return unplaced.Why
	}
	if beyond := (*merge.RangeError)(nil); errors.As(err, &beyond) {
		return errors.New(beyond.Error())
	}
	return err
}

// reportJoined says in the report where profiles were placed.
func (l *loader) reportJoined(pages []merge.Page) error {
	for i := range pages {
		m := pages[i].Match
		if m == nil {
			return pages[i].Err
		}
		l.report.Joined = append(l.report.Joined, Joined{m.By, m.Origin, m.Uncertainty, m.PID, m.TID})
	}
	return nil
}
