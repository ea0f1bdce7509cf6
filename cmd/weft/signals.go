//go:build !wasm

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signalContext returns a context that ends with the first signal that ends a run. After that a second one ends the
// program at once. A reader of our output that goes away is not a signal but an error like any other: temporary files are
// still removed.
func signalContext(parent context.Context) context.Context {
	ctx, stop := signal.NotifyContext(parent, endSignals()...)
	context.AfterFunc(ctx, stop)
	signal.Ignore(syscall.SIGPIPE)
	return ctx
}

// afterSecondSignal returns a context that goes on when ctx ends with a first signal, and ends with the next one. The caller
// calls release when nothing depends on it any more.
func afterSecondSignal(ctx context.Context) (second context.Context, release context.CancelFunc) {
	second, release = context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, endSignals()...)
		defer signal.Stop(signals)
		select {
		case <-signals:
			release()
		case <-second.Done():
		}
	})
	return second, release
}

// endSignals returns the signals that end a run in order: Ctrl-C, kill, and a terminal that goes away, unless weft was
// started to survive that (nohup).
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
