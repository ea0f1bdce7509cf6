package otlp

import (
	"bufio"
	"bytes"
	"io"
)

// messages reads a file of JSON message by message, each up to where the next one begins: at an object whose first member is a list of a
// signal. A message that is damaged or cut then costs none of those after it (section 6). No text of JSON can look like that, as quotes in
// texts are escaped.
//
// An array of messages is read as one.
type messages struct {
	in    *bufio.Reader
	at    int64 // offset of the next byte
	whole bool  // the input is an array
	last  byte  // the last byte that was read and is not white space
	clear int   // bytes in the buffer of in before which no message begins
	found bool  // one begins after them
}

// signals are the members with which messages begin, after the quote and what they have in common.
var signals = []string{
	`Spans"`, `Logs"`, `Metrics"`, `Profiles"`, `_spans"`, `_logs"`, `_metrics"`, `_profiles"`,
}

// signalPrefix is what the members have in common.
const signalPrefix = `"resource`

// maxSpace bounds the white space around the first member by which the start of a message is recognized, and holdBack the length of all of it.
const (
	maxSpace = 256
	holdBack = 3 * maxSpace
)

func newMessages(in *bufio.Reader) *messages {
	head, _ := in.Peek(min(in.Size(), detectWithin))
	return &messages{in: in, whole: firstByte(head) == '['}
}

// firstByte returns the first byte of a document; 0 if head has none of it.
func firstByte(head []byte) byte {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), whiteSpace)
	if len(head) == 0 {
		return 0
	}
	return head[0]
}

const (
	whiteSpace    = " \t\r\n"
	byteOrderMark = "\ufeff"
)

// Read reads from the current message. It returns io.EOF at its end.
func (m *messages) Read(p []byte) (n int, err error) {
	if m.whole {
		n, err = m.in.Read(p)
		m.at += int64(n)
		return n, err
	}
	if m.clear == 0 {
		if m.found {
			return 0, io.EOF
		}
		if err := m.search(); err != nil {
			return 0, err
		}
	}
	p = p[:min(len(p), m.clear)]
	n, err = m.in.Read(p)
	m.at += int64(n)
	m.clear -= n
	m.remember(p[:n])
	return n, err
}

func (m *messages) remember(text []byte) {
	if text = bytes.TrimRight(text, whiteSpace); len(text) > 0 {
		m.last = text[len(text)-1]
	}
}

// next goes to the next message; false if there is none. The current one must have been read to its end.
func (m *messages) next() bool {
	if !m.found {
		return false
	}
	m.found, m.last = false, 0
	return true
}

// search looks for the next message in the buffer.
func (m *messages) search() error {
	text, err := m.in.Peek(m.in.Size())
	if len(text) == 0 {
		return err
	}
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(signalPrefix))
		if i < 0 {
			break
		}
		from += i + 1
		if begin := m.begin(text, from-1); begin >= 0 {
			m.clear, m.found = begin, true
			if begin == 0 {
				return io.EOF
			}
			return nil
		}
	}
	if m.clear = len(text); err == nil {
		m.clear -= holdBack // what begins there may end beyond the buffer
	}
	return nil
}

// begin returns where the message begins whose first member may be at the given place; -1 if there is none. The current message does not
// begin again, and an object that is the value of a member, as in the JSON of Tempo, belongs to the object around it.
func (m *messages) begin(text []byte, member int) int {
	from := max(0, member-maxSpace)
	before := bytes.TrimRight(text[from:member], whiteSpace)
	if !bytes.HasSuffix(before, []byte("{")) || !isSignal(text[member+len(signalPrefix):]) {
		return -1
	}
	begin := from + len(before) - 1
	around := bytes.TrimRight(text[:begin], whiteSpace)
	if marked := bytes.TrimSuffix(around, []byte(byteOrderMark)); len(marked) < len(around) { // of a file that was appended to another one
		begin, around = len(marked), bytes.TrimRight(marked, whiteSpace)
	}
	last := m.last
	if len(around) > 0 {
		last = around[len(around)-1]
	}
	if last == 0 || last == ':' {
		return -1
	}
	return begin
}

// isSignal reports whether text is the rest of the name of a list of a signal, and a colon follows.
func isSignal(text []byte) bool {
	for _, signal := range signals {
		if after, ok := bytes.CutPrefix(text, []byte(signal)); ok {
			return bytes.HasPrefix(bytes.TrimLeft(after[:min(len(after), maxSpace)], whiteSpace), []byte(":"))
		}
	}
	return false
}
