// Package eventstream writes streams of resolved events: Records of weft.v1 (proto/weft/v1/event.proto), each preceded by its
// length. It also writes events as JSON lines, whose members are named after the fields of weft.v1.Event.
//
// Records are encoded without generated structs, which takes a sixth of the time; tests verify that the bytes are the same.
//
// What does not live here: resolving events (package resolved), the Go model of a trace (package trace), and the files and parts
// that weft export writes (cmd/weft).
package eventstream

// Magic is Header.magic, which identifies a stream.
const Magic = "weft.v1"

// Revision is the number of additions to the schema so far.
const Revision = 1

// MaxRecord is the maximum size of a Record in bytes, without the preceding length.
const MaxRecord = 64 << 20
