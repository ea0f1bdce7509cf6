package attribution

import (
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// contextNames finds names for contexts of Chrome that the trace gives no url: a frame is named by the host of most of its scripts, an
// isolate by the worker script or the thread that it belongs to. Contexts keep their whole ids.
type contextNames struct {
	frames  map[NodeID]*tally           // hosts of the scripts that ran in a frame
	threads map[timeline.TrackID]*tally // urls of the scripts that a thread ran outside of frames
}

// tally counts texts, of which the first eight that came are kept: a frame has scripts of few hosts.
type tally []tallied

type tallied struct {
	text string
	n    int
}

const (
	maxTallied = 8
	tallySize  = 256 // bytes that a tally takes, with its place
)

// count counts a text once more, if it is one of those that are kept. A nil tally counts nothing.
func (t *tally) count(c *Catalogue, text []byte) {
	if t == nil {
		return
	}
	for i := range *t {
		if e := &(*t)[i]; e.text == string(text) {
			e.n++
			return
		}
	}
	if len(*t) < maxTallied && c.Size+min(len(text), maxIDText)+textSize <= c.Room.Of(MaxTableSize) {
		*t = append(*t, tallied{c.Keep(text), 1})
	}
}

// most returns the text that came most often, of several the first; "" if there is none.
func (t *tally) most() (text string) {
	n := 0
	if t != nil {
		for _, e := range *t {
			if e.n > n {
				text, n = e.text, e.n
			}
		}
	}
	return text
}

// tallyOf returns the tally of a key, which is made if there is room; nil if there is none.
func tallyOf[K comparable](c *Catalogue, m map[K]*tally, key K) *tally {
	t := m[key]
	if t == nil && c.Size+tallySize <= c.Room.Of(MaxTableSize) { // what has none is called by its id, and no context is missing
		c.Size += tallySize
		t = new(tally)
		m[key] = t
	}
	return t
}

// see implements provider: it counts the scripts of frames, and of threads that run some outside of frames.
func (p *contextNames) see(c *collecting, s *event) error {
	f, script := s.facts, s.facts.caller
	if e := s.name.event; f.url != nil && (e == producers.FunctionCall || e == producers.EvaluateScript) {
		script = f.url
	}
	if len(script) == 0 || s.isEnd() {
		return nil
	}
	if p.frames == nil {
		p.frames, p.threads = map[NodeID]*tally{}, map[timeline.TrackID]*tally{}
	}
	switch host := hostOf(script); {
	case f.frame == nil && s.place.Place == PlaceThread:
		tallyOf(c.contexts, p.threads, s.place.Thread).count(c.contexts, script)
	case f.frame != nil && host != nil:
		tallyOf(c.contexts, p.frames, c.frameNode(f.frame, s.place.pid, s.place.idSpace)).count(c.contexts, host)
	}
	return nil
}

// finish names the contexts.
func (p *contextNames) finish(c *collecting) {
	names := map[NodeID]string{}
	for node, t := range p.frames {
		if host := t.most(); node != 0 && host != "" {
			names[node] = host + " (" + shortFrame(c.contexts.Nodes[node].ID) + ")"
		}
	}
	for node, thread := range p.homes(c) {
		if name := p.homeName(c, thread); name != "" {
			names[node] = "isolate of " + name
		}
	}
	c.contexts.names = names
}

// homes returns the thread to which each isolate belongs: the first that names the isolate and runs scripts itself, otherwise the
// first that names it, or whose garbage it stands for.
func (p *contextNames) homes(c *collecting) map[NodeID]timeline.TrackID {
	runs := map[timeline.TrackID]bool{}
	for run := range c.found.Runs {
		runs[run.Thread] = true
	}
	homes := map[NodeID]timeline.TrackID{}
	for id := range c.found.tracks {
		thread := timeline.TrackID(id)
		if c.t.TrackKind(thread) != timeline.ThreadTrack {
			continue
		}
		isolate := c.isolateOf[thread].node
		if collected := c.found.isolates[thread]; isolate == 0 {
			isolate = collected
		}
		if home, known := homes[isolate]; isolate != 0 && (!known || runs[thread] && !runs[home]) {
			homes[isolate] = thread
		}
	}
	return homes
}

// homeName names a thread that has an isolate: a worker by its script, the main thread of a process by that process; "" if neither has a name.
func (p *contextNames) homeName(c *collecting, thread timeline.TrackID) string {
	tr, process := c.t.Track(thread), c.t.Track(c.found.tracks[thread].process)
	name, isMain := tr.Name, process.InputID == tr.InputID
	if file := fileOf(p.threads[thread].most()); file != "" && !isMain {
		return "worker " + file + " " + tr.InputID.String()
	}
	if isMain && process.Name != "" {
		name = process.Name
	}
	if name == "" {
		return ""
	}
	return name + " " + tr.InputID.String()
}

// fileOf returns the name of the file of a url; "" if it has none, as urls of data do not.
func fileOf(url string) string {
	_, _, path := producers.SplitURL(url)
	if strings.HasPrefix(url, "blob:") {
		return ""
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// hostOf returns the host of a url, with the scheme where that is not http or https; nil if it has none.
func hostOf(url []byte) []byte {
	scheme, host, _ := producers.SplitURL(url)
	switch {
	case len(scheme) == 0 || len(host) == 0:
		return nil
	case string(scheme) == "http" || string(scheme) == "https":
		return host
	}
	return []byte(string(scheme) + "://" + string(host))
}

// shownID is how many characters of the id of a frame tell it from others for a reader.
const shownID = 6

// shortFrame names a frame by the start of its id. Addresses, which are short, are whole.
func shortFrame(id string) string {
	id, space, several := strings.Cut(id, "@")
	if len(id) == 32 {
		id = id[:shownID]
	}
	if several {
		id += "@" + space
	}
	return "frame " + id
}
