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

// MaxHandover is the maximum length of a trace that a page can hand over to another, because browsers store and post less
// than 2 GiB in one piece. In Chromium 156, 2,040 MiB passed but 2,200 MiB did not.
const MaxHandover = 2040 << 20

// A Trace is one of the traces that a Server shows. First it is being converted; then it is Ready or has Failed.
type Trace struct {
	server   *Server
	index    int
	name     string
	done     chan struct{} // closed when it is ready or has failed
	handed   chan struct{} // closed when the UI has the trace
	hand     sync.Once
	notified chan struct{} // closed when a page was told that it failed
	tell     sync.Once

	// The following are guarded by server.mu.
	state      string // one of the states below
	read, size int64
	failure    string
	content    Content
	view       FirstView
	report     *Report // nil: none yet
	unreported bool    // there will be no report
}

// The states of a trace.
const (
	waiting    = "waiting"
	converting = "converting"
	ready      = "ready"
	failed     = "failed"
)

// A FirstView is the first view of a trace in the timeline; the zero value shows the whole trace. Times are nanoseconds on
// the trace's clock.
type FirstView struct {
	Window   *Window   // nil: the whole trace
	Event    *Event    // the event to select; nil: none
	Commands []Command // run by the UI in this order
}

// A Command is a command that the UI runs once it has loaded a trace.
type Command struct {
	ID   string   `json:"id"`
	Args []string `json:"args"` // must be complete: the UI asks the user for missing ones
}

// PinNames pins the tracks whose names match a JavaScript regular expression.
func PinNames(regex string) Command {
	return Command{"dev.perfetto.PinTracksByRegex", []string{regex, "name"}}
}

// PinPaths pins the tracks whose paths match. A path consists of the names of the enclosing tracks and the track's own name,
// with " > " between them. Threads have no paths.
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

// Endless is the UI's duration for a slice that never ends.
const Endless = -1

// Add adds a trace. Users see its name, whose control characters should be escaped.
func (s *Server) Add(name string) *Trace {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &Trace{
		server: s, index: len(s.traces), name: name, state: waiting, size: -1,
		done: make(chan struct{}), handed: make(chan struct{}), notified: make(chan struct{}),
	}
	s.traces = append(s.traces, t)
	s.change()
	return t
}

// Progress reports how many bytes of the input were read; size is the total, -1 if unknown.
func (t *Trace) Progress(read, size int64) {
	t.update(func() { t.state, t.read, t.size = converting, read, size })
}

// A Content is a Perfetto trace file. It must stay readable until the server has ended.
type Content struct {
	io.ReaderAt
	Bytes    int64
	FileName string // name under which a browser saves it
}

// Ready sets the content of the trace. Call either Ready or Failed, and only once.
func (t *Trace) Ready(content Content, view FirstView) {
	t.update(func() { t.state, t.content, t.view = ready, content, view })
	close(t.done)
}

// Failed records why the trace could not be converted.
func (t *Trace) Failed(message string) {
	t.update(func() { t.state, t.failure = failed, message })
	close(t.done)
}

// HandedOver returns a channel that is closed when the UI has the trace.
func (t *Trace) HandedOver() <-chan struct{} { return t.handed }

// FailureShown returns a channel that is closed when a page was told that the trace failed.
func (t *Trace) FailureShown() <-chan struct{} { return t.notified }

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

// markNotified records that the state of all traces was sent to a page.
func (s *Server) markNotified() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.traces {
		if t.state == failed {
			t.tell.Do(func() { close(t.notified) })
		}
	}
}

// trace returns the trace with a number, or nil if there is none.
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

// pageState is the state sent to the page.
type pageState struct {
	UI     string       `json:"ui"`               // address, which ends in a slash
	OwnUI  bool         `json:"own_ui,omitempty"` // the UI is served from files
	Traces []traceState `json:"traces"`
}

// traceState is the state of a trace sent to the page.
type traceState struct {
	Name      string  `json:"name"`
	State     string  `json:"state"`
	Read      int64   `json:"read"`
	Size      int64   `json:"size"` // of the input; -1: unknown
	Failure   string  `json:"failure,omitempty"`
	Bytes     int64   `json:"bytes,omitempty"`
	FileName  string  `json:"file_name,omitempty"` // name under which it is saved
	Arguments string  `json:"arguments"`           // arguments in the link to the UI
	Scroll    *scroll `json:"scroll,omitempty"`    // the part to show first if the link has no arguments

	Report     bool     `json:"report,omitempty"` // the trace has a report
	Unreported bool     `json:"unreported,omitempty"`
	Start      string   `json:"start_ns,omitempty"` // what the report may ask to show; text, as JavaScript numbers are coarser
	End        string   `json:"end_ns,omitempty"`
	Tracks     []string `json:"tracks,omitempty"`
}

// scroll is a part of the timeline to scroll to, in seconds as the UI expects. Rounding does no harm here.
type scroll struct {
	Start float64 `json:"start"`
	End   float64 `json:"end"`
}

// pageState returns the state for the page as JSON, and a channel that is closed when the state changes.
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

// arguments returns the arguments of the link to the UI that make it show the view. mode=embedded turns off its sidebar and
// telemetry. The link contains exact times, as text.
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

// scroll returns the part of the timeline that the view shows, or nil for the whole timeline.
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
