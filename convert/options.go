package convert

import "github.com/weft-trace/weft/internal/load"

// Options configure a conversion. The zero value detects the format, keeps everything and compresses nothing. The
// fields are the same as in internal/load: go doc github.com/weft-trace/weft/internal/load.Options lists them.
type Options = load.Options

// SelfProfileOptions provide information that JS self-profiles lack. They override the input.
type SelfProfileOptions = load.SelfProfileOptions

// Format names an input format.
type Format = load.Format

// The formats. FormatAuto looks at the content of the input, never at a file's name.
const (
	FormatAuto       = load.FormatAuto       // detect by content
	FormatChromeJSON = load.FormatChromeJSON // traces of Chrome, Node and others in the Trace Event Format
	FormatPerfetto   = load.FormatPerfetto   // Perfetto traces
	FormatCPUProfile = load.FormatCPUProfile // V8 CPU profiles, .cpuprofile
	FormatFirefox    = load.FormatFirefox    // profiles of the Firefox Profiler, raw or processed
	FormatJSProfile  = load.FormatJSProfile  // profiles of the JS Self-Profiling API
	FormatProbes     = load.FormatProbes     // probe lines of DTrace, bpftrace and others
	FormatOTLP       = load.FormatOTLP       // spans of OpenTelemetry, protobuf or JSON
	FormatHAR        = load.FormatHAR        // HTTP archives of browsers and proxies
)

// Formats returns all formats, FormatAuto first.
func Formats() []Format { return load.Formats() }

// ErrUnknownFormat is the error (possibly wrapped) for an input in no known format.
var ErrUnknownFormat = load.ErrUnknownFormat

// JSCalls selects the calls that are made from samples of JavaScript, in addition to the samples themselves.
type JSCalls = load.JSCalls

const (
	// JSCallsRefined makes calls. In traces of Chrome and Node they nest with the events of the thread: no call crosses
	// an event or starts in a garbage collection, and hardly any sample is lost.
	JSCallsRefined = load.JSCallsRefined
	// JSCallsDevTools makes the calls that Chrome DevTools shows for such traces. For profiles without events it equals
	// JSCallsRefined.
	JSCallsDevTools = load.JSCallsDevTools
	// JSCallsOff makes no calls. Samples and states stay.
	JSCallsOff = load.JSCallsOff
)

// ProfileAll is the value of Options.Profile that shows all V8 profiles of a trace.
const ProfileAll = load.ProfileAll
