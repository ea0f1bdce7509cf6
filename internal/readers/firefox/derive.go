package firefox

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// A marker comes from one or two rows of the marker table (section 5). Times are in milliseconds on the profile's
// clock.
type marker struct {
	start, end float64 // end is NaN for an instant
	row        int32   // has the name and category; its payload overrides the payload of first
	first      int32   // start row of a marker with two rows, or none
	track      timeline.TrackID
	message    int32 // index of its message in messages.list, or none
	state      markerState
}

// markerState is a set of special properties of a marker.
type markerState uint8

const (
	markerIncomplete markerState = 1 << iota // the other half is missing
	markerSent                               // the sending endpoint of a message
	markerReceived                           // the receiving endpoint
	markerSuppressed                         // other markers represent it
)

// phase determines which times of a row are valid; the other times are garbage. Its values are the numbers in the
// format (section 5).
type phase int32

const (
	phaseInstant phase = iota
	phaseInterval
	phaseStart
	phaseEnd
)

// deriver derives a thread's markers from rows.
type deriver struct {
	c    *converter
	th   *threadState
	rows *markerTable
	open map[int32][]int32 // open start rows, by name; an end row matches the last open row
	sent map[string]int32  // start rows of requests, by id
}

// derive derives all markers of a thread, in the order of their completion.
func (c *converter) derive(th *threadState) {
	d := &deriver{c: c, th: th, rows: &th.th.markers, open: map[int32][]int32{}, sent: map[string]int32{}}
	th.markers = make([]marker, 0, d.rows.rows)
	th.types = make([]int32, d.rows.rows)
	order := d.order()
	for _, row := range order {
		d.row(row)
	}
	d.unfinished(order)
}

// order returns the rows in the order in which they were written. Rows in the raw form are unordered; like the front
// end, order sorts them by end or, if the end is missing or 0, by start.
func (d *deriver) order() []int32 {
	order := make([]int32, d.rows.rows)
	for i := range order {
		order[i] = int32(i)
	}
	if !d.rows.sortRows {
		return order
	}
	keys := make([]float64, len(order))
	sorted := true
	for i := range keys {
		keys[i] = d.rows.end.at(i)
		if keys[i] == 0 || math.IsNaN(keys[i]) {
			keys[i] = d.rows.start.at(i)
		}
		sorted = sorted && (i == 0 || keys[i-1] <= keys[i])
	}
	if !sorted {
		slices.SortStableFunc(order, func(i, j int32) int { return cmp.Compare(keys[i], keys[j]) })
	}
	return order
}

// row adds the marker of a row, or keeps the row until it is paired.
func (d *deriver) row(row int32) {
	kind := d.c.typeByMarkerName(d.th, row, d.c.typeOf(d.th.payload(row)))
	d.th.types[row] = kind
	m := marker{row: row, first: none, message: none, start: d.rows.start.at(int(row)), end: math.NaN()}
	end := d.rows.end.at(int(row))
	switch d.phase(row, &m.start, &end) {
	case phaseInstant:
		if d.time(row, &m.start) {
			d.add(m)
		}
	case phaseInterval:
		d.interval(m, end, kind)
	case phaseStart:
		if d.time(row, &m.start) {
			name := d.rows.name[row]
			d.open[name] = append(d.open[name], row)
		}
	case phaseEnd:
		if d.time(row, &end) {
			d.end(m, end)
		}
	default:
		d.c.log.Add(problem.FirefoxValueInvalid, d.th.at(row), "the phase of a marker")
		if d.time(row, &m.start) {
			d.add(m)
		}
	}
}

// time converts a row's time to the profile's clock and reports whether it is valid.
func (d *deriver) time(row int32, t *float64) bool {
	if math.IsNaN(*t) {
		d.c.log.Add(problem.EventInvalidTimestamp, d.th.at(row), d.th.name(row))
		return false
	}
	*t += d.th.delta
	d.th.extend(*t)
	return true
}

func (d *deriver) add(m marker) { d.th.markers = append(d.th.markers, m) }

// interval adds the marker of a row with both times. A network request has two such rows; request pairs
// them.
func (d *deriver) interval(m marker, end float64, kind int32) {
	if !d.time(m.row, &m.start) {
		return
	}
	if math.IsNaN(end) {
		m.state = markerIncomplete // lasts until the end of the thread, see unfinished
		d.add(m)
		return
	}
	end += d.th.delta
	d.th.extend(end)
	if end < m.start {
		d.c.log.Add(problem.SliceNegativeDuration, d.th.at(m.row), d.th.name(m.row))
		return
	}
	m.end = end
	if d.c.types[kind].special == specialNetwork {
		d.request(m)
		return
	}
	d.add(m)
}

// request pairs the two rows of a network request by its id (section 5).
func (d *deriver) request(m marker) {
	var id, status value
	d.c.eachMember(d.th.payload(m.row), func(key []byte, v value) {
		switch string(key) {
		case "id":
			id = v
		case "status":
			status = v
		}
	})
	switch first, ok := d.sent[string(id.text)]; {
	case id.kind == jsonscan.Invalid:
		d.add(m)
	case string(status.text) == "STATUS_START":
		if ok {
			d.neverEnded(first)
		}
		d.sent[string(id.text)] = m.row
	case ok:
		delete(d.sent, string(id.text))
		m.first = first
		m.start = min(d.rows.start.at(int(first))+d.th.delta, m.end)
		d.add(m)
	default:
		m.state |= markerIncomplete
		d.add(m)
	}
}

// neverEnded adds a marker for a start row without an end row.
func (d *deriver) neverEnded(row int32) {
	d.add(marker{row: row, first: none, message: none, start: d.rows.start.at(int(row)) + d.th.delta, end: math.NaN(),
		state: markerIncomplete})
}

// end pairs an end row with the last open row of the same name, regardless of category and type.
func (d *deriver) end(m marker, end float64) {
	m.end = end
	name := d.rows.name[m.row]
	open := d.open[name]
	if len(open) == 0 {
		m.start, m.state = math.NaN(), markerIncomplete // starts with the thread, see unfinished
		d.add(m)
		return
	}
	m.first = open[len(open)-1]
	if d.th.types[m.row] == 0 { // no payload
		d.th.types[m.row] = d.th.types[m.first]
	}
	d.open[name] = open[:len(open)-1]
	m.start = d.rows.start.at(int(m.first)) + d.th.delta
	if m.end < m.start {
		d.c.log.Add(problem.SliceNegativeDuration, d.th.at(m.row), d.th.name(m.row))
		return
	}
	d.add(m)
}

// unfinished appends markers for start rows without an end row, and fills in missing times from the thread's time range.
func (d *deriver) unfinished(order []int32) {
	unpaired := map[int32]bool{}
	for _, rows := range d.open {
		for _, row := range rows {
			unpaired[row] = true
		}
	}
	for _, row := range d.sent {
		unpaired[row] = true
	}
	if len(unpaired) > 0 {
		for _, row := range order {
			if unpaired[row] {
				d.neverEnded(row)
			}
		}
	}
	first, last := d.th.span(d.c.interval)
	for i := range d.th.markers {
		m := &d.th.markers[i]
		if m.state&markerIncomplete == 0 {
			continue
		}
		if math.IsNaN(m.start) {
			m.start = min(m.end, first)
		}
		if math.IsNaN(m.end) {
			m.end = max(last, m.start)
		}
		d.c.log.Add(problem.MarkerIncomplete, d.th.at(m.row), d.th.name(m.row))
	}
}

// phase returns the phase of a row. In versions without phases, it reads the phase and the times from the payload
// (section 5).
func (d *deriver) phase(row int32, start, end *float64) phase {
	recorded := phase(d.rows.phase.at(int(row)))
	buggy := d.c.processed == buggyPhases && recorded != phaseStart && recorded != phaseEnd
	switch {
	case buggy && !math.IsNaN(*start) && *end > *start:
		return phaseInterval
	case buggy:
		return phaseInstant
	case len(d.rows.phase) > 0:
		return recorded
	}
	var kind, edge, from, to value
	d.c.eachMember(d.th.payload(row), func(key []byte, v value) {
		switch string(key) {
		case "type":
			kind = v
		case "interval":
			edge = v
		case "startTime":
			from = v
		case "endTime":
			to = v
		}
	})
	if string(kind.text) == "tracing" {
		switch string(edge.text) {
		case "start":
			return phaseStart
		case "end":
			*end = *start
			return phaseEnd
		}
	}
	first, ok := jsonscan.Float64(from.text)
	last, ok2 := jsonscan.Float64(to.text)
	if ok && ok2 && last > first {
		*start, *end = first, last
		return phaseInterval
	}
	return phaseInstant
}

// buggyPhases is the version of the processed form with wrong phases (section 3).
const buggyPhases = 30
