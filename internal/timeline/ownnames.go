package timeline

import "bytes"

// Names of the arguments in which weft keeps what it knows of an event beyond the arguments of the input. Passes believe what
// these say, so the input cannot use their names: see ArgsEncoder.Key.
const (
	OwnArgs  = "weft"       // a dictionary
	OwnProbe = "weft.probe" // the probe of a slice or instant: provider, colon and name
	OwnFlags = "weft.flags" // an array of what is unusual about the firing of a probe
)

// FailedMark precedes the names of failed spans, so that people see them, and tables by name count them apart.
const FailedMark = "✗ "

// AppendedAttribute is the attribute of the first packet of a sequence that weft appended to a trace: the sequence's id.
const AppendedAttribute = "weft.attribution.sequence"

// IsOwnName reports whether a name of an argument or attribute is reserved for weft: OwnArgs and all that begins with it and
// a dot. Perfetto joins the names of nested arguments with dots, so that these would look like members of the dictionary.
func IsOwnName[T string | []byte](name T) bool {
	return len(name) >= len(OwnArgs) && string(name[:len(OwnArgs)]) == OwnArgs && (len(name) == len(OwnArgs) || name[len(OwnArgs)] == '.')
}

// inputName returns the name under which weft keeps an argument or attribute of the input: with a leading underscore if the
// name is reserved, perhaps after other underscores, so that different names stay different.
func inputName(name []byte) []byte {
	if len(name) < len(OwnArgs) || name[0] != OwnArgs[0] && name[0] != '_' || !IsOwnName(bytes.TrimLeft(name, "_")) {
		return name
	}
	return append([]byte("_"), name...)
}

// OwnKey names the next value, as Key does, with a name that weft itself uses. Only what weft adds to an event may have one at
// the top level, and what a file of weft says in its turn.
func (e *ArgsEncoder) OwnKey(name []byte) {
	e.underscores = asInInput
	if len(name) == 0 {
		name, e.underscores = emptyKey, 0
	}
	e.intern(name)
}
