package jsonscan

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// toTree reads a value into the same form as encoding/json with UseNumber.
func toTree(s *Scanner) any {
	kind, text := s.Value()
	switch kind {
	case String:
		return string(text)
	case True, False:
		return kind == True
	case Integer, Number:
		return json.Number(text)
	case Object:
		m := map[string]any{}
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			m[string(key)] = toTree(s)
		}
		return m
	case Array:
		a := []any{}
		for s.Elem() {
			a = append(a, toTree(s))
		}
		return a
	}
	return nil
}

// FuzzValid: on valid input, all ways to read a value agree with encoding/json.
func FuzzValid(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e3,"\u00e9\ud83e\udd14\ud800",null,true],"b":{}}`, `"\\\""`, `[[],[[]],{"":""}]`, `0`, "\"\xff\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		dec := json.NewDecoder(bytes.NewReader(text))
		dec.UseNumber()
		var want any
		if dec.Decode(&want) != nil {
			return
		}
		text = append(text, '\n') // a number at the end of the input may continue
		s := NewSize(bytes.NewReader(text), 16)
		if _, err := s.Peek(); err != nil {
			t.Fatal(err)
		}
		got := toTree(s)
		for s.Err() == ErrShort {
			if err := s.Fill(); err != nil {
				t.Fatal(err)
			}
			got = toTree(s)
		}
		if s.Err() != nil {
			t.Fatal(s.Err())
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if !bytes.Equal(a, b) {
			t.Fatalf("got %s, want %s", a, b)
		}
		end := s.Offset()
		s.Rewind()
		if s.Skip(); s.Err() != nil || s.Offset() != end {
			t.Fatalf("Skip: %v at %d, want %d", s.Err(), s.Offset(), end)
		}
		s = NewSize(iotest.OneByteReader(bytes.NewReader(text)), 16)
		if err := s.Discard(); err != nil || s.Offset() != end {
			t.Fatalf("Discard: %v at %d, want %d", err, s.Offset(), end)
		}
	})
}

// FuzzAny: no input makes the scanner panic, hang or lose its position; all ways to read a value agree on what is malformed; and every
// returned text is UTF-8.
func FuzzAny(f *testing.F) {
	for _, text := range []string{`{"a":1,}`, `[NaN,01,`, "\"\x00\xff\\", `{"a":[}]`, `{"a" "b"}`, `[[[[[[[`, `"\u12`, "[1,,2]]"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, errA := readAny(t, NewSize(bytes.NewReader(text), 1<<16), len(text), visit)
		b, errB := readAny(t, NewSize(iotest.OneByteReader(bytes.NewReader(text)), 16), len(text), visit)
		if a != b || errA != errB {
			t.Fatalf("large window: %d, %v; small: %d, %v", a, errA, b, errB)
		}
		c, errC := readAny(t, NewSize(bytes.NewReader(text), 1<<16), len(text), (*Scanner).Skip)
		if errA != errC || errA == nil && a != c {
			t.Fatalf("tokens: %d, %v; Skip: %d, %v", a, errA, c, errC)
		}
		_ = NewSize(bytes.NewReader(text), 1<<16).Discard()
	})
}

// maxFuzzDepth limits visit, which is recursive.
const maxFuzzDepth = 1000

func visit(s *Scanner) { visitTo(s, 0) }

func visitTo(s *Scanner, depth int) {
	if depth > maxFuzzDepth {
		s.Skip()
		return
	}
	kind, text := s.Value()
	if kind == String && !utf8.Valid(text) {
		panic("a text is no UTF-8")
	}
	switch kind {
	case Object:
		for _, ok := s.Key(); ok; _, ok = s.Key() {
			visitTo(s, depth+1)
		}
	case Array:
		for s.Elem() {
			visitTo(s, depth+1)
		}
	}
}

// readAny reads a value and returns where and how it ended.
func readAny(t *testing.T, s *Scanner, size int, read func(*Scanner)) (int64, error) {
	if _, err := s.Peek(); err != nil {
		return s.Offset(), err
	}
	for range 64 {
		read(s)
		if s.Offset() < s.Start() || s.Offset() > int64(size) {
			t.Fatalf("offset %d outside %d to %d", s.Offset(), s.Start(), size)
		}
		if s.Err() != ErrShort {
			return s.Offset(), s.Err()
		}
		if err := s.Fill(); err == io.EOF {
			return 0, err
		} else if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("the window was filled 64 times for one value")
	return 0, nil
}
