package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// childCommand, as the first argument, makes this program one side of a comparison instead of the program that
// compares.
const childCommand = "child"

// childResult holds a child's own measurements, which it prints as JSON, because some sides are only part of a process.
type childResult struct {
	Seconds   float64 `json:"seconds"`
	CPU       float64 `json:"cpu_seconds"`
	Events    int64   `json:"events"`
	PerEvent  float64 `json:"allocations_per_event"`
	BytesRead int64   `json:"bytes_read"`
}

// runChild runs the child command args[0] on the file args[1]:
//
//	decode    decodes the events of a trace with encoding/json as the file is read, arguments as raw text
//	decodeall does the same and also decodes the arguments
//	memory    does the same as decode, with the list of events in memory
//	scan      reads the list in memory with weft's scanner: event fields converted, arguments as raw text
//	gunzip    unpacks a file and discards the result
//	unpack    unpacks a file into args[2]
//	gzip      packs a file into args[2] as gzip -9 does
func runChild(stdout io.Writer, args []string) error {
	if len(args) < 2 {
		return errors.New("child: a command and a file are needed")
	}
	command, file, target := args[0], args[1], ""
	if len(args) > 2 {
		target = args[2]
	}
	var result childResult
	var err error
	switch command {
	case "decode":
		result, err = decodeFile(file, decodeEvents[jsonEvent])
	case "decodeall":
		result, err = decodeFile(file, decodeEvents[wholeEvent])
	case "memory":
		result, err = inMemory(file, func(list []byte) (int64, error) {
			return decodeEvents[jsonEvent](json.NewDecoder(bytes.NewReader(list)))
		})
	case "scan":
		result, err = inMemory(file, scanEvents)
	case "gunzip":
		result.BytesRead, err = gunzip(file, io.Discard)
	case "unpack":
		err = createFile(target, func(w io.Writer) error { _, err := gunzip(file, w); return err })
	case "gzip":
		err = createFile(target, func(w io.Writer) error { return gzipTo(w, file) })
	default:
		err = fmt.Errorf("unknown command %q", command)
	}
	if err != nil {
		return fmt.Errorf("child %s %s: %w", command, file, err)
	}
	return json.NewEncoder(stdout).Encode(result)
}

// decodeFile decodes a trace as a careful program would: token by token down to the events, without keeping any.
func decodeFile(path string, events func(*json.Decoder) (int64, error)) (r childResult, err error) {
	f, err := os.Open(path)
	if err != nil {
		return r, err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	open, err := d.Token()
	if err != nil {
		return r, err
	}
	if open == json.Delim('[') {
		return r, errors.New("only traces in the object form are measured")
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return r, err
		}
		if key == "traceEvents" {
			r.Events, err = events(d)
		} else {
			var skipped json.RawMessage
			err = d.Decode(&skipped)
		}
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// jsonEvent is an event as a fast program would decode it: typed fields, but arguments and ids as raw text. json.Number
// for the times would be about 3 % faster, but would leave them to be converted.
type jsonEvent struct {
	Ph   string          `json:"ph"`
	Name string          `json:"name"`
	Cat  string          `json:"cat"`
	TS   float64         `json:"ts"`
	Dur  float64         `json:"dur"`
	TTS  float64         `json:"tts"`
	TDur float64         `json:"tdur"`
	PID  json.RawMessage `json:"pid"` // some producers write text
	TID  json.RawMessage `json:"tid"`
	ID   json.RawMessage `json:"id"`
	ID2  json.RawMessage `json:"id2"`
	BP   string          `json:"bp"`
	S    string          `json:"s"`
	Args json.RawMessage `json:"args"`
}

// wholeEvent is jsonEvent with decoded arguments, which a converter needs.
type wholeEvent struct {
	jsonEvent
	Args map[string]any `json:"args"`
}

// decodeEvents decodes a list of events one by one, which takes less time and memory than decoding into a slice.
func decodeEvents[E any](d *json.Decoder) (n int64, err error) {
	if _, err := d.Token(); err != nil { // [
		return 0, err
	}
	for d.More() {
		var e E
		if err := d.Decode(&e); err != nil {
			return n, err
		}
		n++
	}
	_, err = d.Token() // ]
	return n, err
}

// inMemory loads a trace's list of events and measures fn on it.
func inMemory(path string, fn func(list []byte) (int64, error)) (r childResult, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	const key = `"traceEvents"`
	i := bytes.Index(data, []byte(key))
	if i < 0 {
		return r, errors.New("no " + key)
	}
	data = data[i+len(key):]
	list := data[max(bytes.IndexByte(data, '['), 0):]

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, start := cpuTime(), time.Now()
	r.Events, err = fn(list)
	r.Seconds, r.CPU = time.Since(start).Seconds(), (cpuTime() - cpu).Seconds()
	runtime.ReadMemStats(&after)
	r.PerEvent = float64(after.Mallocs-before.Mallocs) / float64(max(r.Events, 1))
	r.BytesRead = int64(len(list))
	return r, err
}

// The event members that jsonEvent reads.
const (
	memberPh uint32 = iota + 1
	memberName
	memberCat
	memberTs
	memberDur
	memberTts
	memberTdur
	memberPid
	memberTid
	memberID
	memberID2
	memberBp
	memberS
	memberArgs
	memberOther // any other member; only one value of these is kept
)

// memberOf returns the member number of a key.
func memberOf(key []byte) uint32 {
	switch string(key) {
	case "ph":
		return memberPh
	case "name":
		return memberName
	case "cat":
		return memberCat
	case "ts":
		return memberTs
	case "dur":
		return memberDur
	case "tts":
		return memberTts
	case "tdur":
		return memberTdur
	case "pid":
		return memberPid
	case "tid":
		return memberTid
	case "id":
		return memberID
	case "id2":
		return memberID2
	case "bp":
		return memberBp
	case "s":
		return memberS
	case "args":
		return memberArgs
	}
	return memberOther
}

// scannedEvent is jsonEvent as weft would read it: texts point into the scanner's window, and times are exact.
type scannedEvent struct {
	jsonscan.Members
	ts, dur, tts, tdur int64 // ns
}

// scanEvents reads a list of events with weft's scanner, through its window as if from a file.
func scanEvents(list []byte) (n int64, err error) {
	s := jsonscan.New(bytes.NewReader(list))
	if _, err := s.Peek(); err != nil {
		return 0, err
	}
	s.Advance(1) // [
	e := new(scannedEvent)
	for {
		switch c, err := s.Peek(); {
		case err != nil:
			return n, err
		case c == ']':
			return n, nil
		case c == ',':
			s.Advance(1)
			continue
		}
		for e.scan(s); s.Err() != nil; e.scan(s) {
			if s.Err() != jsonscan.ErrShort {
				return n, s.Err()
			}
			if err := s.Fill(); err != nil {
				return n, err
			}
		}
		n++
	}
}

// scan reads one event.
func (e *scannedEvent) scan(s *jsonscan.Scanner) {
	e.Start()
	for n, key, ok := s.Members(&e.Members, 0); ok; n, key, ok = s.Members(&e.Members, 0) {
		if n == 0 {
			n = memberOf(key)
			s.RememberKey(&e.Keys, n)
		}
		e.Seen |= 1 << n
		kind, text := s.Scalar()
		e.Values[n] = jsonscan.Token{Kind: kind, Text: text}
	}
	e.ts, e.dur = e.time(memberTs), e.time(memberDur)
	e.tts, e.tdur = e.time(memberTts), e.time(memberTdur)
}

// time returns a member, converted from microseconds to nanoseconds, or 0 if it is missing.
func (e *scannedEvent) time(n uint32) int64 {
	if e.Seen>>n&1 == 0 {
		return 0
	}
	ns, _ := e.Values[n].Thousandths()
	return ns
}

// gunzip unpacks a file into w and returns the number of bytes.
func gunzip(path string, w io.Writer) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	zr, err := gzip.NewReader(f)
	if err != nil {
		return 0, err
	}
	return io.Copy(w, zr)
}

// gzipTo packs a file at the highest compression level.
func gzipTo(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	zw, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := io.Copy(zw, f); err != nil {
		return err
	}
	return zw.Close()
}

// createFile creates a file and calls fn to write it.
func createFile(path string, fn func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 256<<10)
	return errors.Join(fn(w), w.Flush(), f.Close())
}
