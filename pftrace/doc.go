// Package pftrace writes Perfetto traces and checks them.
//
// Write turns a trace into a file that the Perfetto UI opens. Verify holds a file against the rules of the format; every
// test of weft that makes a trace applies it.
//
// What does not live here: package convert reads traces, Perfetto's among them, and the packets themselves are the
// business of internal/pfwire.
package pftrace
