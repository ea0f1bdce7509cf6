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

// Options configure a conversion. The zero value detects the format, keeps everything and compresses nothing.
type Options struct {
	// From is the format of the input; FormatAuto looks at the content.
	From Format

	// Args names the arguments of events to keep, with everything inside them; empty: all. NoArgs keeps none. Both
	// apply to the names in the input; arguments that weft adds stay.
	Args   []string
	NoArgs bool

	// NoScreenshots drops the pictures of screenshots and keeps their events. Args and NoArgs do not affect pictures.
	NoScreenshots bool

	// NoLongTasks omits the marks of long tasks that Convert adds, and drops those in an input that weft wrote.
	NoLongTasks bool

	// Compression, Packets and Samples configure the output, as the options of package pftrace do. Slices made from
	// samples are written even without the samples.
	Compression pftrace.Compression
	Packets     pftrace.Packets
	Samples     pftrace.Samples

	// JSCalls selects how calls are made from samples of JavaScript; the zero value uses the refined rules.
	// With JSCallsOff and pftrace.NoSamples, Convert leaves the events of V8 profiles in traces as they are.
	JSCalls JSCalls

	// CallDetails adds more arguments to the calls made from V8's samples than the position of the function and the
	// number of samples: ids of the profile, node, script and first sample, the type of code, the lines of all samples
	// of a node. Each makes the output larger and slower to load.
	CallDetails bool

	// Profile selects the V8 profiles of a trace: "" chooses for each thread the one that DevTools shows; ProfileAll
	// adds the others, each on a separate thread; an id chooses the profile with this id, and for other threads the
	// ones that DevTools shows. Ids are unique only in a process: "1234:0x3" is in process 1234. An unknown id is an
	// error.
	Profile string

	// Attribute attributes the work (docs/attribution.md) and writes the result into the trace as WriteBack specifies;
	// nil: no attribution.
	Attribute *attribution.Options
	// KeepPackets copies a Perfetto trace packet by packet and only adds the attribution. Other options for the output
	// then have no effect.
	KeepPackets bool
	// WriteBack selects the parts of an attribution to write; the zero value writes everything.
	WriteBack attribution.WriteBack

	// Report receives the report of Inspect from Open; nil: not requested.
	Report *Report

	// KeepFlowIDs keeps textual flow ids in the result of Open, so that a flow.Index can show them.
	KeepFlowIDs bool

	// Memory limits the working memory in bytes, whatever the size of the input: events beyond it are sorted on disk. 0
	// means 256 MiB. Values that are too small to work with are raised. Tables of names and tracks have limits of their
	// own.
	Memory int64

	// TempDir is the folder for temporary files; "" means os.TempDir. They are removed before a function of this package
	// returns, or when the trace is closed.
	TempDir string

	// Workers is the number of goroutines that scan, attribute, encode and compress; 0 means one per core. Each needs
	// 16 MiB of Memory; there are no more than that allows. The output does not depend on it.
	Workers int

	// TimeOffset is added to every time of the input, before times below 0 are dropped. It helps with traces that count
	// from a moment in the middle. Perfetto traces do not allow it.
	TimeOffset trace.Nanos

	// SelfProfile adds information that JS self-profiles lack. Other formats ignore it.
	SelfProfile SelfProfileOptions
}

// The choices of options are strings; "" is the default, which is the first of each list.

// Format names an input format.
type Format string

// The formats. FormatAuto looks at the content of the input, never at a file's name.
const (
	FormatAuto       Format = "auto"        // detect by content
	FormatChromeJSON Format = "chrome-json" // traces of Chrome, Node and others in the Trace Event Format
	FormatPerfetto   Format = "perfetto"    // Perfetto traces
	FormatCPUProfile Format = "cpuprofile"  // V8 CPU profiles, .cpuprofile
	FormatFirefox    Format = "firefox"     // profiles of the Firefox Profiler, raw or processed
	FormatJSProfile  Format = "jsprofile"   // profiles of the JS Self-Profiling API
	FormatProbes     Format = "probes"      // probe lines of DTrace, bpftrace and others
	FormatOTLP       Format = "otlp"        // spans of OpenTelemetry, protobuf or JSON
	FormatHAR        Format = "har"         // HTTP archives of browsers and proxies
)

// JSCalls selects the calls that are made from samples of JavaScript, in addition to the samples themselves.
type JSCalls string

const (
	// JSCallsRefined makes calls. In traces of Chrome and Node they nest with the events of the thread: no call crosses
	// an event or starts in a garbage collection, and hardly any sample is lost.
	JSCallsRefined JSCalls = "refined"
	// JSCallsDevTools makes the calls that Chrome DevTools shows for such traces. For profiles without events it equals
	// JSCallsRefined.
	JSCallsDevTools JSCalls = "devtools"
	// JSCallsOff makes no calls. Samples and states stay.
	JSCallsOff JSCalls = "off"
)

// Validate returns an error if an option has an invalid value, and lists the valid ones. Functions that take Options
// call it.
func (o Options) Validate() error { return o.complete() }

// complete replaces empty strings with their defaults and rejects invalid ones.
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

// wire returns the options of the output for package pfwire.
func (o *Options) wire() (pfwire.Options, error) {
	return pfwire.ParseOptions(string(o.Compression), string(o.Packets), string(o.Samples))
}

// choose sets an empty string to the first of the choices.
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

// allArgs reports whether all arguments of events are kept.
func (o *Options) allArgs() bool { return len(o.Args) == 0 && !o.NoArgs }

// argFilter returns the filter for the arguments of events.
func (o *Options) argFilter() timeline.ArgFilter {
	switch {
	case o.allArgs():
		return timeline.ArgFilter{}
	case o.NoArgs:
		return timeline.NoArgs()
	}
	return timeline.OnlyArgs(o.Args...)
}

// workers returns the number of workers of a conversion.
func (o *Options) workers() int { return timeline.WorkerCount(o.Workers, o.Memory) }
