package probes

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Attributes of a trace converted from probe lines, from the headers.
const (
	AttributeClock    = "probes.clock"        // a text: monotonic, boottime, realtime, tai or other
	AttributeEpoch    = "probes.epoch_ns"     // Unix time at 0 of the clock
	AttributeSync     = "probes.sync_ns"      // a time of the clock, and
	AttributeSyncUnix = "probes.sync_unix_ns" // Unix time then
	AttributeEnd      = "probes.end_ns"       // a time of the clock: when the recording ended
)

// header holds the content of lines that begin with #. It applies to the whole file.
type header struct {
	clock   string
	epoch   *int64
	sync    *[2]int64 // a time of the clock, and Unix time then
	end     *int64
	raw     bool  // texts are not escaped
	textSet bool  // the header says raw
	strlen  int64 // the limit of texts; 0: not known

	threads      map[[2]int64]name // by process and thread
	processes    map[int64]name
	declarations map[string]*declaration
	size         int // bytes of names and declarations
}

// name is the name of a thread or process as it was read.
type name struct {
	text      string
	unescaped bool // whatever the header says
}

// Limits of headers, whatever the size of the file.
const (
	maxHeaderSize  = 16 << 20 // bytes of names and declarations
	headerItemSize = 100      // overhead of one, without its text
	maxName        = 4096     // bytes of the name of a thread or process
)

func newHeader() header {
	return header{threads: map[[2]int64]name{}, processes: map[int64]name{}, declarations: map[string]*declaration{}}
}

// hasRoom reports whether one more text may be kept.
func (h *header) hasRoom(n int) bool {
	if h.size+n+headerItemSize > maxHeaderSize {
		return false
	}
	h.size += n + headerItemSize
	return true
}

// headerLine reads a line that begins with #. The texts of a tuple are unescaped.
func (r *reader) headerLine(text []byte, unescaped bool) {
	keyword, rest := nextField(text)
	h := &r.header
	ok := true
	switch string(keyword) {
	case "#probelines":
		version, _ := nextField(rest)
		ok = string(version) == "1"
	case "#clock":
		ok = h.setClock(rest)
	case "#epoch":
		ok = setNumber(&h.epoch, rest)
	case "#sync":
		ok = h.setSync(rest)
	case "#end":
		h.end = nil
		ok = setNumber(&h.end, rest)
	case "#text":
		ok = h.setText(rest)
	case "#strlen":
		ok = h.setStrlen(rest)
	case "#comm":
		ok = r.setName(rest, unescaped, true)
	case "#process":
		ok = r.setName(rest, unescaped, false)
	case "#probe":
		ok = r.declare(rest)
	default:
		ok = false
	}
	if !ok {
		detail := ""
		if r.log.Wants(problem.UnknownHeader) {
			detail = detailOf(text)
		}
		r.problem(problem.UnknownHeader, detail)
	}
}

// nextField returns the first field of a text and what is after the blanks or tabs that follow it.
func nextField(text []byte) (field, rest []byte) {
	i := bytes.IndexAny(text, " \t")
	if i < 0 {
		return text, nil
	}
	return text[:i], bytes.TrimLeft(text[i:], " \t")
}

func parseNumber(field []byte) (int64, bool) {
	v, err := strconv.ParseInt(string(field), 10, 64)
	return v, err == nil
}

// setNumber sets a number once.
func setNumber(to **int64, rest []byte) bool {
	field, _ := nextField(rest)
	v, ok := parseNumber(field)
	if ok && *to == nil {
		*to = &v
	}
	return ok
}

func (h *header) setClock(rest []byte) bool {
	field, _ := nextField(rest)
	switch clock := string(field); clock {
	case "monotonic", "boottime", "realtime", "tai", "other":
		if h.clock == "" {
			h.clock = clock
		}
		return true
	}
	return false
}

func (h *header) setSync(rest []byte) bool {
	first, rest := nextField(rest)
	second, _ := nextField(rest)
	ns, ok := parseNumber(first)
	unix, okUnix := parseNumber(second)
	if !ok || !okUnix {
		return false
	}
	if h.sync == nil {
		h.sync = &[2]int64{ns, unix}
	}
	return true
}

func (h *header) setText(rest []byte) bool {
	field, _ := nextField(rest)
	if form := string(field); form != "raw" && form != "escaped" {
		return false
	} else if !h.textSet {
		h.textSet, h.raw = true, form == "raw"
	}
	return true
}

func (h *header) setStrlen(rest []byte) bool {
	field, _ := nextField(rest)
	n, ok := parseNumber(field)
	if !ok || n < 2 {
		return false
	}
	if h.strlen == 0 {
		h.strlen = n
	}
	return true
}

// setName reads #comm PID TID NAME or #process PID NAME. The last of several names counts.
func (r *reader) setName(rest []byte, unescaped, thread bool) bool {
	h := &r.header
	field, rest := nextField(rest)
	pid, n := decimal(field)
	if n == 0 || n < len(field) {
		return false
	}
	var tid int64
	if thread {
		field, rest = nextField(rest)
		if tid, n = decimal(field); n == 0 || n < len(field) {
			return false
		}
	}
	if len(rest) > maxName || !h.hasRoom(len(rest)) {
		r.problem(problem.ProbeLimit, "there are too many names of threads and processes, or one is too long")
		return true
	}
	if thread {
		h.threads[[2]int64{pid, tid}] = name{string(rest), unescaped}
	} else {
		h.processes[pid] = name{string(rest), unescaped}
	}
	return true
}

// clocks returns the clock of the times, if it is one of the system's, and its reading together with Unix time.
func (h *header) clocks() timeline.Clocks {
	clocks := timeline.Clocks{}
	switch h.clock {
	case "monotonic":
		clocks.Trace = timeline.ClockMonotonic
	case "boottime":
		clocks.Trace = timeline.ClockBoottime
	case "realtime":
		clocks.Trace = timeline.ClockRealtime
		return clocks
	default:
		return clocks
	}
	at, unix := int64(0), int64(-1)
	switch {
	case h.epoch != nil:
		unix = *h.epoch
	case h.sync != nil:
		at, unix = h.sync[0], h.sync[1]
	}
	if at >= 0 && unix >= 0 {
		clocks.Readings = []timeline.ClockReading{
			{Clock: clocks.Trace, Time: timeline.Nanos(at)}, {Clock: timeline.ClockRealtime, Time: timeline.Nanos(unix)},
		}
	}
	return clocks
}

// describe adds what the headers say about the recording to the timeline.
func (h *header) describe(b *timeline.Builder, offset timeline.Nanos) {
	if h.clock != "" {
		b.SetAttribute(AttributeClock, h.clock)
	}
	if h.epoch != nil {
		b.SetIntAttribute(AttributeEpoch, *h.epoch)
	}
	if h.sync != nil {
		b.SetIntAttribute(AttributeSync, h.sync[0])
		b.SetIntAttribute(AttributeSyncUnix, h.sync[1])
	}
	if h.end != nil {
		b.SetIntAttribute(AttributeEnd, *h.end)
	}
	if offset == 0 { // otherwise the times have no clock
		b.SetClocks(h.clocks())
	}
}

// declaration is a #probe line: the arguments of a probe.
type declaration struct {
	params []parameter
	key    []int  // indexes of params that must agree in a pair
	name   int    // index of the param whose text names the slice; -1: none
	track  string // the pair has a track of its own; "": none
}

// parameter is a declared argument.
type parameter struct {
	name   string
	typ    paramType
	labels [][]byte // of an enum

	ids argIDs
}

// paramType is the type of a declared argument.
type paramType uint8

const (
	typeAuto paramType = iota // guessed from its text
	typePtr
	typeInt
	typeUint
	typeStr
	typeEnum
	typeNanos
)

// Limits of one declaration.
const (
	maxParams = 256
	maxLabels = 4096
)

// declare reads #probe PROVIDER:NAME ARG:TYPE … [key=ARG,…] [name=ARG] [track=NAME]. It returns false if it does not
// understand a part; the rest counts.
func (r *reader) declare(rest []byte) bool {
	words := strings.Fields(validText(string(rest)))
	if len(words) == 0 || !strings.Contains(words[0], ":") {
		return false
	}
	if !r.header.hasRoom(3 * len(rest)) {
		r.problem(problem.ProbeLimit, "there are too many declarations")
		return true
	}
	d := &declaration{name: -1}
	ok := true
	var key, named string
	for _, word := range words[1:] {
		before, after, assigned := strings.Cut(word, "=")
		switch {
		case assigned && before == "key":
			key = after
		case assigned && before == "name":
			named = after
		case assigned && before == "track":
			d.track = after
		case len(d.params) == maxParams:
			ok = false
		default:
			ok = d.param(word) && ok
		}
	}
	for arg := range strings.SplitSeq(key, ",") {
		i := d.index(arg)
		if i >= 0 {
			d.key = append(d.key, i)
		}
		ok = ok && (i >= 0 || key == "")
	}
	d.name = d.index(named)
	ok = ok && (d.name >= 0 || named == "")
	r.header.declarations[normalProbe([]byte(words[0]), -1)] = d
	return ok
}

// param reads ARG:TYPE. It returns false if it does not understand that; the argument keeps its place.
func (d *declaration) param(word string) bool {
	name, typ, ok := strings.Cut(word, ":")
	p := parameter{name: name}
	if !ok || !d.isName(name) {
		p.name, ok = undeclaredName(len(d.params)), false
	}
	switch labels, isEnum := strings.CutPrefix(typ, "enum("); {
	case isEnum && strings.HasSuffix(labels, ")"):
		p.typ = typeEnum
		p.labels = bytes.SplitN([]byte(strings.TrimSuffix(labels, ")")), []byte(","), maxLabels)
	default:
		p.typ = map[string]paramType{"ptr": typePtr, "int": typeInt, "uint": typeUint, "str": typeStr, "ns": typeNanos}[typ]
		ok = ok && p.typ != typeAuto
	}
	d.params = append(d.params, p)
	return ok
}

// isName reports whether the next argument may have a name: one that is unique, is not the name of an undeclared
// argument at another place, and is not one that weft adds.
func (d *declaration) isName(name string) bool {
	if name == "" || d.index(name) >= 0 || strings.HasPrefix(name, "weft.") || strings.HasPrefix(name, endPrefix) {
		return false
	}
	number, isArg := strings.CutPrefix(name, "arg")
	return !isArg || !isNumber(number) || name == undeclaredName(len(d.params))
}

// index returns the place of an argument by name; -1 if there is none.
func (d *declaration) index(name string) int {
	for i := range d.params {
		if d.params[i].name == name {
			return i
		}
	}
	return -1
}

// undeclaredName is the name of an argument that is not declared.
func undeclaredName(i int) string { return "arg" + strconv.Itoa(i) }

// isLoose reports whether the last argument takes all fields that are left.
func (d *declaration) isLoose() bool {
	return d != nil && len(d.params) > 0 && d.params[len(d.params)-1].typ == typeStr
}

// truncatedAt returns the length in bytes from which the tracer may have truncated a text.
func (h *header) truncatedAt() int {
	if h.strlen == 0 {
		return math.MaxInt
	}
	return int(min(h.strlen-1, math.MaxInt32))
}
