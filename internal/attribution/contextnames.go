package attribution

import (
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// contextNames finds names for Chrome contexts without a url: a frame is named after the host of most of its scripts, an
// isolate after its worker script or thread.
type contextNames struct {
	frames  map[NodeID]*tally           // hosts of the scripts that ran in a frame
	threads map[timeline.TrackID]*tally // urls of the scripts that a thread ran outside of frames
}

// tally counts the first eight distinct texts: a frame has scripts from few hosts.
type tally []tallied

type tallied struct {
	text string
	n    int
}

const (
	maxTallied = 8
	tallySize  = 256 // bytes of a tally, with its map entry
)

// count counts a text. A nil tally counts nothing.
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
	if len(*t) < maxTallied && c.Size+min(len(text), maxIDText)+textSize <= c.Limits.Of(MaxTableSize) {
		*t = append(*t, tallied{c.Keep(text), 1})
	}
}

// mostFrequent returns the most frequent text, or the first of several equally frequent ones. It returns "" if there is none.
func (t *tally) mostFrequent() (text string) {
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

// tallyOf returns the tally of a key and creates it if necessary, or nil if the memory limit does not allow it.
func tallyOf[K comparable](c *Catalogue, m map[K]*tally, key K) *tally {
	t := m[key]
	if t == nil && c.Size+tallySize <= c.Limits.Of(MaxTableSize) { // without a tally a context is named by its id, so this is not a loss to count
		c.Size += tallySize
		t = new(tally)
		m[key] = t
	}
	return t
}

// observe counts the scripts of frames, and of threads that run scripts outside of frames.
func (p *contextNames) observe(c *collecting, s *event) error {
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
	case f.frame == nil && s.track.Place == PlaceThread:
		tallyOf(c.contexts, p.threads, s.track.Thread).count(c.contexts, script)
	case f.frame != nil && host != nil:
		tallyOf(c.contexts, p.frames, c.frameNode(f.frame, s.track.pid, s.track.idSpace)).count(c.contexts, host)
	}
	return nil
}

// finish names the contexts.
func (p *contextNames) finish(c *collecting) {
	names := map[NodeID]string{}
	for node, t := range p.frames {
		if host := t.mostFrequent(); node != 0 && host != "" {
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

// homes returns the thread of each isolate: the first that names the isolate and runs scripts itself, otherwise the
// first that names the isolate or for which the isolate was invented.
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

// homeName names a thread with an isolate: a worker after its script, the main thread after its process, any other thread by its
// own name. The thread's id follows the name. If there is no name, homeName returns "".
func (p *contextNames) homeName(c *collecting, thread timeline.TrackID) string {
	tr, process := c.t.Track(thread), c.t.Track(c.found.tracks[thread].process)
	name, isMain := tr.Name, process.InputID == tr.InputID
	if file := fileOf(p.threads[thread].mostFrequent()); file != "" && !isMain {
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

// fileOf returns the file name in a url, or "" if there is none, as in data urls.
func fileOf(url string) string {
	_, _, path := producers.SplitURL(url)
	if strings.HasPrefix(url, "blob:") {
		return ""
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// hostOf returns the host of a url, with the scheme unless it is http or https. It returns nil if there is no host.
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

// shownID is the number of frame id characters shown in names.
const shownID = 6

// shortFrame names a frame by the start of its id, or by its whole address.
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
