// Package pftrace writes Perfetto traces and verifies them.
//
// Write writes a trace as a file for the Perfetto UI. Verify checks a file against the rules of the format; every weft test that
// writes a trace calls it.
//
// What does not live here: reading traces, including Perfetto traces (package convert), and the packets themselves
// (internal/pfwire).
package pftrace
