package convert

import "github.com/weft-trace/weft/internal/load"

// Options configures a conversion. The zero value detects the format, keeps everything and compresses nothing. The type is
// defined in internal/load: go doc github.com/weft-trace/weft/internal/load.Options lists its fields.
type Options = load.Options

// SelfProfileOptions provides information that JS self-profiles lack. It overrides the input.
type SelfProfileOptions = load.SelfProfileOptions

// Format names an input format.
type Format = load.Format

// The formats. FormatAuto examines the content of the input, never a file's name.
const (
	FormatAuto       = load.FormatAuto       // detect by content
	FormatChromeJSON = load.FormatChromeJSON // traces from Chrome, Node and others in the Trace Event Format
	FormatPerfetto   = load.FormatPerfetto   // Perfetto traces
	FormatCPUProfile = load.FormatCPUProfile // V8 CPU profiles, .cpuprofile
	FormatFirefox    = load.FormatFirefox    // profiles from the Firefox Profiler, raw or processed
	FormatJSProfile  = load.FormatJSProfile  // profiles from the JS Self-Profiling API
	FormatProbes     = load.FormatProbes     // probe lines from DTrace, bpftrace and others
	FormatOTLP       = load.FormatOTLP       // OpenTelemetry spans, protobuf or JSON
	FormatHAR        = load.FormatHAR        // HTTP archives from browsers and proxies
)

// Formats returns all formats, FormatAuto first.
func Formats() []Format { return load.Formats() }

// ErrUnknownFormat is the error (possibly wrapped) for an input of no known format.
var ErrUnknownFormat = load.ErrUnknownFormat

// JSCalls selects how calls are derived from JavaScript samples, in addition to the samples themselves.
type JSCalls = load.JSCalls

const (
	// JSCallsRefined derives calls. In Chrome and Node traces, they nest with the events on the thread: no call crosses an event
	// or starts in a garbage collection, and hardly any sample is lost.
	JSCallsRefined = load.JSCallsRefined
	// JSCallsDevTools derives the calls that Chrome DevTools shows for such traces. For profiles without events, it equals
	// JSCallsRefined.
	JSCallsDevTools = load.JSCallsDevTools
	// JSCallsOff derives no calls. Samples and states remain.
	JSCallsOff = load.JSCallsOff
)

// ProfileAll is a value for Options.Profile that shows all V8 profiles in a trace.
const ProfileAll = load.ProfileAll
