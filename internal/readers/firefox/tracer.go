package firefox

import (
	"math"

	"github.com/weft-trace/weft/internal/timeline"
)

// addTracer adds JS tracer events as slices. Their times are in microseconds.
func (c *converter) addTracer(th *threadState) error {
	t := &th.th.tracer
	for i := range t.rows {
		name := th.tables.strings.text(t.event[i])
		if th.tracerNames.len() > 0 {
			name = th.tracerNames.text(t.event[i])
		}
		from := t.time[i]/1000 + th.delta
		length := t.duration.at(i) / 1000
		if math.IsNaN(length) {
			length = 0
		}
		err := c.addSlice(c.b.RoleTrack(th.track, timeline.RoleJSTracer), name, from, from+length, func() {
			for _, member := range [...]struct {
				key   argKey
				value int32
			}{{keyLine, t.line.at(i)}, {keyColumn, t.columnOf.at(i)}} {
				if member.value > 0 && c.wants(member.key) {
					c.key(member.key)
					c.enc.Int(int64(member.value))
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}
