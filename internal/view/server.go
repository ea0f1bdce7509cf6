// Package view shows traces in the Perfetto UI of the user's browser. A Server listens on the loopback interface and serves one
// page, which frames the UI, fetches a trace from its own origin, and posts it to the UI; OpenBrowser opens the page.
//
// The user trusts the Server with traces that no one else may read: not other users of the machine, who can connect to every port and
// read every command line, and not the pages of other web sites, which run in the same browser. So the Server
//
//  1. listens on 127.0.0.1, and there is no way to have it listen elsewhere;
//  2. answers only requests whose Host is a loopback name. A web site whose name resolves to 127.0.0.1 (DNS rebinding) has its own;
//  3. has everything below a random secret, and says nothing of what is not: 404 and no content. A request to POST /status, by which
//     the Perfetto UI looks for a trace processor, is answered like that, too: to 200 it would talk;
//  4. gives programs that open browsers a file that only the user can read, because other users can read command lines. It has an
//     address that is good once and for a minute, and leads to the secret;
//  5. takes GET and HEAD, and one POST from its own page;
//  6. allows no other origin to read anything (CORS). Only a Direct server lets the UI read the trace;
//  7. has a page that may run its own script, use its own style, talk to its own origin and frame the UI, and nothing else;
//  8. serves the files of a UI of one's own from a second port, so that they are of another origin, with a policy that keeps them from
//     talking to anybody else;
//  9. bounds the time to read a request and to write an answer, the number of connections and the length of headers, and never lists
//     a folder. Those who do not know the secret get one answer for a connection, and make room for those who do.
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
	readTimeout    = 10 * time.Second // of a request with its body, and of an idle connection
	writeTimeout   = 10 * time.Second // of an answer to someone who has not shown the secret, and of each piece of a UI from files
	userPatience   = 5 * time.Minute  // of each piece of an answer below the secret: a browser may ask where to save a download
	maxHeader      = 16 << 10         // bytes
	goodbye        = time.Second      // for answers under way when the server ends
)

// Options configure a Server.
type Options struct {
	// Port is the port to listen on; 0: any that is free.
	Port int

	// UI is the Perfetto UI to show traces in. The server closes it.
	UI *UI

	// Direct has the UI fetch the trace itself, from a public page to this machine, instead of framing it. There is one trace then.
	Direct bool
}

// A Server serves traces to the browser of one user. Its methods may be called by several goroutines.
type Server struct {
	opts     Options
	secret   string
	listener net.Listener
	ui       net.Listener // of a UI from files; nil: there is none
	page     page
	now      func() time.Time

	mu      sync.Mutex
	once    map[string]onceEntry // addresses that were not used yet
	entered chan struct{}        // closed when one was used
	traces  []*Trace
	changed chan struct{} // closed and replaced when something that the page shows changes
	ended   chan struct{} // closed when the server ends
	end     sync.Once
}

// Listen begins to listen. Nothing is answered until Serve is called; connections wait until then.
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

// newSecret returns 16 random bytes as text for addresses: letters, digits, - and _.
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

// Address returns the address of the page, or of a Direct server the link of the UI. It contains the secret: it may be shown to the
// user and to no one else.
func (s *Server) Address() string {
	if s.opts.Direct {
		return s.opts.UI.link("url=" + s.root() + directName)
	}
	return s.root()
}

// Asks reports whether a browser may ask the user if the UI of a Direct server may fetch the trace: a UI on this machine may.
func (s *Server) Asks() bool { return s.ui == nil }

// UIName returns the host of the UI, as a browser calls it when it asks the user.
func (s *Server) UIName() string {
	_, host, _ := strings.Cut(s.opts.UI.origin, "://")
	return host
}

func (s *Server) root() string { return s.base() + "/" + s.secret + "/" }

func (s *Server) base() string { return fmt.Sprintf("http://127.0.0.1:%d", portOf(s.listener)) }

// onceLife is how long an address of onceAddress is good.
const onceLife = time.Minute

// An onceEntry is an address that leads to the secret once.
type onceEntry struct {
	until time.Time
	file  string // with the address
}

// onceAddress returns an address that leads to Address once, within a minute, and keeps it in a new file of the user's (rule 4). The file
// goes when the address is used, or is good no longer.
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
	case <-s.ended: // and may not have seen it
		s.useOnce(once)
		return "", "", net.ErrClosed
	default:
	}
	return address, file, nil
}

// useOnce reports whether an address is good, and uses it up.
func (s *Server) useOnce(once string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry, ok := s.once[once]
	if !ok {
		return false
	}
	delete(s.once, once)
	_ = os.Remove(entry.file) // which says nothing any more
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

// Entered returns a channel that is closed when the browser of OpenBrowser has come.
func (s *Server) Entered() <-chan struct{} { return s.entered }

// Serve answers requests until ctx is done. Then it ends pages that still listen, and closes all connections and files.
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
	case <-s.ended: // it was closed
		err = nil
	default:
	}
	s.Close()
	last, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	for _, server := range servers {
		_ = server.Shutdown(last) // what takes longer is cut off
		server.Close()
	}
	return err
}

// Close ends the server: Serve returns if it was called, and no connection is accepted any more.
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

// newHTTPServer returns a server with bounds (rule 9).
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
		ErrorLog:                     log.New(io.Discard, "", 0), // errors of requests, which interest no one
	}
}
