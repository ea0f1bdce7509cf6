package chromejson

import (
	"cmp"
	"errors"
	"io"
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
)

// errTooManyEvents reports more events than a timeline can number.
var errTooManyEvents = errors.New("more than 4294967295 events")

// cancelInterval is the number of events between checks of the context; reading the input checks it too.
const cancelInterval = 4096

// events reads the event list, starting at its bracket.
func (rd *reader) events() error {
	rd.inEvents = true
	defer func() { rd.inEvents = false }()
	rd.S.Advance(1)
	rd.blocksFrom = rd.S.Offset() + int64(cmp.Or(rd.opts.block, blockSize)/warmUp)
	after := byte('[')
	for {
		c, err := rd.S.Peek()
		if err != nil {
			return rd.ended(err)
		}
		switch c {
		case ',':
			if after == ',' || after == '[' {
				rd.doc.Comma(rd.position())
			}
			rd.S.Advance(1)
			after = c
			continue
		case ']':
			if after == ',' {
				rd.doc.Comma(rd.position())
			}
			rd.S.Advance(1)
			return nil
		case '{':
			if after == '{' { // two events without a comma between them
				rd.doc.Comma(rd.position())
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
			after, err = rd.beforeResynced(), nil
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

// element reads one event, starting at its bracket. It drops a truncated event entirely, because a truncated number
// could be read as a wrong number.
func (rd *reader) element() error {
	if !rd.mayReparse() && rd.lineIsTruncated() {
		return rd.resync()
	}
	probed := false
	for {
		rd.scanEvent()
		switch rd.S.Err() {
		case nil:
			rd.notes()
			return rd.event()
		case jsonscan.ErrShort:
			if rd.S.Buffered() > suspicious && !probed {
				probed = true
				if rd.holdsEvent() {
					return rd.resync()
				}
			}
			switch err := rd.S.Fill(); {
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

// notAnEvent skips an element that is not an object.
func (rd *reader) notAnEvent() error {
	at := rd.position()
	switch err := rd.S.Discard(); err {
	case nil:
		rd.log.Add(problem.JSONNotAnEvent, at, "")
		return nil
	case jsonscan.ErrMalformed:
		return rd.resync()
	default:
		return rd.ended(err)
	}
}
