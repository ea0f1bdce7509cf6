package perfetto

import (
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/timeline"
)

// sequenceTexts are what the Builder knows of interned texts of a sequence, by their iids.
type sequenceTexts struct {
	names      []nameText
	categories []categoryText // by the first iid
}

// nameText is an interned name of events.
type nameText struct {
	text []byte // nil: not known
	ref  timeline.TextRef
}

// categoryText are the categories of an event, all of them interned, joined.
type categoryText struct {
	iids []uint64
	text []byte // nil: not known
	ref  timeline.TextRef
}

// maxRememberedIIDs bounds the categories of an event that are remembered.
const maxRememberedIIDs = 8

// isPlainText reports whether an interned text can be used as it is: it is not long and UTF-8.
func isPlainText(text []byte) bool { return len(text) <= shortText && utf8.Valid(text) }

// sequenceTexts returns the ids of the current sequence, emptied if that has started anew.
func (r *reader) sequenceTexts() *sequenceTexts {
	if own := r.own; own.texts == nil || own.textsOf != r.seq.Interned {
		own.texts, own.textsOf = new(sequenceTexts), r.seq.Interned
	}
	return r.own.texts
}

// grown returns a list with n elements at least, of which the new ones are zero.
func grown[T any](list []T, n int) []T {
	if n > len(list) {
		list = append(list, make([]T, n-len(list))...)
	}
	return list
}
