package chromejson

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// counter adds the values of a C event, one counter per member of its args (section 13).
func (rd *reader) counter() error {
	ev := &rd.ev
	args := ev.get(fieldArgs)
	if args.kind != jsonscan.Object {
		rd.problem(problem.CounterWithoutValues, "")
		return nil
	}
	process := rd.process()
	rd.buf = append(rd.buf[:0], ev.get(fieldName).name()...)
	if id := ev.get(fieldID); id.isID() && len(id.text) > 0 {
		rd.buf = append(append(rd.buf, " id: "...), id.text...)
	}
	rd.buf = append(rd.buf, ' ')
	prefix := len(rd.buf)
	key := timeline.CounterKey{}
	if string(ev.get(fieldCat).name()) == hardwareCounters {
		metricUnit(&key, ev.get(fieldName).name())
	}
	members := rd.counterMembers(args.text)
	if name := ev.get(fieldName).name(); len(members) > 1 { // Chrome draws them in one chart
		if string(name) != rd.chart {
			rd.chart = string(name)
		}
		key.ShareKey = rd.chart
	}
	for _, m := range members {
		number, ok := counterValue(m.value)
		if !ok {
			rd.problem(problem.CounterInvalidValue, string(clip(m.key)))
			continue
		}
		rd.checkNumber(m)
		rd.buf = append(rd.buf[:prefix], m.key...)
		key.Name = rd.buf
		if err := rd.addCounter(process, &key, number); err != nil {
			return err
		}
	}
	if len(members) == 0 {
		rd.problem(problem.CounterWithoutValues, "")
	}
	return nil
}

// hardwareCounters is the category of the GPU counters that PyTorch records under NVIDIA's metric names.
const hardwareCounters = "hardware_counters"

// metricUnit sets the unit of a metric if its name implies one (section 13).
//
//	dram__bytes_read.sum.per_second
func metricUnit(key *timeline.CounterKey, name []byte) {
	metric, rollup, _ := bytes.Cut(name, []byte("."))
	_, quantity, _ := bytes.Cut(metric, []byte("__"))
	rollup, derived, _ := bytes.Cut(rollup, []byte("."))
	switch string(rollup) {
	case "sum", "avg", "min", "max":
	case "pct":
		key.UnitName = "%"
		return
	default:
		return
	}
	isBytes := false
	for word := range bytes.SplitSeq(quantity, []byte("_")) {
		isBytes = isBytes || string(word) == "bytes"
	}
	switch {
	case bytes.HasPrefix(derived, []byte("pct_of_peak_")):
		key.UnitName = "%"
	case isBytes && len(derived) == 0:
		key.Unit = timeline.UnitBytes
	case isBytes && string(derived) == "per_second":
		key.UnitName = "bytes/s"
	case bytes.HasPrefix(quantity, []byte("cycles_")) && len(derived) == 0:
		key.UnitName = "cycles"
	}
}

// counterMember is one of the values of a counter event.
type counterMember struct {
	key []byte
	value
}

// maxSmallCounter is the maximum number of members that are searched linearly for equal keys.
const maxSmallCounter = 16

// counterMembers returns the members of a counter's args. The last of several members with equal keys counts
// (section 3).
func (rd *reader) counterMembers(args []byte) []counterMember {
	members := rd.counters[:0]
	var byKey map[string]int // indexes, once there are many members
	s := &rd.sub
	s.Reset(args)
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		m := counterMember{key: key}
		m.kind, m.text = s.Scalar()
		i := -1
		if byKey == nil {
			i = slices.IndexFunc(members, func(o counterMember) bool { return bytes.Equal(o.key, key) })
		} else if n, ok := byKey[string(key)]; ok {
			i = n
		}
		if i >= 0 {
			rd.problem(problem.JSONDuplicateKey, "in args")
			members[i] = m
			continue
		}
		members = append(members, m)
		if byKey != nil {
			byKey[string(key)] = len(members) - 1
		} else if len(members) == maxSmallCounter {
			byKey = make(map[string]int, 2*len(members))
			for i, m := range members {
				byKey[string(m.key)] = i
			}
		}
	}
	rd.counters = members
	return members
}

// checkNumber counts the problems with a converted number. Numbers beyond the range of a double were already counted
// when they were scanned as arguments.
func (rd *reader) checkNumber(m counterMember) {
	if len(m.text) < minBigInteger && !bytes.ContainsAny(m.text, "eE") {
		return
	}
	if m.kind == jsonscan.Integer {
		if _, ok := jsonscan.Uint64(m.text); !ok {
			if _, ok := jsonscan.Int64(m.text); !ok {
				rd.problem(problem.JSONBigInteger, "")
			}
		}
	}
	if _, finite := jsonscan.Float64(m.text); !finite && (m.kind == jsonscan.String || !rd.args.Keeps(m.key)) {
		rd.problem(problem.JSONNonstandardNumber, "")
	}
}

// minBigInteger is the minimum length of an integer that may need more than 64 bits.
const minBigInteger = 19

// counterValue converts a number or a numeric string. A number beyond the range of a double becomes infinite.
func counterValue(v value) (timeline.Number, bool) {
	text := v.text
	switch v.kind {
	case jsonscan.Integer, jsonscan.Number:
	case jsonscan.String: // as Perfetto parses it: unlike JSON, with plus signs, leading zeros, and points at the ends
		if len(bytes.Trim(text, "+-.0123456789eE")) > 0 {
			return timeline.Number{}, false
		}
	default:
		return timeline.Number{}, false
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return timeline.Int(n), true
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return timeline.Float(f), err == nil || errors.Is(err, strconv.ErrRange)
}

func (rd *reader) addCounter(process timeline.TrackID, key *timeline.CounterKey, number timeline.Number) error {
	out := rd.prepare(timeline.Counter, rd.b.Counter(process, key))
	out.Name, out.Category = nil, nil
	out.Value = number
	return rd.b.Add(out)
}

// memoryDump adds the totals and the top-level allocators of a v event (section 17) as counters below one track of the process.
// All its numbers are hexadecimal strings.
func (rd *reader) memoryDump() error {
	args := rd.ev.get(fieldArgs)
	d := dumpReader{rd: rd, process: rd.process()}
	if args.kind == jsonscan.Object {
		rd.sub.Reset(args.text)
		d.members(d.top)
	}
	switch {
	case d.dropped:
		rd.problem(problem.MemoryDumpDetailDropped, "")
	case d.values == 0:
		rd.problem(problem.CounterWithoutValues, "a memory dump without totals")
	}
	if d.err != nil {
		return d.err
	}
	return rd.dumpInstant(&d)
}

// dumpInstant adds an instant of the process with the dump's level of detail.
func (rd *reader) dumpInstant(d *dumpReader) error {
	rd.Reset() // drops the encoded args
	if len(d.level) > 0 {
		rd.weftKey("level_of_detail")
		rd.Enc.String(d.level)
	}
	return rd.other(rd.roleTrack(d.process, timeline.RoleOther))
}

// dumpReader reads one memory dump.
type dumpReader struct {
	rd      *reader
	process timeline.TrackID
	level   []byte // level_of_detail
	values  int
	dropped bool // a value was dropped
	err     error
}

// members calls the callback member for each member of the next value, if the value is an object. It drops any other value.
func (d *dumpReader) members(member func(key []byte)) {
	s := &d.rd.sub
	if !startsObject(s) {
		s.Skip()
		d.dropped = true
		return
	}
	s.Value()
	for key, ok := s.Key(); ok && d.err == nil; key, ok = s.Key() {
		member(key)
	}
}

// top reads a member of args.
func (d *dumpReader) top(key []byte) {
	if string(key) == "dumps" {
		d.members(d.part)
		return
	}
	d.rd.sub.Skip()
	d.dropped = true
}

// part reads a member of dumps.
func (d *dumpReader) part(key []byte) {
	switch string(key) {
	case "process_totals":
		d.members(d.total)
	case "allocators":
		d.members(d.allocator)
	case "level_of_detail":
		kind, text := d.rd.sub.Scalar()
		d.level = bytes.Clone(value{kind, text}.name())
	default:
		d.rd.sub.Skip()
		d.dropped = true
	}
}

// total reads one process total.
func (d *dumpReader) total(key []byte) {
	units := "bytes"
	kind, text := d.rd.sub.Scalar()
	if kind == jsonscan.True || kind == jsonscan.False {
		units = ""
	}
	d.rd.buf = append(append(d.rd.buf[:0], "memory "...), key...)
	d.add(value{kind, text}, units)
}

// allocator reads one allocator. An allocator with a slash in its name is part of another and is dropped.
func (d *dumpReader) allocator(name []byte) {
	if bytes.IndexByte(name, '/') >= 0 {
		d.rd.sub.Skip()
		d.dropped = true
		return
	}
	d.members(func(key []byte) {
		switch string(key) {
		case "attrs":
			d.members(func(attr []byte) { d.attribute(name, attr) })
		case "guid":
			d.rd.sub.Skip()
		default:
			d.rd.sub.Skip()
			d.dropped = true
		}
	})
}

// attribute reads one attribute of an allocator: its type, units and value.
func (d *dumpReader) attribute(allocator, name []byte) {
	var typ, units, val value
	s := &d.rd.sub
	d.members(func(key []byte) {
		v := &val
		switch string(key) {
		case "type":
			v = &typ
		case "units":
			v = &units
		case "value":
		default:
			s.Skip()
			return
		}
		v.kind, v.text = s.Scalar()
	})
	if string(typ.text) != "scalar" {
		d.dropped = true
		return
	}
	d.rd.buf = append(append(append(append(d.rd.buf[:0], "memory "...), allocator...), ' '), name...)
	d.add(val, string(units.str()))
}

// add adds a counter value, with the name in rd.buf.
func (d *dumpReader) add(v value, units string) {
	number, ok := dumpValue(v)
	if !ok || d.err != nil {
		d.dropped = true
		return
	}
	key := timeline.CounterKey{Name: d.rd.buf}
	switch units {
	case "bytes":
		key.Unit = timeline.UnitBytes
	case "objects":
		key.Unit = timeline.UnitCount
	default:
		key.UnitName = units
	}
	d.values++
	d.err = d.rd.addCounter(d.rd.roleTrack(d.process, timeline.RoleMemory), &key, number)
}

// dumpValue converts a value of a memory dump.
func dumpValue(v value) (timeline.Number, bool) {
	switch v.kind {
	case jsonscan.True:
		return timeline.Int(1), true
	case jsonscan.False:
		return timeline.Int(0), true
	case jsonscan.String:
		n, ok := hexadecimal(v.text)
		if n > math.MaxInt64 {
			return timeline.Float(float64(n)), ok
		}
		return timeline.Int(int64(n)), ok
	}
	return counterValue(v)
}
