package main

import "context"

// signalContext returns a context that never ends: no signals reach a program in WebAssembly.
func signalContext(parent context.Context) context.Context { return parent }
