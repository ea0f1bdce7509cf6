// Package otel tests weft with OpenTelemetry's own modules: weft reads spans that the official types encode, and joins
// a server that the SDK records with its browser. It is a separate module, so that weft does not depend on
// OpenTelemetry, gRPC or its gateway.
package otel
