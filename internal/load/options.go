package load

import (
	"cmp"
	"errors"
	"slices"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// Options configures a conversion. The zero value detects the format, keeps everything and compresses nothing.
type Options struct {
	// From is the format of the input; FormatAuto detects it by content.
	From Format

	// Args lists the event arguments to keep, including everything inside them, by their names in the input; empty means all.
	// NoArgs keeps none. Neither affects arguments that weft adds.
	Args   []string
	NoArgs bool

	// NoScreenshots drops the pictures from screenshots but keeps their events. Args and NoArgs do not affect pictures.
	NoScreenshots bool

	// NoLongTasks omits the long-task marks that Convert adds, and drops such marks from an input written by weft.
	NoLongTasks bool

	// Compression, Packets and Samples configure the output, like the options of package pftrace. Slices derived from samples are
	// written even without the samples.
	Compression pftrace.Compression
	Packets     pftrace.Packets
	Samples     pftrace.Samples

	// JSCalls selects how calls are derived from JavaScript samples; the zero value uses the refined rules. With JSCallsOff and
	// pftrace.NoSamples, Convert leaves the events of V8 profiles in traces unchanged.
	JSCalls JSCalls

	// CallDetails adds further arguments to the calls derived from V8 samples, besides the position of the function and the
	// number of samples: ids of the profile, node, script and first sample, the code type, and the lines of all samples of a
	// node. Each makes the output larger and slower to load.
	CallDetails bool

	// Profile selects the V8 profiles in a trace: "" selects, for each thread, the profile that DevTools shows. ProfileAll adds
	// the other profiles, each on a separate thread. An id selects the profile with this id and, for other threads, the profiles
	// that DevTools shows. Ids are unique only within a process: "1234:0x3" is in process 1234. An unknown id is an error.
	Profile string

	// Attribute requests attribution of the work (docs/attribution.md); the result is written into the trace as WriteBack
	// specifies. nil: no attribution.
	Attribute *attribution.Options
	// KeepPackets copies a Perfetto trace packet by packet and only adds the attribution. Other output options then have no
	// effect.
	KeepPackets bool
	// WriteBack selects the parts of an attribution to write; the zero value selects everything.
	WriteBack attribution.WriteBack

	// Report, if not nil, receives from Open the report that Inspect would return.
	Report *Report

	// KeepFlowIDs keeps textual flow ids in the result of Open, so that a flow.Index can show them.
	KeepFlowIDs bool

	// Memory limits the working memory, in bytes, whatever the size of the input: events beyond it are sorted on disk. 0 means
	// 256 MiB. Values too small to work with are raised. Tables of names and tracks have their own limits.
	Memory int64

	// TempDir is the folder for temporary files; "" means os.TempDir. The files are removed before a function of this package
	// returns, or when the trace is closed.
	TempDir string

	// Workers is the number of goroutines that scan, attribute, encode and compress; 0 means one per core. Each needs 16 MiB of
	// Memory, which limits their number. The output does not depend on Workers.
	Workers int

	// TimeOffset is added to every time in the input before times below 0 are dropped. It helps with traces whose times are
	// relative to a moment in the middle of the trace. Perfetto traces do not allow it.
	TimeOffset trace.Nanos

	// SelfProfile adds information that JS self-profiles lack. Other formats ignore it.
	SelfProfile SelfProfileOptions
}

// The choices for options are strings; "" means the default, which is the first in each list.

// Format names an input format.
type Format string

// The formats. FormatAuto examines the content of the input, never a file's name.
const (
	FormatAuto       Format = "auto"        // detect by content
	FormatChromeJSON Format = "chrome-json" // traces from Chrome, Node and others in the Trace Event Format
	FormatPerfetto   Format = "perfetto"    // Perfetto traces
	FormatCPUProfile Format = "cpuprofile"  // V8 CPU profiles, .cpuprofile
	FormatFirefox    Format = "firefox"     // profiles from the Firefox Profiler, raw or processed
	FormatJSProfile  Format = "jsprofile"   // profiles from the JS Self-Profiling API
	FormatProbes     Format = "probes"      // probe lines from DTrace, bpftrace and others
	FormatOTLP       Format = "otlp"        // OpenTelemetry spans, protobuf or JSON
	FormatHAR        Format = "har"         // HTTP archives from browsers and proxies
)

// JSCalls selects how calls are derived from JavaScript samples, in addition to the samples themselves.
type JSCalls string

const (
	// JSCallsRefined derives calls. In Chrome and Node traces, the calls nest with the events on the thread: no call crosses an
	// event or starts in a garbage collection, and hardly any sample is lost.
	JSCallsRefined JSCalls = "refined"
	// JSCallsDevTools derives the calls that Chrome DevTools shows for such traces. For profiles without events, it equals
	// JSCallsRefined.
	JSCallsDevTools JSCalls = "devtools"
	// JSCallsOff derives no calls. Samples and states remain.
	JSCallsOff JSCalls = "off"
)

// Validate returns an error, listing the valid values, if an option has an invalid one. Functions that take Options call
// Validate.
func (o Options) Validate() error { return o.complete() }

// complete replaces empty strings with their defaults and rejects invalid values.
func (o *Options) complete() error {
	if len(o.Args) > 0 && o.NoArgs {
		return errors.New("NoArgs and Args cannot be combined")
	}
	_, err := o.wire()
	return cmp.Or(
		err,
		choose("format", &o.From, Formats()...),
		choose("kind of calls", &o.JSCalls, JSCallsRefined, JSCallsDevTools, JSCallsOff),
	)
}

// wire converts the output options for package pfwire.
func (o *Options) wire() (pfwire.Options, error) {
	return pfwire.ParseOptions(string(o.Compression), string(o.Packets), string(o.Samples))
}

// choose replaces an empty string with the first of the choices, and rejects other strings that are not choices.
func choose[T ~string](what string, word *T, choices ...T) error {
	if *word == "" {
		*word = choices[0]
	}
	if slices.Contains(choices, *word) {
		return nil
	}
	var names []string
	for _, c := range choices {
		names = append(names, string(c))
	}
	return words.Unknown(what, string(*word), names)
}

// allArgs reports whether all event arguments are kept.
func (o *Options) allArgs() bool { return len(o.Args) == 0 && !o.NoArgs }

// argFilter returns the filter for event arguments.
func (o *Options) argFilter() timeline.ArgFilter {
	switch {
	case o.allArgs():
		return timeline.ArgFilter{}
	case o.NoArgs:
		return timeline.NoArgs()
	}
	return timeline.OnlyArgs(o.Args...)
}

// workers returns the number of workers for a conversion.
func (o *Options) workers() int { return timeline.WorkerCount(o.Workers, o.Memory) }
