package jsonscan

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
)

// readList reads a list of numbers. The callback many reads as many elements as it can; the callback one receives each element at
// which many stops.
func readList(t *testing.T, text string, window int, many func(*Scanner), one func(Kind, []byte)) {
	t.Helper()
	s := NewSize(strings.NewReader(text), window)
	for {
		c, err := s.Peek()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		switch c {
		case '[', ',':
			s.Advance(1)
			continue
		case ']':
			return
		}
		before := s.Offset()
		if many(s); s.Offset() > before {
			continue
		}
		kind, value := s.Value()
		if s.Err() == ErrShort {
			if err := s.Fill(); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			continue
		}
		if s.Err() != nil {
			t.Fatalf("%q: %v", text, s.Err())
		}
		one(kind, value)
	}
}

func TestInt32s(t *testing.T) {
	const null = -7
	for _, test := range []struct {
		text string
		fast []int32 // elements read by Int32s
	}{
		{"[]", nil},
		{"[0]", []int32{0}},
		{"[1,22,333,2147483647]", []int32{1, 22, 333, math.MaxInt32}},
		{"[null,-1,5]", []int32{null, null, 5}},
		{"[ 1 , 2,3 ]", []int32{2}}, // the caller reads white space
		{"[2147483648,99999999999,1]", []int32{1}},
		{"[-2,1.5,1e3,true,nul,\"5\",05,7]", []int32{7}},
	} {
		for _, window := range []int{16, 17, 64} {
			var fast []int32
			readList(t, test.text, window, func(s *Scanner) { fast = s.Int32s(fast, null) }, func(Kind, []byte) {})
			// With a small window, the caller reads more.
			if got, want := len(fast), len(test.fast); got > want || window == 64 && got != want {
				t.Errorf("%s, window %d: %v, want %v", test.text, window, fast, test.fast)
			}
			if window == 64 {
				for i := range fast {
					if fast[i] != test.fast[i] {
						t.Errorf("%s: %v, want %v", test.text, fast, test.fast)
					}
				}
			}
		}
	}
}

// FuzzNumbers compares the fast list readers with encoding/json: they must read a prefix of each list, with the same values.
func FuzzNumbers(f *testing.F) {
	for _, text := range []string{
		"[1,2,3]", "[0.1,-0.25,1816.44582696875,506.81591796875,null]", "[999999999999999,1e300,-0,0.0,00,1.,.5]",
		"[123456789012345.6,0.000000000000001,-1,null,2147483648]",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want []*json.Number
		if !strings.HasPrefix(text, "[") || json.Unmarshal([]byte(text), &want) != nil {
			return
		}
		var s Scanner
		s.Reset([]byte(text))
		s.Advance(1)
		ints := s.Int32s(nil, -1)
		s.Reset([]byte(text))
		s.Advance(1)
		floats := s.Float64s(nil)
		if len(ints) > len(want) || len(floats) > len(want) {
			t.Fatalf("%q: %v %v", text, ints, floats)
		}
		for i, v := range ints {
			if want[i] == nil && v == -1 || want[i] != nil && *want[i] == json.Number(strconv.Itoa(int(v))) {
				continue
			}
			t.Errorf("%q: element %d is %d", text, i, v)
		}
		for i, v := range floats {
			if want[i] == nil && math.IsNaN(v) {
				continue
			}
			if exact, err := want[i].Float64(); err != nil || exact != v || math.Signbit(exact) != math.Signbit(v) {
				t.Errorf("%q: element %d is %v", text, i, v)
			}
		}
	})
}

// TestShortFloat compares short decimal numbers with strconv.
func TestShortFloat(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "1", "0.1", "1816.445826", "-3.14159265358979", "123456789012345", "0.00000000000001", "99999999999999.9",
		"1e5", "1.", ".5", "-", "", "01", "1234567890123456", "0x1", "1.5e-3",
	} {
		f, n := shortFloat([]byte(text), 0)
		if n == 0 {
			if len(text) <= maxExactDigits && json.Valid([]byte(text)) && !strings.ContainsAny(text, "e") {
				t.Errorf("%q is not read", text)
			}
			continue
		}
		want, err := strconv.ParseFloat(text[:n], 64)
		if err != nil || want != f || math.Signbit(want) != math.Signbit(f) {
			t.Errorf("%q: %v, want %v, %v", text, f, want, err)
		}
	}
}
