// Package eventstream writes streams of resolved events: Records of weft.v1 (proto/weft/v1/event.proto), each preceded by
// its length. It also writes events as JSON lines, whose members are called like the fields of weft.v1.Event.
//
// Records are appended by hand, because that takes a sixth of the time of generated structs; tests prove that the bytes are the
// same.
//
// What does not live here: what an event is (package resolved), Go's model of a stream (package trace), files, parts and
// compression of files (cmd/weft).
package eventstream

// Magic is Header.magic: how a stream is recognised.
const Magic = "weft.v1"

// Revision is the number of additions to the schema that this package knows.
const Revision = 1

// MaxRecord is the number of bytes that a Record takes at most, not counting the length before it.
const MaxRecord = 64 << 20
