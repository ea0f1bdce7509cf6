package timeline

import (
	"crypto/sha256"
	"encoding/binary"
)

// HashFlowID returns the number that stands for the id of a flow that is a text.
func HashFlowID(text []byte) uint64 {
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:])
}

// maxFlowIDBytes bounds the memory for ids of flows that are texts.
const maxFlowIDBytes = 32 << 20

// flowIDs are the ids of flows that are texts, by their hash.
type flowIDs struct {
	texts map[uint64]string
	bytes int
}

func (f *flowIDs) keep(id uint64, text []byte) {
	if _, ok := f.texts[id]; ok {
		return
	}
	const entry = 64 // of the map
	if f.bytes += len(text) + entry; f.bytes > maxFlowIDBytes {
		return
	}
	if f.texts == nil {
		f.texts = map[uint64]string{}
	}
	f.texts[id] = string(text)
}

// FlowIDText returns the id of a flow that is a text, given its hash. It is not known without Options.KeepFlowIDs, and
// where all ids together are too large for memory, 32 MiB.
func (t *Timeline) FlowIDText(id uint64) (text string, ok bool) {
	text, ok = t.flowIDs.texts[id]
	return text, ok
}
