package timeline

import "slices"

// ArgFilter selects the event arguments that readers keep, by their names in the input. It does not affect counter values or the
// arguments that weft adds. The zero ArgFilter keeps all arguments.
type ArgFilter struct {
	some  bool // keep only the arguments in names
	names map[string]bool
}

// NoArgs returns a filter that keeps no arguments.
func NoArgs() ArgFilter { return ArgFilter{some: true} }

// OnlyArgs returns a filter that keeps the arguments with these names, including everything inside them.
func OnlyArgs(names ...string) ArgFilter {
	f := ArgFilter{some: true, names: make(map[string]bool, len(names))}
	for _, name := range names {
		f.names[name] = true
	}
	return f
}

// Keeps reports whether arguments with this name are kept.
func (f *ArgFilter) Keeps(name []byte) bool { return !f.some || f.names[string(name)] }

// KeepsText is Keeps for a string.
func (f *ArgFilter) KeepsText(name string) bool { return !f.some || f.names[name] }

// KeepsAll reports whether all arguments are kept.
func (f *ArgFilter) KeepsAll() bool { return !f.some }

// KeepsNone reports whether no arguments are kept.
func (f *ArgFilter) KeepsNone() bool { return f.some && len(f.names) == 0 }

// With returns a filter that also keeps arguments with the given names; added holds the given names that f does not keep.
func (f ArgFilter) With(names ...string) (wider ArgFilter, added []string) {
	if f.KeepsAll() {
		return f, nil
	}
	all := slices.Clone(names)
	for name := range f.names {
		all = append(all, name)
	}
	return OnlyArgs(all...), slices.DeleteFunc(slices.Clone(names), func(name string) bool { return f.names[name] })
}
