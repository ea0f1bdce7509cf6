package convert

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/readers/chromejson"
	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
)

// Options configure a conversion. The zero value finds out the format, keeps everything, and compresses nothing.
type Options struct {
	// From is the format of the input; FormatAuto looks at the content.
	From Format

	// Args says which arguments of events are kept; the zero value keeps all. It concerns what the input calls the
	// arguments; what weft adds itself stays.
	Args ArgsFilter

	// Compress says whether packets are bundled and compressed.
	Compress Compression

	// Packets says how the packets of events are written; the zero value makes them easy to read.
	Packets Packets

	// Samples says in which form call-stack samples are written; the zero value keeps all that is known of them.
	Samples Samples

	// JSCalls says whether calls are made of samples of JavaScript; the zero value makes those that Chrome DevTools shows.
	// With JSCallsOff and SamplesNone the events of V8 profiles in traces stay events.
	JSCalls JSCalls

	// ProfileBase says from when the times of V8 profiles in traces count; the zero value takes what DevTools takes.
	ProfileBase ProfileBase

	// Profile says which of the V8 profiles in a trace are shown: "" of each thread the one that DevTools shows; ProfileAll
	// these, and each of the others on a thread of its own; else the one with this id, and of other threads those that
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

	// KeepFlowIDs keeps the ids of flows that are texts in what Open and Load return, so that a flow.Index can show
	// them.
	KeepFlowIDs bool

	// Memory bounds the working memory, in bytes, whatever the size of the input: events beyond it are sorted on disk.
	// 0 means timeline.DefaultMemory, 256 MiB. Very small values are raised to what the work needs at least. Tables of
	// names and tracks are bounded separately.
	Memory int64

	// TempDir is the folder for temporary files; "" means os.TempDir. They are removed before a function of this package
	// returns, or when the Timeline is closed.
	TempDir string

	// Workers is the number of goroutines that scan, attribute, encode and compress; 0 means one for every core. There is at
	// most one for each 16 MiB of Memory. It has no influence on the output.
	Workers int

	// TimeOffset is added to every time of the input, before times below 0 are dropped. It is of use for traces that
	// count from a moment in the middle. Perfetto traces do not allow it.
	TimeOffset timeline.Nanos

	// SelfProfile says what a JS self-profile does not say of itself. It concerns no other format.
	SelfProfile SelfProfileOptions
}

// Compression says how the packets of a Perfetto trace are compressed.
type Compression uint8

const (
	// CompressNone writes plain packets.
	CompressNone Compression = iota
	// CompressZlib bundles packets and compresses them with zlib, which every version of Perfetto reads.
	CompressZlib
	// CompressZstd bundles packets and compresses them with zstd, which Perfetto reads since v58.
	CompressZstd
)

var compressions = [...]string{CompressNone: "none", CompressZlib: "zlib", CompressZstd: "zstd"}

// String returns "none", "zlib" or "zstd".
func (c Compression) String() string {
	if int(c) < len(compressions) {
		return compressions[c]
	}
	return fmt.Sprintf("Compression(%d)", uint8(c))
}

// ParseCompression is the inverse of String.
func ParseCompression(name string) (Compression, error) {
	if i := slices.Index(compressions[:], name); i >= 0 {
		return Compression(i), nil
	}
	return CompressNone, suggest.Unknown("compression", name, compressions[:])
}

// ArgsFilter says which arguments of events are kept, by their names at the top level. The zero value keeps all.
//
// It is a set of names and not a function, so that a reader can pass over what is not wanted without decoding it.
type ArgsFilter struct {
	some bool
	keys []string // sorted; nil with some: none
}

// AllArgs keeps all arguments.
func AllArgs() ArgsFilter { return ArgsFilter{} }

// NoArgs keeps no arguments.
func NoArgs() ArgsFilter { return ArgsFilter{some: true} }

// OnlyArgs keeps the arguments with these names, with everything inside them.
func OnlyArgs(keys ...string) ArgsFilter {
	keys = slices.Clone(keys)
	slices.Sort(keys)
	return ArgsFilter{some: true, keys: slices.Compact(keys)}
}

// ParseArgsFilter reads "all", "none" or names separated by commas.
func ParseArgsFilter(text string) (ArgsFilter, error) {
	switch text {
	case "all":
		return AllArgs(), nil
	case "none":
		return NoArgs(), nil
	}
	keys := strings.Split(text, ",")
	for _, key := range keys {
		if key == "" {
			return ArgsFilter{}, fmt.Errorf("%q holds an empty name; use all, none, or names separated by commas", text)
		}
	}
	return OnlyArgs(keys...), nil
}

// String returns what ParseArgsFilter reads.
func (f ArgsFilter) String() string {
	switch {
	case !f.some:
		return "all"
	case len(f.keys) == 0:
		return "none"
	}
	return strings.Join(f.keys, ",")
}

// chromeJSON returns the filter in the form of that reader.
func (f ArgsFilter) chromeJSON() chromejson.ArgFilter {
	switch {
	case !f.some:
		return chromejson.ArgFilter{}
	case len(f.keys) == 0:
		return chromejson.NoArgs()
	}
	return chromejson.OnlyArgs(f.keys...)
}

// keep returns the filter as a function of the name, nil if it keeps all.
func (f ArgsFilter) keep() func(key []byte) bool {
	if !f.some {
		return nil
	}
	set := make(map[string]bool, len(f.keys))
	for _, key := range f.keys {
		set[key] = true
	}
	return func(key []byte) bool { return set[string(key)] }
}

// codec returns the compression as package pfwire calls it.
func (c Compression) codec() pfwire.Codec {
	switch c {
	case CompressZlib:
		return pfwire.Zlib
	case CompressZstd:
		return pfwire.Zstd
	}
	return pfwire.NoCodec
}

// memoryPerWorker is what a worker may hold: blocks of the input, bundles of the output, a compressor.
const memoryPerWorker = 16 << 20

// WorkerCount returns the number of workers that a conversion has: as many as were asked for, but no more than the
// memory allows.
func (o *Options) WorkerCount() int {
	n, memory := o.Workers, o.Memory
	if n <= 0 {
		n = runtime.GOMAXPROCS(0)
	}
	if memory <= 0 {
		memory = timeline.DefaultMemory
	}
	return int(max(1, min(int64(n), memory/memoryPerWorker)))
}
