package probes

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxLine limits the length of a line; only the start of a longer line is read.
const maxLine = 1 << 20

func (r *reader) lines(src io.Reader) error {
	in := bufio.NewReaderSize(src, maxLine+len("\n"))
	for next := int64(0); ; {
		text, err := in.ReadSlice('\n')
		r.at = next
		next += int64(len(text))
		if r.at == 0 {
			text = bytes.TrimPrefix(text, []byte("\xEF\xBB\xBF"))
		}
		switch {
		case err == nil:
			err = r.line(text[:len(text)-1], true)
		case err == bufio.ErrBufferFull:
			r.lineTooLong(text)
			for err == bufio.ErrBufferFull {
				text, err = in.ReadSlice('\n')
				next += int64(len(text))
			}
			if err == io.EOF {
				err = nil // the next read returns it again
			}
		case err == io.EOF && len(text) == 0:
			return r.addEarlyLosses()
		case err == io.EOF:
			err = r.truncatedLine(text)
		default:
			err = r.failed(err)
		}
		if err != nil {
			return err
		}
	}
}

// lineTooLong counts a line longer than maxLine.
func (r *reader) lineTooLong(text []byte) {
	kind := problem.UnknownLine
	switch {
	case isRecord(text), text[0] == '{':
		kind = problem.BadLine
	case text[0] == '#':
		kind = problem.UnknownHeader
	}
	r.problem(kind, "the line is longer than 1 MiB")
}

// truncatedLine reads the last line of an input that does not end with a newline. Tracers end every line with a newline, so this
// line is incomplete unless it is a complete JSON object or a known message.
func (r *reader) truncatedLine(text []byte) error {
	text = bytes.TrimSuffix(text, []byte("\r"))
	switch {
	case len(text) == 0:
		return nil
	case text[0] == '{':
		return r.jsonLine(text, true)
	}
	if known, err := r.message(text); known || err != nil {
		return err
	}
	r.problem(problem.BadLine, "the input ends in the middle of the line")
	return nil
}

// isRecord reports whether the first field of a line is P1.
func isRecord(text []byte) bool {
	return len(text) >= 2 && text[0] == 'P' && text[1] == '1' && (len(text) == 2 || text[2] == '\t')
}

// line reads one line. The parameter jsonAllowed is false for lines within JSON strings.
func (r *reader) line(text []byte, jsonAllowed bool) error {
	if n := len(text); n > 0 && text[n-1] == '\r' {
		text = text[:n-1]
	}
	switch {
	case len(text) == 0:
		return nil
	case isRecord(text):
		return r.record(text)
	case text[0] == '#':
		r.headerLine(text, false)
		return nil
	case text[0] == '{' && jsonAllowed:
		return r.jsonLine(text, false)
	}
	if payload := afterColumns(text); payload != nil {
		if payload[0] == '#' {
			r.headerLine(payload, false)
			return nil
		}
		return r.record(payload)
	}
	if known, err := r.message(text); known || err != nil {
		return err
	}
	r.unknownLine(text)
	return nil
}

func (r *reader) unknownLine(text []byte) {
	if r.log.Wants(problem.UnknownLine) {
		r.problem(problem.UnknownLine, detailOf(text))
		return
	}
	r.problem(problem.UnknownLine, "")
}

// detailOf returns the start of a text for a message.
func detailOf(text []byte) string {
	if len(text) > 80 {
		return validText(string(text[:80])) + "…"
	}
	return validText(string(text))
}

// afterColumns returns the record or header after DTrace's default columns CPU, ID and FUNCTION:NAME, or nil. FUNCTION
// may be empty or contain blanks.
func afterColumns(text []byte) []byte {
	rest := text
	for range 2 {
		rest = bytes.TrimLeft(rest, " ")
		n := 0
		for n < len(rest) && isDigit(rest[n]) {
			n++
		}
		if n == 0 || n == len(rest) || rest[n] != ' ' {
			return nil
		}
		rest = rest[n:]
	}
	for i := 1; i < len(rest); i++ {
		if c := rest[i]; c != 'P' && c != '#' || rest[i-1] != ' ' {
			continue
		}
		if payload := rest[i:]; payload[0] == '#' || isRecord(payload) && len(payload) > 2 {
			column := bytes.TrimRight(rest[:i], " ")
			if bytes.IndexByte(column[bytes.LastIndexByte(column, ' ')+1:], ':') >= 0 {
				return payload
			}
		}
	}
	return nil
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// record reads a record: P1, time, process, thread, processor, probe and arguments, separated by tabs. The arguments
// are read later, when all declarations are known.
func (r *reader) record(text []byte) error {
	rest := text[2:]
	var numbers [4]int64
	for i := range numbers {
		if len(rest) == 0 {
			return r.badLine("it has fewer than six fields")
		}
		v, n := decimal(rest[1:])
		if n == 0 {
			return r.badNumber(i)
		}
		if rest = rest[1+n:]; len(rest) > 0 && rest[0] != '\t' {
			return r.badNumber(i)
		}
		numbers[i] = v
	}
	if len(rest) == 0 {
		return r.badLine("it has fewer than six fields")
	}
	name, form := rest[1:], formBare
	if end := bytes.IndexByte(name, '\t'); end >= 0 {
		name, rest, form = name[:end], name[end+1:], formFields
	} else {
		rest = nil
	}
	return r.add(numbers, name, form, rest)
}

// fieldNames are the names of a record's numbers in messages.
var fieldNames = [...]string{"the time", "the process", "the thread", "the processor"}

func (r *reader) badNumber(field int) error {
	return r.badLine(fieldNames[field] + " is not a number")
}

func (r *reader) badLine(detail string) error {
	r.problem(problem.BadLine, detail)
	return nil
}

// decimal reads the digits at the start of text; n is the number of digits, or 0 if there are none or the value is too
// large.
func decimal(text []byte) (v int64, n int) {
	for n < len(text) && isDigit(text[n]) {
		d := int64(text[n] - '0')
		if v > (math.MaxInt64-d)/10 {
			return 0, 0
		}
		v = v*10 + d
		n++
	}
	return v, n
}

// add stores a record.
func (r *reader) add(numbers [4]int64, name []byte, form form, payload []byte) error {
	if numbers[0] == math.MaxInt64 {
		r.problem(problem.EventInvalidTimestamp, "a Perfetto trace cannot represent this time")
		return nil
	}
	probe, ok := r.probe(name, numbers[1])
	if !ok {
		r.problem(problem.ProbeLimit, "there are too many different probes")
		return nil
	}
	rec := record{
		ts: timeline.Nanos(numbers[0]), offset: r.at, event: r.events, thread: r.thread(numbers), probe: probe, form: form,
	}
	if !r.hasRecords {
		r.hasRecords, r.lastTS = true, rec.ts
		if err := r.addEarlyLosses(); err != nil {
			return err
		}
		rec.event = r.events
	}
	r.lastTS = rec.ts
	r.countEvent()
	return r.store(&rec, payload)
}

// countEvent counts a record; the count determines the number of the next record.
func (r *reader) countEvent() {
	if r.events < math.MaxUint32-1 {
		r.events++
	}
}

// thread returns the number of a record's thread.
func (r *reader) thread(numbers [4]int64) uint32 {
	key := threadKey{pid: numbers[1], tid: numbers[2]}
	if key == (threadKey{}) {
		key.cpu = numbers[3]
	}
	if key == r.latest {
		return r.latestIndex
	}
	i, ok := r.threads[key]
	if !ok {
		i = uint32(len(r.threadList))
		r.threadList = append(r.threadList, key)
		r.threads[key] = i
	}
	r.latest, r.latestIndex = key, i
	return i
}

// probe returns the number of the probe with the given name. It returns false if there are too many probes.
func (r *reader) probe(name []byte, pid int64) (uint32, bool) {
	known, ok := r.byText[string(name)]
	if ok && (!known.numbered || known.pid == pid) {
		return known.probe, true
	}
	mayCache := ok || len(r.byText) < maxProbes && len(name) < maxWrittenName
	normal := normalProbe(name, pid)
	id, ok := r.probes[normal]
	if !ok {
		if len(r.probeList) > maxProbes || r.probeSize+len(normal) > maxProbeSize {
			return 0, false
		}
		id = uint32(len(r.probeList))
		r.probeSize += len(normal)
		r.probeList = append(r.probeList, normal)
		r.probes[normal] = id
	}
	provider, _, _ := bytes.Cut(name, []byte(":"))
	numbered := len(provider) > 0 && isDigit(provider[len(provider)-1])
	if mayCache {
		r.byText[string(name)] = probeName{id, pid, numbered}
	}
	return id, true
}

// maxWrittenName limits the length of names that are cached as written; longer names are normalized each time.
const maxWrittenName = 256

// normalProbe returns the name of a probe as DTrace shows it, without the pid after the provider; pid is -1 in
// declarations, which have no process.
func normalProbe(name []byte, pid int64) string {
	provider, probe, hasName := strings.Cut(string(name), ":")
	if !hasName {
		provider, probe = "", provider
	}
	if pid >= 0 {
		provider = cmp.Or(strings.TrimSuffix(provider, strconv.FormatInt(pid, 10)), provider)
	}
	probe = strings.ReplaceAll(probe, "__", "-")
	if !hasName {
		return validText(probe)
	}
	return validText(provider + ":" + probe)
}

// validText returns a text in which each invalid byte is written as \xHH.
func validText(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	return string(appendValid(nil, []byte(text), `\x`))
}

// appendValid appends a text in which each invalid byte is written as prefix and two hexadecimal digits.
func appendValid(to, text []byte, prefix string) []byte {
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		if c == utf8.RuneError && n == 1 {
			to = hex.AppendEncode(append(to, prefix...), text[:1])
		} else {
			to = append(to, text[:n]...)
		}
		text = text[n:]
	}
	return to
}

// maxEarlyLosses limits the number of losses before the first record that are stored separately.
const maxEarlyLosses = 1 << 10

// lost stores a loss of n events by the tracer, at the time of the preceding record. Losses before the first record are stored
// separately.
func (r *reader) lost(n uint64, detail string) error {
	if n == 0 {
		return nil
	}
	r.log.AddN(problem.Drops, n, r.position(), detail)
	if r.hasRecords {
		return r.addLoss(n)
	}
	if len(r.earlyLosses) == maxEarlyLosses {
		last := &r.earlyLosses[maxEarlyLosses-1]
		*last = problem.Sum(*last, n)
		return nil
	}
	r.earlyLosses = append(r.earlyLosses, n)
	return nil
}

func (r *reader) addLoss(n uint64) error {
	r.payload = binary.AppendUvarint(r.payload[:0], n)
	rec := record{ts: r.lastTS, offset: r.at, event: r.events, form: formLoss}
	r.countEvent()
	return r.store(&rec, r.payload)
}

// addEarlyLosses adds the losses before the first record, at the time of that record.
func (r *reader) addEarlyLosses() error {
	losses := r.earlyLosses
	r.earlyLosses = nil
	for _, n := range losses {
		if err := r.addLoss(n); err != nil {
			return err
		}
	}
	return nil
}
