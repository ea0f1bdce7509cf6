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

// A Stub is in the place of the Perfetto UI: a public site with the same policy, which looks for a trace processor at its start, then
// listens to messages and answers PING with PONG, takes a trace from whom the UI takes one, cleans its title, and fetches what its
// link says. It reports all it does.
type Stub struct {
	address string
	reports chan Report

	mu       sync.Mutex
	mode     string
	requests []string
}

// A Report is something that the UI did.
type Report struct {
	Kind string `json:"kind"` // start, status, listening, pings, trace, fetched, scroll, unknown; evil, evil ping, evil got

	Href   string            `json:"href"` // start: the address of the UI, which its telemetry sends to others
	Framed bool              `json:"framed"`
	Args   map[string]string `json:"args"` // start: of the link

	Answered bool `json:"answered"` // status: a listener was there

	Bytes       int64  `json:"bytes"` // trace, fetched
	SHA256      string `json:"sha256"`
	Title       string `json:"title"`
	FileName    string `json:"fileName"`
	URL         string `json:"url"`
	LocalOnly   bool   `json:"localOnly"`
	KeepAPIOpen bool   `json:"keepApiOpen"`
	Origin      string `json:"origin"`
	Asked       bool   `json:"asked"` // trace: the UI would have asked whether to open it
	Error       string `json:"error"` // fetched

	Times []float64 `json:"times"` // pings: when they came, in ms

	Text string `json:"text"` // evil got: what

	TimeStart float64 `json:"timeStart"` // scroll
	TimeEnd   float64 `json:"timeEnd"`
}

// The modes of a Stub.
const (
	Answers = ""       // as the UI does
	Silent  = "silent" // never listens
	Busy    = "busy"   // is busy when it begins to listen, so that several PINGs wait for it
	Late    = "late"   // listens after ten seconds
	Counts  = "counts" // answers no PING, and reports when the first twenty came

	// Another site takes the place of the UI, and says PONG:
	Leaves           = "leaves"             // at once
	AnswersAndLeaves = "answers and leaves" // after the first PONG of the UI
)

// NewStub starts a stub that ends with the test.
func NewStub(t testing.TB) *Stub {
	s := &Stub{reports: make(chan Report, 1000)}
	server := httptest.NewTLSServer(s)
	t.Cleanup(server.Close)
	s.address = server.Listener.Addr().String()
	return s
}

// Behave sets the behaviour of pages that are opened from now on.
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

// Await returns the next report of a kind; what is reported before it is passed over.
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

// Quiet fails the test if there is a report of a kind within a time.
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
