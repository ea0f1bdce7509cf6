package probes

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Attributes of a trace converted from probe lines, set from the headers.
const (
	AttributeClock    = "probes.clock"        // monotonic, boottime, realtime, tai or other
	AttributeEpoch    = "probes.epoch_ns"     // Unix time when the clock was 0
	AttributeSync     = "probes.sync_ns"      // a time on the clock
	AttributeSyncUnix = "probes.sync_unix_ns" // Unix time at AttributeSync
	AttributeEnd      = "probes.end_ns"       // end of the recording, on the clock
)

// header is the content of lines that start with #. It applies to the whole file.
type header struct {
	clock   string
	epoch   *int64
	sync    *[2]int64 // a time on the clock, and the Unix time at that moment
	end     *int64
	raw     bool  // texts are not escaped
	textSet bool  // a header sets raw
	strlen  int64 // the maximum length of texts; 0: unknown

	threads      map[[2]int64]name // by process and thread
	processes    map[int64]name
	declarations map[string]*declaration
	size         int // bytes of names and declarations
}

// name is the unconverted name of a thread or process.
type name struct {
	text      string
	unescaped bool // regardless of the headers
}

// Limits for all headers of a file, whatever its size.
const (
	maxHeaderSize  = 16 << 20 // bytes of names and declarations
	headerItemSize = 100      // overhead of each, besides its text
	maxName        = 4096     // bytes of the name of a thread or process
)

// reserve accounts for one more text. It returns false at the limit.
func (h *header) reserve(n int) bool {
	if h.size+n+headerItemSize > maxHeaderSize {
		return false
	}
	h.size += n + headerItemSize
	return true
}

// headerLine reads a line that starts with #. The parameter unescaped means that the texts in the line are not escaped,
// as in tuples.
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

// nextField returns the first field of a text and the rest after blanks or tabs.
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

// setNumber sets a number unless it is already set. It returns false if the text is not a number.
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
	if len(rest) > maxName || !h.reserve(len(rest)) {
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

// clocks returns the system clock of the times, if known, with its reading at a known Unix time.
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

// describe adds the information in the headers to the timeline.
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
	if offset == 0 { // times with an offset belong to no clock
		b.SetClocks(h.clocks())
	}
}

// declaration is a #probe line, which declares the arguments of a probe.
type declaration struct {
	params []parameter
	key    []int  // indexes of params that must agree in a pair
	name   int    // index of the param that names the slice; -1: none
	track  string // separate track of the pair; "": none
}

// parameter is a declared argument.
type parameter struct {
	name   string
	typ    paramType
	labels [][]byte // labels of an enum

	ids argIDs
}

// paramType is the type of a declared argument.
type paramType uint8

const (
	typeAuto paramType = iota // guessed from the text
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

// declare reads #probe PROVIDER:NAME ARG:TYPE … [key=ARG,…] [name=ARG] [track=NAME]. It returns false if a part is
// invalid, but uses the other parts.
func (r *reader) declare(rest []byte) bool {
	words := strings.Fields(validText(string(rest)))
	if len(words) == 0 || !strings.Contains(words[0], ":") {
		return false
	}
	if !r.header.reserve(3 * len(rest)) {
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

// param reads ARG:TYPE. It returns false if the text is invalid; the argument still has an index.
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

// isName reports whether the next argument can have the given name: it must be unique, and must not be the name of an
// undeclared argument at another index or of an argument that weft adds.
func (d *declaration) isName(name string) bool {
	if name == "" || d.index(name) >= 0 || strings.HasPrefix(name, "weft.") || strings.HasPrefix(name, endPrefix) {
		return false
	}
	number, isArg := strings.CutPrefix(name, "arg")
	return !isArg || !isNumber(number) || name == undeclaredName(len(d.params))
}

// index returns the index of the argument with the given name, or -1.
func (d *declaration) index(name string) int {
	return slices.IndexFunc(d.params, func(p parameter) bool { return p.name == name })
}

// undeclaredName returns the name of an undeclared argument.
func undeclaredName(i int) string { return "arg" + strconv.Itoa(i) }

// isLoose reports whether the last argument contains all remaining fields.
func (d *declaration) isLoose() bool {
	return d != nil && len(d.params) > 0 && d.params[len(d.params)-1].typ == typeStr
}

// truncatedAt returns the minimum length in bytes of texts that the tracer may have truncated.
func (h *header) truncatedAt() int {
	if h.strlen == 0 {
		return math.MaxInt
	}
	return int(min(h.strlen-1, math.MaxInt32))
}
