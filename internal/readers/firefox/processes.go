package firefox

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// process is a process of the recording.
type process struct {
	track timeline.TrackID
	delta float64 // offset from its clock to the profile's, in raw profiles
	pid   string
	named bool

	isParent bool // it is the parent process
	tabUses  int  // number of markers and samples for documents of the recorded tab
}

// processes finds processes by pid and assigns new ids to duplicates.
type processes struct {
	byPID      map[string]*process
	list       []*process
	unknown    int
	lastSuffix int                // last suffix of an assigned id
	threads    map[threadName]int // number of threads with a tid in a process
}

// threadName identifies a thread in the profile.
type threadName struct {
	process *process
	tid     string
}

// collect creates the tracks of a profile and its children. A child's times are relative to its own start.
func (c *converter) collect(p *profile, delta float64) {
	if c.processes.byPID == nil {
		c.processes.byPID = map[string]*process{}
		c.processes.threads = map[threadName]int{}
	}
	c.schemas.add(p.meta.schemas)
	p.loaded.list = p.libs
	if p == c.root {
		c.shared = c.newStacks(&p.shared, p, &p.loaded)
		c.pages = newPageTree(allPages(p, nil))
	}
	raw := !p.isProcessed()
	p.firstThread = len(c.threads)
	byPID := map[string]*process{} // only in this profile, see process
	for _, th := range p.threads {
		pr := byPID[th.pid.text]
		switch {
		case pr != nil && (raw || th.pid.text != ""):
		case raw && th.pid.text == "" && p.process != nil:
			pr = p.process
		default:
			pr = c.process(th, raw)
			byPID[th.pid.text] = pr
		}
		if p.process == nil {
			p.process = pr
		}
		pr.delta = delta
		c.addThread(p, th, pr, raw, delta)
	}
	if p.process == nil && (len(p.counters) > 0 || len(p.overheads) > 0 || len(p.pauses) > 0) {
		p.process = c.process(&thread{}, raw)
		p.process.delta = delta
	}
	for _, child := range p.children {
		childDelta := 0.0
		if child.meta.startTimeText != "" && c.root.meta.startTimeText != "" {
			childDelta = child.meta.startTime - c.root.meta.startTime
		}
		c.collect(child, childDelta)
	}
}

// allPages returns the pages of all processes.
func allPages(p *profile, pages []timeline.Page) []timeline.Page {
	pages = append(pages, p.pages...)
	for _, child := range p.children {
		pages = allPages(child, pages)
	}
	return pages
}

// process returns the process of a thread. If different raw profiles have processes with the same pid, the pid was reused, and
// the processes are different. Firefox writes a raw profile per process; other programs, such as perf's scripts, put the threads
// of all processes into one raw profile.
func (c *converter) process(th *thread, raw bool) *process {
	pid := th.pid.text
	known := c.processes.byPID[pid]
	if known != nil && !raw && pid != "" {
		return known
	}
	p := &process{pid: pid}
	var key timeline.ProcessKey
	num, ok := jsonscan.Int64([]byte(pid))
	switch {
	case pid == "":
		c.processes.unknown++
		key.Text = fmt.Sprintf("Unknown Process %d", c.processes.unknown)
	case ok && known == nil:
		key.Num = num
	case known != nil:
		key = timeline.ProcessKey{Text: c.processes.freeID(pid), IsNumber: true}
		c.processes.byPID[key.Text] = p
	default:
		key = timeline.ProcessKey{Text: pid, IsNumber: true}
	}
	p.track = c.b.Process(key)
	c.processes.list = append(c.processes.list, p)
	if known == nil && pid != "" {
		c.processes.byPID[pid] = p
	}
	return p
}

// freeID derives an unused id from a pid, in the style of other programs.
func (p *processes) freeID(pid string) string {
	for p.lastSuffix = max(p.lastSuffix, len(p.list)); ; p.lastSuffix++ {
		if text := fmt.Sprintf("%s.%d", pid, p.lastSuffix); p.byPID[text] == nil {
			return text
		}
	}
}

// processNames holds names for unnamed processes, by type (section 2).
var processNames = map[string]string{
	"default": "Parent Process", "gecko": "Parent Process", "tab": "Content Process", "web": "Content Process",
	"gpu": "GPU Process", "rdd": "RDD Process", "socket": "Socket Process", "utility": "Utility Process",
	"plugin": "Plugin Process", "gmplugin": "Media Plugin Process",
}

// displayName returns the front end's name for a thread's process.
func (th *thread) displayName() string {
	return cmp.Or(th.site, th.processName, processNames[th.processType], th.processType)
}

// addThread creates the track of a thread, and names the thread and its process.
func (c *converter) addThread(p *profile, th *thread, pr *process, raw bool, delta float64) {
	if raw { // processed threads contain these
		th.startup, th.shutdown = 0, p.meta.shutdownTime
	}
	state := &threadState{
		th: th, index: len(c.threads), process: pr, delta: delta, raw: raw, tracerNames: &p.tracerDictionary,
		first: math.Inf(1), last: math.Inf(-1),
	}
	state.causeShift, state.requestShift = c.lateShifts(th, raw, delta)
	if th.processType == "default" {
		pr.isParent = true
		c.b.SetMain(pr.track, timeline.MainByType)
	}
	producers.FindMain(c.b, pr.track, []byte(th.processName), []byte(th.name)) // for imported Chrome traces
	state.track = c.b.Thread(pr.track, c.threadKey(th, pr))
	c.b.SetThreadName(state.track, 0, []byte(th.name))
	if name := th.displayName(); name != "" && (th.isMainThread() || !pr.named) {
		c.b.SetProcessName(pr.track, 0, []byte(name))
		pr.named = true
	}
	if th.private {
		c.b.AddLabel(pr.track, "private browsing")
	}
	if th.userContext != "" && th.userContext != "0" {
		c.b.AddLabel(pr.track, "container "+th.userContext)
	}
	state.tables, state.stacks = &p.shared, c.shared
	if th.tables.stacks.rows > 0 || th.tables.frames.rows > 0 || th.tables.strings.len() > 0 {
		state.tables = &th.tables
		if p.shared.strings.len() > 0 && th.tables.strings.len() == 0 {
			th.tables.strings = p.shared.strings // versions 56 to 59
		}
		if len(th.tables.sources.filename) == 0 {
			th.tables.sources = p.shared.sources
		}
		libs := &p.loaded
		if len(th.libs) > 0 {
			libs = &loadedLibs{list: th.libs}
		}
		state.stacks = c.newStacks(&th.tables, p, libs)
	}
	c.threads = append(c.threads, state)
}

// The first versions of the processed form in which all times of requests, and of causes, are on the profile's clock
// (section 3). Earlier versions kept the times of the raw form.
const (
	requestsOnClock = 19
	causesOnClock   = 34
)

// lateShifts returns the offsets for the times of causes and requests.
func (c *converter) lateShifts(th *thread, raw bool, delta float64) (cause, request float64) {
	if raw {
		return delta, delta
	}
	if math.IsNaN(th.startup) {
		return 0, 0
	}
	if c.processed < causesOnClock {
		cause = th.startup
	}
	if c.processed < requestsOnClock {
		request = th.startup
	}
	return cause, request
}

// threadKey returns the key of a thread. If a process has two threads with the same tid, the second thread reused the tid.
func (c *converter) threadKey(th *thread, pr *process) timeline.ThreadKey {
	tid := th.tid.text
	if tid == "" {
		tid = strconv.Itoa(len(c.threads))
		return timeline.ThreadKey{Text: "unknown " + tid, IsNumber: true}
	}
	name := threadName{pr, tid}
	c.processes.threads[name]++
	num, ok := jsonscan.Int64([]byte(tid))
	switch count := c.processes.threads[name]; {
	case count > 1:
		return timeline.ThreadKey{Text: fmt.Sprintf("%s.%d", tid, count-1), IsNumber: true}
	case !ok || num == 0:
		return timeline.ThreadKey{Text: tid, IsNumber: true}
	}
	return timeline.ThreadKey{Num: num}
}
