package inputs

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/klauspost/compress/zstd"
)

func gzipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func zstandard(tb testing.TB, data []byte) []byte {
	tb.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Close()
	return w.EncodeAll(data, nil)
}

// zipped creates an archive; names and contents alternate.
func zipped(tb testing.TB, members ...string) []byte {
	tb.Helper()
	var buf bytes.Buffer
	w := zip.NewWriter(&buf)
	for i := 0; i < len(members); i += 2 {
		f, err := w.Create(members[i])
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := io.WriteString(f, members[i+1]); err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

func TestContainers(t *testing.T) {
	want := strings.Repeat("[{}, weft] ", 100_000)
	half := len(want) / 2
	tests := []struct {
		name       string
		input      []byte
		containers string
	}{
		{"plain", []byte(want), ""},
		{"gzip", gzipped(t, []byte(want)), "gzip"},
		{"gzip_members", append(gzipped(t, []byte(want[:half])), gzipped(t, []byte(want[half:]))...), "gzip"},
		{"zstd", zstandard(t, []byte(want)), "zstd"},
		{"zstd_frames", append(zstandard(t, []byte(want[:half])), zstandard(t, []byte(want[half:]))...), "zstd"},
		{"zip", zipped(t, "d/", "", "d/trace.json", want, "__MACOSX/d/._trace.json", "x"), "zip"},
		{"gzip_in_zip", zipped(t, "trace.json.gz", string(gzipped(t, []byte(want)))), "zip gzip"},
		{"zstd_in_gzip", gzipped(t, zstandard(t, []byte(want))), "gzip zstd"},
	}
	for _, test := range tests {
		for from, src := range map[string]io.Reader{
			"stream": iotest.HalfReader(bytes.NewReader(test.input)), "memory": bytes.NewReader(test.input),
		} {
			t.Run(test.name+"/"+from, func(t *testing.T) { testContainer(t, src, want, test.containers, len(test.input)) })
		}
	}
}

func testContainer(t *testing.T, src io.Reader, want, containers string, packed int) {
	dir := t.TempDir()
	s, err := Unpack(t.Context(), src, dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(s)
	if err != nil || string(got) != want {
		t.Errorf("%d bytes, %v; want %d", len(got), err, len(want))
	}
	if c := strings.Join(s.Containers, " "); c != containers {
		t.Errorf("containers %q; want %q", c, containers)
	}
	if n := s.PackedBytes(); n != int64(packed) {
		t.Errorf("packedBytes = %d; want %d", n, packed)
	}
	s.Close()
	if files, _ := os.ReadDir(dir); len(files) != 0 {
		t.Errorf("%d temporary files left", len(files))
	}
}

func TestMemoryStopsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s, err := Unpack(ctx, bytes.NewReader(make([]byte, 1<<20)), "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	if _, err := io.ReadAll(s); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %v; want context.Canceled", err)
	}
}

func TestContainersRefuse(t *testing.T) {
	packed := gzipped(t, []byte(strings.Repeat("weft", 10_000)))
	flipped := bytes.Clone(packed)
	flipped[len(flipped)-5] ^= 1 // flips a bit in the checksum
	zst := zstandard(t, []byte(strings.Repeat("weft", 10_000)))
	archive := zipped(t, "a.json", "[]")
	tests := []struct {
		name    string
		input   []byte
		message string
	}{
		{"gzip_cut", packed[:len(packed)-9], "gzip: unexpected EOF after"},
		{"gzip_checksum", flipped, "gzip: gzip: invalid checksum after 40000 unpacked bytes"},
		{"gzip_header_cut", packed[:5], "gzip: unexpected EOF"},
		{"zstd_cut", zst[:len(zst)-6], "zstd: unexpected EOF"},
		{"zip_several", zipped(t, "a.json", "[]", "b.json", "[]"),
			`zip: the archive contains 2 files ("a.json", "b.json"); unpack the one to convert`},
		{"zip_empty", zipped(t), "zip: the archive contains no files"},
		{"zip_cut", archive[:len(archive)-30], "zip: "},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := UnpackStrict(t.Context(), bytes.NewReader(test.input), dir)
			if err == nil {
				_, err = io.ReadAll(s)
				s.Close()
			}
			if err == nil || !strings.HasPrefix(err.Error(), test.message) {
				t.Errorf("error %q; want %q", err, test.message)
			}
			if files, _ := os.ReadDir(dir); len(files) != 0 {
				t.Errorf("%d temporary files left", len(files))
			}
		})
	}
}

// stuck is a reader that blocks until it is released, like an idle pipe.
type stuck chan struct{}

func (s stuck) Read([]byte) (int, error) { <-s; return 0, io.EOF }

func TestReadAheadStopsWithContext(t *testing.T) {
	release := make(stuck)
	defer close(release)
	ctx, cancel := context.WithCancel(t.Context())
	r := newReadAhead(ctx, release)
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %v; want context.Canceled", err)
	}
}

// silent is a reader that returns no data and never ends.
type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestReadAheadGivesUpWithoutProgress(t *testing.T) {
	if _, err := newReadAhead(t.Context(), silent{}).Read(make([]byte, 1)); err != io.ErrNoProgress {
		t.Errorf("Read: %v; want io.ErrNoProgress", err)
	}
}

func TestReadAheadDeliversBeforeTheError(t *testing.T) {
	broken := errors.New("broken")
	src := iotest.DataErrReader(io.MultiReader(strings.NewReader("abc"), iotest.ErrReader(broken)))
	got, err := io.ReadAll(newReadAhead(t.Context(), src))
	if string(got) != "abc" || err != broken {
		t.Errorf("%q, %v", got, err)
	}
}

// If a container is truncated or damaged after its first bytes, its readable part is used, and a problem is reported.
func TestDamagedContainersAreUsed(t *testing.T) {
	var trace strings.Builder
	trace.WriteString("[")
	for i := range 50_000 {
		fmt.Fprintf(&trace, `{"ph":"X","name":"n%d","pid":1,"tid":1,"ts":%d,"dur":1},`, i*i%9973, i)
	}
	packed := gzipped(t, []byte(trace.String()))
	garbage := append(bytes.Clone(packed), "no gzip member"...)
	broken := bytes.Clone(packed)
	copy(broken[len(broken)/2:], "broken here broken here")
	zst := zstandard(t, []byte(trace.String()))
	for name, input := range map[string][]byte{
		"gzip_cut": packed[:len(packed)*2/3], "gzip_checksum": broken, "gzip_garbage_behind": garbage, "zstd_cut": zst[:len(zst)*2/3],
	} {
		t.Run(name, func(t *testing.T) {
			src, err := Unpack(t.Context(), bytes.NewReader(input), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			n, err := io.Copy(io.Discard, src)
			if err != nil || n < 50_000 {
				t.Errorf("%d bytes, error %v", n, err)
			}
			if src.Damage() == nil {
				t.Error("the damage is not reported")
			}
		})
	}
}
