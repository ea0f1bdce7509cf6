package timeline

import "bytes"

// CallCategory is the default category of calls derived from samples. Chrome prefixes it with "disabled-by-default-".
const CallCategory = "v8.cpu_profiler"

// IsCall reports whether slices with this category are calls derived from samples.
func IsCall(category []byte) bool { return bytes.HasSuffix(category, []byte(CallCategory)) }

// StateCategory is the category of the slices on state tracks.
const StateCategory = "state"

// States of a sampled thread: names of slices on its state track. Browsers may add others, which are kept.
const (
	StateScript   = "script"
	StateInferred = "script?" // script on the stack, but the activity is unknown
	StateGC       = "gc"
	StateStyle    = "style"
	StateLayout   = "layout"
	StatePaint    = "paint"
	StateProgram  = "program" // native code
	StateOther    = "other"
	StateIdle     = "idle"
)
