package timeline

import (
	"cmp"
	"sort"
	"strings"
)

// Package merge marks the tracks in a trace with several inputs. This file finds the input of an event, and the slices and
// samples of further recorders.

// InputFacts is the prefix of attribute keys for facts about an input. The input's name and a dot follow it.
const InputFacts = "input."

// InputOf returns the index of the input that contains the event with the given index, or 0 if there is only one input.
func (t *Timeline) InputOf(event uint32) uint32 {
	if len(t.inputs) < 2 {
		return 0
	}
	after := sort.Search(len(t.inputs), func(i int) bool { return t.inputs[i] > event })
	return uint32(max(after-1, 0))
}

// FlowInput returns the index of the input whose flow ids include the event's flow id, or 0 if flow ids have the same meaning in
// all inputs.
func (t *Timeline) FlowInput(event uint32) uint32 {
	if t.joinFlows {
		return 0
	}
	return t.InputOf(event)
}

// Recorder is an input with slices and instants, or samples, from threads that another input recorded in more detail. These
// events are shown separately and excluded from sums over the thread, which would otherwise count the thread's time more than
// once.
type Recorder struct {
	Input   string `json:"input"`
	Threads int    `json:"threads"`
	Events  uint64 `json:"events"`
	Samples uint64 `json:"samples,omitempty"`
}

// Recorders returns the inputs whose slices are shown separately from other inputs' slices, in track order. Samplers is
// the equivalent for samples.
func (t *Timeline) Recorders() (all []Recorder) {
	indexes, threads := map[string]int{}, map[string]map[TrackID]bool{}
	for id := range t.table.tracks {
		row := &t.table.tracks[id]
		if row.kind != NamedTrack || !row.used || t.table.specs[row.index].Role != RoleInput {
			continue
		}
		spec := &t.table.specs[row.index]
		name := cmp.Or(spec.Subject, spec.Name) // earlier versions wrote no subject
		i, ok := indexes[name]
		if !ok {
			i = len(all)
			indexes[name], threads[name], all = i, map[TrackID]bool{}, append(all, Recorder{Input: name})
		}
		threads[name][row.parent] = true // counted once, because Perfetto traces have a track for each lane
		all[i].Events += spec.starts
		all[i].Threads = len(threads[name])
	}
	return all
}

// furtherSamples is the prefix of the names of threads that hold the samples from a further input. The thread's id and the
// input's name follow it.
const furtherSamples = "Samples of thread "

// SamplesKey returns the key of the separate thread that holds a further input's samples of the given thread.
func SamplesKey(thread ThreadKey, input string) ThreadKey {
	return ThreadKey{Text: furtherSamples + thread.String() + " (" + input + ")"}
}

// maxIDPieces limits the number of parentheses in a name with furtherSamples that are tried as the end of the id.
const maxIDPieces = 16

// NotCounted returns the inputs with slices or samples that reports exclude.
func (t *Timeline) NotCounted() []Recorder {
	_, samplers := t.Samplers()
	return append(t.Recorders(), samplers...)
}

// Samplers returns the threads with samples that reports exclude because another input has more samples of the same thread, and
// the inputs of the excluded samples.
func (t *Timeline) Samplers() (excluded map[TrackID]bool, all []Recorder) {
	further := t.furtherSamples()
	best := map[TrackID]TrackID{} // by thread
	for _, f := range further {
		if _, ok := best[f.thread]; !ok {
			best[f.thread] = f.thread
		}
		if t.sampleCount(f.track) > t.sampleCount(best[f.thread]) {
			best[f.thread] = f.track
		}
	}
	excluded = map[TrackID]bool{}
	index := map[string]int{}
	exclude := func(id TrackID, input string) {
		i, ok := index[input]
		if !ok {
			i = len(all)
			index[input], all = i, append(all, Recorder{Input: input})
		}
		excluded[id] = true
		all[i].Threads++
		all[i].Samples += t.sampleCount(id)
	}
	for _, f := range further {
		if best[f.thread] != f.thread && !excluded[f.thread] {
			exclude(f.thread, "a further input") // the trace does not identify the input
		}
		if best[f.thread] != f.track {
			exclude(f.track, f.input)
		}
	}
	return excluded, all
}

// furtherTrack is a track with a further input's samples of a thread.
type furtherTrack struct {
	track, thread TrackID
	input         string
}

// furtherSamples returns the tracks with samples from further inputs, in order.
func (t *Timeline) furtherSamples() (further []furtherTrack) {
	type known struct {
		process TrackID
		id      string
	}
	threads := map[known]TrackID{}
	for id := range t.table.tracks {
		row := &t.table.tracks[id]
		if row.kind != ThreadTrack {
			continue
		}
		th := &t.table.threads[row.index]
		if strings.HasPrefix(th.key.Text, furtherSamples) {
			further = append(further, furtherTrack{track: TrackID(id)})
		} else if th.samples > 0 {
			threads[known{row.parent, th.key.String()}] = TrackID(id)
		}
	}
	found := further[:0]
	for _, f := range further {
		row := &t.table.tracks[f.track]
		text, at := strings.TrimPrefix(t.table.threads[row.index].key.Text, furtherSamples), 0
		for range maxIDPieces {
			next := strings.Index(text[at:], " (")
			if next < 0 {
				break
			}
			at += next
			if thread, ok := threads[known{row.parent, text[:at]}]; ok {
				f.thread, f.input = thread, strings.TrimSuffix(text[at+2:], ")")
				break
			}
			at += len(" (")
		}
		if f.thread != 0 {
			found = append(found, f)
		}
	}
	return found
}

// sampleCount returns the number of samples of a thread.
func (t *Timeline) sampleCount(thread TrackID) uint64 {
	return t.table.threads[t.table.tracks[thread].index].samples
}

// BindsFlows reports whether flow ends bind by time to the slices on a track, which happens only for the slices of threads.
func (t *Timeline) BindsFlows(id TrackID) bool {
	return t.table.ofThread(&t.table.tracks[id])
}

// ofThread reports whether a track contains the slices of a thread from one recorder.
func (t *trackTable) ofThread(row *track) bool {
	return row.kind == ThreadTrack || row.kind == NamedTrack && t.specs[row.index].Role == RoleInput
}
