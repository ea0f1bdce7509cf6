package chromejson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/problem"
)

// errTooManyEvents is the limit of the event indexes of a timeline.
var errTooManyEvents = errors.New("more than 4294967295 events")

// cancelInterval is the number of events after which the context is looked at; inputs are looked at by cancelReader.
const cancelInterval = 4096

// events reads the event list at whose bracket the scanner stands.
func (rd *reader) events() error {
	rd.inEvents = true
	defer func() { rd.inEvents = false }()
	rd.s.Advance(1)
	rd.blocksFrom = rd.s.Offset() + int64(rd.opts.blockSize()/warmUp)
	after := byte('[')
	for {
		c, err := rd.s.Peek()
		if err != nil {
			return rd.ended(err)
		}
		switch c {
		case ',':
			if after == ',' || after == '[' {
				rd.comma()
			}
			rd.s.Advance(1)
			after = c
			continue
		case ']':
			if after == ',' {
				rd.comma()
			}
			rd.s.Advance(1)
			return nil
		case '{':
			if after == '{' { // two events without a comma between
				rd.comma()
			}
			if after == ',' && rd.mayUseBlocks() {
				if after, err = rd.blocks(); err != nil {
					return err
				}
				continue
			}
			err = rd.element()
		default:
			err = rd.notAnEvent()
		}
		after = '{'
		if err == errResynced {
			after, err = ',', nil
		}
		if err != nil {
			return err
		}
		if rd.index++; rd.index == math.MaxUint32 {
			return rd.failed(errTooManyEvents)
		}
		if rd.index%cancelInterval == 0 && rd.ctx.Err() != nil {
			return rd.failed(rd.ctx.Err())
		}
	}
}

// element reads one event at whose bracket the scanner stands. An event that is cut is dropped whole: a shortened number
// would parse, but be wrong.
func (rd *reader) element() error {
	probed := false
	for {
		rd.scanEvent()
		switch rd.s.Err() {
		case nil:
			rd.notes()
			return rd.event()
		case jsonscan.ErrShort:
			if rd.s.Buffered() > suspicious && !probed {
				probed = true
				if rd.holdsEvent() {
					return rd.resync()
				}
			}
			switch err := rd.s.Fill(); {
			case err == nil:
			case err == io.EOF && !rd.holdsEvent():
				rd.problem(problem.JSONPartialEvent, "")
				return rd.ended(err)
			case err == io.EOF, err == jsonscan.ErrTooLong:
				return rd.resync()
			default:
				return rd.failed(err)
			}
		default:
			return rd.resync()
		}
	}
}

// notAnEvent reads over an element that is no object.
func (rd *reader) notAnEvent() error {
	at := rd.position()
	switch err := rd.s.Discard(); err {
	case nil:
		rd.log.Add(problem.JSONNotAnEvent, at, "")
		return nil
	case jsonscan.ErrMalformed:
		return rd.resync()
	default:
		return rd.ended(err)
	}
}

// errResynced says that an event could not be parsed and that the scanner stands at the next one.
var errResynced = errors.New("resynchronised")

const (
	// What cannot be parsed as an event is parsed again from a later place, and brackets may be nested. So that this takes
	// linear time, all of it may come to resyncFactor times the input so far, and resyncCredit bytes.
	resyncFactor = 8
	resyncCredit = 64 << 20
	// suspicious is the length from which on an object without end may rather be one whose closing bracket is missing,
	// so that it holds the events behind it.
	suspicious = 16 << 20
)

// mayReparse reports whether there is time left to parse things again.
func (rd *reader) mayReparse() bool { return rd.reparsed <= resyncCredit+resyncFactor*rd.s.Offset() }

// resync goes on behind an event that cannot be parsed: to the next object that can be, and has a phase. (Objects in
// arguments have none, so in a file with one event a line it is that of the next line.)
func (rd *reader) resync() error {
	at, failed := rd.position(), rd.s.Offset()
	rd.reparsed += failed - at.Offset
	from := at.Offset + 1
	if !rd.mayReparse() {
		from = max(from, failed)
	}
	rd.s.SeekTo(from)
	switch err := rd.findEvent(true); err {
	case nil:
		rd.malformed(at)
		return errResynced
	case io.EOF:
		rd.malformed(at)
		return errEnded
	default:
		return rd.failed(err)
	}
}

// malformed counts an event that could not be parsed, with the bytes up to the scanner.
func (rd *reader) malformed(at problem.Position) {
	rd.log.Add(problem.JSONMalformedEvent, at, fmt.Sprintf("%d bytes skipped", rd.s.Start()-at.Offset))
}

// holdsEvent reports whether another event starts in what the window has of the current one, and goes back to the mark.
func (rd *reader) holdsEvent() bool {
	start := rd.s.Start()
	rd.reparsed += int64(rd.s.Buffered())
	found := false
	if rd.mayReparse() {
		rd.s.SeekTo(start + 1)
		found = rd.findEvent(false) == nil
	}
	rd.s.SeekTo(start)
	return found
}

// findEvent goes to the next event, in the window or, with refill, anywhere. It returns io.EOF if there is none.
func (rd *reader) findEvent(refill bool) error {
	for {
		w := rd.s.Window()
		i := bytes.IndexByte(w, '{')
		if i < 0 {
			rd.s.Advance(len(w))
			rd.s.Mark()
			if !refill {
				return io.EOF
			}
			if err := rd.s.Fill(); err != nil {
				return err
			}
			continue
		}
		rd.s.Advance(i)
		rd.s.Mark()
		start := rd.s.Offset()
		if rd.mayReparse() {
			ok, err := rd.isEvent(refill)
			if err != nil {
				return err
			}
			rd.reparsed += rd.s.Offset() - start
			rd.s.SeekTo(start)
			if ok {
				return nil
			}
		}
		rd.s.SeekTo(start + 1)
	}
}

// isEvent reports whether an object with a phase starts at the scanner, and leaves the scanner where it found that out.
func (rd *reader) isEvent(refill bool) (bool, error) {
	for {
		hasPhase := false
		rd.s.Value()
		for key, ok := rd.s.Key(); ok; key, ok = rd.s.Key() {
			if string(key) != "ph" {
				rd.s.Skip()
				continue
			}
			kind, text := rd.s.Scalar()
			hasPhase = kind == jsonscan.String && len(text) > 0
		}
		if rd.s.Err() != jsonscan.ErrShort {
			return hasPhase && rd.s.Err() == nil, nil
		}
		if !refill || rd.s.Buffered() > suspicious {
			return false, nil
		}
		switch err := rd.s.Fill(); err {
		case nil:
		case io.EOF:
			return false, nil
		default:
			return false, err
		}
	}
}
