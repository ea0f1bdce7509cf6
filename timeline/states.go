package timeline

// Names of the tracks that say what a sampled thread was doing. They are children of the thread, and their slices, named
// by a state, lie one behind the other; a slice has as argument weft.samples the number of samples that it was made of.
const (
	BrowserActivityName = "Browser activity" // of a JS self-profile
	V8StateName         = "V8 state"         // of a V8 CPU profile
	SampleCategoryName  = "Sample category"  // of samples of Firefox, whose states are categories
)

// JSSamplesName is the track below a thread with the calls that were made of its samples, if they are kept apart from its
// events.
const JSSamplesName = "JS samples"

// States of a sampled thread, as slices of such a track are named. Browsers may add others, which are kept as they are.
const (
	StateScript   = "script"
	StateInferred = "script?" // script on the stack, and nothing said about what was done
	StateGC       = "gc"
	StateStyle    = "style"
	StateLayout   = "layout"
	StatePaint    = "paint"
	StateProgram  = "program" // native code
	StateOther    = "other"
	StateIdle     = "idle"
)
