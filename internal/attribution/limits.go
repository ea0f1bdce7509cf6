package attribution

import "github.com/weft-trace/weft/internal/timeline"

// Room is the part of each limit that a memory budget leaves to the tables of an attribution. The limits are the constants
// max… beside what they bound, or with less memory than the default their share, which is an eighth at least. What has no
// room is counted, as problem.ContextLimit or problem.CostLimit. A recording of 190 MB takes at most 5 % of each limit. So
// the result depends on the budget only where something is counted, and from the default on nowhere.
type Room int64

// Budgets of memory between which limits grow with the budget.
const (
	Least = Full / 8
	Full  = timeline.DefaultMemory
)

// For returns the room that a budget in bytes leaves.
func For(memory int64) Room { return Room(min(max(memory, Least), Full)) }

// Of returns the share of a limit.
func (r Room) Of(most int) int { return int(int64(most) * int64(r) / Full) }
