package report

import (
	"maps"
	"slices"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/timeline"
)

// shown is the url of a frame or script that a thread worked for.
type shown struct {
	thread timeline.TrackID
	typ    attribution.TypeID
	url    string
}

// maxShown bounds the urls of all threads.
const maxShown = 1 << 16

// urlTimes returns how long threads worked for each url. Work for a frame counts for the url that the frame had at that time.
// urlTimes counts only the frames and scripts that threads run themselves, not their work for other processes. It fails only if
// temporary files cannot be used.
func urlTimes(r *attribution.Result) (map[shown]timeline.Nanos, error) {
	times := map[shown]timeline.Nanos{}
	processes := map[timeline.TrackID]string{}
	named := func(thread timeline.TrackID) string { // the name of its process; if that is a url, script urls are not needed
		name, ok := processes[thread]
		if !ok {
			process := r.Timeline.Track(r.Timeline.TrackParent(thread))
			name = process.FullName()
			processes[thread] = name
		}
		return name
	}
	runs := make(map[attribution.IsolateRun]bool, len(r.Runs))
	for run := range r.Runs {
		runs[attribution.IsolateRun{Thread: run.Thread, Node: r.Contexts.LogicalOf(run.Node)}] = true
	}
	err := r.Costs.Cells.Each(func(c *attribution.Cell) {
		for _, typ := range [...]attribution.TypeID{attribution.TypeFrame, attribution.TypeScript} {
			e := r.Sets.Of(c.Set, typ)
			if e == 0 {
				continue
			}
			if typ == attribution.TypeScript && isURL(named(c.Thread)) {
				continue
			}
			node := r.Contexts.LogicalOf(r.Sets.Members[e].Node)
			if !runs[attribution.IsolateRun{Thread: c.Thread, Node: node}] {
				continue
			}
			url := r.Contexts.Label(node, c.Since)
			if typ == attribution.TypeFrame {
				url = r.Contexts.Url(node, c.Since)
			}
			k := shown{c.Thread, typ, url}
			if t, ok := times[k]; isURL(url) && (ok || len(times) < maxShown) {
				sum(&t, c.Wall)
				times[k] = t
			}
		}
	})
	return times, err
}

// threadsShow returns the urls that threads show, by track: for a page, the url of the frame that a thread running script
// worked for longest; for a worker, the url of the script that ran longest. Threads that run no script show nothing. The function
// script reports whether a thread runs script although no slice shows it.
func threadsShow(times map[shown]timeline.Nanos, script func(timeline.TrackID) bool) map[timeline.TrackID]string {
	best := [...]map[timeline.TrackID]shown{{}, {}} // of pages and of scripts
	for k, t := range times {
		which := best[0]
		if k.typ == attribution.TypeScript {
			which = best[1]
		}
		if b, ok := which[k.thread]; !ok || t > times[b] || t == times[b] && k.url < b.url {
			which[k.thread] = k
		}
	}
	urls := map[timeline.TrackID]string{}
	for thread, script := range best[1] {
		if urls[thread] = script.url; best[0][thread].url != "" {
			urls[thread] = best[0][thread].url
		}
	}
	for thread, page := range best[0] {
		if urls[thread] == "" && script(thread) {
			urls[thread] = page.url
		}
	}
	return urls
}

// FindShown finds the url that each sampled thread works for. It takes the url from an attribution or, if the attribution has no
// url for the thread, from the script that is outermost on the thread's stacks for most of the time. It fails only if temporary
// files cannot be used.
func (p *Profiles) FindShown(attributed *attribution.Result) error {
	times, err := urlTimes(attributed)
	if err != nil {
		return err
	}
	for k := range times {
		if k.typ == attribution.TypeScript {
			delete(times, k) // samples are more exact, and the same whether or not calls were made from them
		}
	}
	shows := threadsShow(times, func(timeline.TrackID) bool { return true })
	for _, t := range p.Threads {
		if !t.runsScript() {
			continue
		}
		if t.shows = shows[t.track]; t.shows == "" && !isURL(t.Process) {
			t.shows = p.outermostURL(t)
		}
	}
	return nil
}

// runsScript reports whether a sample of a thread has script on its stack.
func (t *Thread) runsScript() bool {
	return slices.ContainsFunc(t.observations, func(o observation) bool { return o.script != 0 })
}

// outermostURL returns the url of the script that is outermost on the stack most of the time; "" if no script has a url.
func (p *Profiles) outermostURL(t *Thread) string {
	byStack := map[stackID]timeline.Nanos{}
	for i := range t.observations {
		if o := &t.observations[i]; o.script != 0 {
			time := byStack[o.script]
			sum(&time, o.dur)
			byStack[o.script] = time
		}
	}
	byURL := map[string]timeline.Nanos{}
	part := p.stacks.part(slices.Collect(maps.Keys(byStack)))
	urls := make([]string, len(part.ids))
	for i, id := range part.ids {
		if below := part.below[i]; below >= 0 {
			urls[i] = urls[below]
		}
		if u := p.stacks.frame(id).URL; urls[i] == "" && isURL(u) {
			urls[i] = u
		}
		all := byURL[urls[i]]
		sum(&all, byStack[id])
		byURL[urls[i]] = all
	}
	best := ""
	for url, time := range byURL {
		if url != "" && (best == "" || time > byURL[best] || time == byURL[best] && url < best) {
			best = url
		}
	}
	return best
}
