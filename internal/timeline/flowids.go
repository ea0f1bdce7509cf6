package timeline

import (
	"crypto/sha256"
	"encoding/binary"
)

// HashFlowID returns the number that represents a textual flow id.
func HashFlowID(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:])
}

// maxFlowIDBytes limits the memory for textual flow ids.
const maxFlowIDBytes = 32 << 20

// flowIDs maps hashes to textual flow ids.
type flowIDs struct {
	texts map[uint64]string
	bytes int
}

func (f *flowIDs) keep(id uint64, text []byte) {
	if _, ok := f.texts[id]; ok {
		return
	}
	const entry = 64 // overhead of the map
	if f.bytes += len(text) + entry; f.bytes > maxFlowIDBytes {
		return
	}
	if f.texts == nil {
		f.texts = map[uint64]string{}
	}
	f.texts[id] = string(text)
}

// FlowIDText returns the textual flow id with the given hash. It is available only with Options.KeepFlowIDs, and only for the
// first 32 MiB of ids.
func (t *Timeline) FlowIDText(id uint64) (text string, ok bool) {
	text, ok = t.flowIDs.texts[id]
	return text, ok
}
