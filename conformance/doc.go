// Package conformance tests weft from outside: inputs go through convert.Convert; the tests read the output with the
// generated protobuf structs alone, project it to plain tables and compare these with tables of the expected
// result (testdata/conformance).
//
// The projection shares no code with weft's reader, timeline, writer or verifier, and it is strict: anything unknown in
// a trace is an error, so that the tests overlook nothing.
//
// schema*_test.go check the schemas in proto.
//
// The package contains only tests. docs/conformance.md describes the comparison and lists the differences.
package conformance
