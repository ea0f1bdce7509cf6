package otlp

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

// messages reads a file of JSON message by message: each goes on up to the next line that begins an object where no JSON has one, or
// that is a message itself. A message that is damaged or cut then costs none of the next lines (section 6).
type messages struct {
	in    *bufio.Reader
	at    int64 // offset of the next byte
	last  byte  // the last byte of the message that is not white space; 0: there is none
	clear int   // bytes in the buffer of in that belong to the message
	found bool  // the next message comes after them
	array bool  // the file is an array of messages, which are read as one
}

func newMessages(in *bufio.Reader) *messages {
	head, _ := in.Peek(headSize)
	return &messages{in: in, array: firstByte(head) == '['}
}

const (
	whiteSpace    = " \t\r\n"
	byteOrderMark = "\ufeff"
)

// Read reads from the current message. It returns io.EOF at its end.
func (m *messages) Read(p []byte) (n int, err error) {
	if m.clear == 0 {
		if m.found {
			return 0, io.EOF
		}
		text, err := m.in.Peek(m.in.Size())
		if len(text) == 0 {
			return 0, err
		}
		if m.clear, m.found = m.border(text); m.found {
			return m.Read(p)
		}
		if err == nil {
			m.clear-- // the line may end with the buffer
		}
	}
	n, err = m.in.Read(p[:min(len(p), m.clear)])
	m.at += int64(n)
	m.clear -= n
	m.last = lastByte(p[:n], m.last)
	return n, err
}

// border returns where in text the next message begins; the length of text if it is not in text.
func (m *messages) border(text []byte) (at int, found bool) {
	for {
		i := bytes.Index(text[at:], []byte("\n{"))
		if i < 0 {
			return len(text), false
		}
		at += i + 1
		last := lastByte(text[:at], m.last)
		if last == 0 || last == ':' || strings.IndexByte(",[", last) >= 0 && (m.array || !isJSONMessage(text[at:])) {
			continue
		}
		return at, true
	}
}

// lastByte returns the last byte of a text that is not white space; before, if there is none.
func lastByte(text []byte, before byte) byte {
	if text = bytes.TrimRight(text, whiteSpace); len(text) > 0 {
		return text[len(text)-1]
	}
	return before
}

// next goes to the next message; false if there is none. The current one must have been read to its end.
func (m *messages) next() bool {
	found := m.found
	m.found, m.last = false, 0
	return found
}

// firstByte returns the first byte of a document; 0 if head has none of it.
func firstByte(head []byte) byte {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), whiteSpace)
	if len(head) == 0 {
		return 0
	}
	return head[0]
}
