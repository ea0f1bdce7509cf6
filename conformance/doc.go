// Package conformance holds tests that measure weft from outside: inputs go through convert.Convert, the output is read
// back with the generated protobuf structs alone, projected to plain tables, and compared with tables of the right
// result (testdata/conformance).
//
// The projection is an independent witness. It shares no code with weft's reader, timeline, writer or verifier, and it
// is strict: whatever it does not know in a trace is an error, so that nothing passes by being overlooked.
//
// There is no code here but tests. docs/conformance.md says what is compared and lists the differences.
package conformance
