package chromejson

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
)

// After a malformed event, reading continues (section 2) at the first of these positions that is found:
//
//   - after its last bracket, if following its brackets and strings leads there and an event, the end of the list or
//     the end of the text comes next;
//   - at the next line that starts an object;
//   - at the next object that is an event, unless it is the value of a member;
//   - at the end of the list, if a member of the trace follows it.
//
// The search parses text again to test whether it is an event, so its time is limited (see mayReparse).

// errResynced reports a malformed event; the scanner is at the position where reading continues.
var errResynced = errors.New("resynchronized")

const (
	// Malformed text is parsed again from later positions. To keep this linear, the total is limited to resyncFactor
	// times the input so far, plus resyncCredit bytes.
	resyncFactor = 8
	resyncCredit = 64 << 20
	// suspicious is the length beyond which an unclosed object probably lacks its closing bracket and contains the
	// following events.
	suspicious = 16 << 20
	// lookahead is the number of bytes after a failed event that are searched for the next line.
	lookahead = 256 << 10
	// maxLine limits the part of a line that lineIsTruncated reads.
	maxLine = 16 << 10
)

// mayReparse reports whether the limits still allow text to be parsed again.
func (rd *reader) mayReparse() bool { return rd.reparsed <= resyncCredit+resyncFactor*rd.S.Offset() }

// beforeResynced returns the byte before the position where reading continues, for the check of commas.
func (rd *reader) beforeResynced() byte {
	if bytes.HasPrefix(rd.S.Window(), []byte("]")) {
		return '{'
	}
	return ','
}

// lineIsTruncated reports whether the scanner's event is still open at the end of its line and the next line starts an
// object. Parsing such an event would consume all following events.
func (rd *reader) lineIsTruncated() bool {
	text := rd.S.Window()
	text = text[:min(len(text), maxLine)]
	if nextLine(text, 0) < 0 {
		return false
	}
	rd.sub.Reset(text[:bytes.IndexByte(text, '\n')])
	rd.sub.Skip()
	return rd.sub.Err() == jsonscan.ErrShort
}

// resync finds where to continue after a malformed event. It returns errResynced, or readers.ErrEnded if nothing
// follows.
func (rd *reader) resync() error {
	at, failed := rd.position(), rd.S.Offset()
	rd.reparsed += failed - at.Offset // 0 if the event only lacks its end
	text, err := rd.textFrom(at.Offset, failed+lookahead)
	if err != nil {
		return rd.failed(err)
	}
	if next := rd.resumeIndex(text); next > 0 {
		rd.S.SeekTo(at.Offset + int64(next))
	} else {
		err = rd.searchEvent(text, at.Offset, failed)
	}
	if err != nil && err != io.EOF {
		return rd.failed(err)
	}
	rd.log.Add(problem.JSONMalformedEvent, at, fmt.Sprintf("%d bytes skipped", rd.S.Start()-at.Offset))
	if err == io.EOF {
		return readers.ErrEnded
	}
	return errResynced
}

// textFrom returns the input between two offsets, or up to its end. It moves the scanner's mark to the first offset.
func (rd *reader) textFrom(from, to int64) ([]byte, error) {
	rd.S.SeekTo(from)
	for int64(rd.S.Buffered()) < to-from {
		if err := rd.S.Fill(); err == io.EOF || err == jsonscan.ErrTooLong {
			break
		} else if err != nil {
			return nil, err
		}
	}
	text := rd.S.Window()
	return text[:min(int64(len(text)), to-from)], nil
}

// resumeIndex returns the index in text at which reading continues according to brackets or lines, or 0. The text
// starts with the malformed event.
func (rd *reader) resumeIndex(text []byte) int {
	line := nextLine(text, 0)
	for line > 0 && rd.mayReparse() {
		if event, truncated := rd.isEvent(text[line:]); event || truncated {
			break
		}
		line = nextLine(text, line)
	}
	bound := line
	if line < 0 {
		bound = len(text)
	}
	if rd.mayReparse() {
		rd.reparsed += int64(bound)
		if end := closingIndex(text[:bound]); end > 0 {
			if next := rd.nextIndex(text, end); next > 0 {
				return next
			}
		}
	}
	return max(line, 0)
}

// nextLine returns the index of the bracket on the first line after from that starts an object, or -1. An object that
// is the value of a member on the line above does not count.
func nextLine(text []byte, from int) int {
	for {
		n := bytes.IndexByte(text[from:], '\n')
		if n < 0 {
			return -1
		}
		before := trimEnd(text[:from+n])
		from += n + 1
		for from < len(text) && (text[from] == ' ' || text[from] == '\t') {
			from++
		}
		if from < len(text) && text[from] == '{' && !bytes.HasSuffix(before, []byte(":")) {
			return from
		}
	}
}

// closingIndex follows brackets and strings from the start of text and returns the index after the first brace that leaves no
// bracket open. It returns 0 if there is no such brace or if brackets before it do not match.
func closingIndex(text []byte) int {
	var open []byte
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			open = append(open, c+2) // the closing bracket
		case '}', ']':
			if len(open) > 0 {
				if open[len(open)-1] != c {
					return 0
				}
				open = open[:len(open)-1]
			} else if c == ']' {
				return 0
			}
			if len(open) == 0 && c == '}' {
				return i + 1
			}
		}
	}
	return 0
}

// nextIndex returns the index of what follows the apparent end of an event: another event, the end of the list or the end of
// text. It returns 0 if anything else follows.
func (rd *reader) nextIndex(text []byte, end int) int {
	next := end + space(text[end:])
	if next < len(text) && text[next] == ',' {
		next += 1 + space(text[next+1:])
	}
	if next == len(text) || text[next] == ']' {
		return next
	}
	if event, truncated := rd.isEvent(text[next:]); event || truncated {
		return next
	}
	return 0
}

// space returns the length of the white space at the start of text.
func space(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t\r\n")) }

// isEvent reports whether text starts with an object that has a phase, or is truncated inside an object.
func (rd *reader) isEvent(text []byte) (event, truncated bool) {
	if len(text) == 0 || text[0] != '{' {
		return false, false
	}
	s := &rd.sub
	s.Reset(text)
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) != "ph" {
			s.Skip()
			continue
		}
		kind, phase := s.Scalar()
		event = (kind == jsonscan.String || kind == jsonscan.Word) && len(phase) > 0
	}
	rd.reparsed += s.Offset()
	return event && s.Err() == nil, s.Err() == jsonscan.ErrShort
}

// searchEvent moves to the next event, or to the end of the list, if the end is in text and comes first. It returns io.EOF if it
// finds neither.
func (rd *reader) searchEvent(text []byte, start, failed int64) error {
	from := start + 1
	if !rd.mayReparse() {
		from = max(from, failed)
	}
	rd.S.SeekTo(from)
	if end := rd.listEnd(text); end > 0 {
		if rd.findEvent(false) != nil || rd.S.Start() > start+int64(end) {
			rd.S.SeekTo(start + int64(end))
		}
		return nil
	}
	return rd.findEvent(true)
}

// listEnd returns the index of a bracket that closes the event list, after an object and before a member of the trace,
// or 0.
func (rd *reader) listEnd(text []byte) int {
	if !rd.found {
		return 0 // nothing follows an array
	}
	for i := range text {
		if text[i] != ']' || !bytes.HasSuffix(trimEnd(text[:i]), []byte("}")) {
			continue
		}
		rest := bytes.TrimLeft(text[i+1:], " \t\r\n")
		if len(rest) > 0 && rest[0] == ',' && isTraceMember(bytes.TrimLeft(rest[1:], " \t\r\n")) {
			return i
		}
	}
	return 0
}

// isTraceMember reports whether text starts with a member of the object form.
func isTraceMember(text []byte) bool {
	for _, key := range []string{"traceEvents", "metadata", "otherData", "displayTimeUnit", "stackFrames", "systemTraceEvents"} {
		if rest, ok := bytes.CutPrefix(text, []byte(`"`+key+`"`)); ok {
			return bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(":"))
		}
	}
	return false
}

// holdsEvent reports whether another event starts in the buffered part of the current one, and moves the scanner back to the
// mark.
func (rd *reader) holdsEvent() bool {
	start := rd.S.Start()
	rd.reparsed += int64(rd.S.Buffered())
	rd.S.SeekTo(start)
	found := rd.resumeIndex(rd.S.Window()) > 0
	if !found && rd.mayReparse() {
		rd.S.SeekTo(start + 1)
		found = rd.findEvent(false) == nil
	}
	rd.S.SeekTo(start)
	return found
}

// findEvent moves to the next event, in the window or, with refill, anywhere after it. If it finds nothing, it
// returns io.EOF.
func (rd *reader) findEvent(refill bool) error {
	before := byte(0) // the last byte that is not white space
	for {
		w := rd.S.Window()
		i := bytes.IndexByte(w, '{')
		if i < 0 {
			i = len(w)
		}
		if passed := trimEnd(w[:i]); len(passed) > 0 {
			before = passed[len(passed)-1]
		}
		rd.S.Advance(i)
		rd.S.Mark()
		if i == len(w) {
			if !refill {
				return io.EOF
			}
			if err := rd.S.Fill(); err != nil {
				return err
			}
			continue
		}
		start := rd.S.Offset()
		if before != ':' && rd.mayReparse() {
			ok, err := rd.wholeEvent(refill)
			if err != nil {
				return err
			}
			rd.S.SeekTo(start)
			if ok {
				return nil
			}
		}
		rd.S.SeekTo(start + 1)
		before = '{'
	}
}

// wholeEvent reports whether a complete event starts at the scanner's position.
func (rd *reader) wholeEvent(refill bool) (bool, error) {
	for {
		event, truncated := rd.isEvent(rd.S.Window())
		if !truncated || !refill || rd.S.Buffered() > suspicious {
			return event, nil
		}
		switch err := rd.S.Fill(); err {
		case nil:
		case io.EOF:
			return false, nil
		default:
			return false, err
		}
	}
}
