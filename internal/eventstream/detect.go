package eventstream

import (
	"bytes"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/schema/weftv1"
	"github.com/weft-trace/weft/internal/wire"
)

// Detect reports whether an input starts like a stream: with a Header record whose first field is the magic of any version.
func Detect(head []byte) bool {
	n, size := binary.Uvarint(head)
	if size <= 0 || n > MaxRecord {
		return false
	}
	head = head[size:]
	if len(head) == 0 || head[0] != weftv1.Record_Header<<3|wire.Len {
		return false
	}
	_, size = binary.Uvarint(head[1:])
	if size <= 0 || len(head) < 3+size || head[1+size] != weftv1.Header_Magic<<3|wire.Len {
		return false
	}
	return bytes.HasPrefix(head[3+size:], anyMagic)
}

// anyMagic is the start of Header.magic in all versions.
var anyMagic = []byte("weft.v")
