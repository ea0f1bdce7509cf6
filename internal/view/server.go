// Package view shows traces in the Perfetto UI of the user's browser. A Server listens on the loopback interface and serves one
// page, which frames the UI, fetches a trace from its own origin, and posts it to the UI; OpenBrowser opens the page.
//
// The user trusts the Server with traces that no one else may read: neither other users of the machine, who can connect to
// every port and read every command line, nor pages of other web sites, which run in the same browser. So the Server
//
//  1. listens on 127.0.0.1, and cannot be made to listen elsewhere;
//  2. accepts only requests whose Host is a loopback name. A web site whose name resolves to 127.0.0.1 (DNS rebinding) sends
//     its own name;
//  3. serves everything below a random secret, and responds to all others with 404 and no content. That includes POST
//     /status, by which the Perfetto UI looks for a trace processor: if the UI got 200, it would go on to talk to the server;
//  4. gives programs that open browsers a file that only the user can read, because other users can read command lines. The
//     file contains an address that works only once and only for a minute, and leads to the secret;
//  5. accepts GET and HEAD, and one kind of POST from its own page;
//  6. lets no other origin read anything (CORS), except that a Direct server lets the UI read the trace;
//  7. serves a page that may only run its own script, use its own style, talk to its own origin, and frame the UI and
//     reports;
//  8. serves the files of the user's own UI from a second port, and so from another origin, with a policy that keeps them
//     from talking to anyone else;
//  9. bounds the time to read a request and to write a response, the number of connections and the length of headers, and
//     never lists a folder. Clients without the secret get one response per connection, and make room for clients with it.
//
// What does not live here: converting traces, and messages on the terminal (cmd/weft).
package view

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	maxConnections = 16
	readTimeout    = 10 * time.Second // for a request with its body, and for an idle connection
	writeTimeout   = 10 * time.Second // for a response to a client without the secret, and for each piece of a UI from files
	userPatience   = 5 * time.Minute  // for each piece of a response below the secret: a browser may ask where to save a download
	maxHeader      = 16 << 10         // bytes
	goodbye        = time.Second      // for pending responses when the server ends
)

// Options configure a Server.
type Options struct {
	// Port is the port to listen on; 0: any free port.
	Port int

	// UI is the Perfetto UI to show traces in. The server closes it.
	UI *UI

	// Direct makes the UI, which is then a page of its own instead of a frame, fetch the trace itself from this machine.
	// There is only one trace then.
	Direct bool
}

// A Server serves traces to the browser of one user. Its methods may be called concurrently.
type Server struct {
	opts     Options
	secret   string
	listener net.Listener
	ui       net.Listener // for a UI from files; nil: none
	page     page
	now      func() time.Time

	mu      sync.Mutex
	once    map[string]onceEntry // unused addresses
	entered chan struct{}        // closed once an address was used
	traces  []*Trace
	changed chan struct{} // closed and replaced when something that the page shows changes
	ended   chan struct{} // closed when the server ends
	end     sync.Once
}

// Listen starts to listen. Connections wait, and get no response, until Serve is called.
func Listen(opts Options) (*Server, error) {
	s := &Server{
		opts: opts, secret: newSecret(), now: time.Now,
		once: map[string]onceEntry{}, entered: make(chan struct{}), changed: make(chan struct{}), ended: make(chan struct{}),
	}
	var err error
	if s.listener, err = listen(opts.Port); err != nil {
		return nil, err
	}
	if opts.UI.files != nil {
		if s.ui, err = listen(0); err != nil {
			return nil, errors.Join(err, s.listener.Close())
		}
		opts.UI.setOrigin(fmt.Sprintf("http://127.0.0.1:%d", portOf(s.ui)))
		if opts.Direct {
			opts.UI.allow(s.base())
		}
	}
	s.page = newPage(opts.UI.origin)
	return s, nil
}

// listen listens on a port of the loopback interface (rules 1 and 9).
func listen(port int) (net.Listener, error) {
	l, err := net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	return newLimitedListener(l, maxConnections), nil
}

func portOf(l net.Listener) int { return l.Addr().(*net.TCPAddr).Port }

// newSecret returns 16 random bytes as text that is safe in addresses: letters, digits, - and _.
func newSecret() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

// Ports returns the ports that the server listens on: its own, and the port of a UI from files.
func (s *Server) Ports() []int {
	if s.ui == nil {
		return []int{portOf(s.listener)}
	}
	return []int{portOf(s.listener), portOf(s.ui)}
}

// Address returns the address of the page or, for a Direct server, a link to the UI. It contains the secret, so only the user
// may see it.
func (s *Server) Address() string {
	if s.opts.Direct {
		return s.opts.UI.link("url=" + s.root() + directName)
	}
	return s.root()
}

// Asks reports whether a browser may ask the user for permission before the UI of a Direct server fetches the trace. A UI on
// this machine needs no permission.
func (s *Server) Asks() bool { return s.ui == nil }

// UIName returns the host of the UI, as a browser names it when it asks the user.
func (s *Server) UIName() string {
	_, host, _ := strings.Cut(s.opts.UI.origin, "://")
	return host
}

func (s *Server) root() string { return s.base() + "/" + s.secret + "/" }

func (s *Server) base() string { return fmt.Sprintf("http://127.0.0.1:%d", portOf(s.listener)) }

// onceLife is how long an address from onceAddress is valid.
const onceLife = time.Minute

// An onceEntry is an address that leads to the secret only once.
type onceEntry struct {
	until time.Time
	file  string // file that contains the address
}

// onceAddress returns an address that leads to Address only once and within a minute, and writes it to a new private file
// (rule 4). The file is removed once the address is used or expires.
func (s *Server) onceAddress() (address, file string, err error) {
	once := newSecret()
	address = s.base() + oncePath + once
	if file, err = writePrivate(redirection(address)); err != nil {
		return "", "", err
	}
	s.mu.Lock()
	s.once[once] = onceEntry{s.now().Add(onceLife), file}
	s.mu.Unlock()
	time.AfterFunc(onceLife, func() { s.useOnce(once) })
	select {
	case <-s.ended: // Close may have missed the new entry
		s.useOnce(once)
		return "", "", net.ErrClosed
	default:
	}
	return address, file, nil
}

// useOnce reports whether an address is valid, and uses it up.
func (s *Server) useOnce(once string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, ok := s.once[once]
	if !ok {
		return false
	}
	delete(s.once, once)
	_ = os.Remove(entry.file) // the address in it is no longer valid
	return s.now().Before(entry.until)
}

// enter records that a browser was redirected to the secret.
func (s *Server) enter() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.entered:
	default:
		close(s.entered)
	}
}

// Entered returns a channel that is closed when the browser from OpenBrowser has connected.
func (s *Server) Entered() <-chan struct{} { return s.entered }

// Serve handles requests until ctx is done. Then it ends the event streams of open pages, and closes all connections and
// files.
func (s *Server) Serve(ctx context.Context) error {
	servers := []*http.Server{newHTTPServer(s)}
	listeners := []net.Listener{s.listener}
	if s.ui != nil {
		servers, listeners = append(servers, newHTTPServer(s.opts.UI.files)), append(listeners, s.ui)
	}
	failed := make(chan error, len(servers))
	for i := range servers {
		go func() { failed <- servers[i].Serve(listeners[i]) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	select {
	case <-s.ended: // the server was closed
		err = nil
	default:
	}
	s.Close()
	last, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	for _, server := range servers {
		_ = server.Shutdown(last) // responses that take longer are cut off
		server.Close()
	}
	return err
}

// Close ends the server: Serve returns if it was called, and no more connections are accepted.
func (s *Server) Close() {
	s.end.Do(func() {
		close(s.ended)
		s.listener.Close()
		if s.ui != nil {
			s.ui.Close()
		}
		s.opts.UI.Close()
		s.mu.Lock()
		once := slices.Collect(maps.Keys(s.once))
		s.mu.Unlock()
		for _, once := range once {
			s.useOnce(once)
		}
	})
}

// newHTTPServer returns a server with time and size limits (rule 9).
func newHTTPServer(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:                      h,
		ReadHeaderTimeout:            readTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  readTimeout,
		MaxHeaderBytes:               maxHeader,
		Protocols:                    &protocols,
		ConnContext:                  withConn,
		ConnState:                    noteState,
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(io.Discard, "", 0), // discard errors of requests
	}
}
