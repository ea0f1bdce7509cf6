package jsprofile

import (
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/problem"
)

// redecode repairs the texts of a profile if they are UTF-8 that was read as Latin-1, as on pages that do not declare
// their charset. It does so only if all non-ASCII function and resource names fit this pattern.
func (p *profile) redecode(log *problem.Log) {
	texts, example := uint64(0), ""
	for text := range p.texts {
		if isASCII(*text) {
			continue
		}
		if !isLatin1OfUTF8(*text) {
			return
		}
		if texts++; example == "" {
			example = *text
		}
	}
	if texts == 0 {
		return
	}
	for text := range p.texts {
		if !isASCII(*text) {
			*text = string(latin1Bytes(*text))
		}
	}
	log.AddN(problem.TextRedecoded, texts, problem.Position{Event: -1, Offset: p.offset}, example+" is "+string(latin1Bytes(example)))
}

// texts yields the names of functions and resources.
func (p *profile) texts(yield func(*string) bool) {
	for _, f := range p.frames.All() {
		if !yield(&f.name) {
			return
		}
	}
	for _, r := range p.resources.All() {
		if !yield(r) {
			return
		}
	}
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// isLatin1OfUTF8 reports whether a text is UTF-8 that was read as Latin-1 (ISO 8859-1, where the bytes 80 to 9F are
// control characters).
func isLatin1OfUTF8(text string) bool {
	for _, r := range text {
		if r > 0xFF {
			return false
		}
	}
	return utf8.Valid(latin1Bytes(text))
}

// latin1Bytes encodes a text with characters up to U+00FF as Latin-1.
func latin1Bytes(text string) []byte {
	bytes := make([]byte, 0, len(text))
	for _, r := range text {
		bytes = append(bytes, byte(r))
	}
	return bytes
}
