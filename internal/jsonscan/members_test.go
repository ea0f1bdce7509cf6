package jsonscan

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// memberNumbers are the known keys in tests of Members. One is too long for a KeyCache.
var memberNumbers = map[string]uint32{
	"ph": 1, "name": 2, "ts": 3, "s": 4, "args": 5, "a key of more than 16 bytes": 6, strings.Repeat("long", 20): 63,
}

const otherMembers = 1 << 5 // args

// describe describes a member.
func describe(key string, kind Kind, text []byte) string {
	return fmt.Sprintf("%s:%d:%q ", key, kind, text)
}

// byKeys reads an object with Value, Key and Scalar. The first of equal keys wins.
func byKeys(s *Scanner) string {
	var out [MaxMembers]string
	kind, _ := s.Value()
	if kind != Object {
		s.fail(ErrMalformed, s.pos)
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		n, name := memberNumbers[string(key)], string(key)
		kind, text := s.Scalar()
		if n == 0 || out[n] == "" {
			out[n] += describe(name, kind, text)
		}
	}
	return strings.Join(out[:], "")
}

// byMembers is byKeys, but with Members.
func byMembers(s *Scanner, m *Members) string {
	var out [MaxMembers]string
	m.Start()
	for n, key, ok := s.Members(m, otherMembers); ok; n, key, ok = s.Members(m, otherMembers) {
		name := string(key)
		if n == 0 {
			if n = memberNumbers[name]; n != 0 {
				s.RememberKey(&m.Keys, n)
			}
		}
		kind, text := s.Scalar()
		if n == 0 {
			out[0] += describe(name, kind, text)
		} else if m.Seen>>n&1 == 0 {
			m.Seen |= 1 << n
			m.Values[n] = Token{Kind: kind, Text: text}
		}
	}
	for name, n := range memberNumbers {
		if m.Seen>>n&1 != 0 {
			v := &m.Values[n]
			out[n] = describe(name, v.Kind, v.Text)
		}
	}
	return strings.Join(out[:], "")
}

// checkTokens checks that the number in a token equals its text.
func checkTokens(t *testing.T, m *Members) {
	t.Helper()
	for n := range m.Values {
		v := &m.Values[n]
		if m.Seen>>n&1 == 0 {
			continue
		}
		got, ok := v.Int()
		if want, wantOK := Int64(v.Text); ok != wantOK || ok && got != want {
			t.Fatalf("Int of %q: %d, %v, want %d, %v", v.Text, got, ok, want, wantOK)
		}
		got, ok = v.Thousandths()
		if want, wantOK := Decimal(v.Text, 3); ok != wantOK || ok && got != want {
			t.Fatalf("Thousandths of %q: %d, %v, want %d, %v", v.Text, got, ok, want, wantOK)
		}
	}
}

// checkMembers checks that Members returns the same members as Key and Scalar, with new and with cached keys.
func checkMembers(t *testing.T, text string, window int) {
	t.Helper()
	m := new(Members)
	for range 3 {
		type result struct {
			members string
			err     error
			notes   Notes
			offset  int64
		}
		read := func(fn func(*Scanner) string) (r result, s *Scanner) {
			s = NewSize(strings.NewReader(text), window)
			_, r.err = s.Peek()
			for r.err == nil {
				r.members, r.err = fn(s), s.Err()
				if r.err == nil {
					r.notes, r.offset = s.Notes, s.Offset()
					return r, s
				}
				if r.err == ErrShort {
					r.err = s.Fill()
				}
			}
			r.offset = s.Offset()
			return result{err: r.err, offset: r.offset}, s
		}
		want, _ := read(byKeys)
		got, _ := read(func(s *Scanner) string { return byMembers(s, m) })
		if got != want {
			t.Fatalf("%s: got %+v, want %+v", text, got, want)
		}
		if got.err == nil {
			checkTokens(t, m)
		}
	}
}

// end separates members from the end of the window, where they are read one by one.
var end = strings.Repeat(" ", 100)

func TestMembers(t *testing.T) {
	for _, text := range []string{
		`{}`, `{ }`, `{"ph":"X"}`, `{"args":{},"ph":"X","ts":12,"name":"short"}`,
		`{"name":"a name of more than sixteen bytes","s":"12345678","ph":"","ts":-5}`,
		"{\n  \"ph\": \"X\" ,\r\n\t\"ts\" : 12.5 }",
		`{"ph":"\u0058","name":"größer","s":"` + "\x01\xff" + `"}`,
		`{"ph":"X","ph":"Y","name":{},"name":{"a":1},"args":"text","args":[]}`,
		`{"args":{"a":1},"ts":null,"s":true,"name":[1]}`,
		`{"x":1,"ph":"X","x":"y","ts":1,"x":{"ph":2}}`,
		`{"a key of more than 16 bytes":1,"` + strings.Repeat("long", 20) + `":2}`,
		`{,"ph":"X","ts":1}`, `{"ph":"X",,"ts":1}`, `{"ph":"X","ts":1,}`, `{"ph":"X"}{"ts":1}`,
		`{"ph":"X""ts":1}`, `{"ph":"X" "ts":1}`, `{"ph":1{"ph":1}}`, `{"ph":"X"]`, `{"ph":"X"`, `{"ph":"X`, `{"ph"`, `{`,
		`{"ts":0,"s":00,"name":01}`, `{"ts":-0,"s":-,"name":-01}`, `{"ts":1.,"s":.5,"name":1.5.5}`,
		`{"ts":123456789012345678,"s":12345678,"name":1234567}`,
		`{"ts":9007199254740991.999,"s":9007199254740992.999,"name":9223372036854775.807}`,
		`{"ts":1759276800123456.789,"s":0.5,"name":-0.001}`, `{"ts":0.1234,"s":0.0005,"name":1.2345678}`,
		`{"ts":1e3,"s":1.5e3,"name":NaN}`, `{"ts":12345678,"s":1234567812345678,"name":12345678.12345678}`,
		`[1]`, `"text"`, `1`, `x`, ``,
	} {
		checkMembers(t, text+end, 1<<16)
		checkMembers(t, text+" ", 1<<16)
		checkMembers(t, text, 16)
	}
}

// A Pack restores the members of an object, whatever else it stores.
func TestPack(t *testing.T) {
	var texts []string
	for _, name := range []string{"plain", `d\u00e9coded`, "", "größer", strings.Repeat("long", 100)} {
		for _, ts := range []string{"0", "-5", "12.5", "1759276800123456.789", "12345678901234567890", "1e3", "null", "true", "{}", `"7"`, "NaN"} {
			texts = append(texts, fmt.Sprintf(`{"name":"%s","ts":%s,"s":"x","%s":[1]}`, name, ts, strings.Repeat("long", 20)))
		}
	}
	text := []byte(strings.Join(texts, "") + end)
	var want []Members
	var pack Pack
	var places []int
	s := new(Scanner)
	s.Reset(text)
	for range texts {
		m := new(Members)
		byMembers(s, m)
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		places = append(places, pack.Len())
		pack.Keep(m, text, s.Decoded())
		for i := range m.Values {
			m.Values[i].Text = bytes.Clone(m.Values[i].Text)
		}
		want = append(want, *m)
	}
	for i := range want {
		got := new(Members)
		pack.Load(got, want[i].Seen, places[i], text)
		if got.Seen != want[i].Seen {
			t.Fatalf("%s: seen %b, want %b", texts[i], got.Seen, want[i].Seen)
		}
		for n := range got.Values {
			if got.Seen>>n&1 == 0 {
				continue
			}
			got, want := &got.Values[n], &want[i].Values[n]
			if got.Kind != want.Kind || got.form != want.form || got.form != noNumber && got.number != want.number || string(got.Text) != string(want.Text) {
				t.Errorf("%s: member %d is %+v, want %+v", texts[i], n, got, want)
			}
			if got.Text == nil && want.Text != nil {
				t.Errorf("%s: member %d has no text", texts[i], n)
			}
		}
	}
}

// Numbers of up to 18 digits, with a point anywhere, are converted to the values that Decimal and Int64 return.
func TestShortNumbers(t *testing.T) {
	m := new(Members)
	for digits := 1; digits <= 18; digits++ {
		for point := range digits + 1 {
			text := "987654321098765432"[:digits]
			if point > 0 && point < digits {
				text = text[:point] + "." + text[point:]
			}
			for _, sign := range []string{"", "-"} {
				in := fmt.Sprintf(`{"ph":%s,"ts":%[1]s}`, sign+text)
				checkMembers(t, in+end, 1<<16)
				_ = byMembers(New(strings.NewReader(in+end)), m)
			}
		}
	}
}

// More keys than the cache can hold make reading slower, but do not change the result.
func TestKeyCacheOverflow(t *testing.T) {
	const keys = 5 << keyCacheBits
	var text strings.Builder
	for i := range keys {
		fmt.Fprintf(&text, `{"key%d":%d,`+"\n"+`"x%[1]d": 0}`, i, i)
	}
	text.WriteString(end)
	c := new(KeyCache)
	for range 3 {
		s := NewSize(strings.NewReader(text.String()), text.Len())
		for i := range keys {
			if _, err := s.Peek(); err != nil {
				t.Fatal(err)
			}
			s.Value()
			for j, want := range []string{fmt.Sprintf("key%d", i), fmt.Sprintf("x%d", i)} {
				id := uint32(2*i + j + 1)
				switch got := s.CachedKey(c); got {
				case id:
				case 0:
					key, ok := s.Key()
					if string(key) != want || !ok {
						t.Fatalf("got the key %q, %v, want %q", key, s.Err(), want)
					}
					s.RememberKey(c, id)
				default:
					t.Fatalf("got key %d for %q, want %d", got, want, id)
				}
				s.Scalar()
			}
			if _, ok := s.Key(); ok || s.Err() != nil {
				t.Fatalf("object %d has no end: %v", i, s.Err())
			}
		}
	}
}

// CachedKey finds cached keys even at new positions in an object, but finds nothing if a comma is missing or extra.
func TestCachedKey(t *testing.T) {
	c := new(KeyCache)
	s := New(strings.NewReader(`{"a":1, "b":2}` + end))
	s.Peek()
	s.Value()
	for i := range 2 {
		if s.CachedKey(c) != 0 {
			t.Fatal("a key is known that was never seen")
		}
		s.Key()
		s.RememberKey(c, uint32(i+1))
		s.Scalar()
	}
	for _, tt := range []struct {
		in   string
		want string
	}{
		{`{"a":1, "b":2}`, "1 2 "},
		{`{"a":1, "b":2, "b":3}`, "1 2 2 "},
		{`{ "a":1}`, ""},        // other white space
		{`{"a":1,"b":2}`, "1 "}, // other white space
		{`{"b":1}`, ""},         // a first key has no comma
		{`{, "b":1}`, ""},       // an extra comma
		{`{"a" :1}`, ""},
	} {
		s := New(strings.NewReader(tt.in + end))
		s.Peek()
		s.Value()
		c.Start()
		var got strings.Builder
		for n := s.CachedKey(c); n != 0; n = s.CachedKey(c) {
			fmt.Fprintf(&got, "%d ", n)
			s.Scalar()
		}
		if got.String() != tt.want || s.Err() != nil {
			t.Errorf("%s: got %s, %v, want %s", tt.in, &got, s.Err(), tt.want)
		}
	}
}

// FuzzMembers is TestMembers for any text.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(`{"args":{},"ph":"X","ts":12,"name":"short"}`), uint8(16))
	f.Add([]byte(`{"ph": "X", "ts": 1.5, "name": "\u0041"}`+end), uint8(255))
	f.Add([]byte(`{"s":"1","a key of more than 16 bytes":-1.25,,"ph":1{"ph":1}}`+end), uint8(255))
	f.Fuzz(func(t *testing.T, text []byte, window uint8) {
		checkMembers(t, string(text), int(window))
	})
}

// BenchmarkMembers is BenchmarkHeaders with cached keys.
func BenchmarkMembers(b *testing.B) {
	m := new(Members)
	numbers := map[string]uint32{
		"args": 1, "cat": 2, "dur": 3, "name": 4, "ph": 5, "pid": 6, "tdur": 7, "tid": 8, "ts": 9, "tts": 10,
	}
	benchmark(b, func(s *Scanner) {
		m.Start()
		for n, key, ok := s.Members(m, 0); ok; n, key, ok = s.Members(m, 0) {
			if n == 0 {
				s.RememberKey(&m.Keys, numbers[string(key)])
			}
			s.Scalar()
		}
	})
}
