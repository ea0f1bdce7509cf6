package selection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// findTracks returns the selected tracks; nil: all.
func (f *Filter) findTracks(tl *timeline.Timeline) ([]bool, error) {
	if len(f.processes)+len(f.threads) == 0 {
		return nil, nil
	}
	processes, err := f.findProcesses(tl)
	if err != nil {
		return nil, err
	}
	threads, err := f.findThreads(tl, processes)
	if err != nil {
		return nil, err
	}
	tracks := make([]bool, tl.TrackCount())
	for id := range timeline.TrackID(len(tracks)) {
		tracks[id] = (processes == nil || processes[processOf(tl, id)]) && (threads == nil || threads[tl.Above(id, timeline.ThreadTrack)])
	}
	return tracks, nil
}

func processOf(tl *timeline.Timeline, id timeline.TrackID) timeline.TrackID {
	return tl.Above(id, timeline.ProcessTrack)
}

// findProcesses returns the selected processes; nil: all.
func (f *Filter) findProcesses(tl *timeline.Timeline) (map[timeline.TrackID]bool, error) {
	if len(f.processes) == 0 {
		return nil, nil
	}
	all := tracksOf(tl, timeline.ProcessTrack, nil)
	found := map[timeline.TrackID]bool{}
	for _, p := range f.processes {
		some := find(tl, all, p)
		if len(some) == 0 {
			return nil, unknown(fmt.Sprintf("there is no process %s", p), string(p), titles(tl, all))
		}
		for _, id := range some {
			found[id] = true
		}
	}
	return found, nil
}

// findThreads returns the selected threads of the given processes; nil: all.
func (f *Filter) findThreads(tl *timeline.Timeline, processes map[timeline.TrackID]bool) (map[timeline.TrackID]bool, error) {
	if len(f.threads) == 0 {
		return nil, nil
	}
	all := tracksOf(tl, timeline.ThreadTrack, processes)
	found := map[timeline.TrackID]bool{}
	for _, p := range f.threads {
		some := threadsOf(tl, all, string(p))
		if len(some) == 0 {
			where := ""
			if processes != nil {
				where = " in this process"
				if len(processes) > 1 {
					where = " in these processes"
				}
			}
			return nil, unknown(fmt.Sprintf("there is no thread %s%s", p, where), string(p), titles(tl, all))
		}
		for _, id := range some {
			found[id] = true
		}
	}
	return found, nil
}

// FindThreads returns the threads that match a text, as for Query.Threads. Its error suggests alternatives.
func FindThreads(tl *timeline.Timeline, text string) ([]timeline.TrackID, error) {
	all := tracksOf(tl, timeline.ThreadTrack, nil)
	found := threadsOf(tl, all, text)
	if len(found) == 0 {
		return nil, unknown("there is no thread "+text, text, titles(tl, all))
	}
	return found, nil
}

// threadsOf returns the threads that match a text: an id in the input, a name, a glob, or PROCESS/THREAD, where each part is an
// id, a name or a glob.
func threadsOf(tl *timeline.Timeline, all []timeline.TrackID, text string) []timeline.TrackID {
	if found := find(tl, all, pattern(text)); len(found) > 0 {
		return found
	}
	processes := tracksOf(tl, timeline.ProcessTrack, nil)
	for i := range len(text) { // both names may contain slashes
		if text[i] != '/' || i == 0 || i == len(text)-1 {
			continue
		}
		in := map[timeline.TrackID]bool{}
		for _, id := range find(tl, processes, pattern(text[:i])) {
			in[id] = true
		}
		if len(in) == 0 {
			continue
		}
		var threads []timeline.TrackID
		for _, id := range all {
			if in[processOf(tl, id)] {
				threads = append(threads, id)
			}
		}
		if found := find(tl, threads, pattern(text[i+1:])); len(found) > 0 {
			return found
		}
	}
	return nil
}

// tracksOf returns the tracks of a kind in the given processes; nil: in any process.
func tracksOf(tl *timeline.Timeline, kind timeline.TrackKind, processes map[timeline.TrackID]bool) (found []timeline.TrackID) {
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tl.TrackKind(id) == kind && (processes == nil || processes[processOf(tl, id)]) {
			found = append(found, id)
		}
	}
	return found
}

// find returns the tracks whose id or name is the pattern or, if there are none, the tracks whose names match the pattern as a
// glob.
func find(tl *timeline.Timeline, tracks []timeline.TrackID, p pattern) (found []timeline.TrackID) {
	for _, id := range tracks {
		if tr := tl.Track(id); slices.Contains([]string{tr.InputID.String(), tr.Name, tr.Unlabelled(), tr.Title(), timeline.Program(tr.Name), timeline.Program(tr.Title())}, string(p)) {
			found = append(found, id)
		}
	}
	if len(found) > 0 || !p.isGlob() {
		return found
	}
	for _, id := range tracks {
		if tr := tl.Track(id); p.matches(tr.FullName()) || p.matches(tr.Name) || p.matches(tr.Unlabelled()) || p.matches(timeline.Program(tr.Name)) {
			found = append(found, id)
		}
	}
	return found
}

// titles yields the names of the tracks with events, then the names of the other tracks.
func titles(tl *timeline.Timeline, tracks []timeline.TrackID) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, used := range []bool{true, false} {
			for _, id := range tracks {
				if tr := tl.Track(id); tr.Used == used && !yield(timeline.Program(tr.FullName())) {
					return
				}
			}
		}
	}
}

// maxListed is the maximum number of names that a message lists.
const maxListed = 6

// UnknownError is the error that Bind returns for a text that matches nothing in the trace but may match something in another
// one. Its message ends with suggestions.
type UnknownError struct{ message string }

func (e *UnknownError) Error() string { return e.message }

// unknown returns an UnknownError with a message and suggestions from the existing names.
func unknown(what, text string, names func(yield func(string) bool)) error {
	list := distinct(names)
	text = strings.Trim(text, "*")
	if near := cmp.Or(words.Near(text, list), containing(text, list)); near != "" {
		return unknownf("%s; did you mean %q?", what, near)
	}
	switch n := len(list); {
	case n == 0:
		return unknownf("%s: it has none", what)
	case n > maxListed:
		return unknownf("%s; there are %s and %d more", what, strings.Join(list[:maxListed], ", "), n-maxListed)
	}
	return unknownf("%s; use %s", what, words.List(list))
}

// distinct returns each nonempty name once, in order of first occurrence.
func distinct(names func(yield func(string) bool)) (list []string) {
	seen := map[string]bool{"": true}
	for name := range names {
		if !seen[name] {
			seen[name] = true
			list = append(list, name)
		}
	}
	return list
}

// Names returns the possible values of a flag for a trace: its processes, threads or categories or, for any other flag, the names
// of its events, counters and functions.
func Names(tl *timeline.Timeline, flag string) []string {
	switch flag {
	case "process":
		return distinct(titles(tl, tracksOf(tl, timeline.ProcessTrack, nil)))
	case "thread":
		return distinct(titles(tl, tracksOf(tl, timeline.ThreadTrack, nil)))
	case "category":
		return distinct(categoryNames(tl))
	}
	return distinct(eventNames(tl))
}

func unknownf(format string, args ...any) error { return &UnknownError{fmt.Sprintf(format, args...)} }

// containing returns the first name that contains a text, ignoring case, or "" if there is none.
func containing(text string, names []string) string {
	const minLength = 3 // shorter texts occur in too many names
	if len(text) < minLength {
		return ""
	}
	text = strings.ToLower(text)
	for _, name := range names {
		if strings.Contains(strings.ToLower(name), text) {
			return name
		}
	}
	return ""
}
