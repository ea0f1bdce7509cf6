package view

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"
)

// A limitedListener hands out a bounded number of connections at a time. If all are taken, a further one does not wait for those that
// anyone on this machine may have opened: the one among them that has been at the same request, or waited for one, for the longest time
// is closed. Connections over which the secret came are left alone.
type limitedListener struct {
	net.Listener
	limit int
	freed chan struct{} // has an element when one was closed

	mu   sync.Mutex
	open map[*limitedConn]struct{}

	closed chan struct{}
	once   sync.Once
}

// grace is the time that a connection has at least, so that many that come at once do not close each other.
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

// admit takes a connection if there is room.
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

// victim returns the connection that makes room for another one, and how long it still has; nil if there is none.
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

// waitForRoom waits until a connection is closed, or a time has passed. It is false if the listener was closed.
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
	since   time.Time // when it was accepted, its request began, or its last one ended
	trusted bool      // the secret came over it
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

// noteState is http.Server.ConnState.
func noteState(c net.Conn, _ http.ConnState) {
	if c, ok := c.(*limitedConn); ok {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		c.since = time.Now()
	}
}

// connKey is the key of the connection in the context of a request.
type connKey struct{}

// withConn is http.Server.ConnContext.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

// trust keeps the connection of a request that has the secret.
func trust(r *http.Request) {
	if c, ok := r.Context().Value(connKey{}).(*limitedConn); ok {
		c.listener.mu.Lock()
		defer c.listener.mu.Unlock()
		c.trusted = true
	}
}

// A patientWriter bounds the time that each piece of an answer takes to write, instead of the time for the whole.
type patientWriter struct {
	http.ResponseWriter
	patience time.Duration
}

// Write implements io.Writer.
func (w patientWriter) Write(p []byte) (int, error) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
	return w.ResponseWriter.Write(p)
}

// Unwrap gives http.ResponseController the writer.
func (w patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
