package otlp

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

// messages splits a JSON file into messages. A message extends to the next line that starts an object where JSON allows
// none, or that is itself a message. Damage to a message thus affects none of the following lines (section 6).
type messages struct {
	in        *bufio.Reader
	at        int64 // offset of the next byte
	last      byte  // the last byte of the message except white space; 0: none
	available int   // bytes of the message that are in the buffer
	atBorder  bool  // the next message follows these bytes
	array     bool  // the file is an array of messages, read as one
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
	if m.available == 0 {
		if m.atBorder {
			return 0, io.EOF
		}
		text, err := m.in.Peek(m.in.Size())
		if len(text) == 0 {
			return 0, err
		}
		if m.available, m.atBorder = m.border(text); m.atBorder {
			return m.Read(p)
		}
		if err == nil {
			m.available-- // the last byte in the buffer may end a line
		}
	}
	n, err = m.in.Read(p[:min(len(p), m.available)])
	m.at += int64(n)
	m.available -= n
	m.last = lastByte(p[:n], m.last)
	return n, err
}

// border returns the index in text of the next message, or the length of text.
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

// lastByte returns the last byte of text that is not white space. If text has no such byte, it returns the argument
// before.
func lastByte(text []byte, before byte) byte {
	if text = bytes.TrimRight(text, whiteSpace); len(text) > 0 {
		return text[len(text)-1]
	}
	return before
}

// next moves to the next message, or returns false if there is none. The current message must have been read
// completely.
func (m *messages) next() bool {
	found := m.atBorder
	m.atBorder, m.last = false, 0
	return found
}

// firstByte returns the first byte of a document, or 0 if head does not contain it.
func firstByte(head []byte) byte {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte(byteOrderMark)), whiteSpace)
	if len(head) == 0 {
		return 0
	}
	return head[0]
}
