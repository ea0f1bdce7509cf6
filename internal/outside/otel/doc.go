// Package otel holds tests with OpenTelemetry's own modules: spans that the official types encode are read as they are, and a server that
// its SDK records meets its browser. It is a module of its own, so that weft does not depend on OpenTelemetry, gRPC and its gateway.
package otel
