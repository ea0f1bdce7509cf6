package wire

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// checkAgainstProtowire reads b with both readers and compares every field.
func checkAgainstProtowire(t *testing.T, b []byte) {
	t.Helper()
	r := NewReader(b)
	rest := b
	for r.Next() {
		num, typ, n := protowire.ConsumeTag(rest)
		if n < 0 {
			t.Fatalf("protowire refuses the tag at %d: %v", r.Offset(), protowire.ParseError(n))
		}
		if r.Offset() != len(b)-len(rest) || r.Field() != int(num) || r.Type() != int(typ) {
			t.Fatalf("field %d type %d at %d, want %d, %d, %d", r.Field(), r.Type(), r.Offset(), num, typ, len(b)-len(rest))
		}
		size := protowire.ConsumeFieldValue(num, typ, rest[n:])
		if size < 0 {
			t.Fatalf("protowire refuses the value at %d: %v", r.Offset(), protowire.ParseError(size))
		}
		if want := rest[:n+size]; !bytes.Equal(r.Raw(), want) {
			t.Fatalf("Raw at %d = %x, want %x", r.Offset(), r.Raw(), want)
		}
		checkValue(t, &r, typ, rest[n:])
		rest = rest[n+size:]
	}
	if r.Err() == nil {
		if len(rest) != 0 {
			t.Fatalf("stopped %d bytes early without an error", len(rest))
		}
		return
	}
	num, typ, n := protowire.ConsumeField(rest)
	if n >= 0 && typ != protowire.StartGroupType && typ != protowire.EndGroupType && num <= MaxField {
		t.Fatalf("error %v at %d, where protowire reads a field", r.Err(), r.Offset())
	}
	if r.Next() || r.Raw() != nil || r.Bytes() != nil {
		t.Fatal("the Reader continues after an error")
	}
}

func checkValue(t *testing.T, r *Reader, typ protowire.Type, value []byte) {
	t.Helper()
	switch typ {
	case protowire.VarintType:
		if v, _ := protowire.ConsumeVarint(value); v != r.Uint() {
			t.Fatalf("varint %d, want %d", r.Uint(), v)
		}
	case protowire.Fixed64Type:
		if v, _ := protowire.ConsumeFixed64(value); v != r.Uint() {
			t.Fatalf("fixed64 %d, want %d", r.Uint(), v)
		}
	case protowire.Fixed32Type:
		if v, _ := protowire.ConsumeFixed32(value); uint64(v) != r.Uint() {
			t.Fatalf("fixed32 %d, want %d", r.Uint(), v)
		}
	case protowire.BytesType:
		if v, _ := protowire.ConsumeBytes(value); !bytes.Equal(v, r.Bytes()) {
			t.Fatalf("bytes %x, want %x", r.Bytes(), v)
		}
	}
}

// sample returns a message with a field of every wire type.
func sample() []byte {
	var b []byte
	b = AppendUint(b, 8, 1<<63|5)
	b = AppendInt(b, 30, -1)
	b = AppendBool(b, 2, true)
	b = AppendFixed64(b, 47, 0x0102030405060708)
	b = AppendDouble(b, 44, 1.5)
	b = AppendString(b, MaxField, "text")
	b = protowire.AppendTag(b, 9, protowire.Fixed32Type)
	return protowire.AppendFixed32(b, 0x01020304)
}

func TestReaderReadsEveryWireType(t *testing.T) {
	b := sample()
	checkAgainstProtowire(t, b)
	r := NewReader(b)
	next := func(field int) {
		t.Helper()
		if !r.Next() || r.Field() != field {
			t.Fatalf("field %d (%v), want %d", r.Field(), r.Err(), field)
		}
	}
	next(8)
	if r.Uint() != 1<<63|5 || r.Tag() != Tag(8, Varint) {
		t.Errorf("uint %d, tag %d", r.Uint(), r.Tag())
	}
	next(30)
	if r.Int() != -1 {
		t.Errorf("int %d", r.Int())
	}
	next(2)
	if !r.Bool() {
		t.Error("bool is false")
	}
	next(47)
	next(44)
	if r.Double() != 1.5 {
		t.Errorf("double %v", r.Double())
	}
	next(MaxField)
	if string(r.Bytes()) != "text" {
		t.Errorf("bytes %q", r.Bytes())
	}
	next(9)
	if r.Next() || r.Err() != nil {
		t.Errorf("at the end: %v", r.Err())
	}
}

func TestReaderErrors(t *testing.T) {
	tests := []struct {
		name string
		in   []byte
		want error
	}{
		{"cut tag", []byte{0x80}, ErrTruncated},
		{"no value", []byte{0x08}, ErrTruncated},
		{"cut varint", []byte{0x08, 0xff}, ErrTruncated},
		{"varint of 11 bytes", append([]byte{0x08}, bytes.Repeat([]byte{0x80}, 11)...), ErrVarint},
		{"varint above 64 bits", append(append([]byte{0x08}, bytes.Repeat([]byte{0xff}, 9)...), 2), ErrVarint},
		{"field 0", []byte{0x00, 0x00}, ErrField},
		{"field above the maximum", protowire.AppendVarint(nil, (MaxField+1)<<3), ErrField},
		{"group", []byte{0x0b, 0x0c}, ErrType},
		{"wire type 6", []byte{0x0e}, ErrType},
		{"cut fixed64", []byte{0x09, 1, 2, 3}, ErrTruncated},
		{"cut fixed32", []byte{0x0d, 1, 2, 3}, ErrTruncated},
		{"cut bytes", []byte{0x0a, 3, 1, 2}, ErrTruncated},
		{"length above the address space", []byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, ErrTruncated},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := append([]byte{0x10, 1}, tt.in...)
			checkAgainstProtowire(t, in)
			r := NewReader(in)
			if !r.Next() {
				t.Fatal("the first field is not read")
			}
			if r.Next() || !errors.Is(r.Err(), tt.want) || r.Offset() != 2 {
				t.Errorf("error %v at %d, want %v at 2", r.Err(), r.Offset(), tt.want)
			}
		})
	}
}

func TestPacked(t *testing.T) {
	b := AppendVarint(AppendVarint(nil, 1), 1<<40)
	p := NewPacked(b)
	if !p.Next() || p.Uint() != 1 || !p.Next() || p.Uint() != 1<<40 || p.Next() || p.Err() != nil {
		t.Errorf("value %d, error %v", p.Uint(), p.Err())
	}
	p = NewPacked(b[:len(b)-1])
	for p.Next() {
	}
	if !errors.Is(p.Err(), ErrTruncated) {
		t.Errorf("error %v, want %v", p.Err(), ErrTruncated)
	}
}

func TestReaderAllocatesNothing(t *testing.T) {
	b := sample()
	if n := testing.AllocsPerRun(100, func() {
		for r := NewReader(b); r.Next(); {
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(sample())
	f.Add([]byte{0x08, 0xff})
	f.Add([]byte{0x0b, 0x0c})
	f.Fuzz(checkAgainstProtowire)
}

func BenchmarkReader(b *testing.B) {
	msg := bytes.Repeat(sample(), 100)
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	var sum uint64
	for b.Loop() {
		for r := NewReader(msg); r.Next(); {
			sum += r.Uint()
		}
	}
}
