package resolved

import (
	"bytes"
	"iter"

	"github.com/weft-trace/weft/internal/timeline"
)

// DidNotEndKey is the member of the weft argument that marks a slice without an end in the input.
const DidNotEndKey = "did_not_end"

// Args returns the arguments of an event in order. For a slice, arguments of its end replace arguments of its start that have the
// same key; the others follow. A slice without an end is marked in its "weft" argument, unless the input already has a
// DidNotEndKey member there.
func (r *Row) Args() iter.Seq[timeline.Arg] {
	if len(r.EndArgs) > 0 {
		return r.merged
	}
	return r.beginArgs()
}

func (r *Row) beginArgs() iter.Seq[timeline.Arg] {
	if r.Item.DidNotEnd {
		return r.withDidNotEnd
	}
	return r.tl.ArgList(r.Item.Args)
}

// HasArgs reports whether Args returns any arguments.
func (r *Row) HasArgs() bool {
	for range r.Args() {
		return true
	}
	return false
}

// withDidNotEnd yields the arguments of a slice without an end.
func (r *Row) withDidNotEnd(yield func(timeline.Arg) bool) {
	marked := false
	for arg := range r.tl.ArgList(r.Item.Args) {
		if arg.Kind == timeline.ArgDict && string(arg.Key) == timeline.OwnArgs && !marked {
			if marked = true; !r.has(arg, DidNotEndKey) {
				arg = arg.WithTrue(DidNotEndKey)
			}
		}
		if !yield(arg) {
			return
		}
	}
	if !marked {
		weft := timeline.Arg{Key: []byte(timeline.OwnArgs), Kind: timeline.ArgDict}
		yield(weft.WithTrue(DidNotEndKey))
	}
}

func (r *Row) has(dict timeline.Arg, key string) bool {
	for member := range r.tl.Members(dict) {
		if string(member.Key) == key {
			return true
		}
	}
	return false
}

// merged yields the arguments of a slice that has arguments at its end.
func (r *Row) merged(yield func(timeline.Arg) bool) {
	r.endArgs, r.endUsed = r.endArgs[:0], r.endUsed[:0]
	for arg := range r.tl.ArgList(r.EndArgs) {
		r.endArgs, r.endUsed = append(r.endArgs, arg), append(r.endUsed, false)
	}
	for arg := range r.beginArgs() {
		for i := range r.endArgs {
			if bytes.Equal(r.endArgs[i].Key, arg.Key) {
				arg, r.endUsed[i] = r.endArgs[i], true
			}
		}
		if !yield(arg) {
			return
		}
	}
	for i := range r.endArgs {
		if !r.endUsed[i] && !yield(r.endArgs[i]) {
			return
		}
	}
}
