package readers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
)

// walk lists the contents of a document and the problems that a Document counts.
func walk(input string, window int) string {
	var out strings.Builder
	log := new(problem.Log)
	r := NewDocument(jsonscan.NewSize(strings.NewReader(input), window), log)
	r.Numbered = true
	var value func(first byte, depth int) error
	value = func(first byte, depth int) error {
		switch {
		case depth > 100:
			return r.Skip()
		case first == '{':
			out.WriteByte('{')
			defer out.WriteByte('}')
			return r.Members(func(key []byte, first byte) error {
				fmt.Fprintf(&out, "%q:", key)
				return value(first, depth+1)
			})
		case first == '[':
			out.WriteByte('[')
			defer out.WriteByte(']')
			return r.Elements(func(first byte) error { return value(first, depth+1) })
		}
		kind, text, err := r.Scalar()
		if err == nil {
			fmt.Fprintf(&out, "%d%q", kind, text)
		}
		return err
	}
	first, err := r.Begin()
	if err == nil {
		if err = value(first, 0); err == nil {
			err = r.Trailing()
		}
	}
	fmt.Fprintf(&out, " %v %v %d", err, r.Malformed(), r.Index)
	for _, total := range log.Totals() {
		fmt.Fprintf(&out, "\n%s %d %v", total.Kind, total.Count, total.Cases)
	}
	return out.String()
}

// object returns an object with the given numbers of different keys and of duplicate keys.
func object(keys, twice int) string {
	var b strings.Builder
	for i := range keys + twice {
		fmt.Fprintf(&b, `,"key %d":{"key 0":1,"inner":[{"key 1":2}]}`, i%keys)
	}
	return "{" + b.String()[1:] + "}"
}

// Duplicate keys are found in objects with many keys, up to a limit, and keys of nested objects are kept apart.
func TestKeysTwice(t *testing.T) {
	for _, c := range []struct{ keys, twice, want int }{
		{1, 0, 0}, {1, 3, 3}, {fewKeys - 1, 2, 2}, {fewKeys, 0, 0}, {fewKeys, 1, 1}, {fewKeys, fewKeys, fewKeys}, {fewKeys + 1, 5, 5},
		{1000, 999, 999}, {maxKeys + 10, maxKeys + 10, maxKeys},
	} {
		got := walk(object(c.keys, c.twice), jsonscan.DefaultWindow)
		want := fmt.Sprintf("json_duplicate_key %d ", c.want)
		if strings.Contains(got, want) != (c.want > 0) || c.want == 0 && strings.Contains(got, "json_duplicate_key") {
			t.Errorf("%d keys, %d twice: %s", c.keys, c.twice, got[strings.Index(got, " <nil>"):])
		}
	}
}

// An embedded text that is not JSON neither ends the document that contains it nor affects the keys of that document's objects.
func TestWithin(t *testing.T) {
	log := new(problem.Log)
	r := NewDocument(jsonscan.New(strings.NewReader(`{"a":"x","b":[7,8],"a":1,"c":2}`)), log)
	var keys []string
	if _, err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	err := r.Members(func(key []byte, _ byte) error {
		keys = append(keys, string(key))
		if string(key) != "b" {
			return r.Skip()
		}
		if err := r.Skip(); err != nil {
			return err
		}
		inner := new(jsonscan.Scanner)
		inner.ResetAt([]byte(`{"b":[1,{"c":1 oops`), 100)
		return r.Within(inner, func() error {
			return r.Members(func([]byte, byte) error {
				return r.Elements(func(first byte) error {
					if first == '{' {
						return r.Members(func([]byte, byte) error { return r.Skip() })
					}
					return r.Skip()
				})
			})
		})
	})
	if want := "a b a c"; err != nil || strings.Join(keys, " ") != want {
		t.Errorf("keys %q, error %v, want %q", keys, err, want)
	}
	if twice, malformed := log.Count(problem.JSONDuplicateKey), log.Count(problem.JSONMalformedEvent); twice != 1 || malformed != 1 {
		t.Errorf("%d keys twice and %d places that are no JSON, want one of each", twice, malformed)
	}
}

// Truncated or invalid pieces of a larger document cause errors, and do not affect the next piece.
func TestPieces(t *testing.T) {
	log := new(problem.Log)
	s := new(jsonscan.Scanner)
	r := NewDocument(s, log)
	for input, ok := range map[string]bool{`{"a":1}`: true, `{"a":[1,{"b":2`: false, `{"a":1]`: false, `{"a" 1}`: false, `{"b":1,"a":2}`: true} {
		s.Reset([]byte(input))
		r.StartPiece(problem.Position{Event: 7, Offset: 9})
		_, err := r.Peek()
		if err == nil {
			err = r.Members(func([]byte, byte) error { return r.Skip() })
		}
		if (err == nil) != ok || err != nil && !errors.Is(err, jsonscan.ErrMalformed) {
			t.Errorf("%s: %v", input, err)
		}
	}
	if totals := log.Totals(); len(totals) > 0 {
		t.Errorf("counted %v", totals)
	}
}

// FuzzReader reads documents through windows of different sizes: contents and problems must be the same. Input that encoding/json
// accepts must have no problems except duplicate keys.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,2.5,-3e4,null,true],"b":{"c":"text","d":[]}}`, "\ufeff[1]", `{,"a":1,,"b":2 "c":[,1 2,],}`, `{"a":"\ud800\q` + "\xff\t" + `"}`,
		`{"a":1,"a":NaN}tail`, `{"a":{"b":[1,2`, `{"a" 1}`, `{"a":1]`, `[1}`, `{"a":`, `[[[[`, ``, ` `, `"x"`, object(40, 3),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		want := walk(input, jsonscan.DefaultWindow)
		if got := walk(input, 16); got != want {
			t.Errorf("small window:\n%s\nlarge window:\n%s", got, want)
		}
		if first := bytes.TrimLeft([]byte(input), " \t\r\n"); json.Valid([]byte(input)) && (first[0] == '{' || first[0] == '[') {
			_, problems, _ := strings.Cut(want, " <nil> <nil> -1")
			for line := range strings.Lines(strings.TrimPrefix(problems, "\n")) {
				if !strings.HasPrefix(line, "json_duplicate_key") && !strings.HasPrefix(line, "json_invalid_utf8") && !strings.HasPrefix(line, "json_lone_surrogate") {
					t.Errorf("valid JSON: %s", want)
				}
			}
		}
	})
}
