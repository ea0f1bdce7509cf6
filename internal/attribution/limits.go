package attribution

import "github.com/weft-trace/weft/internal/timeline"

// Limits scales the limits of tables, the constants max…, to a memory budget: with less memory than the default, the limits
// shrink in proportion, down to an eighth. problem.ContextLimit and problem.CostLimit count entries beyond a limit. A 190 MB
// recording fills at most 5 % of each limit. So the result depends on the budget only if one of these problems is counted.
type Limits int64

// Between these memory budgets, limits grow in proportion.
const (
	Least = Full / 8
	Full  = timeline.DefaultMemory
)

// LimitsFor returns the Limits for a memory budget in bytes.
func LimitsFor(memory int64) Limits { return Limits(min(max(memory, Least), Full)) }

// Of scales a limit.
func (r Limits) Of(limit int) int { return int(int64(limit) * int64(r) / Full) }
