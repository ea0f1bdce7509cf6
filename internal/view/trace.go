package view

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

// MaxHandover is the length of the longest trace that a page can hand over to another: browsers hold and post less than 2 GiB in
// one piece. 2,040 MiB passed in Chromium 156, 2,200 MiB did not.
const MaxHandover = 2040 << 20

// A Trace is one of those that a Server shows. First it is being converted, then it is Ready or has Failed.
type Trace struct {
	server *Server
	index  int
	name   string
	done   chan struct{} // closed when it is ready or has failed
	handed chan struct{} // closed when the UI has it
	hand   sync.Once
	told   chan struct{} // closed when a page has heard that it failed
	tell   sync.Once

	// The following are guarded by server.mu.
	state      string // of traceState
	read, size int64
	failure    string
	content    Content
	view       FirstView
	report     *Report // nil: there is none yet
	unreported bool    // and there will be none
}

// The states of a trace.
const (
	waiting    = "waiting"
	converting = "converting"
	ready      = "ready"
	failed     = "failed"
)

// A FirstView is the first view of a trace in the timeline; the zero value shows all of it. Times are nanoseconds on the clock of the
// trace.
type FirstView struct {
	Window   *Window   // nil: the whole trace
	Event    *Event    // is selected; nil: none
	Commands []Command // that the UI runs, in their order
}

// A Command is one of those that the UI runs when it has loaded a trace.
type Command struct {
	ID   string   `json:"id"`
	Args []string `json:"args"` // all of them: the UI asks the user for one that is missing
}

// PinNames pins the tracks whose names match a regular expression of JavaScript.
func PinNames(regex string) Command {
	return Command{"dev.perfetto.PinTracksByRegex", []string{regex, "name"}}
}

// PinPaths pins the tracks whose paths match: the names of the tracks around a track and its own, with " > " between them. Paths of threads are
// not among them.
func PinPaths(regex string) Command {
	return Command{"dev.perfetto.PinTracksByRegex", []string{regex, "path"}}
}

// ExpandPaths expands the tracks whose paths match.
func ExpandPaths(regex string) Command {
	return Command{"dev.perfetto.ExpandTracksByRegex", []string{regex, "path"}}
}

// A Window is a part of the timeline.
type Window struct{ Start, End int64 }

// An Event is a slice or, without duration, an instant.
type Event struct{ TS, Dur int64 }

// Endless is the duration that the UI gives a slice that does not end.
const Endless = -1

// Add adds a trace. name is what users see: its control characters should be escaped.
func (s *Server) Add(name string) *Trace {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Trace{
		server: s, index: len(s.traces), name: name, state: waiting, size: -1,
		done: make(chan struct{}), handed: make(chan struct{}), told: make(chan struct{}),
	}
	s.traces = append(s.traces, t)
	s.change()
	return t
}

// Progress reports how many bytes of the input were read; size is the total, -1 if unknown.
func (t *Trace) Progress(read, size int64) {
	t.update(func() { t.state, t.read, t.size = converting, read, size })
}

// A Content is a file of Perfetto. It must stay readable until the server has ended.
type Content struct {
	io.ReaderAt
	Bytes    int64
	FileName string // under which a browser saves it
}

// Ready sets the trace as a file of Perfetto. Ready or Failed is called once.
func (t *Trace) Ready(content Content, view FirstView) {
	t.update(func() { t.state, t.content, t.view = ready, content, view })
	close(t.done)
}

// Failed records why there is no trace.
func (t *Trace) Failed(message string) {
	t.update(func() { t.state, t.failure = failed, message })
	close(t.done)
}

// HandedOver returns a channel that is closed when the UI has the trace.
func (t *Trace) HandedOver() <-chan struct{} { return t.handed }

// FailureShown returns a channel that is closed when a page has heard that the trace failed.
func (t *Trace) FailureShown() <-chan struct{} { return t.told }

func (t *Trace) update(fn func()) {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	fn()
	t.server.change()
}

// change wakes serveEvents. The caller holds s.mu.
func (s *Server) change() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// told records that a page has the state of all traces.
func (s *Server) told() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.traces {
		if t.state == failed {
			t.tell.Do(func() { close(t.told) })
		}
	}
}

// trace returns the trace with a number, nil if there is none.
func (s *Server) trace(number string) *Trace {
	s.mu.Lock()
	defer s.mu.Unlock()
	i, err := strconv.ParseUint(number, 10, 31)
	if err != nil || i >= uint64(len(s.traces)) || strconv.FormatUint(i, 10) != number {
		return nil
	}
	return s.traces[i]
}

// opened records that the UI has the trace. It returns false if the trace was not ready.
func (t *Trace) opened() bool {
	t.server.mu.Lock()
	is := t.state == ready
	t.server.mu.Unlock()
	if is {
		t.hand.Do(func() { close(t.handed) })
	}
	return is
}

func (t *Trace) length() int64 {
	t.server.mu.Lock()
	defer t.server.mu.Unlock()
	return t.content.Bytes
}

// serve serves the bytes of the trace, if it is ready.
func (t *Trace) serve(w http.ResponseWriter, r *http.Request) {
	t.server.mu.Lock()
	content := t.content
	t.server.mu.Unlock()
	if content.ReaderAt == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", time.Time{}, io.NewSectionReader(content, 0, content.Bytes))
}

// pageState is the state that the page gets.
type pageState struct {
	UI     string       `json:"ui"`               // address that ends in a slash
	OwnUI  bool         `json:"own_ui,omitempty"` // that one is from files
	Traces []traceState `json:"traces"`
}

// traceState is the state of a trace that the page gets.
type traceState struct {
	Name      string  `json:"name"`
	State     string  `json:"state"`
	Read      int64   `json:"read"`
	Size      int64   `json:"size"` // of the input; -1: not known
	Failure   string  `json:"failure,omitempty"`
	Bytes     int64   `json:"bytes,omitempty"`
	FileName  string  `json:"file_name,omitempty"` // under which it is saved
	Arguments string  `json:"arguments"`           // of the link of the UI
	Scroll    *scroll `json:"scroll,omitempty"`    // what to show first where the link stays empty

	Report     bool     `json:"report,omitempty"` // there is one,
	Unreported bool     `json:"unreported,omitempty"`
	Start      string   `json:"start_ns,omitempty"` // and it may ask for what is in this time, in digits: numbers of scripts are coarser
	End        string   `json:"end_ns,omitempty"`
	Tracks     []string `json:"tracks,omitempty"`
}

// scroll is a part of the timeline in seconds, as the UI is asked to scroll to it. They are rounded, which does no harm here.
type scroll struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

// pageState returns the state for the page as JSON, and a channel that is closed when it changes.
func (s *Server) pageState() (state []byte, changed <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := pageState{UI: s.opts.UI.address, OwnUI: s.ui != nil, Traces: make([]traceState, len(s.traces))}
	for i, t := range s.traces {
		p.Traces[i] = traceState{
			Name: t.name, State: t.state, Read: t.read, Size: t.size, Failure: t.failure, Bytes: t.content.Bytes, FileName: t.content.FileName,
			Arguments: t.view.arguments(), Scroll: t.view.scroll(), Report: t.report != nil, Unreported: t.unreported,
		}
		if t.report != nil {
			r := t.report
			p.Traces[i].Start, p.Traces[i].End, p.Traces[i].Tracks = strconv.FormatInt(r.Span.Start, 10), strconv.FormatInt(r.Span.End, 10), r.Tracks
		}
	}
	state, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts and numbers only
	}
	return state, s.changed
}

// arguments returns the arguments of the UI's link with which it shows the view. mode=embedded leaves out its sidebar and its
// telemetry. Times are texts there, and exact.
func (v FirstView) arguments() string {
	args := []string{"mode=embedded"}
	add := func(name string, value int64) { args = append(args, name+"="+strconv.FormatInt(value, 10)) }
	if v.Window != nil {
		add("visStart", v.Window.Start)
		add("visEnd", v.Window.End)
	}
	if v.Event != nil {
		add("ts", v.Event.TS)
		add("dur", v.Event.Dur)
	}
	if len(v.Commands) > 0 {
		text, err := json.Marshal(v.Commands)
		if err != nil {
			panic(err) // texts only
		}
		args = append(args, "startupCommands="+url.QueryEscape(string(text)))
	}
	return strings.Join(args, "&")
}

// scroll returns the part of the timeline that the view is about, nil if it is about all of it.
func (v FirstView) scroll() *scroll {
	start, end := int64(0), int64(0)
	switch {
	case v.Window != nil:
		start, end = v.Window.Start, v.Window.End
	case v.Event != nil:
		start, end = v.Event.TS, v.Event.TS+max(v.Event.Dur, 0)
	default:
		return nil
	}
	return &scroll{float64(start) / 1e9, float64(end) / 1e9}
}
