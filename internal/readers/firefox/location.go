package firefox

import (
	"bytes"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// location is the parsed location of a frame in the raw form (section 2).
type location struct {
	function     []byte
	file         []byte
	line, column int64 // of the function; 0: unknown
	isJS         bool
	address      uint64 // set for native code without symbols
	isAddress    bool
}

// rootScope is the prefix of the names that weft gives to top-level scripts, which have no names.
const rootScope = "(root scope) "

func parseLocation(text []byte) location {
	if address, ok := hexAddress(text); ok {
		return location{function: text, address: address, isAddress: true}
	}
	body := withoutSourceIndex(text)
	if n := len(body); n > 0 && body[n-1] == ')' {
		if loc, ok := splitSymbol(text); ok {
			return loc
		}
		// Both the name and the file may contain brackets: "f (a) (b:1:2)".
		if open := bytes.LastIndex(body[:n-1], []byte(" (")); open >= 0 {
			loc := splitPosition(lastOfChain(body[open+2 : n-1]))
			if loc.line > 0 {
				loc.function, loc.isJS = body[:open], true
				if open == 0 {
					loc.function = append([]byte(rootScope), loc.file...)
				}
				return loc
			}
		}
		return nativeLocation(text)
	}
	loc := splitPosition(lastOfChain(body))
	if loc.line == 0 || bytes.IndexByte(loc.file, ' ') >= 0 || bytes.IndexByte(loc.file, '/') < 0 && bytes.IndexByte(loc.file, '.') < 0 {
		return nativeLocation(text)
	}
	loc.isJS = true
	loc.function = append([]byte(rootScope), loc.file...)
	return loc
}

// hexAddress reads the address of native code without symbols.
func hexAddress(text []byte) (address uint64, ok bool) {
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	if !ok || len(digits) > 16 {
		return 0, false
	}
	address, err := strconv.ParseUint(string(digits), 16, 64)
	return address, err == nil
}

// withoutSourceIndex removes the index of the source, "[12]", from the end.
func withoutSourceIndex(text []byte) []byte {
	if len(text) == 0 || text[len(text)-1] != ']' {
		return text
	}
	i := len(text) - 1
	for i > 0 && text[i-1] >= '0' && text[i-1] <= '9' {
		i--
	}
	if i == len(text)-1 || i < 2 || text[i-1] != '[' {
		return text
	}
	return text[:i-1]
}

// lastOfChain returns the last file of "loader -> file".
func lastOfChain(text []byte) []byte {
	if i := bytes.LastIndex(text, []byte(" -> ")); i >= 0 {
		return text[i+len(" -> "):]
	}
	return text
}

// splitPosition splits "file:line:column" or "file:line".
func splitPosition(text []byte) location {
	file, last, ok := trimNumber(text)
	if !ok {
		return location{file: text}
	}
	if rest, line, ok := trimNumber(file); ok {
		return location{file: rest, line: line, column: last}
	}
	return location{file: file, line: last}
}

// trimNumber removes ":number" from the end.
func trimNumber(text []byte) (rest []byte, n int64, ok bool) {
	i := bytes.LastIndexByte(text, ':')
	if i <= 0 {
		return text, 0, false
	}
	n, ok = jsonscan.Int64(text[i+1:])
	return text[:i], n, ok && n >= 0
}

// splitSymbol splits "function (in library) (file:line)". This form takes precedence over JavaScript locations, where
// such names hardly occur.
func splitSymbol(text []byte) (loc location, ok bool) {
	i := bytes.LastIndex(text, []byte(") ("))
	if i < 0 || text[len(text)-1] != ')' {
		return loc, false
	}
	in := bytes.LastIndex(text[:i], []byte(" (in "))
	if in < 0 {
		return loc, false
	}
	if loc = splitPosition(text[i+len(") (") : len(text)-1]); loc.line == 0 {
		return loc, false
	}
	loc.function = text[:in]
	return loc, true
}

// nativeLocation splits "function (in library) + offset", with or without the offset. Anything else is a label.
func nativeLocation(text []byte) location {
	function, rest, ok := bytes.Cut(text, []byte(" (in "))
	if !ok {
		return location{function: text}
	}
	library, _, ok := bytes.Cut(rest, []byte(")"))
	if !ok {
		return location{function: text}
	}
	return location{function: function, file: library}
}
