//go:build !wasm

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// signalContext returns a context that ends on the first of endSignals. A second signal ends the program at once. A closed output
// pipe is an error like any other rather than a signal, so that temporary files are still removed.
func signalContext(parent context.Context) context.Context {
	ctx, stop := signal.NotifyContext(parent, endSignals()...)
	context.AfterFunc(ctx, stop)
	signal.Ignore(syscall.SIGPIPE)
	return ctx
}

// afterSecondSignal returns a context that outlives the first signal, which ends ctx. The returned context ends on the next
// signal. The caller must call release when it no longer needs the context.
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

// endSignals returns the signals that end a run in an orderly way: Ctrl-C, kill, and a closed terminal, unless weft was
// started to survive that (nohup).
func endSignals() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}
