package otlp

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// hosts maps the resources of an input to processes (section 3).
type hosts struct {
	identities []identity         // by entry of the resource table
	processes  []timeline.TrackID // by entry; 0: not created yet
	byID       map[identity]timeline.TrackID
	pids       map[int64]bool       // in use by a process
	names      timeline.UniqueNames // names of processes without a pid
	written    []bool               // by entry: a span has the resource as an argument
	described  map[uint32]string    // by entry: see describe
	several    bool                 // the input has several hosts
	b          *timeline.Builder
}

// identity distinguishes processes by the resource attributes that identify a process and its host.
type identity struct {
	host, hostName, container, pod, instance string
	namespace, service                       string
	executable                               string
	pid                                      int64 // 0: none
}

func newHosts(c *collector) hosts {
	n := len(c.resources.entries)
	h := hosts{
		identities: make([]identity, n), processes: make([]timeline.TrackID, n), written: make([]bool, n), described: map[uint32]string{}, b: c.b,
		byID: map[identity]timeline.TrackID{}, pids: map[int64]bool{}, names: timeline.UniqueNames{},
	}
	first := ""
	for i := range c.resources.entries {
		h.identities[i] = identityOf(c.resources.entries[i].encoded)
		if host := h.identities[i].hostTitle(); host != "" {
			h.several = h.several || first != "" && first != host
			first = host
		}
	}
	if o := c.b.Observer(); o != nil && !h.several {
		o.Host(first)
	}
	return h
}

// identityOf returns the identity from the attributes of a resource.
func identityOf(resource []byte) (id identity) {
	for r := wire.NewReader(resource); r.Next(); {
		if r.Tag() != wire.Tag(resourceAttributes, wire.Len) {
			continue
		}
		key, value := readKeyValue(r.Bytes())
		text := func() string { return string(validText(textOf(value))) }
		switch string(key) {
		case "host.id":
			id.host = text()
		case "host.name":
			id.hostName = text()
		case "container.id":
			id.container = text()
		case "k8s.pod.uid":
			id.pod = text()
		case "k8s.pod.name":
			id.pod = cmp.Or(id.pod, text())
		case "service.instance.id":
			id.instance = text()
		case "service.namespace":
			id.namespace = text()
		case "service.name":
			id.service = text()
		case "process.executable.name":
			id.executable = text()
		case "process.pid":
			id.pid = pidOf(value)
		}
	}
	return id
}

// pidOf returns the number in an AnyValue, or in its text, or 0 for other values.
func pidOf(value []byte) (pid int64) {
	for r := wire.NewReader(value); r.Next(); {
		switch r.Tag() {
		case wire.Tag(valueInt, wire.Varint):
			pid = r.Int()
		case wire.Tag(valueString, wire.Len):
			pid, _ = strconv.ParseInt(string(r.Bytes()), 10, 64)
		}
	}
	if pid < 0 || pid > math.MaxInt32 {
		return 0
	}
	return pid
}

// hostTitle returns the usual name of the host.
func (id *identity) hostTitle() string {
	shortID := id.container[:min(len(id.container), 12)] // as container tools show it
	return cmp.Or(id.hostName, id.host, id.pod, shortID)
}

// name returns the name of the process.
func (id *identity) name() string {
	name := cmp.Or(id.service, id.executable, "unknown service")
	if id.namespace != "" {
		name = id.namespace + "/" + name
	}
	return name
}

// process returns the process of a span.
func (hs *hosts) process(h *head) timeline.TrackID {
	process := hs.processes[h.resource]
	if process == 0 {
		process = hs.find(&hs.identities[h.resource])
		hs.processes[h.resource] = process
	}
	hs.b.SetProcessPosition(process, at(h.offset))
	return process
}

// find returns the process of an identity, and creates it at the first call. Only the first process with a given pid
// receives the number: hosts and containers reuse pids.
func (hs *hosts) find(id *identity) timeline.TrackID {
	if process, ok := hs.byID[*id]; ok {
		return process
	}
	name, host := id.name(), id.hostTitle()
	if hs.several && host != "" {
		name += " @" + host
	}
	var process timeline.TrackID
	if id.pid != 0 && !hs.pids[id.pid] {
		hs.pids[id.pid] = true
		process = hs.b.Process(timeline.ProcessKey{Num: id.pid})
		hs.b.SetProcessName(process, 0, []byte(name))
	} else {
		if id.pid != 0 {
			name = fmt.Sprintf("%s (pid %d)", name, id.pid)
		}
		process = hs.b.Process(timeline.ProcessKey{Text: hs.names.Take(name)})
	}
	if host != "" {
		hs.b.AddLabel(process, "host "+host)
	}
	hs.byID[*id] = process
	return process
}

// resourceOf returns the resource of a span if no earlier span has it, otherwise nil.
func (e *emitter) resourceOf(h *head) *entry {
	r := &e.resources.entries[h.resource]
	if e.hosts.written[h.resource] || len(r.encoded)+len(r.schemas) == 0 {
		return nil
	}
	e.hosts.written[h.resource] = true
	return r
}

// maxDescription is the maximum length, in bytes, of the description of a process's rows, which each track repeats.
const maxDescription = 512

// describe returns the text and integer attributes of a resource as a description of the rows of its process. All
// attributes are arguments of the resource's first span.
//
//	service.name shop, process.pid 10
func (e *emitter) describe(h *head) string {
	if text, ok := e.hosts.described[h.resource]; ok { // a process may have many threads
		return text
	}
	var b []byte
	for r := wire.NewReader(e.resources.entries[h.resource].encoded); r.Next() && len(b) < maxDescription; {
		if r.Tag() != wire.Tag(resourceAttributes, wire.Len) {
			continue
		}
		key, value := readKeyValue(r.Bytes())
		text := textOf(value)
		text = validText(text[:min(len(text), maxDescription)])
		if v := wire.NewReader(value); v.Next() && v.Tag() == wire.Tag(valueInt, wire.Varint) {
			text = strconv.AppendInt(nil, v.Int(), 10)
		}
		if len(text) == 0 || !e.args.keep.Keeps(key) {
			continue
		}
		if len(b) > 0 {
			b = append(b, ", "...)
		}
		b = append(append(append(b, validText(key)...), ' '), text...)
	}
	if len(b) > maxDescription {
		b = append(bytes.ToValidUTF8(b[:maxDescription], nil), "…"...)
	}
	e.hosts.described[h.resource] = string(b)
	return string(b)
}

// scope is a decoded entry of the scope table.
type scope struct {
	*entry
	name, version []byte
	dropped       uint64
	bare          bool // it has only a name
}

// scope returns the given entry of the scope table, decoded.
func (e *emitter) scope(id uint32) *scope {
	s := &e.scopeCache[id]
	if s.entry != nil {
		return s
	}
	s.entry, s.bare = &e.scopes.entries[id], true
	for r := wire.NewReader(s.encoded); r.Next(); {
		switch r.Tag() {
		case wire.Tag(scopeName, wire.Len):
			s.name = bytes.Clone(e.args.text(r.Bytes()))
			continue
		case wire.Tag(scopeVersion, wire.Len):
			s.version = r.Bytes()
		case wire.Tag(scopeDropped, wire.Varint):
			s.dropped = r.Uint()
		}
		s.bare = false
	}
	return s
}
