package pfwire

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

var update = flag.Bool("update", false, "write the expected packets of the cases in testdata/write")

// build returns a resolved timeline from its text form (package testkit). prepare, if not nil, is called before the events are
// added.
func build(t testing.TB, text string, prepare func(*timeline.Builder)) *timeline.Timeline {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{TempDir: t.TempDir(), Problems: new(problem.Log)})
	if prepare != nil {
		prepare(b)
	}
	if err := testkit.Add(b, text); err != nil {
		t.Fatal(err)
	}
	return finishTimeline(t, b)
}

func finishTimeline(t testing.TB, b *timeline.Builder) *timeline.Timeline {
	t.Helper()
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := flowbind.NestAndResolve(context.Background(), tl); err != nil {
		t.Fatal(err)
	}
	return tl
}

// VerifyWritten verifies the output. It is set by an external test, because package pftrace imports this one.
var VerifyWritten func(t testing.TB, trace []byte)

// write writes a timeline and verifies the output.
func write(t testing.TB, tl *timeline.Timeline, opts Options) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := Write(context.Background(), &out, tl, opts); err != nil {
		t.Fatal(err)
	}
	VerifyWritten(t, out.Bytes())
	return out.Bytes()
}

// decode reads a trace with the generated structs, which must know all its fields.
func decode(t testing.TB, trace []byte) *protos.Trace {
	t.Helper()
	out := new(protos.Trace)
	r := NewPacketReader(bytes.NewReader(trace))
	for {
		p, err := r.Next()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		packet := new(protos.TracePacket)
		if err := proto.Unmarshal(p.Bytes, packet); err != nil {
			t.Fatal(err)
		}
		// Fields unknown to the structs would be lost by writing them again; known ones must be equal.
		again, err := proto.MarshalOptions{Deterministic: true}.Marshal(packet)
		if err != nil {
			t.Fatal(err)
		}
		if len(again) != len(p.Bytes) {
			t.Errorf("packet %d has %d bytes, %d when proto.Marshal writes it: %v", p.Index, len(p.Bytes), len(again), packet)
		}
		out.Packet = append(out.Packet, packet)
	}
}

// TestPackets compares the packets of the timelines in testdata/write with the expected ones, read with the generated structs. A
// file is named after the feature that it shows.
func TestPackets(t *testing.T) {
	paths, err := filepath.Glob("testdata/write/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := decode(t, write(t, build(t, string(archive.Files[0].Data), nil), Options{}))
			if *update {
				text := regexp.MustCompile(`(?m)^( *[a-z_A-Z0-9]+:)  `).ReplaceAllString(prototext.Format(got), "$1 ")
				archive.Files = append(archive.Files[:1], txtar.File{Name: "packets", Data: []byte(text)})
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := new(protos.Trace)
			if err := prototext.Unmarshal(archive.Files[1].Data, want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// busyText returns the text of a timeline with many occurrences of everything that Write supports.
func busyText(n int) string {
	r := rand.New(rand.NewPCG(uint64(n), 8))
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "X %d/%d name%d %d %d cat=c%d,all tts=%d tdur=3 args=k%d:%d,s:text out=%d\n",
			1+i%3, i%5, i%50, i*10, 5+r.IntN(40), i%7, i*4, i%20, i, i)
		fmt.Fprintf(&text, "I 1/%d i %d in=%d stack=main;f%d\n", i%5, i*10+3, i, i%9)
		fmt.Fprintf(&text, "B 1/id:0x%x a %d\nE 1/id:0x%x a %d args=at:end\n", i%11, i*10, i%11, i*10+20)
		fmt.Fprintf(&text, "C 1/counter:c%d %d %d\nC 1/counter:d %d.5 %d\n", i%4, i, i*10+1, i, i*10+2)
		fmt.Fprintf(&text, "S 1/%d 1 %d stack=main;f%d;g\n", 1+i%5, i*10+4, i%9)
	}
	return text.String()
}

// The output depends on the timeline and the compression, not on workers or timing.
func TestWriteIsDeterministic(t *testing.T) {
	tl := build(t, busyText(5000), nil)
	sizes := map[Codec]int{}
	for _, codec := range []Codec{NoCodec, Zlib, Zstd} {
		var first []byte
		for _, workers := range []int{1, 2, 8} {
			got := write(t, tl, Options{Compression: codec, Workers: workers})
			if first == nil {
				first = got
			}
			if !bytes.Equal(first, got) {
				t.Errorf("%v: %d workers give other bytes than 1", codec, workers)
			}
		}
		sizes[codec] = len(first)
	}
	if sizes[Zlib]*2 > sizes[NoCodec] || sizes[Zstd]*2 > sizes[NoCodec] {
		t.Errorf("sizes %v: nothing was compressed", sizes)
	}
}

// Earlier writes with the same buffers, even failed ones, do not affect the output.
func TestBuffersDoNotShow(t *testing.T) {
	tl, other := build(t, busyText(3000), nil), build(t, busyText(700), nil)
	for _, codec := range []Codec{NoCodec, Zlib, Zstd} {
		for _, workers := range []int{1, 3} {
			want := write(t, tl, Options{Compression: codec, Workers: workers})
			opts := Options{Compression: codec, Workers: workers, Buffers: new(Buffers)}
			for range 3 {
				write(t, other, opts)
				broken := errors.New("broken")
				if err := Write(context.Background(), &failingWriter{len(want) / 2, broken}, tl, opts); err != broken {
					t.Fatal(err)
				}
				if got := write(t, tl, opts); !bytes.Equal(got, want) {
					t.Errorf("%v, %d workers: other bytes with used buffers", codec, workers)
				}
			}
		}
	}
}

// bundleSizes returns the packed and unpacked sizes of the bundles of a trace.
func bundleSizes(t *testing.T, trace []byte) (packed, unpacked []int) {
	t.Helper()
	r := NewPacketReader(bytes.NewReader(trace))
	r.OnBundle = func(b Bundle, _ int64, extra int) {
		if extra != 0 {
			t.Errorf("%d bytes follow the stream of bundle %d", extra, b.Number)
		}
		packed, unpacked = append(packed, b.Packed), append(unpacked, b.Unpacked)
	}
	for {
		if _, err := r.Next(); err == io.EOF {
			return packed, unpacked
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

// addText adds an instant with a text argument.
func addText(t testing.TB, b *timeline.Builder, ts timeline.Nanos, text []byte) {
	t.Helper()
	e := b.Args()
	e.Reset()
	e.Key([]byte("k"))
	e.String(text)
	ev := timeline.Event{Kind: timeline.Instant, Track: b.GlobalInstants(), TS: ts, Name: []byte("i"), Args: e.Args()}
	if err := b.Add(&ev); err != nil {
		t.Fatal(err)
	}
}

// Bundles stay below Perfetto's limit, packed and unpacked, however well they compress; no packet is split, and larger packets are outside
// bundles (perfetto.md 12).
func TestBundles(t *testing.T) {
	const limit = 512 << 10
	r := rand.New(rand.NewPCG(3, 3))
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	// Texts around the limit, far above it, two large ones in a row, and many of all sizes.
	sizes := []int{10, limit - 100, limit, 3 * limit, 2 * limit, 10, bundleLimit - 60, bundleLimit - 30, bundleLimit, 5}
	for range 300 {
		sizes = append(sizes, r.IntN(1<<(4+r.IntN(13))))
	}
	texts := make([][]byte, len(sizes))
	for i, n := range sizes {
		texts[i] = make([]byte, n)
		for j := range texts[i] {
			texts[i][j] = ' ' + byte(r.IntN(95)) // hardly compressible
		}
		addText(t, b, timeline.Nanos(i), texts[i])
	}
	tl := finishTimeline(t, b)
	for _, codec := range []Codec{NoCodec, Zlib, Zstd} {
		trace := write(t, tl, Options{Compression: codec})
		packed, unpacked := bundleSizes(t, trace)
		if (len(packed) == 0) != (codec == NoCodec) {
			t.Errorf("%v: %d bundles", codec, len(packed))
		}
		full := 0
		for i := range packed {
			if packed[i] >= limit || unpacked[i] >= limit {
				t.Errorf("%v: bundle %d has %d bytes, %d unpacked", codec, i, packed[i], unpacked[i])
			}
			if unpacked[i] > limit/2 {
				full++
			}
		}
		if codec != NoCodec && full < 3 {
			t.Errorf("%v: of %d bundles only %d are more than half full", codec, len(packed), full)
		}
		next := 0
		for _, p := range decode(t, trace).Packet {
			if event := p.GetTrackEvent(); event != nil {
				if got := event.DebugAnnotations[0].GetStringValue(); got != string(texts[next]) {
					t.Errorf("%v: text %d of %d bytes is read with %d", codec, next, sizes[next], len(got))
				}
				next++
			}
		}
		if next != len(texts) {
			t.Errorf("%v: read %d texts", codec, next)
		}
	}
}

// failingWriter fails after some bytes.
type failingWriter struct {
	remaining int
	err       error
}

func (w *failingWriter) Write(p []byte) (int, error) {
	if w.remaining -= len(p); w.remaining < 0 {
		return max(len(p)+w.remaining, 0), w.err
	}
	return len(p), nil
}

// Wherever the output fails, Write soon returns that error, and leaves nothing running.
func TestOutputErrors(t *testing.T) {
	tl := build(t, busyText(5000), nil)
	broken := errors.New("disk full")
	before := goroutines()
	for _, codec := range []Codec{NoCodec, Zlib, Zstd} {
		size := len(write(t, tl, Options{Compression: codec}))
		for _, at := range []int{0, 100, size / 2, size - 1} {
			for _, workers := range []int{1, 4} {
				err := Write(context.Background(), &failingWriter{at, broken}, tl, Options{Compression: codec, Workers: workers})
				if !errors.Is(err, broken) {
					t.Errorf("%v, failing at byte %d of %d: error %v", codec, at, size, err)
				}
			}
		}
		if err := Write(context.Background(), &failingWriter{size, broken}, tl, Options{Compression: codec}); err != nil {
			t.Errorf("%v, failing after the last byte: %v", codec, err)
		}
	}
	waitForGoroutines(t, before)
}

// Write returns the error of a canceled context, and leaves nothing running.
func TestWriteCanceled(t *testing.T) {
	tl := build(t, busyText(5000), nil)
	before := goroutines()
	for _, workers := range []int{1, 4} {
		ctx, cancel := context.WithCancel(context.Background())
		err := Write(ctx, writerFunc(func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		}), tl, Options{Compression: Zlib, Workers: workers})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%d workers: error %v", workers, err)
		}
	}
	waitForGoroutines(t, before)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// Only codecs that suit every packet are accepted.
func TestWriteUnknownCodec(t *testing.T) {
	tl := build(t, "X 1/1 a 0 1\n", nil)
	for _, codec := range []Codec{Gzip, 100} {
		if err := Write(context.Background(), io.Discard, tl, Options{Compression: codec}); err == nil {
			t.Errorf("codec %v is accepted", codec)
		}
	}
}

// Perfetto shows the thread that a sequence describes for all events on the sequence that are on no thread. So sequences by weft
// that have events describe no thread, in written or in appended packets.
func TestSequencesHaveNoThread(t *testing.T) {
	tl := build(t, "X 1/2 a 0 10\nX 1/3 b 5 10\nB 1/id:7 n 0\nE 1/id:7 n 4\n", nil)
	for _, form := range []PacketForm{PlainPackets, CompactPackets} {
		noThreads(t, write(t, tl, Options{Packets: form}))
	}
	rw := Rewrite{Marker: "own", Append: func(a *Appender) error {
		thread, err := a.Thread(3, 4)
		if err != nil {
			return err
		}
		track, err := a.Track(thread, timeline.TrackSpec{Name: "below"})
		if err != nil {
			return err
		}
		for _, e := range []timeline.Item{{Head: timeline.Head{Kind: timeline.ItemBegin, TS: 20}}, {Head: timeline.Head{Kind: timeline.ItemEnd, TS: 21}}} {
			if err := a.Event(track, "c", &e); err != nil {
				return err
			}
		}
		if _, err := a.Thread(3, 5); err == nil {
			t.Error("no error for a thread after an event")
		}
		return nil
	}}
	var out bytes.Buffer
	if err := rw.Run(t.Context(), &out, bytes.NewReader(write(t, tl, Options{}))); err != nil {
		t.Fatal(err)
	}
	noThreads(t, out.Bytes())
}

// noThreads checks that no sequence has both events and a thread. A thread described before the sequence starts does not count.
func noThreads(t *testing.T, trace []byte) {
	t.Helper()
	started, threaded, threads, events := map[uint32]bool{}, map[uint32]bool{}, 0, 0
	for i, p := range decode(t, trace).Packet {
		sequence := p.GetTrustedPacketSequenceId()
		started[sequence] = started[sequence] || p.GetSequenceFlags()&1 != 0
		if p.GetThreadDescriptor() != nil || p.GetTrackDescriptor().GetThread() != nil {
			threads++
			threaded[sequence] = started[sequence]
		}
		if p.GetTrackEvent() != nil {
			events++
			if threaded[sequence] || !started[sequence] {
				t.Errorf("packet %d is an event of sequence %d, started: %v, with thread: %v", i, sequence, started[sequence], threaded[sequence])
			}
		}
	}
	if threads == 0 || events == 0 {
		t.Errorf("%d threads, %d events", threads, events)
	}
}
