package v8profile

import (
	"fmt"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

var errTooManyNodes = fmt.Errorf("a profile of more than %d nodes", maxNodes)

// decoder reads the JSON of profiles into a draft. It reads scalar by scalar, so that a document of any size needs only
// a small window.
type decoder struct {
	*readers.Document
	d *draft

	room     *collections.MemoryLimit
	charged  int64 // bytes charged to room for the draft
	elements int   // in all lists

	// pieceStart is the number of samples before this piece; nLines and nColumns count the positions in it.
	pieceStart, nLines, nColumns int
}

// roomEvery is the number of list elements between memory checks.
const roomEvery = 1 << 12

// account charges the growth of the draft to the memory limit.
func (r *decoder) account() error {
	if r.d.err != nil {
		return r.d.err
	}
	size := r.d.bytes()
	err := r.room.Add(size - r.charged)
	r.charged = size
	return err
}

// object calls the callback member for each key of an object. The callback must read the value. Other values are
// skipped and counted.
func (r *decoder) object(member func(key []byte) error) error {
	if ok, err := r.opens('{'); !ok {
		return err
	}
	return r.Members(func(key []byte, _ byte) error { return member(key) })
}

// array calls the callback element for each element of an array. The callback must read the element. Other values are
// skipped and counted.
func (r *decoder) array(element func() error) error {
	if ok, err := r.opens('['); !ok {
		return err
	}
	return r.Elements(func(byte) error {
		if err := element(); err != nil {
			return err
		}
		if r.elements++; r.elements%roomEvery == 0 {
			return r.account()
		}
		return nil
	})
}

// opens reports whether the next value starts with a bracket. It skips any other value and counts it unless it is null.
func (r *decoder) opens(bracket byte) (ok bool, err error) {
	c, err := r.Peek()
	if err != nil || c == bracket {
		return err == nil, err
	}
	kind, _, err := r.Scalar()
	if err == nil && kind != jsonscan.Null {
		r.d.found.badValues++
	}
	return false, err
}

// text reads a text or number as text. Script ids are numbers in traces and texts in files.
func (r *decoder) text(dst *textIndex) error {
	kind, text, err := r.Scalar()
	switch {
	case err != nil:
		return err
	case kind == jsonscan.String, kind == jsonscan.Integer, kind == jsonscan.Number:
		*dst = r.d.text(text)
	case kind != jsonscan.Null:
		r.d.found.badValues++
	}
	return nil
}

// integer reads an integer. ok is false for other values, which are counted unless null.
func (r *decoder) integer() (v int64, ok bool, err error) {
	kind, text, err := r.Scalar()
	if err != nil {
		return 0, false, err
	}
	if kind == jsonscan.Integer {
		v, ok = jsonscan.Int64(text)
	} else if kind == jsonscan.Number {
		v, ok = jsonscan.Decimal(text, 3) // 5.0 and 1e3, which JavaScript may write
		v, ok = v/1000, ok && v%1000 == 0
	}
	if !ok && kind != jsonscan.Null {
		r.d.found.badValues++
	}
	return v, ok, nil
}

// lineOrColumn reads a line or column. Impossible values count as unknown.
func (r *decoder) lineOrColumn(dst *int32) error {
	v, ok, err := r.integer()
	if ok && v == int64(int32(v)) && v >= 0 {
		*dst = int32(v)
	}
	return err
}

// micros reads a time in microseconds, exactly.
func (r *decoder) micros() (ts timeline.Nanos, ok bool, err error) {
	kind, text, err := r.Scalar()
	if err != nil {
		return 0, false, err
	}
	if kind == jsonscan.Integer || kind == jsonscan.Number {
		ts, ok = inUnit(text, 3)
	}
	if !ok && kind != jsonscan.Null {
		r.d.found.badValues++
	}
	return ts, ok, nil
}

// inUnit converts the text of a number to nanoseconds; the unit is 10^scale ns.
func inUnit(text []byte, scale int) (timeline.Nanos, bool) {
	v, ok := jsonscan.Decimal(text, scale)
	ts := timeline.Nanos(v)
	return ts, ok && -maxTime <= ts && ts <= maxTime
}
