package timeline

import (
	"cmp"
	"sort"
	"strings"
)

// A trace of several inputs, made by package merge, marks its tracks: this file reads which input an event comes from, and which
// slices and samples come from a further recorder.

// InputFacts prefixes the name of an input, followed by a dot, in the keys of its statements about its trace.
const InputFacts = "input."

// InputOf returns the index of the input that an event is from, by its index; 0 if there is but one, or if ids of flows mean the same
// in all of them.
func (t *Timeline) InputOf(event uint32) uint32 {
	if len(t.inputs) < 2 {
		return 0
	}
	after := sort.Search(len(t.inputs), func(i int) bool { return t.inputs[i] > event })
	return uint32(max(after-1, 0))
}

// FlowInput returns InputOf for the id of a flow: 0 where ids mean the same in all inputs.
func (t *Timeline) FlowInput(event uint32) uint32 {
	if t.joinFlows {
		return 0
	}
	return t.InputOf(event)
}

// Recorder is an input with slices and instants, or samples, of threads that another input has recorded in more detail. They are
// shown beside the thread's own and left out of sums over it: together they would count its time more than once.
type Recorder struct {
	Input   string `json:"input"`
	Threads int    `json:"threads"`
	Events  uint64 `json:"events"`
	Samples uint64 `json:"samples,omitempty"`
}

// Recorders returns the inputs whose slices are beside other inputs', in the order of the tracks; Samplers the ones whose samples
// are.
func (t *Timeline) Recorders() (all []Recorder) {
	of, threads := map[string]int{}, map[string]map[TrackID]bool{}
	for id := range t.table.tracks {
		row := &t.table.tracks[id]
		if row.kind != NamedTrack || !row.used || t.table.specs[row.index].Role != RoleInput {
			continue
		}
		spec := &t.table.specs[row.index]
		name := cmp.Or(spec.Subject, spec.Name) // earlier versions wrote no subject
		i, ok := of[name]
		if !ok {
			i = len(all)
			of[name], threads[name], all = i, map[TrackID]bool{}, append(all, Recorder{Input: name})
		}
		threads[name][row.parent] = true // which has a track for each lane, where it was read from a Perfetto trace
		all[i].Events += spec.starts
		all[i].Threads = len(threads[name])
	}
	return all
}

// furtherSamples is how the names of threads begin that have the samples of a further input; the id of the thread and the name of the input
// follow.
const furtherSamples = "Samples of thread "

// SamplesKey returns the key of the thread with the samples that a further input has of a thread.
func SamplesKey(of ThreadKey, input string) ThreadKey {
	return ThreadKey{Text: furtherSamples + of.String() + " (" + input + ")"}
}

// maxIDPieces is at how many parentheses in such a name the id may end.
const maxIDPieces = 16

// NotCounted returns the inputs that reports leave slices or samples of.
func (t *Timeline) NotCounted() []Recorder {
	_, samplers := t.Samplers()
	return append(t.Recorders(), samplers...)
}

// Samplers returns the threads whose samples reports leave out, because another input has more samples of the same thread, and the inputs
// that these are of.
func (t *Timeline) Samplers() (left map[TrackID]bool, all []Recorder) {
	further := t.furtherSamples()
	best := map[TrackID]TrackID{} // by thread
	for _, f := range further {
		if _, ok := best[f.of]; !ok {
			best[f.of] = f.of
		}
		if t.sampleCount(f.track) > t.sampleCount(best[f.of]) {
			best[f.of] = f.track
		}
	}
	left = map[TrackID]bool{}
	index := map[string]int{}
	leave := func(id TrackID, input string) {
		i, ok := index[input]
		if !ok {
			i = len(all)
			index[input], all = i, append(all, Recorder{Input: input})
		}
		left[id] = true
		all[i].Threads++
		all[i].Samples += t.sampleCount(id)
	}
	for _, f := range further {
		if best[f.of] != f.of && !left[f.of] {
			leave(f.of, "a further input") // the trace does not say which one
		}
		if best[f.of] != f.track {
			leave(f.track, f.input)
		}
	}
	return left, all
}

// furtherTrack is a thread with the samples that a further input has of a thread.
type furtherTrack struct {
	track, of TrackID
	input     string
}

// furtherSamples returns these threads, in the order of tracks.
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
	kept := further[:0]
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
				f.of, f.input = thread, strings.TrimSuffix(text[at+2:], ")")
				break
			}
			at += len(" (")
		}
		if f.of != 0 {
			kept = append(kept, f)
		}
	}
	return kept
}

// sampleCount returns how many samples a thread has.
func (t *Timeline) sampleCount(thread TrackID) uint64 {
	return t.table.threads[t.table.tracks[thread].index].samples
}

// BindsFlows reports whether ends of flows bind by time to the slices of a track: only to threads'.
func (t *Timeline) BindsFlows(id TrackID) bool {
	return t.table.ofThread(&t.table.tracks[id])
}

// ofThread reports whether a track has the slices of a thread, as one recorder has seen them.
func (t *trackTable) ofThread(row *track) bool {
	return row.kind == ThreadTrack || row.kind == NamedTrack && t.specs[row.index].Role == RoleInput
}
