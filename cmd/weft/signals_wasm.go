package main

import "context"

// signalContext returns a context that never ends: no signals reach a program in WebAssembly.
func signalContext(parent context.Context) context.Context { return parent }

// afterSecondSignal returns a context that does not end before release is called.
func afterSecondSignal(ctx context.Context) (second context.Context, release context.CancelFunc) {
	return context.WithCancel(context.WithoutCancel(ctx))
}
