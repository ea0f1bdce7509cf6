package report

import (
	"github.com/weft-trace/weft/internal/attribution/cost"
	"github.com/weft-trace/weft/internal/attribution/trees"
	"github.com/weft-trace/weft/internal/timeline"
)

// shown is a url for which a thread worked: of a frame, or of a script.
type shown struct {
	thread timeline.TrackID
	typ    trees.TypeID
	url    string
}

// maxShown bounds the urls of all threads.
const maxShown = 1 << 16

// urlTimes returns how long threads worked for each url, as it was at that time. The error is one of the temporary files.
func urlTimes(r *cost.Result) (map[shown]timeline.Nanos, error) {
	times := map[shown]timeline.Nanos{}
	err := r.Costs.Cells.Each(func(c *cost.Cell) {
		for _, typ := range [...]trees.TypeID{trees.TypeFrame, trees.TypeScript} {
			e := r.Sets.Of(c.Set, typ)
			if e == 0 {
				continue
			}
			node := r.Contexts.LogicalOf(r.Sets.Members[e].Node)
			url := r.Contexts.Label(node, c.Since)
			if typ == trees.TypeFrame {
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

// threadsShow returns the urls that threads show, by track: of a page the url of the frame for which a thread that runs script
// worked longest, of a worker that of the script that ran longest. Threads that run no script show nothing.
func threadsShow(times map[shown]timeline.Nanos) map[timeline.TrackID]string {
	best := [...]map[timeline.TrackID]shown{{}, {}} // of pages and of scripts
	for k, t := range times {
		which := best[0]
		if k.typ == trees.TypeScript {
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
	return urls
}
