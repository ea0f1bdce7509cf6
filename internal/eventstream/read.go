package eventstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema/weftv1"
	"github.com/weft-trace/weft/internal/wire"
)

// Detect reports whether an input begins as a stream: with a Record that is a Header whose first field is the magic, of this version or
// another one, which Read refuses.
func Detect(head []byte) bool {
	n, size := binary.Uvarint(head)
	if size <= 0 || n > MaxRecord {
		return false
	}
	head = head[size:]
	if len(head) == 0 || head[0] != weftv1.Record_Header<<3|wire.Len {
		return false
	}
	_, size = binary.Uvarint(head[1:])
	if size <= 0 || len(head) < 3+size || head[1+size] != weftv1.Header_Magic<<3|wire.Len {
		return false
	}
	return bytes.HasPrefix(head[3+size:], anyMagic)
}

// anyMagic is how Header.magic begins in all versions.
var anyMagic = []byte("weft.v")

// Stream is a stream that was read: checked, and kept uncompressed in a temporary file, so that its events can be read again.
type Stream struct {
	Attributes []Arg   // of the header
	Inputs     []Input // of the header: their formats
	Problems   []Problem
	Events     uint64

	file *extsort.File
}

// Read reads a stream and checks all of it. The error says at which byte it is damaged, or is one of the temporary file or ctx. A
// stream that ends too early, holds other numbers of events than its footer says, or has things of a later revision, is
// read as far as it goes, and says so among its Problems. fn is called for each event, which is valid during the call.
func Read(ctx context.Context, src io.Reader, dir string, fn func(*Event) error) (*Stream, error) {
	file, err := extsort.NewFile(dir)
	if err != nil {
		return nil, err
	}
	l := &loading{s: &Stream{file: file}, fn: fn}
	if err = l.read(ctx, newRecords(src)); err == nil {
		err = file.Flush()
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	l.addProblems()
	return l.s, nil
}

// Close removes the temporary file.
func (s *Stream) Close() error { return s.file.Close() }

// Each calls fn for the events of the stream, in their order, until it returns an error. An event is valid during the call.
func (s *Stream) Each(ctx context.Context, fn func(*Event) error) error {
	in := newRecords(s.file.Section(0, s.file.Size()))
	var ev Event
	for n := 0; ; n++ {
		if n%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		record, err := in.next()
		if err != nil || record == nil {
			return err
		}
		if err := ev.Parse(record); err != nil {
			return err
		}
		if err := fn(&ev); err != nil {
			return err
		}
	}
}

// records reads what has its length in front.
type records struct {
	in  *bufio.Reader
	at  int64 // where the next one is
	buf []byte
}

func newRecords(src io.Reader) *records { return &records{in: bufio.NewReaderSize(src, 64<<10)} }

// recordChunk is how much is read at once of what claims to be long.
const recordChunk = 1 << 20

// next returns the next record, which is valid until the next call; nil at the end. A record that is not complete is
// io.ErrUnexpectedEOF.
func (r *records) next() ([]byte, error) {
	if _, err := r.in.Peek(1); err == io.EOF {
		return nil, nil
	}
	n, err := binary.ReadUvarint(r.in)
	switch {
	case err == io.EOF:
		return nil, io.ErrUnexpectedEOF
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("byte %d: the length of a record: %w", r.at, err)
	case err != nil:
		return nil, err
	case n > MaxRecord:
		return nil, fmt.Errorf("byte %d: a record of %d bytes; there are none of more than %d", r.at, n, MaxRecord)
	}
	r.buf = r.buf[:0]
	for left := int(n); left > 0; {
		chunk := min(left, recordChunk)
		start := len(r.buf)
		r.buf = append(r.buf, make([]byte, chunk)...)
		if _, err := io.ReadFull(r.in, r.buf[start:]); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		left -= chunk
	}
	r.at += int64(wire.SizeVarint(n)) + int64(n)
	if r.buf == nil {
		r.buf = []byte{}
	}
	return r.buf, nil
}

// loading reads a stream for the first time.
type loading struct {
	s       *Stream
	fn      func(*Event) error
	ev      Event
	head    []byte
	last    int // the field of the latest Record
	lastTS  int64
	footer  Footer
	cut     bool
	newer   uint64 // what is of a later revision
	skipped uint64 // events among that
}

// read reads all records.
func (l *loading) read(ctx context.Context, in *records) error {
	for n := 0; ; n++ {
		if n%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		at := in.at
		record, err := in.next()
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF) && n > 0:
			l.cut = true
			return nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return errHeaderCut
		case err != nil:
			return fmt.Errorf("weft.v1: %w", err)
		case record == nil && n == 0:
			return errHeaderCut
		case record == nil:
			return nil
		}
		if err := l.record(record); err != nil {
			return fmt.Errorf("weft.v1: record %d at byte %d: %w", n+1, at, err)
		}
	}
}

// errHeaderCut is the error for a stream of which no event is left.
var errHeaderCut = errors.New("weft.v1: the stream ends inside its header")

// errOrder is the error for records that are not in their order.
var errOrder = errors.New("after the footer there are more records; several streams are read one by one")

// record handles a Record.
func (l *loading) record(record []byte) error {
	r := wire.NewReader(record)
	field, message := 0, []byte(nil)
	for r.Next() {
		if r.Type() == wire.Len {
			field, message = r.Field(), r.Bytes()
		}
	}
	switch {
	case r.Err() != nil:
		return fmt.Errorf("%w: %w", errMalformed, r.Err())
	case l.last == weftv1.Record_Footer:
		return errOrder
	case (l.last == 0) != (field == weftv1.Record_Header):
		return errors.New("the header is the first record, and no other")
	case field == weftv1.Record_Event && l.last == weftv1.Record_Cost:
		return errors.New("an event comes after the costs")
	}
	switch field {
	case weftv1.Record_Header:
		l.last = field
		return l.header(message)
	case weftv1.Record_Event:
		l.last = field
		return l.event(message)
	case weftv1.Record_Cost:
		l.last = field
		return wholeMessage(message)
	case weftv1.Record_Footer:
		l.last = field
		return l.readFooter(message)
	}
	l.newer++
	return nil
}

// maxInputs bounds the inputs of a stream whose formats are kept.
const maxInputs = 1 << 10

// wholeMessage checks that a message can be read to its end.
func wholeMessage(msg []byte) error {
	r := wire.NewReader(msg)
	for r.Next() {
	}
	return r.Err()
}

func (l *loading) header(msg []byte) error {
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case weftv1.Header_Magic:
			if string(r.Bytes()) != Magic {
				return fmt.Errorf("a stream of %.20q, which this version of weft does not read", r.Bytes())
			}
		case weftv1.Header_Revision:
			if r.Uint() > Revision {
				l.newer++
			}
		case weftv1.Header_Inputs:
			for in := wire.NewReader(r.Bytes()); in.Next(); {
				if in.Field() == weftv1.Input_Format && len(l.s.Inputs) < maxInputs {
					l.s.Inputs = append(l.s.Inputs, Input{Format: string(in.Bytes())})
				}
			}
		case weftv1.Header_Attributes:
			if err := checkArg(r.Bytes(), 0); err != nil {
				return err
			}
			var a Arg
			if err := a.Parse(bytes.Clone(r.Bytes())); err != nil {
				return err
			}
			l.s.Attributes = append(l.s.Attributes, a)
		}
	}
	return r.Err()
}

func (l *loading) event(msg []byte) error {
	ev := &l.ev
	if err := ev.Parse(msg); err != nil {
		return err
	}
	switch {
	case !ev.knownKind:
		l.newer++
		l.skipped++
		return nil
	case l.s.Events > 0 && ev.TS < l.lastTS:
		return fmt.Errorf("an event at %d ns comes after one at %d ns", ev.TS, l.lastTS)
	case ev.HasDur && ev.Dur < 0:
		return fmt.Errorf("an event takes %d ns", ev.Dur)
	}
	l.lastTS = ev.TS
	l.s.Events++
	l.head = wire.AppendVarint(l.head[:0], uint64(len(msg)))
	if _, err := l.s.file.Write(l.head); err != nil {
		return err
	}
	if _, err := l.s.file.Write(msg); err != nil {
		return err
	}
	return l.fn(ev)
}

func (l *loading) readFooter(msg []byte) error {
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case weftv1.Footer_Events:
			var n uint64
			count := wire.NewReader(r.Bytes())
			for count.Next() {
				if count.Field() == weftv1.EventCount_Count {
					n = count.Uint()
				}
			}
			if count.Err() != nil {
				return count.Err()
			}
			l.footer.Events[0] += n
		case weftv1.Footer_Problems:
			p, err := parseProblem(r.Bytes())
			if err != nil {
				return err
			}
			l.s.Problems = append(l.s.Problems, p)
		}
	}
	return r.Err()
}

func parseProblem(msg []byte) (p Problem, err error) {
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case weftv1.Problem_Name:
			p.Name = string(r.Bytes())
		case weftv1.Problem_Severity:
			p.Severity = string(r.Bytes())
		case weftv1.Problem_Count:
			p.Count = r.Uint()
		}
	}
	return p, r.Err()
}

// addProblems adds what is wrong with the stream itself.
func (l *loading) addProblems() {
	add := func(k problem.Kind, n uint64) {
		l.s.Problems = append(l.s.Problems, Problem{Name: k.Name(), Severity: k.Severity().String(), Count: n})
	}
	if l.cut || l.last != weftv1.Record_Footer || l.footer.Events[0] != l.s.Events+l.skipped {
		add(problem.StreamIncomplete, 1)
	}
	if l.newer > 0 {
		add(problem.StreamNewer, l.newer)
	}
}
