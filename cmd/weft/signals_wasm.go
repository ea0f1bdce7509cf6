package main

import "context"

// signalContext returns its parent: no signals reach a WebAssembly program.
func signalContext(parent context.Context) context.Context { return parent }

// afterSecondSignal returns a context that does not end before release is called.
func afterSecondSignal(ctx context.Context) (second context.Context, release context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(ctx))
}
