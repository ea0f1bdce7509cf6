package wire

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// edges returns the values at which varints need another byte, and the largest ones.
func edges() []uint64 {
	all := []uint64{0, math.MaxUint64, math.MaxInt64, math.MaxUint32, math.MaxInt32}
	for shift := 7; shift < 64; shift += 7 {
		all = append(all, 1<<shift-1, 1<<shift, 1<<shift+1)
	}
	return all
}

// fieldNumbers holds field numbers around which tags need another byte: 15 is the last with one byte, 2047 the last with two.
var fieldNumbers = []int{1, 15, 16, 126, 135, 2047, 2048, 1<<18 - 1, 1 << 18, MaxField}

func TestAppendVarint(t *testing.T) {
	for _, v := range edges() {
		got, want := AppendVarint([]byte("before"), v), protowire.AppendVarint([]byte("before"), v)
		if !bytes.Equal(got, want) {
			t.Errorf("AppendVarint(%d) = %x, want %x", v, got, want)
		}
		if got, want := SizeVarint(v), protowire.SizeVarint(v); got != want {
			t.Errorf("SizeVarint(%d) = %d, want %d", v, got, want)
		}
	}
}

func TestAppendFields(t *testing.T) {
	for _, field := range fieldNumbers {
		num := protowire.Number(field)
		tag := func(typ protowire.Type) []byte { return protowire.AppendTag(nil, num, typ) }
		check := func(name string, got, want []byte) {
			t.Helper()
			if !bytes.Equal(got, want) {
				t.Errorf("%s of field %d: %x, want %x", name, field, got, want)
			}
		}
		for _, wireType := range []int{Varint, Fixed64, Len, Fixed32} {
			check("tag", AppendTag(nil, field, wireType), tag(protowire.Type(wireType)))
		}
		for _, v := range edges() {
			check(fmt.Sprint("uint ", v), AppendUint(nil, field, v), protowire.AppendVarint(tag(protowire.VarintType), v))
			check(fmt.Sprint("int ", int64(v)), AppendInt(nil, field, int64(v)), protowire.AppendVarint(tag(protowire.VarintType), v))
			check(fmt.Sprint("fixed64 ", v), AppendFixed64(nil, field, v), protowire.AppendFixed64(tag(protowire.Fixed64Type), v))
			check(fmt.Sprint("fixed32 ", uint32(v)), AppendFixed32(nil, field, uint32(v)), protowire.AppendFixed32(tag(protowire.Fixed32Type), uint32(v)))
		}
		for _, v := range []bool{false, true} {
			check(fmt.Sprint("bool ", v), AppendBool(nil, field, v), protowire.AppendVarint(tag(protowire.VarintType), protowire.EncodeBool(v)))
		}
		for _, v := range []float64{0, math.Copysign(0, -1), 1.5, math.Inf(1), math.Inf(-1), math.NaN(), math.SmallestNonzeroFloat64} {
			check(fmt.Sprint("double ", v), AppendDouble(nil, field, v), protowire.AppendFixed64(tag(protowire.Fixed64Type), math.Float64bits(v)))
		}
		for _, n := range []int{0, 1, 127, 128, 16383, 16384, 1<<21 - 1, 1 << 21} {
			text := bytes.Repeat([]byte{'x'}, n)
			want := protowire.AppendBytes(tag(protowire.BytesType), text)
			check(fmt.Sprint("bytes ", n), AppendBytes(nil, field, text), want)
			check(fmt.Sprint("string ", n), AppendString(nil, field, string(text)), want)
		}
	}
}

// A message gets its length when it is complete, however many bytes the length takes, and everything before it is unchanged.
func TestMessageOfAnyLength(t *testing.T) {
	for _, n := range []int{0, 1, 126, 127, 128, 129, 16382, 16383, 16384, 16385, 1<<21 - 1, 1 << 21, 1<<21 + 1} {
		content := make([]byte, n)
		for i := range content {
			content[i] = byte(i * 7)
		}
		b, mark := BeginMessage([]byte("before"), 60)
		got := append(EndMessage(append(b, content...), mark), "after"...)
		want := append(protowire.AppendBytes(protowire.AppendTag([]byte("before"), 60, protowire.BytesType), content), "after"...)
		if !bytes.Equal(got, want) {
			t.Errorf("a message of %d bytes is not what protobuf writes", n)
		}
	}
}

// fields encodes random fields twice: with this package and with protowire.
type fields struct {
	r    *rand.Rand
	left int // fields still to be written
}

// maxNesting limits the nesting of random messages.
const maxNesting = 8

func (f *fields) append(got, want []byte, depth int) ([]byte, []byte) {
	for f.left > 0 && f.r.IntN(12) > 0 {
		f.left--
		field := 1 + f.r.IntN(1<<(1+f.r.IntN(29))-1)
		num := protowire.Number(field)
		v := f.r.Uint64() >> f.r.IntN(64)
		switch f.r.IntN(6) {
		case 0:
			got = AppendUint(got, field, v)
			want = protowire.AppendVarint(protowire.AppendTag(want, num, protowire.VarintType), v)
		case 1:
			got = AppendInt(got, field, -int64(v))
			want = protowire.AppendVarint(protowire.AppendTag(want, num, protowire.VarintType), -v)
		case 2:
			got = AppendFixed64(got, field, v)
			want = protowire.AppendFixed64(protowire.AppendTag(want, num, protowire.Fixed64Type), v)
		case 3:
			text := bytes.Repeat([]byte("weft"), f.r.IntN(1<<f.r.IntN(13)))
			got = AppendBytes(got, field, text)
			want = protowire.AppendBytes(protowire.AppendTag(want, num, protowire.BytesType), text)
		default:
			if depth == maxNesting {
				continue
			}
			var mark int
			var inner []byte
			got, mark = BeginMessage(got, field)
			got, inner = f.append(got, nil, depth+1)
			got = EndMessage(got, mark)
			want = protowire.AppendBytes(protowire.AppendTag(want, num, protowire.BytesType), inner)
		}
	}
	return got, want
}

// FuzzAppend compares random fields, including nested messages, with the protobuf module.
func FuzzAppend(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, uint16(seed*3))
	}
	f.Fuzz(func(t *testing.T, seed uint64, n uint16) {
		w := fields{r: rand.New(rand.NewPCG(seed, 1)), left: int(n)}
		if got, want := w.append(nil, nil, 0); !bytes.Equal(got, want) {
			t.Errorf("%x, want %x", got, want)
		}
	})
}
