package firefox

import (
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// thread is a thread of a profile with its tables.
type thread struct {
	name        string
	processType string
	processName string
	site        string // eTLD+1
	pid, tid    identity
	isMain      bool

	startup, shutdown    float64 // times of the process; NaN if unknown
	register, unregister float64 // times of the thread; NaN if unknown

	tables                           tables // tables not in profile.shared
	libs                             []lib  // before version 41 of the processed form
	markers                          markerTable
	samples                          sampleTable
	jsAllocations, nativeAllocations allocationTable
	tracer                           tracerTable
	pauses                           []pause

	argumentValues int // number of samples with function arguments
	private        bool
	userContext    string
}

// identity is a pid or tid: a number, or a text like "123.1".
type identity struct {
	text     string
	isNumber bool // text is an integer
}

// markerTable is the table of markers (section 5).
type markerTable struct {
	name, category ints
	start, end     floats
	phase          ints
	data           values
	threadID       longs
	rows           int
	sortRows       bool // the rows are unordered, as in the raw form
}

// sampleTable is the table of samples (section 8).
type sampleTable struct {
	stack      ints
	time       floats // from timeDeltas if present
	weight     floats
	weightType string
	cpuDelta   floats
	eventDelay floats
	rows       int
}

// allocationTable is a table of allocations (section 9).
type allocationTable struct {
	time, weight        floats
	stack               ints
	class, kind, coarse texts
	rows                int
}

// tracerTable is the table of JS tracer events; its times are in microseconds.
type tracerTable struct {
	event          ints
	time, duration floats
	line, columnOf ints
	rows           int
}

func (d *decoder) readThread(th *thread) error {
	th.startup, th.shutdown, th.register, th.unregister = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	return d.object(func(key string) error {
		switch key {
		case "name":
			return d.text(&th.name)
		case "processType":
			return d.text(&th.processType)
		case "processName":
			return d.text(&th.processName)
		case "eTLD+1":
			return d.text(&th.site)
		case "isMainThread":
			return d.truth(&th.isMain)
		case "isPrivateBrowsing":
			return d.truth(&th.private)
		case "userContextId":
			return d.text(&th.userContext)
		case "pid":
			return d.identity(&th.pid)
		case "tid":
			return d.identity(&th.tid)
		case "processStartupTime":
			return d.number(&th.startup)
		case "processShutdownTime":
			return d.number(&th.shutdown)
		case "registerTime":
			return d.number(&th.register)
		case "unregisterTime":
			return d.number(&th.unregister)
		case "pausedRanges":
			return d.readPauses(&th.pauses)
		case "libs":
			return d.readLibs(&th.libs)
		}
		return d.threadTable(th, key)
	})
}

// threadTable reads a thread member that is a table, or skips it.
func (d *decoder) threadTable(th *thread, key string) error {
	switch key {
	case "markers":
		return d.readMarkers(&th.markers)
	case "samples":
		return d.readSamples(th)
	case "jsAllocations":
		return d.readAllocations(&th.jsAllocations)
	case "nativeAllocations":
		return d.readAllocations(&th.nativeAllocations)
	case "jsTracer", "jsTracerEvents":
		return d.readTracer(&th.tracer)
	}
	if table := th.tables.reader(key); table != nil {
		return table(d)
	}
	if unreadMembers[key] {
		return d.Skip()
	}
	return d.unknownMember(key)
}

// unreadMembers are the thread members that are skipped. Some have no counterpart in a timeline (section 12); others
// are needed only for argumentValues, which are counted instead.
var unreadMembers = map[string]bool{
	"usedInnerWindowIDs": true, "showMarkersInTimeline": true, "nativeSymbols": true, "sourceLocationTable": true,
	"tracedValues": true, "tracedValuesBuffer": true, "tracedObjectShapes": true,
}

// identity reads a pid or tid.
func (d *decoder) identity(id *identity) error {
	kind, text, err := d.scalar()
	if err != nil || kind == jsonscan.Null {
		return err
	}
	_, ok := jsonscan.Int64(text)
	*id = identity{text: string(d.S.ValidText(text)), isNumber: ok}
	return nil
}

func (d *decoder) readMarkers(m *markerTable) error {
	var time floats // in versions with one time per marker
	t := newTableReader(d, []named{
		{"name", &m.name}, {"startTime", &m.start}, {"endTime", &m.end}, {"time", &time}, {"phase", &m.phase},
		{"category", &m.category}, {"data", &m.data}, {"threadId", &m.threadID},
	})
	err := d.object(t.member)
	m.sortRows = t.known
	if len(m.start) == 0 {
		m.start = time
	}
	m.rows = d.rows(t.rows(err), &m.name, &m.start)
	return err
}

func (d *decoder) readSamples(th *thread) error {
	m := &th.samples
	var deltas, responsiveness floats
	var arguments values
	t := newTableReader(d, []named{
		{"stack", &m.stack}, {"time", &m.time}, {"timeDeltas", &deltas}, {"weight", &m.weight},
		{"threadCPUDelta", &m.cpuDelta}, {"eventDelay", &m.eventDelay}, {"responsiveness", &responsiveness},
		{"argumentValues", &arguments},
	})
	err := d.object(func(key string) error {
		if key == "weightType" {
			return d.text(&m.weightType)
		}
		return t.member(key)
	})
	if len(m.eventDelay) == 0 {
		m.eventDelay = responsiveness
	}
	for i := range arguments.len() {
		if text, _ := arguments.at(int32(i)); len(text) > 0 {
			th.argumentValues++
		}
	}
	m.time.accumulate(deltas)
	m.rows = d.rows(t.rows(err), &m.stack, &m.time)
	return err
}

// accumulate fills a column of times from differences, if there are any; the first difference is relative to 0.
func (c *floats) accumulate(deltas floats) {
	if len(deltas) == 0 {
		return
	}
	sum := 0.0
	*c = deltas
	for i, delta := range deltas {
		if !math.IsNaN(delta) {
			sum += delta
		}
		deltas[i] = sum
	}
}

func (d *decoder) readAllocations(a *allocationTable) error {
	var duration floats // the weight, before version 29
	length, err := d.table([]named{
		{"time", &a.time}, {"weight", &a.weight}, {"duration", &duration}, {"stack", &a.stack},
		{"className", &a.class}, {"typeName", &a.kind}, {"coarseType", &a.coarse},
	})
	if len(a.weight) == 0 {
		a.weight = duration
	}
	a.rows = d.rows(length, &a.time)
	return err
}

func (d *decoder) readTracer(m *tracerTable) error {
	length, err := d.table([]named{
		{"events", &m.event}, {"timestamps", &m.time}, {"durations", &m.duration}, {"line", &m.line}, {"column", &m.columnOf},
	})
	m.rows = d.rows(length, &m.event, &m.time)
	return err
}
