package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/wire"
)

// foreignFormats lists files that users pass by mistake, with their first bytes and, for recordings, programs that read them.
var foreignFormats = []struct{ magic, what, readBy string }{
	{"\xFF\xD8\xFF", "a JPEG picture", ""},
	{"\x89PNG\r\n\x1A\n", "a PNG picture", ""},
	{"GIF8", "a GIF picture", ""},
	{"%PDF-", "a PDF document", ""},
	{"\x7FELF", "an ELF binary", ""},
	{"SQLite format 3\x00", "an SQLite database", ""},
	{"<", "an HTML or XML document", ""},
	{"\xFD7zXZ\x00", "an xz archive; unpack it first", ""},
	{"BZh", "a bzip2 archive; unpack it first", ""},
	{"7z\xBC\xAF\x27\x1C", "a 7z archive; unpack it first", ""},
	{"\x04\x22\x4D\x18", "an lz4 archive; unpack it first", ""},
	{"\xFF\xFE", "UTF-16 text; save it as UTF-8 first", ""},
	{"\xFE\xFF", "UTF-16 text; save it as UTF-8 first", ""},
	{"PERFILE2", "a perf.data file", readsPerf},
	{"2ELIFREP", "a perf.data file", readsPerf}, // from a machine with the opposite byte order
	{"# tracer:", "an ftrace text log", "ui.perfetto.dev opens it"},
	{"\x17\x08\x44tracing", "a trace.dat file of trace-cmd", "trace-cmd report and KernelShark read it"},
	{"JAVA PROFILE", "a Java heap dump", "Eclipse Memory Analyzer and VisualVM read it"},
	{"FLR\x00", "a Java flight recording", "JDK Mission Control and jfr print read it"},
}

const readsPerf = "perf report reads it; profiler.firefox.com opens the text of perf script -F +pid, and weft reads what it saves"

// foreignFormat returns a file's format and a program that reads it; either is "" if unknown.
func foreignFormat(head []byte) (what, readBy string) {
	for _, s := range foreignFormats {
		if bytes.HasPrefix(head, []byte(s.magic)) {
			return s.what, s.readBy
		}
	}
	switch {
	case isPprof(head):
		return "a pprof profile", "go tool pprof reads it"
	case isETL(head):
		return "a recording of Event Tracing for Windows", "Windows Performance Analyzer reads it"
	}
	return "", ""
}

// isPprof reports whether a file starts like a pprof Profile: it has only fields of a Profile, including a value type.
func isPprof(head []byte) bool {
	const lens, varints = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<6 | 1<<11 | 1<<13, 1<<7 | 1<<8 | 1<<9 | 1<<10 | 1<<12 | 1<<13 | 1<<14 | 1<<15
	const sampleType, periodType, last = 1, 11, 15
	found := false
	r := wire.NewReader(head)
	for r.Next() {
		field := r.Field()
		switch {
		case field > last, r.Type() == wire.Len && lens>>field&1 == 0, r.Type() == wire.Varint && varints>>field&1 == 0, r.Type()&1 != 0:
			return false
		case field == sampleType || field == periodType:
			if !isValueType(r.Bytes()) {
				return false
			}
			found = true
		}
	}
	return found && (r.Err() == nil || errors.Is(r.Err(), wire.ErrTruncated))
}

// isValueType reports whether a pprof message contains only the indexes of a value's type and unit.
func isValueType(msg []byte) bool {
	r := wire.NewReader(msg)
	for r.Next() {
		if r.Tag() != wire.Tag(1, wire.Varint) && r.Tag() != wire.Tag(2, wire.Varint) {
			return false
		}
	}
	return r.Err() == nil
}

// isETL reports whether a file starts with an Event Tracing for Windows buffer: its header and the first system event.
func isETL(head []byte) bool {
	const event, system, marker = 72, 2, 0xC0
	return len(head) >= event+4 && binary.LittleEndian.Uint32(head)%1024 == 0 && head[event+2] > 0 && head[event+2] <= system && head[event+3] == marker
}

// notATrace returns the error for an input that is neither JSON nor Perfetto.
func notATrace(head []byte) error {
	what, readBy := foreignFormat(head)
	switch {
	case readBy != "":
		return fmt.Errorf("%w: this is %s, which weft does not read; %s", ErrUnknownFormat, what, readBy)
	case what != "":
		return fmt.Errorf("%w: this is %s", ErrUnknownFormat, what)
	}
	return fmt.Errorf("%w: it begins with %q; weft converts %s: name one of these with --format", ErrUnknownFormat,
		head[:min(len(head), 16)], supportedSentence())
}
