package view

import (
	"crypto/subtle"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	oncePath   = "/go/"          // prefix of the paths from onceAddress
	directName = "trace.pftrace" // a Direct server's trace; the name reveals nothing, because the UI tells others what it fetches
)

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setSafeHeaders(w.Header())
	if !isLoopback(r.Host) {
		refuse(w, http.StatusForbidden)
		return
	}
	path := r.URL.EscapedPath()
	if once, ok := strings.CutPrefix(path, oncePath); ok {
		s.serveOnce(w, r, once)
		return
	}
	name, ok := s.belowSecret(path)
	if !ok {
		refuse(w, http.StatusNotFound)
		return
	}
	trust(r)
	s.serveName(patientWriter{w, userPatience}, r, name)
}

// refuse responds to a request without the secret, with only a status, and closes the connection, so that it does not take a
// slot from the user (rule 9).
func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Connection", "close")
	w.WriteHeader(status)
}

// setSafeHeaders sets the headers of every response (rule 7). Cross-Origin-Opener-Policy is not among them, because it would
// cut the page off from the UI tab that it opens.
func setSafeHeaders(h http.Header) {
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// isLoopback reports whether browsers reach only this machine by a Host header's name (rule 2). Any port is allowed, because
// ssh -L changes it.
func isLoopback(host string) bool {
	name, port := host, ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		name, port = host[:i], host[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || port[0] == '+' {
			return false
		}
	}
	return slices.Contains([]string{"127.0.0.1", "localhost", "[::1]"}, name)
}

// belowSecret returns the part of a path after the secret (rule 3).
func (s *Server) belowSecret(path string) (name string, ok bool) {
	secret, name, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return name, ok && subtle.ConstantTimeCompare([]byte(secret), []byte(s.secret)) == 1
}

// serveOnce handles a request to an address from onceAddress. A HEAD request does not use up the address, and its response
// reveals nothing.
func (s *Server) serveOnce(w http.ResponseWriter, r *http.Request, once string) {
	if r.Method != http.MethodGet || !s.useOnce(once) {
		refuse(w, http.StatusNotFound)
		return
	}
	s.enter()
	target := "/" + s.secret + "/" // on the same origin, which ssh -L may have changed
	if s.opts.Direct {
		target = s.Address()
	}
	w.Header().Set("Location", target)
	w.WriteHeader(http.StatusSeeOther)
}

// serveName handles requests below the secret.
func (s *Server) serveName(w http.ResponseWriter, r *http.Request, name string) {
	var serve func(http.ResponseWriter, *http.Request)
	methods := []string{http.MethodGet, http.MethodHead}
	kind, number, _ := strings.Cut(name, "/")
	t := s.trace(number)
	switch {
	case s.opts.Direct && name == directName:
		serve = s.serveDirect
	case s.opts.Direct:
	case name == "":
		serve = s.servePage
	case name == "events":
		serve = s.serveEvents
	case name == "opened":
		serve, methods = s.serveOpened, []string{http.MethodPost}
	case kind == "trace" && t != nil:
		serve = t.serve
	case kind == "report" && t != nil:
		serve = t.serveReport
	}
	switch {
	case serve == nil:
		w.WriteHeader(http.StatusNotFound)
	case !slices.Contains(methods, r.Method):
		w.Header().Set("Allow", strings.Join(methods, ", "))
		w.WriteHeader(http.StatusMethodNotAllowed)
	default:
		serve(w, r)
	}
}

func (s *Server) servePage(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Security-Policy", s.page.policy)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(s.page.html)))
	io.WriteString(w, s.page.html)
}

// serveEvents sends the page the state of traces and conversions whenever it changes, as server-sent events.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request lasts while the page is open
	for {
		state, changed := s.pageState()
		fmt.Fprintf(w, "data: %s\n\n", state)
		if control.Flush() != nil {
			return
		}
		s.markNotified()
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-s.ended:
			state, _ := s.pageState()
			fmt.Fprintf(w, "data: %s\n\nevent: end\ndata:\n\n", state)
			_ = control.Flush()
			return
		}
	}
}

// maxNumber bounds the length of a trace number in a request.
const maxNumber = 20

// serveOpened handles the page's message that it has handed over a trace. Pages of other origins cannot send the required
// Origin header (rule 5).
func (s *Server) serveOpened(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Origin") != "http://"+r.Host {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	number, err := io.ReadAll(io.LimitReader(r.Body, maxNumber))
	t := s.trace(string(number))
	if err != nil || t == nil || !t.opened() {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// serveDirect serves the trace to the UI as soon as it is ready (rule 6).
func (s *Server) serveDirect(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", s.opts.UI.origin)
	w.Header().Set("Vary", "Origin")
	t := s.trace("0")
	if t == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	control := http.NewResponseController(w) // converting may take longer than a request
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(time.Time{})
	select {
	case <-t.done:
	case <-r.Context().Done():
		return
	case <-s.ended:
		return
	}
	sent := &countedWriter{ResponseWriter: w}
	t.serve(sent, r)
	if sent.n > 0 && sent.n == t.length() {
		t.opened()
	}
}

// A countedWriter counts the bytes of a response that were sent.
type countedWriter struct {
	http.ResponseWriter
	n int64
}

// Write implements io.Writer.
func (c *countedWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n += int64(n)
	return n, err
}
