package pfwire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/wire"
)

// describe reads all packets and returns the index, offset, codec, bundle number and timestamp of each, and all errors.
func describe(t testing.TB, r *PacketReader) string {
	t.Helper()
	var out strings.Builder
	for range 1000 {
		p, err := r.Next()
		var pe *PacketError
		switch {
		case err == io.EOF:
			if at, truncated := r.Truncated(); truncated {
				fmt.Fprintf(&out, "truncated at %d\n", at)
			}
			return out.String()
		case errors.As(err, &pe):
			fmt.Fprintf(&out, "%v\n", err)
			continue
		case err != nil:
			t.Fatal(err)
		}
		f := wire.NewReader(p.Bytes)
		f.Next()
		fmt.Fprintf(&out, "%d @%d %v/%d ts=%d\n", p.Index, p.Offset, p.Bundle.Codec, p.Bundle.Number, f.Uint())
	}
	t.Fatal("the reader does not end")
	return ""
}

func TestPacketReader(t *testing.T) {
	a, b, c := testkit.Plain(1, 10), testkit.Plain(2, 300), testkit.Plain(3, 0)
	ab := append(bytes.Clone(a), b...)
	unknown := wire.AppendUint(wire.AppendBytes(wire.AppendFixed64(nil, 7, 1), 2, []byte("not a packet")), 3, 1<<60)
	zl, gz, zs := testkit.Packet(50, testkit.Zlib(t, ab)), testkit.Packet(50, testkit.Gzip(t, ab)), testkit.Packet(133, testkit.Zstd(t, ab))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

	tests := []struct {
		name string
		in   []byte
		want []string
	}{
		{"empty file", nil, nil},
		{"two packets", ab, []string{"0 @0 none/0 ts=1", fmt.Sprintf("1 @%d none/0 ts=2", len(a))}},
		{"unknown fields are skipped", join(a, unknown, c),
			[]string{"0 @0 none/0 ts=1", fmt.Sprintf("1 @%d none/0 ts=3", len(a)+len(unknown))}},
		{"zlib bundle", join(c, zl, c), []string{"0 @0 none/0 ts=3", fmt.Sprintf("1 @%d zlib/1 ts=1", len(c)),
			fmt.Sprintf("2 @%d zlib/1 ts=2", len(c)), fmt.Sprintf("3 @%d none/0 ts=3", len(c)+len(zl))}},
		{"gzip bundle", gz, []string{"0 @0 gzip/1 ts=1", "1 @0 gzip/1 ts=2"}},
		{"zstd bundles", join(zs, zs), []string{"0 @0 zstd/1 ts=1", "1 @0 zstd/1 ts=2",
			fmt.Sprintf("2 @%d zstd/2 ts=1", len(zs)), fmt.Sprintf("3 @%d zstd/2 ts=2", len(zs))}},
		{"bundle inside a bundle", join(testkit.Packet(50, testkit.Zlib(t, join(a, zs, c))), c), []string{"0 @0 zlib/1 ts=1",
			"packet 1 (byte 0): bundle inside a bundle", "1 @0 zlib/1 ts=3", "2 @"}},
		{"raw deflate", join(testkit.Packet(50, testkit.Zlib(t, ab)[2:]), c),
			[]string{"packet 0 (byte 0): broken bundle of compressed packets: zlib: ", "0 @"}},
		{"cut bundle", join(testkit.Packet(133, testkit.Zstd(t, ab)[:20]), c),
			[]string{"packet 0 (byte 0): broken bundle of compressed packets: ", "0 @"}},
		{"bundle with a cut packet", join(testkit.Packet(50, testkit.Zlib(t, ab[:len(ab)-1])), c), []string{"0 @0 zlib/1 ts=1",
			fmt.Sprintf("packet 1 (byte 0): broken bundle of compressed packets: at byte %d of it: message ends inside a field", len(a)), "1 @"}},
		{"framing lost", join(a, []byte{0x0b, 1, 2, 3}, c),
			[]string{"0 @0 none/0 ts=1", fmt.Sprintf("packet 1 (byte %d): no field of a Perfetto trace (it starts with 0x0b010203)", len(a))}},
		{"field 0", []byte{0, 0}, []string{"packet 0 (byte 0): no field of a Perfetto trace (it starts with 0x0000)"}},
		{"endless length", append([]byte{0x0a}, bytes.Repeat([]byte{0xff}, 20)...),
			[]string{"packet 0 (byte 0): no field of a Perfetto trace (it starts with 0x0affffff)"}},
		{"cut unknown field", join(a, unknown[:12]), []string{"0 @0 none/0 ts=1", "truncated at "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := describe(t, NewPacketReader(bytes.NewReader(tt.in)))
			lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			if got == "" {
				lines = nil
			}
			if len(lines) != len(tt.want) {
				t.Fatalf("got\n%swant\n%s", got, strings.Join(tt.want, "\n"))
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("got  %s\nwant %s", lines[i], want)
				}
			}
			slow := NewPacketReader(iotest.OneByteReader(bytes.NewReader(tt.in)))
			slow.buf = make([]byte, 0, 1)
			if again := describe(t, slow); again != got {
				t.Errorf("byte by byte:\n%swant\n%s", again, got)
			}
		})
	}
}

// A file can end anywhere: all packets before the end are read, and the reader reports a truncated packet.
func TestPacketReaderCutAnywhere(t *testing.T) {
	parts := [][]byte{testkit.Plain(1, 10), testkit.Plain(2, 200), testkit.Packet(50, testkit.Zlib(t, testkit.Plain(3, 5))), testkit.Plain(4, 0)}
	whole := bytes.Join(parts, nil)
	for n := range len(whole) + 1 {
		complete, end := 0, 0
		for _, p := range parts {
			if end+len(p) > n {
				break
			}
			end += len(p)
			complete++
		}
		r := NewPacketReader(bytes.NewReader(whole[:n]))
		for i := range complete {
			if p, err := r.Next(); err != nil || p.Index != int64(i) {
				t.Fatalf("truncated at %d: packet %d: %+v, %v", n, i, p, err)
			}
		}
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("truncated at %d: %v, want EOF", n, err)
		}
		if at, truncated := r.Truncated(); truncated != (end < n) || at != int64(end) {
			t.Fatalf("truncated at %d: reported %v at %d, want %v at %d", n, truncated, at, end < n, end)
		}
	}
}

func TestPacketReaderLimits(t *testing.T) {
	big := testkit.Plain(2, 5000)
	streams := map[string][]byte{
		"zlib": testkit.Packet(50, testkit.Zlib(t, big)),
		"gzip": testkit.Packet(50, testkit.Gzip(t, big)),
		"zstd": testkit.Packet(133, testkit.Zstd(t, big)),
	}
	for name, b := range streams {
		r := NewPacketReader(bytes.NewReader(append(b, testkit.Plain(3, 0)...)))
		r.maxBundle = 4000
		got := describe(t, r)
		if !strings.HasPrefix(got, "packet 0 (byte 0): bundle of compressed packets is too large: more than 4000 bytes\n0 @") {
			t.Errorf("%s: %s", name, got)
		}
	}
	r := NewPacketReader(bytes.NewReader(append(testkit.Plain(2, 5000), testkit.Plain(3, 0)...)))
	r.maxPacket = 4000
	want := fmt.Sprintf("packet 0 (byte 0): packet is too large: 5006 bytes, the limit is 4000\n1 @%d none/0 ts=3\n", len(big))
	if got := describe(t, r); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A length in the input does not cause an allocation by itself.
func TestPacketReaderDoesNotTrustLengths(t *testing.T) {
	in := wire.AppendVarint([]byte{0x0a}, MaxPacketSize)
	r := NewPacketReader(bytes.NewReader(append(in, make([]byte, 1<<20)...)))
	if got := describe(t, r); got != "truncated at 0\n" {
		t.Error(got)
	}
	if cap(r.buf) > 4<<20 {
		t.Errorf("the buffer grew to %d bytes for an input of 1 MiB", cap(r.buf))
	}
}

func TestPacketReaderSourceError(t *testing.T) {
	broken := errors.New("disk on fire")
	r := NewPacketReader(io.MultiReader(bytes.NewReader(testkit.Plain(1, 1)), iotest.ErrReader(broken)))
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := r.Next(); !errors.Is(err, broken) {
			t.Fatalf("error %v, want %v", err, broken)
		}
	}
}

func FuzzPacketReader(f *testing.F) {
	f.Add(bytes.Join([][]byte{testkit.Plain(1, 10), testkit.Packet(50, testkit.Zlib(f, testkit.Plain(2, 5)))}, nil))
	f.Add(testkit.Packet(133, testkit.Zstd(f, testkit.Plain(2, 5))))
	f.Add(testkit.Packet(50, testkit.Gzip(f, testkit.Packet(50, nil))))
	f.Fuzz(func(t *testing.T, in []byte) {
		fast := NewPacketReader(bytes.NewReader(in))
		slow := NewPacketReader(iotest.OneByteReader(bytes.NewReader(in)))
		slow.buf = make([]byte, 0, 1)
		fast.maxBundle, slow.maxBundle = 1<<20, 1<<20
		for range 2*len(in) + 1<<20 {
			p, err := fast.Next()
			q, err2 := slow.Next()
			if fmt.Sprint(err) != fmt.Sprint(err2) || p.Index != q.Index || p.Offset != q.Offset || !bytes.Equal(p.Bytes, q.Bytes) {
				t.Fatalf("%+v, %v; byte by byte %+v, %v", p, err, q, err2)
			}
			if err == io.EOF {
				return
			}
		}
		t.Fatal("the reader does not end")
	})
}

func BenchmarkPacketReader(b *testing.B) {
	plain := bytes.Repeat(testkit.Plain(123456789, 90), 4000)
	for name, in := range map[string][]byte{
		"plain": plain, "zlib": testkit.Packet(50, testkit.Zlib(b, plain)), "zstd": testkit.Packet(133, testkit.Zstd(b, plain)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				for r := NewPacketReader(bytes.NewReader(in)); ; {
					if _, err := r.Next(); err != nil {
						break
					}
				}
			}
		})
	}
}
