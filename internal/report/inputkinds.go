package report

import "strings"

// inputWords maps parts of input event names to kinds. It covers the names of document events, the names of browser events
// (RawKeyDown, GestureTap), and the names in EventLatency (MOUSE_PRESSED). Underscores and case do not matter. The first match
// counts. Consequences of inputs, such as beforeinput, have no kind.
var inputWords = []struct {
	word string
	kind InputKind
}{
	{"wheel", WheelInput}, {"mousescroll", WheelInput}, {"pixelscroll", WheelInput},
	{"scroll", ScrollInput}, {"fling", ScrollInput}, {"pinch", ScrollInput},
	{"drag", DragInput}, {"drop", DragInput},
	{"tap", TapInput}, {"touch", TapInput}, {"longpress", TapInput},
	{"key", KeyInput}, {"char", KeyInput},
	{"move", MoveInput}, {"over", MoveInput}, {"out", MoveInput}, {"enter", MoveInput}, {"leave", MoveInput}, {"rawupdate", MoveInput},
	{"click", ClickInput}, {"mouse", ClickInput}, {"pointer", ClickInput}, {"contextmenu", ClickInput},
}

// kindsByPrecedence decides the kind of an interaction with several events: a tap also contains a click.
var kindsByPrecedence = []InputKind{TapInput, ClickInput, KeyInput, WheelInput, ScrollInput, DragInput, MoveInput, OtherInput}

// KindOfInput returns the kind of input events of a type.
func KindOfInput(typ string) InputKind {
	typ = strings.ToLower(strings.ReplaceAll(typ, "_", ""))
	for _, w := range inputWords {
		if strings.Contains(typ, w.word) {
			return w.kind
		}
	}
	return OtherInput
}

// Usual reports whether inputs of this kind are shown by default: all except movements and the consequences of other
// inputs.
func (k InputKind) Usual() bool { return k != MoveInput && k != OtherInput }

// Discrete reports whether an input of this kind is an act of its own, like the interactions that web metrics count; inputs of
// other kinds come in series, such as pointer movements.
func (k InputKind) Discrete() bool { return k == ClickInput || k == KeyInput || k == TapInput }
