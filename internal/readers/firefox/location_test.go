package firefox

import "testing"

func TestParseLocation(t *testing.T) {
	for _, test := range []struct {
		text, function, file string
		line, column         int64
		isJS                 bool
	}{
		{"callback (resource://a/b.mjs:220:18)[204]", "callback", "resource://a/b.mjs", 220, 18, true},
		{"f (self-hosted:7)", "f", "self-hosted", 7, 0, true},
		{"f (g) (http://a/(x).js:1:2)", "f (g)", "http://a/(x).js", 1, 2, true},
		{"f (eval:1 -> http://a/x.js:3:4)", "f", "http://a/x.js", 3, 4, true},
		{" (http://a/x.js:3:4)[1]", "(root scope) http://a/x.js", "http://a/x.js", 3, 4, true},
		{"http://a/x.js:3:4[12]", "(root scope) http://a/x.js", "http://a/x.js", 3, 4, true},
		{"http://a:80/x.js:3", "(root scope) http://a:80/x.js", "http://a:80/x.js", 3, 0, true},
		{"mozilla::Thing (in XUL) + 12", "mozilla::Thing", "XUL", 0, 0, false},
		{"foo(int) (in XUL) (bar.cpp:12)", "foo(int)", "bar.cpp", 12, 0, false},
		{"-[A b:] (in Some Lib) (b (1).mm:12)", "-[A b:]", "b (1).mm", 12, 0, false},
		{"f (in XUL) (no place)", "f", "XUL", 0, 0, false},
		{"fast entry trampoline (in wasm)", "fast entry trampoline", "wasm", 0, 0, false},
		{"PContent::Msg_A", "PContent::Msg_A", "", 0, 0, false},
		{"label (with text)", "label (with text)", "", 0, 0, false},
		{"label: 5", "label: 5", "", 0, 0, false},
		{"0x7fb4d25c4129", "0x7fb4d25c4129", "", 0, 0, false},
		{"0xnot", "0xnot", "", 0, 0, false},
		{"[5]", "[5]", "", 0, 0, false},
		{")", ")", "", 0, 0, false},
		{"", "", "", 0, 0, false},
	} {
		got := parseLocation([]byte(test.text))
		if string(got.function) != test.function || string(got.file) != test.file || got.line != test.line ||
			got.column != test.column || got.isJS != test.isJS {
			t.Errorf("%q: %q %q %d %d %v", test.text, got.function, got.file, got.line, got.column, got.isJS)
		}
	}
	if got := parseLocation([]byte("0xfffffffffffffff0")); !got.isAddress || got.address != 0xfffffffffffffff0 {
		t.Errorf("an address in the upper half is %x", got.address)
	}
}
