package load

import (
	"cmp"
	"errors"
	"slices"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// Options configure a conversion. The zero value finds out the format, keeps everything, and compresses nothing.
type Options struct {
	// From is the format of the input; FormatAuto looks at the content.
	From Format

	// Args are the names of the arguments of events that are kept, with everything inside them; empty: all. With NoArgs
	// none are. Both concern what the input calls the arguments; what weft adds itself stays.
	Args   []string
	NoArgs bool

	// NoScreenshots leaves out the pictures of screenshots, which Args and NoArgs do not concern. The events stay.
	NoScreenshots bool

	// NoLongTasks leaves out the marks of long tasks that Convert writes beside the threads, and those that are in an input which
	// weft wrote.
	NoLongTasks bool

	// Compression, Packets and Samples say how the output is written, as the options of package pftrace do. Slices made of samples
	// are written without the samples, too.
	Compression pftrace.Compression
	Packets     pftrace.Packets
	Samples     pftrace.Samples

	// JSCalls says whether calls are made of samples of JavaScript; the zero value makes them by the refined rules.
	// With JSCallsOff and pftrace.NoSamples, Convert leaves the events of V8 profiles in traces as they are.
	JSCalls JSCalls

	// CallDetails gives the calls made of V8's samples, beside the place of their function and the number of their samples, what else
	// the profile says: ids of the profile, node, script and first sample, the type of code, the lines of all samples of a node. Each
	// of them makes the output larger and slower to load.
	CallDetails bool

	// Profile says which of the V8 profiles in a trace are shown: "" of each thread the one that DevTools shows; ProfileAll
	// these, and each of the others on a thread of its own; otherwise the one with this id, and of other threads the ones that
	// DevTools shows. Ids are unique in a process only: "1234:0x3" is one of process 1234. It is an error if there is none.
	Profile string

	// Attribute asks for whom the work was done (docs/attribution.md) and writes the answer into the trace as WriteBack says;
	// nil: it is not asked.
	Attribute *attribution.Options
	// KeepPackets keeps a Perfetto trace as it is, packet by packet, and only adds the attribution. Other options about the
	// output do not count for it then.
	KeepPackets bool
	// WriteBack says what of an attribution is written; the zero value writes everything.
	WriteBack attribution.WriteBack

	// Report is filled by Open with the report of Inspect; nil: not requested.
	Report *Report

	// KeepFlowIDs keeps the ids of flows that are texts in what Open returns, so that a flow.Index can show
	// them.
	KeepFlowIDs bool

	// Memory bounds the working memory, in bytes, whatever the size of the input: events beyond it are sorted on disk.
	// 0 means 256 MiB. Very small values are raised to what the work needs at least. Tables of
	// names and tracks are bounded separately.
	Memory int64

	// TempDir is the folder for temporary files; "" means os.TempDir. They are removed before a function of this package
	// returns, or when the trace is closed.
	TempDir string

	// Workers is the number of goroutines that scan, attribute, encode and compress; 0 means one for every core. There is at
	// most one for each 16 MiB of Memory. It has no influence on the output.
	Workers int

	// TimeOffset is added to every time of the input, before times below 0 are dropped. It is of use for traces that
	// count from a moment in the middle. Perfetto traces do not allow it.
	TimeOffset trace.Nanos

	// SelfProfile adds what a JS self-profile lacks. It concerns no other format.
	SelfProfile SelfProfileOptions
}

// The choices of options are words; "" is the default, which is the first of each list.

// Format names an input format.
type Format string

// The formats. FormatAuto finds out by looking at the content of the input, never at a file's name.
const (
	FormatAuto       Format = "auto"        // the format that the content shows
	FormatChromeJSON Format = "chrome-json" // traces of Chrome, Node and others in the Trace Event Format
	FormatPerfetto   Format = "perfetto"    // Perfetto traces
	FormatCPUProfile Format = "cpuprofile"  // V8 CPU profiles, .cpuprofile
	FormatFirefox    Format = "firefox"     // profiles of the Firefox Profiler, raw or processed
	FormatJSProfile  Format = "jsprofile"   // profiles of the JS Self-Profiling API
	FormatProbes     Format = "probes"      // probe lines of DTrace, bpftrace and others
	FormatOTLP       Format = "otlp"        // spans of OpenTelemetry, protobuf or JSON
	FormatHAR        Format = "har"         // HTTP archives of browsers and proxies
)

// JSCalls says what becomes of the samples of JavaScript beside the samples themselves.
type JSCalls string

const (
	// JSCallsRefined makes calls of them. In traces of Chrome and Node these are among the events of the thread: no call crosses
	// an event or begins in a garbage collection, and hardly any sample is lost.
	JSCallsRefined JSCalls = "refined"
	// JSCallsDevTools makes the calls in such traces that Chrome DevTools shows. For profiles without events it is the same as
	// JSCallsRefined.
	JSCallsDevTools JSCalls = "devtools"
	// JSCallsOff makes no calls. Samples and states are not concerned.
	JSCallsOff JSCalls = "off"
)

// Validate returns an error if an option has a value that does not exist; it lists those that do. Functions that take
// Options call it.
func (o Options) Validate() error { return o.complete() }

// complete replaces missing words by their defaults, and refuses those that do not exist.
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

// wire returns the options of the output as package pfwire has them.
func (o *Options) wire() (pfwire.Options, error) {
	return pfwire.ParseOptions(string(o.Compression), string(o.Packets), string(o.Samples))
}

// choose sets a missing word to the first of the choices.
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
	return suggest.Unknown(what, string(*word), names)
}

// allArgs reports whether all arguments of events are kept.
func (o *Options) allArgs() bool { return len(o.Args) == 0 && !o.NoArgs }

// argFilter says which arguments of events are kept.
func (o *Options) argFilter() timeline.ArgFilter {
	switch {
	case o.allArgs():
		return timeline.ArgFilter{}
	case o.NoArgs:
		return timeline.NoArgs()
	}
	return timeline.OnlyArgs(o.Args...)
}

// samplesWritten returns how many samples of a timeline are in an output.
func (o *Options) samplesWritten(tl *timeline.Timeline) int64 {
	if o.Samples == pftrace.NoSamples {
		return 0
	}
	return tl.Totals().Samples
}

// workers returns the number of workers that a conversion has.
func (o *Options) workers() int { return timeline.WorkerCount(o.Workers, o.Memory) }
