package report

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Spans summarizes the spans of distributed traces: OpenTelemetry spans and the requests in HTTP archives. Times are nanoseconds;
// points in time are on the trace's clock.
type Spans struct {
	Start      timeline.Nanos `json:"start_ns"` // of the trace
	End        timeline.Nanos `json:"end_ns"`
	Spans      int64          `json:"spans"`
	Errors     int64          `json:"errors"`
	Unfinished int64          `json:"unfinished"` // spans that never end: they count, but take no time
	// Others is the number of spans, errors and calls in rows named OthersGroup because there are too many rows. Forgotten is
	// the number of spans that were dropped before they ended because too many were open. Early is the number of spans that
	// start before their parents.
	Others    int64 `json:"others"`
	Forgotten int64 `json:"forgotten"`
	Early     int64 `json:"early"`
	// Roots is the number of spans without a parent; RootErrors is how many of these failed. Requests is the number of spans
	// that are requests in HTTP archives, Bytes is the size of their responses, and Late is how many were sent after all pages
	// were loaded.
	Roots      int64 `json:"roots"`
	RootErrors int64 `json:"root_errors"`
	Requests   int64 `json:"requests"`
	Bytes      int64 `json:"bytes"`
	Late       int64 `json:"requests_after_load"`
	left       int64 // spans for which the path had no room

	Operations []Operation    `json:"-"` // most self time first
	Failures   []SpanFailure  `json:"-"` // most frequent first
	Calls      []ServiceCall  `json:"-"` // most calls first
	Path       []CriticalSpan `json:"-"` // in time order, if requested
	Longest    *SpanRow       `json:"-"` // the longest span without a parent or, failing that, of all spans; nil: no span ends
	Slowest    []SpanRow      `json:"-"` // archive requests, slowest first, at most AllRows
}

// SpanRow is one span or archive request.
type SpanRow struct {
	Service   string         `json:"service"`
	Operation string         `json:"operation"`
	URL       string         `json:"url,omitempty"` // of a request
	Start     timeline.Nanos `json:"ts_ns"`
	Length    timeline.Nanos `json:"dur_ns"`
	Wait      timeline.Nanos `json:"wait_ns,omitempty"` // of a request: from sending it to the first byte of the response
	Bytes     int64          `json:"bytes,omitempty"`
	Failed    bool           `json:"error,omitempty"`
	Message   string         `json:"message,omitempty"`
}

// Operation summarizes the spans with the same name and service. The service of an archive request is the host; the operation is
// the method.
type Operation struct {
	Service    string         `json:"service"`
	Operation  string         `json:"operation"`
	Kind       string         `json:"kind,omitempty"` // "server", "client", …; of the first span
	Count      int64          `json:"count"`
	Errors     int64          `json:"errors"`
	Unfinished int64          `json:"unfinished"`
	Self       timeline.Nanos `json:"self_ns"` // without the time during which any child of a span ran, in any service
	Total      timeline.Nanos `json:"total_ns"`
	P50        timeline.Nanos `json:"p50_ns"`
	P95        timeline.Nanos `json:"p95_ns"`
	P99        timeline.Nanos `json:"p99_ns"`
	Max        timeline.Nanos `json:"max_ns"`
	MaxAt      timeline.Nanos `json:"max_ts_ns"` // when the longest span begins
	MaxTrace   string         `json:"max_trace_id,omitempty"`
	Spread     Histogram      `json:"-"`
	timed      bool           // Max is set
}

// SpanFailure summarizes the spans of an operation that failed with the same message.
type SpanFailure struct {
	Service   string         `json:"service"`
	Operation string         `json:"operation"`
	Message   string         `json:"message"`
	Count     int64          `json:"count"`
	First     timeline.Nanos `json:"first_ts_ns"`
	Trace     string         `json:"first_trace_id,omitempty"`
	URL       string         `json:"first_url,omitempty"` // of an archive request
	// Origins is the number of these spans without a failed child: where the error comes from.
	Origins int64 `json:"origins"`
}

// ServiceCall summarizes the calls from one service to another: spans whose parent belongs to another service, and client spans
// without such a child that name the service they call. Its times are from these spans.
type ServiceCall struct {
	From   string         `json:"from"`
	To     string         `json:"to"`
	Calls  int64          `json:"calls"`
	Errors int64          `json:"errors"`
	P50    timeline.Nanos `json:"p50_ns"`
	P95    timeline.Nanos `json:"p95_ns"`
	P99    timeline.Nanos `json:"p99_ns"`
	Total  timeline.Nanos `json:"total_ns"`
}

// SpanOptions selects the spans that count; the zero value selects all.
type SpanOptions struct {
	Include func(*timeline.Item) bool // nil: all
	Path    bool                      // requests the critical path of the longest span that counts, preferably a root
	Loaded  timeline.Nanos            // when the pages of an archive were loaded; 0: unknown
	// Length receives the length of each span that has one; nil: not needed.
	Length func(service, operation string, length timeline.Nanos) error
}

// Memory limits.
const (
	maxSpanRows  = 1 << 16 // of each table
	maxKnown     = 1 << 17 // spans that may still have children
	maxPathSpans = 1 << 16 // of the trace of a path
)

// CollectSpans summarizes the spans in a nested timeline. The error is from temporary files, opts.Length or ctx.
func CollectSpans(ctx context.Context, tl *timeline.Timeline, opts SpanOptions) (*Spans, error) {
	c := newSpanCollector(tl, opts)
	defer c.lengths.Close()
	if err := tl.WalkSlices(ctx, everyTrack, timeline.Nested(tl, c.item)); err != nil {
		return nil, err
	}
	return c.done(ctx)
}

func everyTrack(timeline.TrackID) bool { return true }

func newSpanCollector(tl *timeline.Timeline, opts SpanOptions) *spanCollector {
	return &spanCollector{
		tl: tl, opts: opts, reader: newSpanReader(tl), lengths: extsort.NewRanks(tl.Memory()/8, tl.TempDir()), known: map[spanID]*span{}, early: map[spanID]earlySpans{},
		operations: map[string]int{}, failures: map[string]int{}, calls: map[string]int{},
	}
}

// done returns the sums after the walk.
func (c *spanCollector) done(ctx context.Context) (*Spans, error) {
	if err := c.quantiles(ctx); err != nil {
		return nil, err
	}
	totals := c.tl.Totals()
	c.out.Start, c.out.End = totals.Start, totals.End
	c.out.Slowest = slowestOf(c.out.Slowest)
	if c.longest != nil {
		c.out.Longest = new(c.longest.row())
	}
	if c.opts.Path && c.longest != nil {
		p := criticalPath{reader: c.reader, root: &pathSpan{spanFacts: c.longest.spanFacts, end: c.longest.start + c.longest.length}, spans: map[spanID]*pathSpan{}}
		if err := c.tl.WalkSlices(ctx, everyTrack, p.item); err != nil {
			return nil, err
		}
		c.out.Path, c.out.left = p.path(), p.left
	}
	return &c.out, nil
}

// spanID identifies a span.
type spanID struct{ trace, span string }

// span is a span that may still get children.
type span struct {
	spanFacts
	operation int // index in Operations; -1: it does not count
	parent    *span
	kids      int            // running children
	since     timeline.Nanos // when the last child ended, or the span began
	self      timeline.Nanos
	ended     bool
	timed     bool
	called    bool // a child belongs to another service
	passed    bool // a child failed
	failure   int  // index in Failures, if it failed and counts; otherwise -1
	drawn     *waterfallSpan
}

func (s *span) row() SpanRow {
	return SpanRow{Service: s.service, Operation: s.operationName, URL: s.url, Start: s.start, Length: s.length, Wait: s.wait, Bytes: s.bytes, Failed: s.failed, Message: s.message}
}

type spanCollector struct {
	tl     *timeline.Timeline
	opts   SpanOptions
	reader *spanReader
	out    Spans

	known  map[spanID]*span
	recent []spanID              // a ring of the known spans
	early  map[spanID]earlySpans // by parent: spans that began before it was known
	begun  int

	operations map[string]int // index in Operations, by the names of a row
	failures   map[string]int
	calls      map[string]int
	lengths    *extsort.Ranks // by twice the index in Operations, or twice the index in Calls plus one
	longest    *span
	waterfall  *waterfallCollector // receives the spans that count; nil: not requested
}

func (c *spanCollector) item(it *timeline.Item, open *timeline.OpenSlices[*span]) error {
	switch it.Kind {
	case timeline.ItemBegin:
		s, err := c.begin(it)
		*open.Innermost() = s
		if n := open.Len(); s == nil && n > 1 && *open.At(n - 2) != nil {
			(*open.At(n - 2)).drawn.addPhase(it)
		}
		return err
	case timeline.ItemEnd:
		if o := open.Innermost(); o != nil && *o != nil {
			return c.end(*o, it.TS)
		}
	}
	return nil
}

// begin handles the start of a slice; it returns nil if the slice is not a span.
func (c *spanCollector) begin(it *timeline.Item) (*span, error) {
	facts, ok, err := c.reader.read(it)
	if err != nil || !ok {
		return nil, err
	}
	s := &span{spanFacts: facts, operation: -1, failure: -1, since: it.TS, timed: hasEnd(&it.Head)}
	switch p := c.known[facts.parent]; {
	case facts.parent.span == "":
	case p != nil:
		s.parent = p
		p.called, p.passed = p.called || p.service != s.service, p.passed || s.failed
	case len(c.early) < maxKnown:
		c.startsEarly(s, it)
	}
	c.know(s)
	if s.timed && s.parent != nil && !s.parent.ended {
		if s.parent.kids == 0 {
			sum(&s.parent.self, it.TS-s.parent.since)
		}
		s.parent.kids++
	}
	if c.opts.Include != nil && !c.opts.Include(it) {
		return s, nil
	}
	c.count(s)
	if c.waterfall != nil {
		s.drawn = c.waterfall.span(&facts, it)
	}
	return s, nil
}

// earlySpans counts the spans that start before the parent they name, and how many of these count as roots until the
// parent comes.
type earlySpans struct{ spans, roots, rootErrors int64 }

// startsEarly records a span whose parent is not known yet.
func (c *spanCollector) startsEarly(s *span, it *timeline.Item) {
	early := c.early[s.spanFacts.parent]
	early.spans++
	if counts := c.opts.Include == nil || c.opts.Include(it); counts && s.url == "" {
		early.roots++
		if s.failed {
			early.rootErrors++
		}
	}
	c.early[s.spanFacts.parent] = early
}

// know remembers a span for its children.
func (c *spanCollector) know(s *span) {
	if s.id.span == "" {
		return
	}
	if len(c.recent) < maxKnown {
		c.recent = append(c.recent, s.id)
	} else {
		oldest := &c.recent[c.begun%maxKnown]
		if o := c.known[*oldest]; o != nil && o.timed && !o.ended {
			c.out.Forgotten++
		}
		delete(c.known, *oldest)
		*oldest = s.id
	}
	c.begun++
	c.known[s.id] = s
	early := c.early[s.id]
	c.out.Early += early.spans
	c.out.Roots -= early.roots // they have a parent after all
	c.out.RootErrors -= early.rootErrors
	delete(c.early, s.id)
}

// count counts a span that begins.
func (c *spanCollector) count(s *span) {
	c.out.Spans++
	s.operation = row(&c.out, c.operations, &c.out.Operations, []string{s.service, s.operationName}, func(names []string) Operation {
		return Operation{Service: names[0], Operation: names[1], Kind: s.kind, MaxAt: s.start}
	})
	o := &c.out.Operations[s.operation]
	o.Count++
	if !s.timed {
		o.Unfinished++
		c.out.Unfinished++
	}
	if s.failed {
		o.Errors++
		c.out.Errors++
		i := row(&c.out, c.failures, &c.out.Failures, []string{s.service, s.operationName, s.message, withoutQuery(s.url)}, func(names []string) SpanFailure {
			return SpanFailure{Service: names[0], Operation: names[1], Message: names[2], First: s.start, Trace: s.id.trace, URL: s.url}
		})
		c.out.Failures[i].Count++
		s.failure = i
	}
	c.countRoot(s)
	if s.timed && (c.longest == nil || cmp.Or(table.FalseFirst(s.parent == nil, c.longest.parent == nil), cmp.Compare(s.length, c.longest.length)) > 0) {
		c.longest = s
	}
}

// withoutQuery returns a url without its query.
func withoutQuery(url string) string {
	url, _, _ = strings.Cut(url, "?")
	return url
}

// countRoot counts a span without a parent, or a request.
func (c *spanCollector) countRoot(s *span) {
	switch {
	case s.url != "":
		c.out.Requests++
		sum(&c.out.Bytes, s.bytes)
		if c.opts.Loaded > 0 && s.start > c.opts.Loaded {
			c.out.Late++
		}
		if c.out.Slowest = append(c.out.Slowest, s.row()); len(c.out.Slowest) == 8*AllRows {
			c.out.Slowest = slowestOf(c.out.Slowest)
		}
	case s.parent == nil:
		c.out.Roots++
		if s.failed {
			c.out.RootErrors++
		}
	}
}

// slowestOf sorts requests, slowest first, and keeps at most AllRows.
func slowestOf(list []SpanRow) []SpanRow {
	slices.SortStableFunc(list, func(a, b SpanRow) int { return cmp.Compare(b.Length, a.Length) })
	return cut(list, AllRows)
}

// row returns the index of the row with the given names, or of the row for all others if there are too many rows.
func row[R any](out *Spans, index map[string]int, rows *[]R, names []string, newRow func(names []string) R) int {
	key := strings.Join(names, "\x00")
	i, ok := index[key]
	if !ok && len(index) >= maxSpanRows {
		out.Others++
		names = append([]string{OthersGroup}, make([]string, len(names)-1)...)
		key = OthersGroup
		i, ok = index[key]
	}
	if !ok {
		i = len(*rows)
		index[key] = i
		*rows = append(*rows, newRow(names))
	}
	return i
}

func (c *spanCollector) end(s *span, now timeline.Nanos) error {
	if s.failure >= 0 && !s.passed {
		c.out.Failures[s.failure].Origins++
	}
	if s.ended = true; !s.timed {
		return nil
	}
	if s.kids == 0 {
		sum(&s.self, now-s.since)
	}
	if p := s.parent; p != nil && !p.ended && p.kids > 0 {
		if p.kids--; p.kids == 0 {
			p.since = now
		}
	}
	if s.operation < 0 {
		return nil
	}
	o := &c.out.Operations[s.operation]
	sum(&o.Self, s.self)
	sum(&o.Total, s.length)
	if !o.timed || s.length > o.Max {
		o.timed, o.Max, o.MaxAt, o.MaxTrace = true, s.length, s.start, s.id.trace
	}
	if err := c.lengths.Add(2*int64(s.operation), int64(s.length)); err != nil {
		return err
	}
	switch {
	case s.parent != nil && s.parent.service != s.service:
		return c.call(s.parent.service, s.service, s)
	case !s.called && s.peer != "" && s.kind == "client":
		return c.call(s.service, s.peer, s)
	}
	return nil
}

// call counts a call to a service.
func (c *spanCollector) call(from, to string, s *span) error {
	i := row(&c.out, c.calls, &c.out.Calls, []string{from, to}, func(names []string) ServiceCall { return ServiceCall{From: names[0], To: names[1]} })
	call := &c.out.Calls[i]
	call.Calls++
	if s.failed {
		call.Errors++
	}
	sum(&call.Total, s.length)
	return c.lengths.Add(2*int64(i)+1, int64(s.length))
}

// quantiles computes the percentiles and histograms of the rows, passes the lengths of spans to SpanOptions.Length, and sorts the
// rows.
func (c *spanCollector) quantiles(ctx context.Context) error {
	err := c.lengths.Each(ctx, func(id, i, length int64) error {
		if id%2 == 1 {
			call := &c.out.Calls[id/2]
			atRank(i, call.Calls, timeline.Nanos(length), &call.P50, &call.P95, &call.P99)
			return nil
		}
		o := &c.out.Operations[id/2]
		atRank(i, o.Count-o.Unfinished, timeline.Nanos(length), &o.P50, &o.P95, &o.P99)
		o.Spread.Add(timeline.Nanos(length))
		if c.opts.Length != nil {
			return c.opts.Length(o.Service, o.Operation, timeline.Nanos(length))
		}
		return nil
	})
	slices.SortStableFunc(c.out.Operations, func(a, b Operation) int { return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Count, a.Count)) })
	slices.SortStableFunc(c.out.Failures, func(a, b SpanFailure) int { return cmp.Compare(b.Count, a.Count) })
	slices.SortStableFunc(c.out.Calls, func(a, b ServiceCall) int { return cmp.Compare(b.Calls, a.Calls) })
	return err
}

// spanFacts holds the data of a span.
type spanFacts struct {
	id, parent             spanID
	service, operationName string
	kind, message, peer    string
	failed                 bool
	start, length          timeline.Nanos
	url                    string // of an archive request
	bytes                  int64  // of its response
	wait                   timeline.Nanos
}

type spanReader struct {
	tl       *timeline.Timeline
	args     *timeline.ArgSelection
	services []string // by TrackID of processes

	found spanArgs           // of the current slice
	texts map[string]*string // its fields, by the paths of arguments
}

func newSpanReader(tl *timeline.Timeline) *spanReader {
	r := &spanReader{tl: tl, services: make([]string, tl.TrackCount())}
	r.texts = r.found.texts()
	wanted := map[string]bool{}
	for path := range r.texts {
		for name := range strings.SplitSeq(path, ".") {
			wanted[name] = true
		}
		wanted[path] = true // for inputs whose attributes do not form trees
	}
	r.args = tl.SelectArgs(func(name string) bool { return wanted[name] })
	return r
}

// read reads an OpenTelemetry span or an archive request; ok is false for other slices.
func (r *spanReader) read(it *timeline.Item) (f spanFacts, ok bool, err error) {
	if err := it.ReadArgs(); err != nil || it.Args == nil {
		return f, false, err
	}
	a := &r.found
	*a = spanArgs{}
	r.args.Paths(it.Args, func(path string, arg *timeline.Arg) bool {
		first := strings.TrimSuffix(path, "[]") // a header that occurs twice
		if text := r.texts[first]; text != nil && (first == path || *text == "") {
			*text = string(arg.AppendText(nil))
		}
		return true
	})
	switch {
	case a.own.spanID != "":
		r.ofOTLP(&f, a, it)
	case a.url != "" && strings.HasPrefix(string(it.Category), "network"):
		ofRequest(&f, a)
	default:
		return f, false, nil
	}
	f.start = it.TS
	if hasEnd(&it.Head) {
		f.length = it.Dur
	}
	return f, true, nil
}

// spanArgs holds the arguments that describe a span.
type spanArgs struct {
	own struct{ traceID, spanID, parent, kind, status, message string }

	errorType, route, peer, database, messaging, address string

	method, url, traceparent, status, statusText, failure string // of a request

	transferred, body, content string // its size with headers, without them, or unpacked
	wait                       string // in milliseconds
}

// texts returns the fields by the paths of their arguments.
func (a *spanArgs) texts() map[string]*string {
	return map[string]*string{
		"weft.trace_id": &a.own.traceID, "weft.span_id": &a.own.spanID, "weft.parent_span_id": &a.own.parent, "weft.kind": &a.own.kind,
		"weft.status": &a.own.status, "weft.status_message": &a.own.message, "error.type": &a.errorType, "http.route": &a.route, "peer.service": &a.peer,
		"db.system": &a.database, "db.system.name": &a.database, "messaging.system": &a.messaging, "server.address": &a.address,
		"request.method": &a.method, "request.url": &a.url, "request.headers.traceparent": &a.traceparent, "response.status": &a.status,
		"response.statusText": &a.statusText, "response._error": &a.failure, "_error": &a.failure,
		"response._transferSize": &a.transferred, "response.bodySize": &a.body, "response.content.size": &a.content, "timings.wait": &a.wait,
	}
}

// ofOTLP fills in f from an OpenTelemetry span.
func (r *spanReader) ofOTLP(f *spanFacts, a *spanArgs, it *timeline.Item) {
	f.id, f.parent = spanID{a.own.traceID, a.own.spanID}, spanID{a.own.traceID, a.own.parent}
	f.service, f.operationName, f.kind = r.service(it.Track), string(it.Name), a.own.kind
	if a.route != "" && !strings.Contains(f.operationName, a.route) {
		f.operationName += " " + a.route
	}
	f.peer = cmp.Or(a.peer, a.database, a.messaging, a.address)
	if f.failed = a.own.status == "error"; f.failed {
		f.operationName = strings.TrimPrefix(f.operationName, timeline.FailedMark)
		f.message = cmp.Or(a.own.message, a.errorType)
	}
}

// service returns the name of the service that a track belongs to: the name of its process, without the number that distinguishes
// it from other processes.
func (r *spanReader) service(track timeline.TrackID) string {
	owner := ownerOf(r.tl, track)
	if r.tl.TrackKind(owner) == timeline.ThreadTrack && r.tl.TrackParent(owner) != 0 {
		owner = r.tl.TrackParent(owner)
	}
	if r.services[owner] == "" {
		tr := r.tl.Track(owner)
		r.services[owner] = cmp.Or(tr.Name, tr.FullName(), "unknown service")
		if i := strings.LastIndex(tr.Name, " (pid "); i > 0 && strings.HasSuffix(tr.Name, ")") {
			r.services[owner] = tr.Name[:i]
		}
	}
	return r.services[owner]
}

// ofRequest fills in f from an archive request, whose header has the ids by which servers know it.
func ofRequest(f *spanFacts, a *spanArgs) {
	f.service, f.operationName, f.kind = "(no host)", a.method, "client"
	if u, err := url.Parse(a.url); err == nil && u.Host != "" {
		f.service = u.Host
	}
	f.id.trace, f.id.span = timeline.Traceparent(a.traceparent)
	f.url = a.url
	if ms, err := strconv.ParseFloat(a.wait, 64); err == nil && ms > 0 && ms < 1e12 {
		f.wait = timeline.Nanos(ms * 1e6)
	}
	for _, text := range []string{a.transferred, a.body, a.content} {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil && n > 0 && f.bytes == 0 {
			f.bytes = n
		}
	}
	status, err := strconv.Atoi(a.status)
	isError := err == nil && status >= 400
	if f.failed, f.message = a.failure != "" || isError, a.failure; isError {
		f.message = strings.TrimSpace(a.status + " " + a.statusText)
	}
}
