package convert

import "github.com/weft-trace/weft/internal/load"

// Options configure a conversion. The zero value finds out the format, keeps everything, and compresses nothing. The fields are the same as in
// internal/load: go doc github.com/weft-trace/weft/internal/load.Options lists them.
type Options = load.Options

// SelfProfileOptions say what JS self-profiles leave open. They take precedence over what the input says.
type SelfProfileOptions = load.SelfProfileOptions

// Format names an input format.
type Format = load.Format

// The formats. FormatAuto finds out by looking at the content of the input, never at a file's name.
const (
	FormatAuto       = load.FormatAuto       // the format that the content shows
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

// JSCalls says what becomes of the samples of JavaScript beside the samples themselves.
type JSCalls = load.JSCalls

const (
	// JSCallsRefined makes calls of them. In traces of Chrome and Node these are among the events of the thread: no call crosses
	// an event or begins in a garbage collection, and hardly any sample is lost.
	JSCallsRefined = load.JSCallsRefined
	// JSCallsDevTools makes the calls in such traces that Chrome DevTools shows. For profiles without events it is the same as
	// JSCallsRefined.
	JSCallsDevTools = load.JSCallsDevTools
	// JSCallsOff makes no calls. Samples and states are not concerned.
	JSCallsOff = load.JSCallsOff
)

// ProfileAll is the value of Options.Profile with which all V8 profiles of a trace are shown.
const ProfileAll = load.ProfileAll
