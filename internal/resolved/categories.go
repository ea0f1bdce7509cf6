package resolved

import (
	"bytes"
	"iter"
)

// Categories gives the categories of a list as written in the input: "a, b". Empty ones do not count.
func Categories(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for category := range bytes.SplitSeq(list, []byte(",")) {
			if category = bytes.TrimSpace(category); len(category) > 0 && !yield(category) {
				return
			}
		}
	}
}
