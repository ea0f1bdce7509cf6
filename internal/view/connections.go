package view

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// A limitedListener bounds the number of connections at a time. Anyone on this machine may open connections, so a new one
// does not wait if the limit is reached: the listener closes the one that has been busy with the same request, or idle, for the
// longest time. It never closes a connection that has sent the secret.
type limitedListener struct {
	net.Listener
	limit int
	freed chan struct{} // has an element once a connection was closed

	mu   sync.Mutex
	open map[*limitedConn]struct{}

	closed chan struct{}
	once   sync.Once
}

// grace is the minimum time that a connection stays open, so that many simultaneous ones do not close each other.
const grace = 50 * time.Millisecond

func newLimitedListener(l net.Listener, n int) *limitedListener {
	return &limitedListener{
		Listener: l, limit: n, freed: make(chan struct{}, 1), open: make(map[*limitedConn]struct{}, n), closed: make(chan struct{}),
	}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	inner, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &limitedConn{Conn: inner, listener: l}
	for !l.admit(c) {
		wait, victim := l.victim()
		if victim != nil && wait <= 0 {
			victim.Close()
			continue
		}
		if !l.waitForRoom(wait) {
			inner.Close()
			return nil, net.ErrClosed
		}
	}
	return c, nil
}

// admit accepts a connection if there is room.
func (l *limitedListener) admit(c *limitedConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.open) >= l.limit {
		return false
	}
	c.since = time.Now()
	l.open[c] = struct{}{}
	return true
}

// victim returns the connection to close for another one, and the rest of its grace time. It returns nil if no
// connection may be closed.
func (l *limitedListener) victim() (wait time.Duration, victim *limitedConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.open {
		if !c.trusted && (victim == nil || c.since.Before(victim.since)) {
			victim = c
		}
	}
	if victim == nil {
		return readTimeout, nil
	}
	return grace - time.Since(victim.since), victim
}

// waitForRoom waits until a connection is closed, but at most for the given duration. It returns false if the listener was closed.
func (l *limitedListener) waitForRoom(most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-l.freed:
	case <-timer.C:
	case <-l.closed:
		return false
	}
	return true
}

// Close implements net.Listener.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// A limitedConn makes room for another connection when it is closed.
type limitedConn struct {
	net.Conn
	listener *limitedListener

	// The following are guarded by listener.mu.
	since   time.Time // when it was accepted, its request started, or its last request ended
	trusted bool      // it has sent the secret
}

// Close implements net.Conn.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.listener.mu.Lock()
	delete(c.listener.open, c)
	c.listener.mu.Unlock()
	select {
	case c.listener.freed <- struct{}{}:
	default:
	}
	return err
}

// noteState is used as http.Server.ConnState; it records the time of the change.
func noteState(c net.Conn, _ http.ConnState) {
	if c, ok := c.(*limitedConn); ok {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		c.since = time.Now()
	}
}

// connKey is the key of the connection in the context of a request.
type connKey struct{}

// withConn is used as http.Server.ConnContext; it adds the connection to the context.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// trust protects the connection of a request with the secret from being closed for another one.
func trust(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*limitedConn); ok {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		c.trusted = true
	}
}

// A patientWriter bounds the time to write each piece of a response, instead of the whole response.
type patientWriter struct {
	http.ResponseWriter
	patience time.Duration
}

// Write implements io.Writer.
func (w patientWriter) Write(p []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
	return w.ResponseWriter.Write(p)
}

// Unwrap returns the inner writer, for http.ResponseController.
func (w patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
