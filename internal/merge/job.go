package merge

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Source is an input that can be read more than once.
type Source struct {
	Name, File string
	Host       string // as given by the user; "": as in the input
	Open       func() (io.ReadCloser, error)
}

// Job is a merge: the request, and its results.
type Job struct {
	Sources []Source
	Options
	// Links are argument paths such as "headers.x-request-id": events of several inputs with equal values belong together.
	Links []string
	// LinkFlows is set if equal flow ids in several inputs mean the same flow.
	LinkFlows bool
	// Machines makes each host a separate machine in the output.
	Machines bool
	// DryRun stops with ErrDryRun once the plan is made.
	DryRun bool

	// Plan and Inputs are set once the plan is made.
	Plan   *Plan
	Inputs []Input
	// Problems are the data problems that the reader of each input found; nil: the input was not read. Common also has the
	// problems of events on the timeline; its parts are the inputs.
	Problems []*problem.Log
	Common   *problem.Log
	// Failed lists the inputs that were left out, with their errors.
	Failed []InputError
}

// ProblemsOf returns the data problems of an input.
func (j *Job) ProblemsOf(i int) []problem.Total {
	all := new(problem.Log)
	for _, of := range [...]*problem.Log{j.Problems[i], j.Common.Part(i)} {
		if of != nil {
			all.Merge(of)
		}
	}
	return all.Totals()
}

// InputError states why an input was left out.
type InputError struct {
	Input int
	Err   error
}

// Event name prefixes and an argument that connect inputs.
const (
	markLink = "weft:link:"
	markSync = "weft:sync:"
	linkArg  = "weft.link"
)

// Args returns the names of the arguments that may connect inputs.
func (j *Job) Args() []string {
	names := []string{"data", linkArg, "traceparent", "traceresponse"}
	for _, key := range j.Links {
		names = append(names, key)
		if head, _, ok := strings.Cut(key, "."); ok {
			names = append(names, head)
		}
	}
	return names
}

// Watch returns a function that finds the keys in an event's name and arguments, whose texts are in view. The function sets the
// elements of seen, which is parallel to Links, for which some event has a value.
func (j *Job) Watch(view *timeline.Timeline, seen []bool) func(ev *timeline.Event) []string {
	w := watcher{Job: j, view: view, seen: seen}
	known := -1 // number of argument names at the last check
	any := len(j.Links) > 0
	return func(ev *timeline.Event) []string {
		keys := nameKeys(ev.Name)
		if len(ev.Args) == 0 {
			return keys
		}
		if n := view.KeyCount(); !any && n != known {
			known, any = n, view.MayHaveArg("_"+linkArg) || view.MayHaveArg("traceparent") || view.MayHaveArg("traceresponse")
		}
		if !any {
			return keys
		}
		return w.argsKeys(keys, ev.Args)
	}
}

// watcher finds keys in the arguments of the events of one input.
type watcher struct {
	*Job
	view *timeline.Timeline
	seen []bool // by Links: some event has a value
}

// nameKeys returns the key that an event's name contains.
func nameKeys(name []byte) []string {
	if id, ok := bytes.CutPrefix(name, []byte(markLink)); ok && len(id) > 0 {
		return []string{linkKey + string(id)}
	}
	if id, ok := bytes.CutPrefix(name, []byte(markSync)); ok && len(id) > 0 {
		return []string{syncKey + string(id)}
	}
	return nil
}

// argsKeys appends the keys in an event's arguments.
func (w *watcher) argsKeys(keys []string, args timeline.Args) []string {
	for arg := range w.view.ArgList(args) {
		keys = w.argKeys(keys, arg)
	}
	return keys
}

// argKeys appends the keys in one argument.
func (w *watcher) argKeys(keys []string, arg timeline.Arg) []string {
	switch string(arg.Key) {
	case "_" + linkArg:
		if arg.Kind == timeline.ArgString {
			keys = append(keys, linkKey+string(arg.Text()))
		}
	case "traceparent", "traceresponse":
		if arg.Kind == timeline.ArgString {
			if key := timeline.TraceparentKey(string(arg.Text())); key != "" {
				keys = append(keys, key)
			}
		}
	}
	for i, path := range w.Links {
		for _, value := range valuesAt(w.view, arg, path) {
			if value == "" {
				continue
			}
			keys = append(keys, linkKey+path+"="+value)
			w.seen[i] = true
		}
	}
	return keys
}

// valuesAt returns the texts and integers at a path.
func valuesAt(view *timeline.Timeline, a timeline.Arg, path string) (values []string) {
	if rest, ok := strings.CutPrefix(path, string(a.Key)+"."); ok && a.Kind == timeline.ArgDict {
		for m := range view.Members(a) {
			values = append(values, valuesAt(view, m, rest)...)
		}
		return values
	}
	if string(a.Key) != path {
		return nil
	}
	switch a.Kind {
	case timeline.ArgString:
		values = append(values, string(a.Text()))
	case timeline.ArgInt:
		values = append(values, strconv.FormatInt(a.Int(), 10))
	case timeline.ArgUint:
		values = append(values, strconv.FormatUint(a.Uint(), 10))
	}
	return values
}

// ErrDryRun ends a dry run, which writes nothing.
var ErrDryRun = errors.New("the offsets were found; nothing was written")
