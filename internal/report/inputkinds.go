package report

import "strings"

// inputWords are parts of the names of input events, by kind: of events of documents, of the browser
// (RawKeyDown, GestureTap), and of EventLatency (MOUSE_PRESSED). Underscores and capitals do not matter. The first one counts. What follows from an
// input, such as beforeinput, has no kind.
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

// kindsByPrecedence decides the kind of an interaction of several events: a tap contains a click too.
var kindsByPrecedence = []InputKind{TapInput, ClickInput, KeyInput, WheelInput, ScrollInput, DragInput, MoveInput, OtherInput}

// KindOfInput returns the kind of an input event of a type.
func KindOfInput(typ string) InputKind {
	typ = strings.ToLower(strings.ReplaceAll(typ, "_", ""))
	for _, w := range inputWords {
		if strings.Contains(typ, w.word) {
			return w.kind
		}
	}
	return OtherInput
}

// Usual reports whether inputs of this kind are shown by default: all but movements and the consequences of other inputs.
func (k InputKind) Usual() bool { return k != MoveInput && k != OtherInput }

// Discrete reports whether an input of this kind is an act of its own, as the web's interactions are: others come in rows, such as the
// movements of a pointer.
func (k InputKind) Discrete() bool { return k == ClickInput || k == KeyInput || k == TapInput }
