package timeline

import "bytes"

// Names of the arguments in which weft stores facts about an event in addition to the input's arguments. Passes trust these
// arguments, so the input cannot use the names: see ArgsEncoder.Key.
const (
	OwnArgs  = "weft"       // a dictionary
	OwnProbe = "weft.probe" // the probe for a slice or instant: provider, colon and name
	OwnFlags = "weft.flags" // an array of unusual facts about the firing of a probe
)

// FailedMark precedes the names of failed spans, so that they stand out and tables by name count them separately.
const FailedMark = "✗ "

// AppendedAttribute is the key of an attribute in the first packet of a sequence that weft appended to a trace. Its value is the
// id of that sequence.
const AppendedAttribute = "weft.attribution.sequence"

// IsOwnName reports whether the name of an argument or attribute is reserved for weft: OwnArgs, or OwnArgs followed by a dot and
// more text. Perfetto would show an argument with such a longer name as a member of the dictionary OwnArgs.
func IsOwnName[T string | []byte](name T) bool {
	return len(name) >= len(OwnArgs) && string(name[:len(OwnArgs)]) == OwnArgs && (len(name) == len(OwnArgs) || name[len(OwnArgs)] == '.')
}

// inputName returns the name to use for an argument or attribute from the input. A reserved name gets a leading underscore, even
// if it already has some, so that different names stay different.
func inputName(name []byte) []byte {
	if len(name) < len(OwnArgs) || name[0] != OwnArgs[0] && name[0] != '_' || !IsOwnName(bytes.TrimLeft(name, "_")) {
		return name
	}
	return append([]byte("_"), name...)
}

// OwnKey sets the name of the next value like Key, without changing reserved names. At the top level, it may be used only for
// weft's own additions, including additions read from a file that weft wrote.
func (e *ArgsEncoder) OwnKey(name []byte) {
	e.underscores = asInInput
	if len(name) == 0 {
		name, e.underscores = emptyKey, 0
	}
	e.intern(name)
}
