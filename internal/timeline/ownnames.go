package timeline

import "bytes"

// Names of the arguments in which weft stores facts about an event beyond the input's arguments. Passes trust them, so the
// input cannot use these names: see ArgsEncoder.Key.
const (
	OwnArgs  = "weft"       // a dictionary
	OwnProbe = "weft.probe" // the probe of a slice or instant: provider, colon and name
	OwnFlags = "weft.flags" // an array of unusual facts about the firing of a probe
)

// FailedMark precedes the names of failed spans, so that they stand out and tables by name count them separately.
const FailedMark = "✗ "

// AppendedAttribute is an attribute in the first packet of a sequence that weft appended to a trace: the id of the sequence.
const AppendedAttribute = "weft.attribution.sequence"

// IsOwnName reports whether the name of an argument or attribute is reserved for weft: OwnArgs, and names that start with it and a
// dot, which Perfetto would show as members of the dictionary OwnArgs.
func IsOwnName[T string | []byte](name T) bool {
	return len(name) >= len(OwnArgs) && string(name[:len(OwnArgs)]) == OwnArgs && (len(name) == len(OwnArgs) || name[len(OwnArgs)] == '.')
}

// inputName returns the name for an argument or attribute of the input. A reserved name gets a leading underscore, even if it has
// some already, so that different names stay different.
func inputName(name []byte) []byte {
	if len(name) < len(OwnArgs) || name[0] != OwnArgs[0] && name[0] != '_' || !IsOwnName(bytes.TrimLeft(name, "_")) {
		return name
	}
	return append([]byte("_"), name...)
}

// OwnKey names the next value like Key, without changing reserved names. At the top level it is only for what weft adds, or what a
// file written by weft has.
func (e *ArgsEncoder) OwnKey(name []byte) {
	e.underscores = asInInput
	if len(name) == 0 {
		name, e.underscores = emptyKey, 0
	}
	e.intern(name)
}
