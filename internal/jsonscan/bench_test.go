package jsonscan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"testing"
	"time"
)

// benchEvents returns an event list like Chrome's: args first, one event per line.
func benchEvents(n int) []byte {
	var b bytes.Buffer
	b.WriteString("[")
	for i := range n {
		fmt.Fprintf(&b, `{"args":{"data":{"columnNumber":%d,"frame":"D3F330459B7389F252B6DDD682217626","functionName":"onFrame",`+
			`"isolate":"11328236582680354576","lineNumber":10,"url":"http://a.localhost:8701/main.js"}},"cat":"devtools.timeline",`+
			`"dur":%d,"name":"FunctionCall","ph":"X","pid":14449,"tdur":%d,"tid":14449,"ts":%d,"tts":%d},`+"\n",
			i%100, i%1000, i%900, 1294600618+i*7, 218517+i*5)
	}
	b.WriteString("{}]")
	return b.Bytes()
}

// benchEvent is decoded for comparison: typed header fields and raw args are the fastest way with encoding/json.
type benchEvent struct {
	Ph, Name, Cat      string
	Ts, Dur, Tts, Tdur float64
	Pid, Tid           int
	Args               json.RawMessage
}

// measureJSON returns the shortest of three decoding times of encoding/json for data.
func measureJSON(b *testing.B, data []byte) time.Duration {
	best := time.Hour
	for range 3 {
		start := time.Now()
		var events []benchEvent
		if err := json.NewDecoder(bytes.NewReader(data)).Decode(&events); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	return best
}

// scanEvents runs fn for every event of data.
func scanEvents(b *testing.B, s *Scanner, fn func(*Scanner)) {
	if _, err := s.Peek(); err != nil {
		b.Fatal(err)
	}
	s.Advance(1)
	for {
		switch c, err := s.Peek(); {
		case err != nil:
			b.Fatal(err)
		case c == ']':
			return
		case c == ',':
			s.Advance(1)
			continue
		}
		for fn(s); s.Err() != nil; fn(s) {
			if s.Err() != ErrShort {
				b.Fatal(s.Err())
			}
			if err := s.Fill(); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func benchmark(b *testing.B, fn func(*Scanner)) {
	data := benchEvents(20000)
	reference := measureJSON(b, data)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		scanEvents(b, New(bytes.NewReader(data)), fn)
	}
	b.ReportMetric(reference.Seconds()/(b.Elapsed().Seconds()/float64(b.N)), "x-encoding/json")
}

// BenchmarkHeaders scans the members of events, with args as raw text.
func BenchmarkHeaders(b *testing.B) {
	benchmark(b, func(s *Scanner) {
		s.Value()
		for _, ok := s.Key(); ok; _, ok = s.Key() {
			s.Scalar()
		}
	})
}

// BenchmarkTokens scans all values of events.
func BenchmarkTokens(b *testing.B) { benchmark(b, visit) }

// BenchmarkSkip skips whole events.
func BenchmarkSkip(b *testing.B) { benchmark(b, (*Scanner).Skip) }

// BenchmarkDiscard skips the whole list.
func BenchmarkDiscard(b *testing.B) {
	data := benchEvents(20000)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := New(bytes.NewReader(data)).Discard(); err != nil && err != io.EOF {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecimal(b *testing.B) {
	for _, text := range []string{"1294600618", "1669329643132548.123"} {
		b.Run(text, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Decimal([]byte(text), 3)
			}
		})
	}
}
