package attribution

import "github.com/weft-trace/weft/internal/timeline"

// limits bound the tables that an attribution keeps in memory, whatever the input says. What has no room is counted, as
// problem.ContextLimit or problem.CostLimit. The fields are the constants max… that are named beside them, or with less
// memory than the default their share of these, which is an eighth at least. A recording of 190 MB takes at most 5 % of
// each constant. So the result depends on the budget only where something is counted, and from the default on nowhere.
type limits struct {
	nodes     int // maxNodes
	table     int // maxTableSize
	snapshots int // maxSnapshots; of references as well
	requests  int // maxRequests
	inputs    int // maxInputs; of timings as well
	held      int // maxHeld

	entries int // maxEntries
	sets    int // maxSets
	inSets  int // maxInSets
	lists   int // maxLists
	inLists int // maxInLists

	longTasks int // maxLongTasks
	taskSets  int // maxAllTaskSets
	asyncs    int // maxAsyncs
	shares    int // maxShares
	rows      int // maxTableRows
	rowInputs int // maxRowInputs

	notes int // maxNotes
	names int // maxNames
}

// Budgets of memory between which limits grow with the budget.
const (
	leastLimits = fullLimits / 8
	fullLimits  = timeline.DefaultMemory
)

// limitsFor returns the limits for a budget in bytes.
func limitsFor(memory int64) limits {
	memory = min(max(memory, leastLimits), fullLimits)
	of := func(most int64) int { return int(most * memory / fullLimits) }
	return limits{
		nodes: of(maxNodes), table: of(maxTableSize), snapshots: of(maxSnapshots), requests: of(maxRequests),
		inputs: of(maxInputs), held: of(maxHeld),
		entries: of(maxEntries), sets: of(maxSets), inSets: of(maxInSets), lists: of(maxLists), inLists: of(maxInLists),
		longTasks: of(maxLongTasks), taskSets: of(maxAllTaskSets), asyncs: of(maxAsyncs), shares: of(maxShares),
		rows: of(maxTableRows), rowInputs: of(maxRowInputs),
		notes: of(maxNotes), names: of(maxNames),
	}
}
