package browsertest

import (
	_ "embed"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// stubHost is the site that the Stub impersonates.
const stubHost = "ui.perfetto.dev"

var (
	//go:embed stub/ui.html
	stubPage string
	//go:embed stub/ui.js
	stubScript string
	//go:embed stub/evil.html
	evilPage string
)

// A Stub replaces the Perfetto UI: a public site with the same policy, which first looks for a trace processor, then listens for
// messages and answers PING with PONG, accepts traces from the same senders as the UI, cleans their titles, and fetches the URL
// in its link. It reports all its actions.
type Stub struct {
	address string
	reports chan Report

	mu       sync.Mutex
	mode     string
	requests []string
}

// A Report is an action of the UI.
type Report struct {
	Kind string `json:"kind"` // start, status, listening, pings, trace, fetched, scroll, unknown; evil, evil ping, evil got

	Href   string            `json:"href"` // start: the address of the UI, which its telemetry sends to others
	Framed bool              `json:"framed"`
	Args   map[string]string `json:"args"` // start: the arguments in the link

	Answered bool `json:"answered"` // status: a trace processor responded

	Bytes       int64  `json:"bytes"` // trace, fetched
	SHA256      string `json:"sha256"`
	Title       string `json:"title"`
	FileName    string `json:"fileName"`
	URL         string `json:"url"`
	LocalOnly   bool   `json:"localOnly"`
	KeepAPIOpen bool   `json:"keepApiOpen"`
	Origin      string `json:"origin"`
	Asked       bool   `json:"asked"` // trace: the UI would have asked the user whether to open it
	Error       string `json:"error"` // fetched

	Times []float64 `json:"times"` // pings: arrival times, in ms

	Text string `json:"text"` // evil got: the names of the received members, as JSON

	TimeStart float64 `json:"timeStart"` // scroll
	TimeEnd   float64 `json:"timeEnd"`
}

// The modes of a Stub.
const (
	Answers = ""       // behaves as the UI does
	Silent  = "silent" // never listens
	Busy    = "busy"   // is busy when it starts to listen, so that several PINGs are waiting
	Late    = "late"   // listens after ten seconds
	Counts  = "counts" // answers no PING, and reports the arrival times of the first twenty

	// Another site replaces the UI and sends PONG:
	Leaves           = "leaves"             // at once
	AnswersAndLeaves = "answers and leaves" // after the first PONG of the UI
)

// NewStub starts a stub that runs until the test ends.
func NewStub(t testing.TB) *Stub {
	s := &Stub{reports: make(chan Report, 1000)}
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	s.address = server.Listener.Addr().String()
	return s
}

// Behave sets the mode of pages that are opened from now on.
func (s *Stub) Behave(mode string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mode = mode
}

// ServeHTTP implements http.Handler.
func (s *Stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	mode := s.mode
	s.requests = append(s.requests, r.Method+" "+r.URL.String())
	s.mu.Unlock()
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, strings.Replace(stubPage, "MODE", mode, 1))
	case "/ui.js":
		w.Header().Set("Content-Type", "text/javascript")
		io.WriteString(w, stubScript)
	case "/report":
		var report Report
		if err := json.NewDecoder(r.Body).Decode(&report); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		s.reports <- report
	case "/evil":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, evilPage)
	case "/favicon.ico":
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// Await returns the next report of a kind and discards the reports before it.
func (s *Stub) Await(t testing.TB, kind string) Report {
	t.Helper()
	late := time.After(patience)
	var passed []string
	for {
		select {
		case r := <-s.reports:
			if r.Kind == kind {
				return r
			}
			passed = append(passed, r.Kind)
		case <-late:
			t.Fatalf("the UI does not report %q, only %q", kind, passed)
		}
	}
}

// Quiet fails the test if a report of a kind arrives within the given duration.
func (s *Stub) Quiet(t testing.TB, kind string, within time.Duration) {
	t.Helper()
	late := time.After(within)
	for {
		select {
		case r := <-s.reports:
			if r.Kind == kind {
				t.Errorf("the UI reports %+v", r)
			}
		case <-late:
			return
		}
	}
}
