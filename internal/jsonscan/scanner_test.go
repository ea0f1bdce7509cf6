package jsonscan

import (
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// render reads a value with Value, Key and Elem and describes its kinds and decoded texts.
func render(s *Scanner, out *strings.Builder) {
	kind, text := s.Value()
	switch kind {
	case String:
		fmt.Fprintf(out, "%q", text)
	case Object:
		out.WriteByte('{')
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			fmt.Fprintf(out, "%q:", key)
			render(s, out)
			out.WriteByte(' ')
		}
		out.WriteByte('}')
	case Array:
		out.WriteByte('[')
		for s.Elem() {
			render(s, out)
			out.WriteByte(' ')
		}
		out.WriteByte(']')
	case Word:
		fmt.Fprintf(out, "word(%s)", text)
	default:
		out.Write(text)
	}
}

// renderAll reads a value, refilling as often as needed.
func renderAll(s *Scanner) (string, error) {
	if _, err := s.Peek(); err != nil {
		return "", err
	}
	for {
		var out strings.Builder
		render(s, &out)
		if s.Err() != ErrShort {
			return out.String(), s.Err()
		}
		if err := s.Fill(); err != nil {
			return "", err
		}
	}
}

// scanners returns scanners of the same input with different windows and readers.
func scanners(text string) map[string]*Scanner {
	return map[string]*Scanner{
		"large window":       New(strings.NewReader(text)),
		"small window":       NewSize(strings.NewReader(text), 16),
		"one byte at a time": NewSize(iotest.OneByteReader(strings.NewReader(text)), 16),
		"half reads":         NewSize(iotest.HalfReader(strings.NewReader(text)), 32),
		"data with EOF":      NewSize(iotest.DataErrReader(strings.NewReader(text)), 16),
	}
}

func TestValues(t *testing.T) {
	long := strings.Repeat("a long plain text ", 20)
	for _, c := range []struct {
		name, in, want string
		notes          Notes
	}{
		{"string", `"plain"`, `"plain"`, Notes{}},
		{"empty string", `""`, `""`, Notes{}},
		{"long string", `"` + long + `"`, `"` + long + `"`, Notes{}},
		{"escapes", `"\"\\\/\b\f\n\r\t\u0041\u00e9\u0000"`, `"\"\\/\b\f\n\r\tAé\x00"`, Notes{}},
		{"text around escapes", `"eight or more characters\nand after"`, `"eight or more characters\nand after"`, Notes{}},
		{"surrogate pair", `"\ud83e\udd14"`, `"🤔"`, Notes{}},
		{"lone high surrogate", `"\ud800 x"`, `"� x"`, Notes{LoneSurrogates: 1}},
		{"lone low surrogate", `"\udc00"`, `"�"`, Notes{LoneSurrogates: 1}},
		{"high surrogate twice", `"\ud83d\ud83d\ude00"`, `"�😀"`, Notes{LoneSurrogates: 1}},
		{"high surrogate before an escape", `"\ud83d\n"`, `"�\n"`, Notes{LoneSurrogates: 1}},
		{"unknown escape", `"a\xb\'"`, `"axb'"`, Notes{BadEscapes: 2}},
		{"unicode escape without digits", `"\u12G4"`, `"u12G4"`, Notes{BadEscapes: 1}},
		{"escaped control character", "\"\\\x01\"", `"\x01"`, Notes{BadEscapes: 1, Controls: 1}},
		{"control characters", "\"a\nb\tc\"", `"a\nb\tc"`, Notes{Controls: 1}},
		{"UTF-8", `"größer 日本語 🤔"`, `"größer 日本語 🤔"`, Notes{}},
		{"invalid UTF-8", "\"a\xff\xfeb\"", `"a��b"`, Notes{InvalidUTF8: 2}},
		{"cut UTF-8 and an escape", "\"\xe3\x81\\n\"", `"��\n"`, Notes{InvalidUTF8: 2}},
		{"integers", `[0,-0,7,-12,18446744073709551616]`, `[0 -0 7 -12 18446744073709551616 ]`, Notes{}},
		{"numbers", `[0.5,-1e3,1E+2,2.50e-1]`, `[0.5 -1e3 1E+2 2.50e-1 ]`, Notes{}},
		{"words", `[true,false,null]`, `[true false null ]`, Notes{}},
		{"no JSON", `[NaN,-Infinity,undefined,01,+1,.5,1.,0x10,-,1e,tru]`,
			`[word(NaN) word(-Infinity) word(undefined) word(01) word(+1) word(.5) word(1.) word(0x10) word(-) word(1e) word(tru) ]`,
			Notes{Nonstandard: 11}},
		{"nesting", `{"a":{"b":[[],{}]},"":[1,[2]]}`, `{"a":{"b":[[] {} ] } "":[1 [2 ] ] }`, Notes{}},
		{"white space", " {\n\t\"a\" :\r 1 , \"b\" : [ 1 , 2 ] } ", `{"a":1 "b":[1 2 ] }`, Notes{}},
		{"too many commas", `{,"a":1,,"b":[,1,],}`, `{"a":1 "b":[1 ] }`, Notes{Commas: 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for name, s := range scanners(c.in) {
				got, err := renderAll(s)
				if err != nil || got != c.want || s.Notes != c.notes {
					t.Errorf("%s: got %s, %+v, %v; want %s, %+v", name, got, s.Notes, err, c.want, c.notes)
				}
			}
			skipped := New(strings.NewReader(c.in))
			skipped.Peek()
			if raw := skipped.Raw(); string(raw) != strings.TrimSpace(c.in) {
				t.Errorf("Raw: got %q, %v", raw, skipped.Err())
			}
		})
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		in     string
		offset int64
	}{
		{`{"a" 1}`, 5},
		{`{"a":1 "b":2}`, 7},
		{`{"a":"x"y"}`, 8},
		{`{1:2}`, 1},
		{`{"a":}`, 5},
		{`{"a":1]`, 6},
		{`[1 2]`, 3},
		{`[1}`, 2},
		{`[:]`, 1},
		{`["a"b]`, 4},
		{`[{"a":1}{}]`, 8},
		{`[#]`, 1},
	} {
		for name, s := range scanners(c.in) {
			if got, err := renderAll(s); err != ErrMalformed || s.Offset() != c.offset {
				t.Errorf("%s: %s: got %s, %v at %d, want %v at %d", c.in, name, got, err, s.Offset(), ErrMalformed, c.offset)
			}
		}
		s := New(strings.NewReader(c.in))
		s.Peek()
		if s.Skip(); s.Err() != ErrMalformed {
			t.Errorf("%s: Skip: %v", c.in, s.Err())
		}
	}
}

// Wherever the input is truncated, every method reports that it ends too early.
func TestTruncated(t *testing.T) {
	const text = `{"key":"te\u0041\ud83e\udd14xt ü","n":[-12.5e3,true,{"deep":[null]}],"e":{}} `
	for i := range len(text) - 1 {
		short := text[:i]
		if strings.TrimSpace(short) == "" {
			continue
		}
		for name, s := range scanners(short) {
			if got, err := renderAll(s); err != io.EOF {
				t.Errorf("%q: %s: got %s, %v", short, name, got, err)
			}
		}
		s := New(strings.NewReader(short))
		s.Peek()
		if s.Skip(); s.Err() != ErrShort {
			t.Errorf("%q: Skip: %v", short, s.Err())
		}
		if err := New(strings.NewReader(short)).Discard(); err != io.EOF {
			t.Errorf("%q: Discard: %v", short, err)
		}
	}
}

func TestDeepNesting(t *testing.T) {
	for _, depth := range []int{1, 63, 64, 65, 127, 128, 129, 5000} {
		var b strings.Builder
		for i := range depth {
			b.WriteString([]string{`[`, `{"a":`}[i%3%2])
		}
		b.WriteString("1")
		for i := depth - 1; i >= 0; i-- {
			b.WriteString([]string{`]`, `}`}[i%3%2])
		}
		s := New(strings.NewReader(b.String()))
		s.Peek()
		if s.Skip(); s.Err() != nil || s.Offset() != int64(b.Len()) {
			t.Errorf("depth %d: %v at %d of %d", depth, s.Err(), s.Offset(), b.Len())
		}
		wrong := strings.Replace(b.String(), "1]", "1}", 1)
		s = New(strings.NewReader(wrong))
		s.Peek()
		if s.Skip(); wrong != b.String() && s.Err() != ErrMalformed {
			t.Errorf("depth %d with a wrong bracket: %v", depth, s.Err())
		}
	}
}

func TestDiscard(t *testing.T) {
	big := `{"a":["x\"}]",{"b":"` + strings.Repeat(`\\ü "`[:4], 500) + `"},12,NaN],"c":[[[]]]}`
	for _, in := range []string{`1`, `"text"`, `-1.5e3`, `true`, `[]`, `{}`, big} {
		for name, s := range scanners(in + `,"next"`) {
			if err := s.Discard(); err != nil {
				t.Errorf("%s: %s: %v", name, in, err)
			}
			if c, err := s.Peek(); c != ',' || err != nil || s.Offset() != int64(len(in)) {
				t.Errorf("%s: after %s: %q, %v at %d", name, in, c, err, s.Offset())
			}
		}
	}
	for _, in := range []string{`]`, `,`, ` }`, `:`} {
		if err := New(strings.NewReader(in)).Discard(); err != ErrMalformed {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// The window contains only the bytes after the mark: a long input needs no large window.
func TestWindowStaysSmall(t *testing.T) {
	event := `{"name":"an event of some length","ts":123456}` + "\n"
	s := NewSize(strings.NewReader(strings.Repeat(event, 10000)), 64)
	for range 10000 {
		if _, err := renderAll(s); err != nil {
			t.Fatal(err)
		}
	}
	if cap(s.buf) > 4*len(event) {
		t.Errorf("the window has %d bytes", cap(s.buf))
	}
	if want := int64(10000*len(event) - 1); s.Offset() != want {
		t.Errorf("offset %d, want %d", s.Offset(), want)
	}
}

func TestTooLong(t *testing.T) {
	s := NewSize(strings.NewReader(`"`+strings.Repeat("x", 1000)+`"`), 16)
	s.limit = 256
	if _, err := renderAll(s); err != ErrTooLong {
		t.Error(err)
	}
}

func TestReadErrors(t *testing.T) {
	broken := errors.New("broken")
	s := NewSize(io.MultiReader(strings.NewReader(`["a","b`), iotest.ErrReader(broken)), 16)
	if _, err := renderAll(s); err != broken {
		t.Error(err)
	}
	s = New(stuckReader{})
	if _, err := s.Peek(); err != io.ErrNoProgress {
		t.Error(err)
	}
}

type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		in    string
		scale int
		want  int64
		ok    bool
	}{
		{"0", 3, 0, true},
		{"-0", 3, 0, true},
		{"12", 3, 12000, true},
		{"999999999999999", 3, 999999999999999000, true},
		{"1669329643132548", 3, 1669329643132548000, true},
		{"1669329643132548.123", 3, 1669329643132548123, true},
		{"12345.678000000002", 3, 12345678, true},
		{"3000.1234", 3, 3000123, true},
		{"0.0016", 3, 2, true},
		{"0.0005", 3, 1, true},
		{"0.00049999999999", 3, 0, true},
		{"-0.0005", 3, 0, true},
		{"-0.00050000001", 3, -1, true},
		{"-0.0016", 3, -2, true},
		{"-5", 3, -5000, true},
		{"1e3", 3, 1000000, true},
		{"25E-1", 3, 2500, true},
		{"2.5e+3", 3, 2500000, true},
		{"1e-400", 3, 0, true},
		{"0e99999999999999999999", 3, 0, true},
		{"1e99999999999999999999", 3, 0, false},
		{"1e-99999999999999999999", 3, 0, true},
		{"0.00000000000000000001e20", 3, 1000, true},
		{"9223372036854775.807", 3, math.MaxInt64, true},
		{"9223372036854775.8074", 3, math.MaxInt64, true},
		{"9223372036854775.8075", 3, 0, false},
		{"-9223372036854775.808", 3, math.MinInt64, true},
		{"-9223372036854775.809", 3, 0, false},
		{"99999999999999999999", 0, 0, false},
		{"1.5", 6, 1500000, true},
		{"1.4999999", 0, 1, true},
		{"", 3, 0, false},
		{"01", 3, 0, false},
		{"+1", 3, 0, false},
		{" 1", 3, 0, false},
		{"1 ", 3, 0, false},
		{"1.", 3, 0, false},
		{".5", 3, 0, false},
		{"50a", 3, 0, false},
		{"1e", 3, 0, false},
		{"NaN", 3, 0, false},
	} {
		if got, ok := Decimal([]byte(c.in), c.scale); ok != c.ok || ok && got != c.want {
			t.Errorf("Decimal(%q, %d) = %d, %v, want %d, %v", c.in, c.scale, got, ok, c.want, c.ok)
		}
	}
}

func TestIntegers(t *testing.T) {
	for _, in := range []string{
		"0", "-0", "1", "-1", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
		"18446744073709551615", "18446744073709551616", "99999999999999999999", "100000000000000000000", "", "-", "1a",
	} {
		want, err := strconv.ParseInt(in, 10, 64)
		if got, ok := Int64([]byte(in)); ok != (err == nil) || ok && got != want {
			t.Errorf("Int64(%q) = %d, %v", in, got, ok)
		}
		unsigned, err := strconv.ParseUint(in, 10, 64)
		if got, ok := Uint64([]byte(in)); ok != (err == nil) || ok && got != unsigned {
			t.Errorf("Uint64(%q) = %d, %v", in, got, ok)
		}
	}
	if f, ok := Float64([]byte("1e400")); !math.IsInf(f, 1) || ok {
		t.Errorf("Float64(1e400) = %v, %v", f, ok)
	}
}

// plain matches its definition for every byte at every distance.
func TestPlain(t *testing.T) {
	for n := range 20 {
		for c := range 256 {
			b := []byte(strings.Repeat("x", n) + string([]byte{byte(c)}) + "\x7f~ \x1f\"")
			want := n
			if c >= ' ' && c < 0x80 && c != '"' && c != '\\' {
				want = n + 4
			}
			if got := plain(b, 0); got != want {
				t.Fatalf("%d x and %#x: %d, want %d", n, c, got, want)
			}
		}
	}
}

func TestNoAllocations(t *testing.T) {
	event := `{"args":{"data":{"a":[1,2.5,"t\n"],"b":true}},"cat":"x","name":"größer","ph":"X","ts":1294600618}`
	s := New(strings.NewReader(strings.Repeat(event, 300)))
	var visit func()
	visit = func() {
		switch kind, _ := s.Value(); kind {
		case Object:
			for _, ok := s.Key(); ok; _, ok = s.Key() {
				visit()
			}
		case Array:
			for s.Elem() {
				visit()
			}
		}
	}
	s.Peek()
	if n := testing.AllocsPerRun(200, func() { s.Mark(); visit() }); n != 0 || s.Err() != nil {
		t.Errorf("%v allocations for an event, %v", n, s.Err())
	}
}

// A short input has a small window; a long one has a window of the requested size, and no larger.
func TestWindowGrowsToItsSize(t *testing.T) {
	for length, want := range map[int]int{1000: firstWindow, 10 * DefaultWindow: DefaultWindow} {
		s := New(strings.NewReader(strings.Repeat("1 ", length/2)))
		for {
			if _, err := s.Peek(); err != nil {
				break
			}
			s.Advance(1)
		}
		if s.Offset() < int64(length)-1 {
			t.Fatalf("stopped at %d of %d bytes", s.Offset(), length)
		}
		if got := cap(s.buf); got != want {
			t.Errorf("%d bytes: the window has %d; want %d", length, got, want)
		}
	}
}
