package resolved

import (
	"bytes"
	"iter"
)

// Categories yields the nonempty categories in a list that has the form of the input: "a, b".
func Categories(list []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for category := range bytes.SplitSeq(list, []byte(",")) {
			if category = bytes.TrimSpace(category); len(category) > 0 && !yield(category) {
				return
			}
		}
	}
}
