package firefox

import (
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// setAttributes adds facts about the recording as trace attributes (section 11).
func (c *converter) setAttributes() {
	m := &c.root.meta
	set := func(key, value string) {
		if value != "" {
			c.b.SetAttribute("firefox."+key, value)
		}
	}
	if m.version != 0 {
		c.b.SetIntAttribute("firefox.version", m.version)
	}
	if m.isProcessed {
		c.b.SetIntAttribute("firefox.preprocessedProfileVersion", m.preprocessed)
	}
	set("startTime", m.startTimeText)
	set(m.monotonicKey, m.monotonic)
	if m.interval > 0 {
		set("interval", strconv.FormatFloat(m.interval, 'g', -1, 64))
	}
	for _, a := range m.attributes {
		set(a.key, a.value)
	}
	for _, a := range c.root.attributes {
		set(a.key, a.value)
	}
	for i, l := range c.allLibs() {
		set("lib."+strconv.Itoa(i), l.describe())
	}
	for i := range c.pages.pages {
		p := &c.pages.pages[i]
		c.b.AddPage(*p)
		set("page."+strconv.FormatInt(p.Window, 10), describePage(p))
	}
	for _, th := range c.threads {
		set("thread."+strconv.Itoa(th.index), th.describe())
	}
}

// maxLibs limits the number of libraries kept as attributes.
const maxLibs = 1000

// allLibs returns the libraries of all processes, without duplicates.
func (c *converter) allLibs() []*lib {
	var list []*lib
	type key struct{ path, id string }
	seen := map[key]bool{}
	add := func(libs []lib) {
		for i := range libs {
			l := &libs[i]
			if k := (key{l.file(), l.breakpadID}); !seen[k] && len(list) < maxLibs {
				seen[k] = true
				list = append(list, l)
			}
		}
	}
	_ = c.eachProfile(c.root, func(p *profile) error {
		add(p.libs)
		return nil
	})
	for _, th := range c.threads {
		add(th.th.libs)
	}
	return list
}

// describe returns a library as JSON, with the members needed to find its symbols.
func (l *lib) describe() string {
	b := []byte("{")
	for _, member := range [...]struct{ key, text string }{
		{"name", l.name}, {"path", l.path}, {"debugName", l.debugName}, {"debugPath", l.debugPath},
		{"breakpadId", l.breakpadID}, {"codeId", l.codeID}, {"arch", l.arch},
	} {
		b = appendMember(b, member.key, member.text)
	}
	return string(append(b, '}'))
}

// appendMember appends a member with a nonempty text to an open JSON object.
func appendMember(b []byte, key, text string) []byte {
	if text == "" {
		return b
	}
	if len(b) > 1 {
		b = append(b, ',')
	}
	return jsonscan.AppendString(append(append(append(b, '"'), key...), '"', ':'), text)
}

// describe returns a thread as JSON, with the start and end times of the thread and its process, and the values that
// all its samples share.
func (th *threadState) describe() string {
	b := []byte("{")
	for _, member := range []struct{ key, text string }{
		{"name", th.th.name}, {"pid", th.th.pid.text}, {"tid", th.th.tid.text}, {"processType", th.th.processType},
		{"processName", th.th.processName}, {"eTLD+1", th.th.site},
	} {
		b = appendMember(b, member.key, member.text)
	}
	for _, member := range []struct {
		key string
		t   float64
	}{
		{"processStartupTime", th.th.startup}, {"processShutdownTime", th.th.shutdown},
		{"registerTime", th.th.register}, {"unregisterTime", th.th.unregister},
	} {
		if math.IsNaN(member.t) {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), member.key...), '"', ':')
		b = strconv.AppendFloat(b, member.t+th.delta, 'g', -1, 64)
	}
	for i := range th.facts {
		f := &th.facts[i]
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.Kind.String()...), `":{"value":`...)
		if f.Kind.IsText() {
			b = jsonscan.AppendString(b, f.Text)
		} else {
			b = append(b, f.Value()...)
		}
		b = strconv.AppendInt(append(b, `,"count":`...), f.Samples, 10)
		b = append(b, '}')
	}
	return string(append(b, '}'))
}
