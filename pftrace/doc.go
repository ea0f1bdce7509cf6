// Package pftrace writes Perfetto traces and verifies them.
//
// Write writes a trace as a file that the Perfetto UI opens. Verify checks a file against the rules of the format; every test of weft
// that writes a trace calls it.
//
// What does not live here: reading traces, including Perfetto's (package convert), and the packets themselves (internal/pfwire).
package pftrace
