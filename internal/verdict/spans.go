package verdict

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// operationTime is how long an operation is on the critical path of the longest request.
type operationTime struct {
	service, operation string
	time               timeline.Nanos
	times              int
	first              timeline.Nanos
}

// onPath totals the time on the critical path by operation, most time first.
func (j *judge) onPath() (list []operationTime) {
	for i := range j.Spans.Path {
		s := &j.Spans.Path[i]
		k := slices.IndexFunc(list, func(o operationTime) bool { return o.service == s.Service && o.operation == s.Operation })
		if k < 0 {
			k = len(list)
			list = append(list, operationTime{service: s.Service, operation: s.Operation, first: s.Start})
		}
		list[k].time += s.Duration
		list[k].times++
	}
	slices.SortStableFunc(list, func(a, b operationTime) int { return cmp.Compare(b.time, a.time) })
	return list
}

// origin returns the failure that caused the most errors; nil: nothing failed.
func (j *judge) origin() (most *report.SpanFailure) {
	for i := range j.Spans.Failures {
		if f := &j.Spans.Failures[i]; f.Origins > 0 && (most == nil || f.Origins > most.Origins) {
			most = f
		}
	}
	return most
}

// message quotes the message of a failure.
func message(text string) Part {
	return quote(cmp.Or(text, "no message"))
}

// service judges distributed traces.
func (j *judge) service() {
	s, path, origin := j.Spans, j.onPath(), j.origin()
	root := s.Longest
	switch {
	case root == nil:
		j.heading("", "No end was recorded of %s", count(s.Spans.Spans, "span"))
	case s.Roots == 1 && s.RootErrors == 1:
		j.heading(Poor, "%s failed after %s", name(root.Operation), length(root.Length))
	case s.RootErrors > 0:
		j.heading(Poor, "%s of %s failed", number(table.Thousands(s.RootErrors)), count(s.Roots, "request"))
	case s.Errors > 0 && origin != nil:
		j.heading(Poor, "%s of %s failed %s, but %s succeeded", name(origin.Operation), name(origin.Service), times(origin.Origins), j.everyRequest())
	case s.Errors > 0:
		j.heading(Poor, "%s of %s failed, but %s succeeded", number(table.Thousands(s.Errors)), count(s.Spans.Spans, "span"), j.everyRequest())
	case s.Roots == 1:
		j.heading("", "%s was answered in %s", name(root.Operation), length(root.Length))
	default:
		j.heading("", "%s were answered; the slowest, %s, took %s", count(s.Roots, "request"), name(root.Operation), length(root.Length))
	}
	if origin != nil && s.RootErrors == 0 {
		j.out.Why = append(j.out.Why, text("The message is “%s”%s.", message(origin.Message), j.cameThrough(origin)))
	} else if origin != nil {
		j.out.Why = append(j.out.Why, text("%s of %s failed %s: “%s”%s.", name(origin.Operation), name(origin.Service), times(origin.Origins), message(origin.Message), j.cameThrough(origin)))
	}
	if len(path) > 0 && root.Length > 0 {
		top := &path[0]
		j.out.Why = append(j.out.Why, text("%s of %s takes %s of its %s.", name(top.operation), name(top.service), percent(top.time, root.Length), length(root.Length)))
		if s.Roots > 1 || origin != nil {
			j.out.Why[len(j.out.Why)-1] = text("%s of %s takes %s of the %s of the slowest request.", name(top.operation), name(top.service), percent(top.time, root.Length), length(root.Length))
		}
	}
	j.serviceTiles()
	j.failureIssues()
	for i := range path[:min(len(path), 3)] {
		o := &path[i]
		action := text("Make it faster, or run it in parallel with the rest.")
		title := text("%s of %s takes %s of the %s of the slowest request", name(o.operation), name(o.service), length(o.time), length(root.Length))
		if o.times > 4 {
			title = text("%s runs %s one after the other", name(o.operation), times(o.times))
			action = text("Batch these calls, or make them in parallel.")
		}
		proof := text("%s of its time.", percent(o.time, root.Length))
		if o.times > 1 {
			proof = text("%s of its time, in %s.", percent(o.time, root.Length), count(o.times, "part"))
		}
		j.issue(Issue{
			Title: title, Proof: proof, Action: action, Class: Yours,
			Gain: o.time, Show: &Moment{o.first, o.time, nil}, Section: "spans",
		}, 40)
	}
}

// everyRequest names the spans without a parent, for a sentence.
func (j *judge) everyRequest() Text {
	if j.Spans.Roots == 1 {
		return text("the request from outside")
	}
	return text("all %s from outside", count(j.Spans.Roots, "request"))
}

// firstAt states when a failure happened, or the first of several.
func (j *judge) firstAt(f *sameFailure) Text {
	if f.Count == 1 {
		return text("at %s", j.moment(f.First))
	}
	return text("the first at %s", j.moment(f.First))
}

// cameThrough lists the operations to which an error spread.
func (j *judge) cameThrough(origin *report.SpanFailure) (t Text) {
	n := 0
	for i := range j.Spans.Failures {
		if f := &j.Spans.Failures[i]; f.Origins < f.Count && f != origin && n < 3 {
			if n++; n == 1 {
				t = text("; the error spread to %s", name(f.Operation))
			} else {
				t = append(t, text(", %s", name(f.Operation))...)
			}
		}
	}
	return t
}

// serviceTiles adds the tiles of distributed traces.
func (j *judge) serviceTiles() {
	s := j.Spans
	if s.Longest != nil {
		j.tile(Tile{Label: "Slowest request", Value: table.Length(s.Longest.Length), Note: s.Longest.Operation, Section: "spans"})
	}
	rating := Good
	if s.Errors > 0 {
		rating = Poor
	}
	j.tile(Tile{Label: "Errors", Value: table.Thousands(s.Errors), Note: "of " + table.Count(s.Spans.Spans, "span"), Rating: rating, Section: "spans"})
	j.tile(Tile{Label: "Requests", Value: table.Thousands(s.Roots), Note: "spans without a parent"})
	j.tile(Tile{Label: "Services", Value: table.Thousands(s.Services), Section: "spans"})
	if i := slices.IndexFunc(s.Operations, func(o report.Operation) bool {
		return s.Longest != nil && o.Operation == s.Longest.Operation && o.Service == s.Longest.Service
	}); i >= 0 && s.Operations[i].Count >= 20 {
		o := &s.Operations[i]
		j.tile(Tile{Label: "95 % within", Value: table.Length(o.P95), Note: table.Count(o.Count, "span") + " " + o.Operation})
	}
}

// sameFailure combines the failures of a service with the same message.
type sameFailure struct {
	report.SpanFailure     // the first failure; Count and Origins are totals for all of them
	kinds              int // the number of operations or urls
}

// sameFailures groups failures by service and message, in the order of their most frequent failure.
func (j *judge) sameFailures() (list []sameFailure) {
	for _, f := range j.Spans.Spans.Failures {
		i := slices.IndexFunc(list, func(s sameFailure) bool {
			return s.Service == f.Service && s.Message == f.Message && (s.Origins > 0) == (f.Origins > 0) && isFavicon(s.URL) == isFavicon(f.URL)
		})
		if i < 0 {
			list = append(list, sameFailure{f, 1})
			continue
		}
		s := &list[i]
		if f.First < s.First {
			s.SpanFailure, f = f, s.SpanFailure
		}
		s.kinds, s.Count, s.Origins = s.kinds+1, s.Count+f.Count, s.Origins+f.Origins
	}
	return list
}

// isFavicon reports whether a url is one that browsers request on their own.
func isFavicon(url string) bool { return strings.HasSuffix(url, "/favicon.ico") }

// failureIssues adds issues about spans in which errors start.
func (j *judge) failureIssues() {
	for _, f := range j.sameFailures() {
		if f.Origins == 0 {
			continue
		}
		whole := j.End - j.Start
		if j.Spans.Longest != nil {
			whole = j.Spans.Longest.Length
		}
		title := text("%s of %s fails %s", name(f.Operation), name(f.Service), times(f.Origins))
		if f.kinds > 1 {
			title = text("%s of %s fail %s with one message", count(f.kinds, "operation"), name(f.Service), times(f.Origins))
		}
		j.issue(Issue{
			Title: title, Proof: text("“%s”; %s.", message(f.Message), j.firstAt(&f)),
			Action: text("Read the message: nothing below it failed, so the error starts here."), Class: Yours, Gain: several(whole, f.Origins), Show: &Moment{f.First, 0, nil}, Section: "spans",
		}, 100)
	}
}

// archive judges HTTP archives.
func (j *judge) archive() {
	s := j.Spans
	var load *report.Load
	if j.Loads != nil && len(j.Loads.Pages) > 0 {
		load = &j.Loads.Pages[0]
		for i := range j.Loads.Pages {
			if l := &j.Loads.Pages[i]; l.Loaded != nil && (load.Loaded == nil || *l.Loaded > *load.Loaded) {
				load = l
			}
		}
	}
	last := j.End - j.Start
	if load != nil && load.Loaded != nil {
		last = j.End - load.Start - *load.Loaded
	}
	slowest := &s.Slowest[0]
	failed := text("")
	if s.Errors > 0 {
		failed = text(" %s of %s failed.", number(table.Thousands(s.Errors)), count(s.Requests, "request"))
	}
	switch {
	case load == nil || load.Loaded == nil:
		j.heading("", "%s took %s; the slowest, %s, took %s", count(s.Requests, "request"), length(j.End-j.Start), name(requestName(slowest)), length(slowest.Length))
	case s.Errors > 0:
		j.heading(Poor, "%s loaded in %s, and %s of %s failed", name(ShortURL(load.URL)), length(*load.Loaded), number(table.Thousands(s.Errors)), count(s.Requests, "request"))
		failed = nil
	case s.Late > 0:
		j.heading("", "%s loaded in %s, and went on fetching for %s", name(ShortURL(load.URL)), length(*load.Loaded), length(last))
	default:
		j.heading("", "%s loaded in %s with %s", name(ShortURL(load.URL)), length(*load.Loaded), count(s.Requests, "request"))
	}
	j.out.Why = append(j.out.Why, text("The slowest request, %s of %s, took %s.%s", name(requestName(slowest)), name(slowest.Service), length(slowest.Length), failed))
	if s.Late > 0 && s.Errors > 0 {
		j.out.Why = append(j.out.Why, text("%s were sent after the load, and the last was answered %s after it.", count(s.Late, "request"), length(last)))
	}
	j.archiveTiles(load)
	j.archiveIssues(load)
}

// requestName names a request as the waterfall does, without its host.
func requestName(r *report.SpanRow) string {
	name, _, hasPath := strings.Cut(string(producers.AppendRequestName(nil, []byte(r.Operation), []byte(r.URL))), " · ")
	if !hasPath { // the root of a host
		return strings.TrimSuffix(name, r.Service) + "/"
	}
	return name
}

// archiveTiles adds the tiles of HTTP archives.
func (j *judge) archiveTiles(load *report.Load) {
	s := j.Spans
	if load != nil && load.DOMContent != nil {
		j.tile(Tile{Label: "DOM ready", Value: table.Length(*load.DOMContent), Note: "DOMContentLoaded"})
	}
	if load != nil && load.Loaded != nil {
		j.tile(Tile{Label: "Load", Value: table.Length(*load.Loaded), Note: place(load.URL).Text})
	}
	j.tile(Tile{Label: "Requests", Value: table.Thousands(s.Requests), Note: "to " + table.Count(s.Services, "host"), Section: "spans"})
	rating := Good
	if s.Errors > 0 {
		rating = Poor
	}
	j.tile(Tile{Label: "Failed", Value: table.Thousands(s.Errors), Rating: rating, Section: "spans"})
	if s.Bytes > 0 {
		j.tile(Tile{Label: "Received", Value: table.Size(s.Bytes)})
	}
	if s.Late > 0 {
		j.tile(Tile{Label: "Sent after the load", Value: table.Thousands(s.Late), Note: "of " + table.Count(s.Requests, "request")})
	}
	j.tile(Tile{Label: "Slowest request", Value: table.Length(s.Slowest[0].Length), Note: requestName(&s.Slowest[0]), Section: "spans"})
}

// archiveIssues adds issues about slow and failed requests, and about waiting.
func (j *judge) archiveIssues(load *report.Load) {
	s := j.Spans
	for i := range s.Slowest[:min(len(s.Slowest), 2)] {
		r := &s.Slowest[i]
		if r.Length < 100*millisecond {
			break
		}
		action := text("Send less, or compress it: little of the time is waiting.")
		if r.Wait >= r.Length/2 {
			action = text("Answer it faster on the server, or from a cache.")
		}
		j.issue(Issue{
			Title: text("%s of %s takes %s", name(requestName(r)), name(r.Service), length(r.Length)),
			Proof: text("Sent at %s%s; %s of it waiting for the first byte.", j.moment(r.Start), j.afterLoad(r, load), length(r.Wait)), Action: action, Class: Yours, Gain: r.Length, Show: &Moment{r.Start, r.Length, nil}, Section: "spans",
		}, 50)
	}
	for _, f := range j.sameFailures() {
		sure := timeline.Nanos(90)
		if isFavicon(f.URL) {
			sure = 5
		}
		title, proof := text("%s fails %s: %s", name(f.Operation+" "+ShortURL(f.URL)), times(f.Count), message(f.Message)), text("It was sent at %s.", j.moment(f.First))
		if f.Count > 1 {
			proof = text("The first was sent at %s.", j.moment(f.First))
		}
		if f.kinds > 1 {
			title = text("%s to %s fail: %s", count(f.Count, "request"), name(f.Service), message(f.Message))
			proof = text("The first, %s, was sent at %s.", name(f.Operation+" "+ShortURL(f.URL)), j.moment(f.First))
		}
		j.issue(Issue{
			Title: title, Proof: proof,
			Action: text("Fix the URL or the server, or drop the request."), Class: Yours, Gain: several(max(100*millisecond, s.Slowest[0].Length), f.Count), Show: &Moment{f.First, 0, nil}, Section: "spans",
		}, sure)
	}
	for _, phase := range [][2]string{{"connect", "Use fewer hosts, keep connections, and preconnect to those that are needed early."}, {"blocked", "Send fewer requests at once, or use HTTP/2."}, {"dns", "Use fewer hosts, and prefetch their names."}} {
		i := -1
		if j.Slices != nil {
			i = slices.IndexFunc(j.Slices.Groups, func(g report.SliceGroup) bool { return g.Kind == report.AsyncSlices && g.Name == phase[0] })
		}
		if i < 0 {
			continue
		}
		if g := &j.Slices.Groups[i]; g.Total > 50*millisecond {
			j.issue(Issue{
				Title: text("Requests wait for %s: %s in sum", phaseWord(phase[0]), length(g.Total)), Proof: text("%s, the longest %s; they overlap.", times(g.Count), length(g.Max)),
				Action: text("%s", phase[1]), Class: Yours, Gain: g.Max, Section: "spans",
			}, 40)
		}
	}
}

func phaseWord(phase string) string {
	return map[string]string{"connect": "connections", "blocked": "their turn", "dns": "names of hosts"}[phase]
}

// afterLoad states that a request was sent after the page was loaded; "" if it was not.
func (j *judge) afterLoad(r *report.SpanRow, load *report.Load) string {
	if load != nil && load.Loaded != nil && r.Start > load.Start+*load.Loaded {
		return ", after the page was loaded"
	}
	return ""
}
