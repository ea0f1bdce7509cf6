package main

import (
	"fmt"
	"time"
)

// promise is a row of the table in docs/performance.md.
type promise struct {
	what  string
	unit  string
	floor float64 // bound that must hold; 0: none
	aim   float64 // desired bound; 0: none
	least bool    // the bounds are minimums, not maximums
}

// The promises, in the order of the table.
const (
	scanning = iota
	plainOutput
	fileOutput
	withoutArgs
	twoWorkers
	packedInput
	importWall
	importCPU
	loadEventsCPU
	loadWholeCPU
	attributing
	denseSamples
	peakMemoryOf
	peakGrowth
	hotPacket
	eventsSize
	wholeSize
	plainSize
	noArgsSize
	starting
	manyFiles
	fewRanks
	manyRanks
	ranksMemory
)

var promises = [...]promise{
	scanning:      {"scanner, header fields and raw args, one core, against encoding/json into a struct", "×", 10, 16, true},
	plainOutput:   {"convert, all args, one worker, uncompressed, against encoding/json decoding", "×", 3.3, 4.5, true},
	fileOutput:    {"convert, all args, two workers, default output, wall time, against encoding/json decoding", "×", 3.8, 5.5, true},
	withoutArgs:   {"convert, --args none, one worker, against encoding/json decoding", "×", 4.5, 7, true},
	twoWorkers:    {"two workers against one", "×", 1.65, 1.85, true},
	packedInput:   {".json.gz input, default output, wall time, against gunzip alone", "×", 2.4, 1.5, false},
	importWall:    {"trace_processor's import of the JSON against a conversion, events only, all cores, wall time", "×", 2.8, 4, true},
	importCPU:     {"trace_processor's import of the JSON against a conversion, events only, CPU time", "×", 1.8, 2.5, true},
	loadEventsCPU: {"trace_processor loads the output, events only, CPU time against loading the JSON", "×", 1.15, 1, false},
	loadWholeCPU:  {"trace_processor loads the output, everything on, CPU time per slice against loading the JSON", "×", 1.2, 1, false},
	attributing:   {"attribution, time on top of a conversion with default flags, two workers", "%", 35, 20, false},
	denseSamples:  {"V8's samples, dense, a million in a Chrome trace, one worker, default budget", "M/s", 1.2, 2, true},
	peakMemoryOf:  {"peak RSS, default budget of 256 MiB", "MiB", 260, 214, false},
	peakGrowth:    {"peak RSS, added when the input is twice as long", "%", 0, 5, false},
	hotPacket:     {"one hot packet (slice begin, one flow, three args), against proto.Marshal", "×", 14, 23, true},
	eventsSize:    {"default output, events only, size against .json.gz", "×", 0.66, 0.55, false},
	wholeSize:     {"default output, everything on, size against .json.gz", "×", 0.78, 0.7, false},
	plainSize:     {"output without compression, all args, size against the JSON", "×", 0.5, 0.42, false},
	noArgsSize:    {"output without compression, --args none, size against the JSON", "×", 0.15, 0.12, false},
	starting:      {"weft --version", "ms", 15, 8, false},
	manyFiles:     {"files of 100 KB in one call, throughput against one file of the same size", "%", 95, 0, true},
	fewRanks:      {"merge of 64 ranks, CPU time, against converting one file of the same size", "×", 1.6, 1.35, false},
	manyRanks:     {"merge of 1000 ranks, CPU time, against converting one file of the same size", "×", 2, 1.75, false},
	ranksMemory:   {"peak RSS of merging ranks, default budget of 256 MiB", "MiB", 400, 0, false},
}

// met returns the part of the promise that holds: "aim", "floor" or "no".
func (p *promise) met(value float64) string {
	holds := func(bound float64) bool {
		if p.least {
			return value >= bound
		}
		return value <= bound
	}
	switch {
	case p.aim != 0 && holds(p.aim):
		return "aim"
	case p.floor != 0 && holds(p.floor):
		return "floor"
	}
	return "no"
}

// bound returns a bound in the unit of the promise, or "–" for 0.
func (p *promise) bound(value float64) string {
	if value == 0 {
		return "–"
	}
	return fmt.Sprintf("%g %s", value, p.unit)
}

// row is one measurement for a promise.
type row struct {
	promise int
	input   string
	sides   string  // the numbers of both sides
	value   float64 // the value that the promise limits
	broken  string  // another condition that does not hold; "" if all do

	floor, aim float64 // for this input, if they differ from the promise
}

// promised returns the promise of the row, with the bounds of its input.
func (r *row) promised() *promise {
	p := promises[r.promise]
	if r.floor != 0 {
		p.floor, p.aim = r.floor, r.aim
	}
	return &p
}

func (r *row) met() string {
	if r.broken != "" {
		return "no: " + r.broken
	}
	return r.promised().met(r.value)
}

// result returns the value, rounded, with its unit.
func (r *row) result() string {
	p := &promises[r.promise]
	switch {
	case p.unit == "×" && r.value < 10:
		return fmt.Sprintf("%.2f ×", r.value)
	case p.unit == "M/s":
		return fmt.Sprintf("%.2f M/s", r.value)
	case p.unit == "MiB":
		return fmt.Sprintf("%.0f MiB", r.value)
	}
	return fmt.Sprintf("%.1f %s", r.value, p.unit)
}

// ratio returns a as a multiple of b.
func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// timeText formats a time with three or four digits.
func timeText(d time.Duration) string {
	switch {
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.2f ms", d.Seconds()*1e3)
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", d.Seconds()*1e3)
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}

// speedText formats a speed in MB/s.
func speedText(bytes int64, d time.Duration) string {
	return fmt.Sprintf("%.0f MB/s", float64(bytes)/megabyte/max(d.Seconds(), 1e-9))
}

// sizeText formats a size in MB or GB, which are powers of ten here, as in file sizes.
func sizeText(bytes int64) string {
	switch {
	case bytes < 10*megabyte:
		return fmt.Sprintf("%.1f MB", float64(bytes)/megabyte)
	case bytes < 1000*megabyte:
		return fmt.Sprintf("%.0f MB", float64(bytes)/megabyte)
	}
	return fmt.Sprintf("%.3g GB", float64(bytes)/megabyte/1000)
}
