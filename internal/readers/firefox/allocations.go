package firefox

import (
	"math"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// addAllocations adds a thread's allocations as instants, like the allocation markers of the raw form.
func (c *converter) addAllocations(th *threadState, name string, a *allocationTable) error {
	for i := range a.rows {
		at, ok := c.nanos(a.time[i] + th.delta)
		if !ok {
			c.log.Add(problem.EventInvalidTimestamp, rowOf(i), name)
			continue
		}
		c.beginArgs()
		for _, text := range [...]struct {
			key    argKey
			column *texts
		}{{keyClassName, &a.class}, {keyTypeName, &a.kind}, {keyCoarseType, &a.coarse}} {
			if t, _ := text.column.at(int32(i)); len(t) > 0 && c.wants(text.key) {
				c.key(text.key)
				c.enc.String(t)
			}
		}
		if size := a.weight.at(i); !math.IsNaN(size) && c.wants(keySize) {
			c.key(keySize)
			c.encodeNumber(size)
		}
		c.out = timeline.Event{
			Kind: timeline.Instant, Track: c.b.RoleTrack(th.track, timeline.RoleAllocations), Event: c.event, Offset: -1, TS: at,
			Name: []byte(name), Args: c.enc.Args(),
			Callstack: th.stacks.callstack(a.stack.at(i)),
		}
		c.event++
		if err := c.b.Add(&c.out); err != nil {
			return err
		}
	}
	return nil
}
