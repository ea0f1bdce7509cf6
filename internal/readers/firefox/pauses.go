package firefox

import (
	"cmp"
	"math"

	"github.com/weft-trace/weft/internal/timeline"
)

// addPauses adds the pauses of the profiler, once per process: in the processed form, each thread repeats them.
func (c *converter) addPauses() error {
	added := map[*process]bool{}
	for _, th := range c.threads {
		if len(th.th.pauses) > 0 && !added[th.process] {
			added[th.process] = true
			if err := c.addProcessPauses(th.process, th.th.pauses); err != nil {
				return err
			}
		}
	}
	return c.eachProfile(c.root, func(p *profile) error {
		if p.process == nil || added[p.process] {
			return nil
		}
		return c.addProcessPauses(p.process, p.pauses)
	})
}

// addProcessPauses adds the pauses of a process. A pause without a start or an end extends to the edge of the
// recording.
func (c *converter) addProcessPauses(pr *process, pauses []pause) error {
	for _, one := range pauses {
		from, to := one.start+pr.delta, one.end+pr.delta
		if math.IsNaN(from) { // started before the recording
			from = min(c.start, to)
		}
		if math.IsNaN(to) { // ended after the recording
			to = max(c.end, from)
		}
		err := c.addSlice(c.b.RoleTrack(pr.track, timeline.RolePaused), cmp.Or(one.reason, "paused"), from, to, nil)
		if err != nil {
			return err
		}
	}
	return nil
}
