package timeline

import (
	"bytes"
	"encoding/binary"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// newKeys are the argument names of one event that an encoder with fixed Keys does not know. They get numbers from
// firstNewKey on, in the order in which they come, until the Builder's encoder gives them their ids in the same order
// (LoadNew): so it makes no difference whether arguments are encoded by another goroutine.
type newKeys struct {
	text []byte // each name after its length
	ends []int  // of each name in text
}

const (
	// firstNewKey is far above the ids of a stringTable.
	firstNewKey KeyID = 1 << 28
	// maxNewKeys bounds the names of one event, which are searched one after the other.
	maxNewKeys = 64
)

func (n *newKeys) reset() { n.text, n.ends = n.text[:0], n.ends[:0] }

// id returns the number of a name; false if there are too many.
func (n *newKeys) id(name []byte) (KeyID, bool) {
	for i := range n.ends {
		if string(n.name(i)) == string(name) {
			return firstNewKey + KeyID(i), true
		}
	}
	if len(n.ends) == maxNewKeys {
		return 0, false
	}
	n.text = append(binary.AppendUvarint(n.text, uint64(len(name))), name...)
	n.ends = append(n.ends, len(n.text))
	return firstNewKey + KeyID(len(n.ends)-1), true
}

// name returns the name of a number below len(ends).
func (n *newKeys) name(i int) []byte {
	text := n.text[:n.ends[i]]
	if i > 0 {
		text = text[n.ends[i-1]:]
	}
	_, w := binary.Uvarint(text)
	return text[w:]
}

// keyName returns the name of a key that the encoder has used.
func (e *ArgsEncoder) keyName(id KeyID) []byte {
	if id >= firstNewKey {
		return e.added.name(int(id - firstNewKey))
	}
	return e.keys.get(uint32(id))
}

// NewKeys returns the names that were used since Reset and are not among the encoder's fixed Keys, for LoadNew: nil if there are
// none. They are valid until the next Reset.
func (e *ArgsEncoder) NewKeys() []byte {
	if len(e.added.ends) == 0 {
		return nil
	}
	return e.added.text
}

// LoadNew is Load for arguments with names that their encoder did not know: those that its NewKeys gave. They become known.
func (e *ArgsEncoder) LoadNew(args Args, names []byte) {
	e.Reset()
	e.renamed = e.renamed[:0]
	for len(names) > 0 {
		n, w := binary.Uvarint(names)
		name := names[w : w+int(n)]
		e.intern(name)
		e.renamed = append(e.renamed, renamedKey{e.key, e.keyInline})
		names = names[w+int(n):]
	}
	e.key, e.keyInline = 0, nil
	e.appendRenamed(args)
}

// renamedKey is what an id from firstNewKey on stands for.
type renamedKey struct {
	id   KeyID
	text []byte // if there is no id
}

// endOfNewKey is how all ids of new keys end as varints. What does not hold it, such as long arrays of numbers, is copied.
var endOfNewKey = []byte{0x80, 0x80, 0x80, 0x01}

// appendRenamed appends annotations, each of them a field, with the ids of new keys replaced.
func (e *ArgsEncoder) appendRenamed(fields []byte) {
	for r := wire.NewReader(fields); r.Next(); {
		if !bytes.Contains(r.Raw(), endOfNewKey) {
			e.buf = append(e.buf, r.Raw()...)
			continue
		}
		var mark int
		e.buf, mark = wire.BeginMessage(e.buf, r.Field())
		body := r.Bytes()
		for in := wire.NewReader(body); in.Next(); {
			switch in.Field() {
			case schema.DebugAnnotation_NameIID:
				e.appendName(KeyID(in.Uint()))
				continue
			case schema.DebugAnnotation_DictEntries, schema.DebugAnnotation_ArrayValues:
				e.appendRenamed(body[in.Offset():]) // the members are the last fields of a list
			default:
				e.buf = append(e.buf, in.Raw()...)
				continue
			}
			break
		}
		e.buf = wire.EndMessage(e.buf, mark)
	}
}

// appendName appends the name of an annotation.
func (e *ArgsEncoder) appendName(id KeyID) {
	if id < firstNewKey {
		e.buf = wire.AppendUint(e.buf, schema.DebugAnnotation_NameIID, uint64(id))
		return
	}
	if k := e.renamed[id-firstNewKey]; k.text != nil {
		e.buf = wire.AppendBytes(e.buf, schema.DebugAnnotation_Name, k.text)
	} else {
		e.buf = wire.AppendUint(e.buf, schema.DebugAnnotation_NameIID, uint64(k.id))
	}
}
