package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// traceProcessors lists the names of Perfetto's trace_processor, as downloaded and as built.
var traceProcessors = []string{"trace_processor", "trace_processor_shell"}

// measureLoading compares weft with Perfetto's trace_processor, if it is on PATH: converting the recording with importing its
// JSON, and importing the converted trace with importing the JSON.
func (b *bench) measureLoading() ([]row, error) {
	processor := ""
	for _, name := range traceProcessors {
		if path, err := exec.LookPath(name); err == nil {
			processor = path
			break
		}
	}
	if processor == "" {
		b.logf("  no trace_processor on PATH: left out")
		return nil, nil
	}
	inputs, err := b.mainInputs()
	if err != nil {
		return nil, err
	}
	in := &inputs[0]
	events, whole := b.path("events.pftrace"), b.path("whole.pftrace")
	defer os.Remove(events)
	defer os.Remove(whole)
	load := func(file string) command {
		return command{program: processor, args: []string{"-Q", "select count(*) as slices from slice", file}}
	}
	var convert, convertWhole, loadJSON, loadEvents, loadWhole usage
	err = b.compare(
		side{b.convert(2, in.plain, events, eventsOnly...), &convert},
		side{b.convert(2, in.plain, whole), &convertWhole},
		side{load(in.plain), &loadJSON},
		side{load(events), &loadEvents},
		side{load(whole), &loadWhole},
	)
	if err != nil {
		return nil, err
	}
	slicesIn := func(file string) (n float64, err error) {
		out, err := exec.CommandContext(b.ctx, processor, load(file).args...).Output()
		if err != nil {
			return 0, err
		}
		lines := bytes.Fields(out) // the name of the column and the number
		if len(lines) < 2 {
			return 0, fmt.Errorf("%s prints %q, want a number of slices", processor, out)
		}
		return strconv.ParseFloat(string(lines[len(lines)-1]), 64)
	}
	inJSON, err := slicesIn(in.plain)
	if err != nil {
		return nil, err
	}
	inWhole, err := slicesIn(whole)
	if err != nil {
		return nil, err
	}
	against := func(promise int, what string, weft time.Duration, other string, than time.Duration, value float64) row {
		return row{promise: promise, input: in.name, value: value, sides: fmt.Sprintf("%s %s, %s %s", what, timeText(weft), other, timeText(than))}
	}
	perSlice := ratio(loadWhole.cpu, loadJSON.cpu) * max(inJSON, 1) / max(inWhole, 1)
	return []row{
		against(importWall, "weft", convert.wall, "import", loadJSON.wall, ratio(loadJSON.wall, convert.wall)),
		against(importCPU, "weft", convert.cpu, "import", loadJSON.cpu, ratio(loadJSON.cpu, convert.cpu)),
		against(loadEventsCPU, "output", loadEvents.cpu, "JSON", loadJSON.cpu, ratio(loadEvents.cpu, loadJSON.cpu)),
		against(loadWholeCPU, fmt.Sprintf("output with %.0f slices", inWhole), loadWhole.cpu, fmt.Sprintf("JSON with %.0f", inJSON), loadJSON.cpu, perSlice),
	}, nil
}
