package firefox

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// busy measures the activity of a thread or process: by CPU time in the profile's unit, then by the number of samples with a
// stack, then by the number of markers.
type busy struct {
	cpu              float64
	samples, markers int
}

func (b *busy) add(other busy) {
	b.cpu += other.cpu
	b.samples += other.samples
	b.markers += other.markers
}

// compareBusy compares by decreasing activity.
func compareBusy(a, b busy) int {
	return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.samples, a.samples), cmp.Compare(b.markers, a.markers))
}

// busy returns the activity of a thread. It ignores the first CPU time, which was used before the recording.
func (th *threadState) busy() busy {
	s := &th.th.samples
	b := busy{markers: th.th.markers.rows}
	for i := range s.rows {
		if d := s.cpuDelta.at(i); i > 0 && d > 0 {
			b.cpu += d
		}
		if s.stack[i] >= 0 {
			b.samples++
		}
	}
	return b
}

// readOrder reads the profile's settings for the order of its threads.
func (c *converter) readOrder() {
	for _, a := range c.root.meta.attributes {
		switch a.key {
		case "keepProfileThreadOrder":
			c.keepOrder = a.value == "true"
		case "configuration":
			c.eachMember([]byte(a.value), func(key []byte, v value) {
				if string(key) == "activeTabID" {
					c.activeTab, _ = jsonscan.Int64(v.text)
				}
			})
		}
	}
}

// setOrder orders processes and threads (section 11). The process of the recorded tab comes first; the other processes follow by
// activity, then by position in the profile. Within a process, the main thread comes first; the other threads follow in the same
// way. A profile can require its own order instead.
func (c *converter) setOrder() {
	threads := slices.Clone(c.threads)
	processes := slices.Clone(c.processes.list)
	if !c.keepOrder {
		ofThread, ofProcess := map[*threadState]busy{}, map[*process]busy{}
		for _, th := range threads {
			b := th.busy()
			ofThread[th] = b
			all := ofProcess[th.process]
			all.add(b)
			ofProcess[th.process] = all
		}
		tab := c.tabProcess()
		slices.SortStableFunc(processes, func(a, b *process) int {
			return cmp.Or(falseFirst(a != tab, b != tab), compareBusy(ofProcess[a], ofProcess[b]))
		})
		slices.SortStableFunc(threads, func(a, b *threadState) int {
			return cmp.Or(falseFirst(!a.th.isMainThread(), !b.th.isMainThread()), compareBusy(ofThread[a], ofThread[b]))
		})
	}
	for i, p := range processes {
		c.b.SetSortIndex(p.track, int32(min(i, math.MaxInt32)))
	}
	for i, th := range threads {
		c.b.SetSortIndex(th.track, int32(min(i, math.MaxInt32)))
	}
}

// isMainThread reports whether a thread is the main thread of its process.
func (th *thread) isMainThread() bool { return th.isMain || th.name == producers.GeckoMain }

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// tabProcess returns the first process with the most activity for the outermost documents of the recorded tab, or nil.
// It ignores the parent process, which shows no web documents.
func (c *converter) tabProcess() *process {
	var tab *process
	for _, p := range c.processes.list {
		if !p.isParent && p.tabUses > 0 && (tab == nil || p.tabUses > tab.tabUses) {
			tab = p
		}
	}
	return tab
}

// useWindow counts a use of a window for the thread's process, if the window shows an outermost document of the recorded tab.
func (c *converter) useWindow(th *threadState, window int64) {
	if page := c.pages.page(window); page != nil && page.Embedder == 0 && c.isRecorded(page) {
		th.process.tabUses++
	}
}

// isRecorded reports whether a page belongs to the recorded tab. A profile without a tab (0) records all tabs with web
// documents.
func (c *converter) isRecorded(p *timeline.Page) bool {
	if tab := c.activeTab; tab != 0 {
		return p.Tab == tab
	}
	scheme, _, ok := strings.Cut(p.URL, ":")
	return ok && (scheme == "http" || scheme == "https" || scheme == "file")
}
