package producers

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/weft-trace/weft/internal/timeline"
)

// ChromeClues finds data in Chrome's events that aligns them with other recordings: wall clock times, and requests that servers
// have recorded too (docs/merge.md). All readers of Chrome's formats use it. If the Builder does not need such clues, it finds
// only the date of the trace.
type ChromeClues struct {
	b       *timeline.Builder
	view    *timeline.Timeline // b.View()
	started timeline.Nanos     // time of TracingStartedInBrowser; NoTime: not recorded
	latest  timeline.Nanos     // of all events
	anchors []timeline.Anchor  // the first maxAnchors
	date    *timeline.Anchor   // the best one
}

// NewChromeClues returns ChromeClues for the events that are added to a Builder.
func NewChromeClues(b *timeline.Builder) *ChromeClues {
	return &ChromeClues{b: b, view: b.View(), started: timeline.NoTime}
}

// Names of events with clues.
const (
	sent     = "ResourceSendRequest"
	received = "ResourceReceiveResponse"
	started  = "TracingStartedInBrowser"
)

// Event reads the clues in an event that was just added.
func (r *ChromeClues) Event(ev *timeline.Event) error {
	r.latest = max(r.latest, ev.TS)
	if len(ev.Name) != len(sent) && len(ev.Name) != len(received) {
		return nil
	}
	switch string(ev.Name) {
	case sent:
		if !r.b.WantsLinks() {
			return nil
		}
		d := r.data(ev)
		if d.request == "" {
			return nil
		}
		role := timeline.LinkSend
		if d.document {
			role = timeline.LinkMember // the event is recorded only when the response has arrived
		}
		return r.b.AddLink(&timeline.Link{
			Request: d.request, Key: timeline.TraceparentKey(d.traceparent), Role: role,
			Track: ev.Track, Event: ev.Event, Offset: ev.Offset, TS: ev.TS,
		})
	case received:
		return r.response(ev)
	case started:
		if r.started == timeline.NoTime {
			r.started = ev.TS
		}
	}
	return nil
}

// response reads the wall clock time and the server's span from a response.
func (r *ChromeClues) response(ev *timeline.Event) error {
	d := r.data(ev)
	if d.wall > 0 && d.requestTime > 0 && d.received >= 0 && !d.cached {
		requested, ok := nanos(d.requestTime, 1e9)
		after, ok2 := nanos(d.received, 1e6)
		wall, ok3 := nanos(d.wall, 1e6)
		if ok && ok2 && ok3 {
			r.addAnchor(timeline.Anchor{At: requested + after, Wall: wall, Low: -responseError, High: responseError, By: "response", Counted: true})
		}
	}
	key := timeline.TraceparentKey(d.traceparent)
	if key == "" {
		return nil
	}
	return r.b.AddLink(&timeline.Link{
		Key: key, LinkedBy: d.request, Role: timeline.LinkReceive, Track: ev.Track, Event: ev.Event, Offset: ev.Offset, TS: ev.TS,
	})
}

// responseError bounds, in ns, how far the two times of a response differ. Of 1,922 differences, two were greater than 1.3 µs, and
// none was greater than 47 µs.
const responseError = 50_000

// nanos converts a number of units to nanoseconds, exactly for integers. It returns false if the result is out of range.
func nanos(v float64, unit float64) (timeline.Nanos, bool) {
	whole, part := math.Modf(v)
	if !(math.Abs(whole) <= math.MaxInt64/4/unit) {
		return 0, false
	}
	return timeline.Nanos(whole)*timeline.Nanos(unit) + timeline.Nanos(math.Round(part*unit)), true
}

// data holds the members of an event's args.data.
type data struct {
	request               string
	traceparent           string
	wall                  float64 // ms since 1970
	requestTime, received float64 // requestTime in s; received in ms after it
	cached                bool    // from a cache or a service worker
	document              bool    // requested by a navigation
}

// data reads args.data.
func (r *ChromeClues) data(ev *timeline.Event) (d data) {
	d.received = -1
	for arg := range r.view.ArgList(ev.Args) {
		if string(arg.Key) != "data" || arg.Kind != timeline.ArgDict {
			continue
		}
		for m := range r.view.Members(arg) {
			r.member(&d, &m)
		}
	}
	return d
}

func (r *ChromeClues) member(d *data, m *timeline.Arg) {
	switch string(m.Key) {
	case "requestId":
		if m.Kind == timeline.ArgString {
			d.request = string(m.Text())
		}
	case "traceparent", "traceresponse":
		if m.Kind == timeline.ArgString {
			d.traceparent = string(m.Text())
		}
	case "resourceType":
		d.document = m.Kind == timeline.ArgString && string(m.Text()) == "Document"
	case "responseTime":
		d.wall = number(m)
	case "fromCache", "fromServiceWorker":
		d.cached = d.cached || m.Kind == timeline.ArgBool && m.Bool()
	case "timing":
		if m.Kind == timeline.ArgDict {
			for t := range r.view.Members(*m) {
				switch string(t.Key) {
				case "requestTime":
					d.requestTime = number(&t)
				case "receiveHeadersStart":
					d.received = number(&t)
				}
			}
		}
	case "headers":
		if m.Kind == timeline.ArgArray {
			for header := range r.view.Members(*m) {
				r.header(d, &header)
			}
		}
	}
}

// header reads one header of a request or response.
func (r *ChromeClues) header(d *data, m *timeline.Arg) {
	if m.Kind != timeline.ArgDict {
		return
	}
	var name, value string
	for part := range r.view.Members(*m) {
		switch {
		case part.Kind != timeline.ArgString:
		case string(part.Key) == "name":
			name = strings.ToLower(string(part.Text()))
		case string(part.Key) == "value":
			value = string(part.Text())
		}
	}
	switch name {
	case "traceparent", "traceresponse":
		d.traceparent = value
	case "server-timing":
		if text := ServerTiming(value); text != "" {
			d.traceparent = text
		}
	}
}

// ServerTiming returns the traceparent in a Server-Timing header, which is the description of the metric "traceparent" or
// "trace", or "" if there is no such metric.
func ServerTiming(header string) string {
	for metric := range strings.SplitSeq(header, ",") {
		name, params, _ := strings.Cut(metric, ";")
		if name = strings.TrimSpace(name); !strings.EqualFold(name, "traceparent") && !strings.EqualFold(name, "trace") {
			continue
		}
		for param := range strings.SplitSeq(params, ";") {
			key, value, _ := strings.Cut(param, "=")
			if strings.EqualFold(strings.TrimSpace(key), "desc") {
				return strings.Trim(strings.TrimSpace(value), `"`)
			}
		}
	}
	return ""
}

// number returns the value of a numeric argument, or 0 for other arguments.
func number(a *timeline.Arg) float64 {
	switch a.Kind {
	case timeline.ArgInt:
		return float64(a.Int())
	case timeline.ArgUint:
		return float64(a.Uint())
	case timeline.ArgDouble:
		return a.Double()
	}
	return 0
}

// Assumed delays between the time in the metadata and the start of tracing in the browser.
const (
	startDelay   timeline.Nanos = 25_000_000  // for DevTools; 19.6 ms was measured
	captureDelay timeline.Nanos = 500_000_000 // the metadata has whole seconds
)

// FindMain marks a process as the main process of its browser if its name, or a thread's, is the name that Chrome uses for main
// processes. Either name may be nil.
func FindMain(b *timeline.Builder, process timeline.TrackID, processName, threadName []byte) {
	switch {
	case string(threadName) == ChromeBrowserMain:
		b.SetMain(process, timeline.MainByThread)
	case string(processName) == ChromeBrowser:
		b.SetMain(process, timeline.MainByName)
	}
}

// Facts reads the clock from the metadata of a JSON trace, which the reader has turned into attributes.
func (r *ChromeClues) Facts() {
	if r.b.Observer() == nil {
		return
	}
	r.rank()
	if base := r.base(); base != nil {
		r.b.Observer().Anchor(base)
		return
	}
	r.b.SetClocks(timeline.Clocks{Trace: timeline.ClockMonotonic})
	r.b.Observer().ClockDomain(r.text("metadata.clock-domain"))
	r.startTimes()
	r.offsetSinceEpoch()
}

// Date sets the date of the trace if the input contains a date but no reading of the wall clock.
func (r *ChromeClues) Date() {
	clocks := r.b.Clocks()
	_, known := clocks.Reading(timeline.ClockRealtime)
	at, _ := clocks.Reading(clocks.Trace)
	monotonic, _ := clocks.Reading(timeline.ClockMonotonic) // the clock of Chrome's events
	if known || clocks.Trace != 0 && clocks.Trace != timeline.ClockMonotonic && at != monotonic || r.b.WantsLinks() {
		return
	}
	if clocks.Date = r.base(); clocks.Date == nil {
		r.startTimes()
		r.offsetSinceEpoch()
		clocks.Date = r.date
	} else if r.latest > clocks.Date.Wall/2 {
		clocks.Date.Wall = 0 // the times are already relative to 1970
	}
	r.b.SetClocks(clocks)
}

func (r *ChromeClues) text(key string) string {
	a, _ := r.b.Attribute(key)
	return a.Text
}

// base returns the wall clock time of time 0, which PyTorch and VizTracer record, or nil if it is missing.
func (r *ChromeClues) base() *timeline.Anchor {
	for _, key := range [...]string{"baseTimeNanoseconds", "viztracer_metadata.baseTimeNanoseconds"} {
		if a, ok := r.b.Attribute(key); ok && a.IsInt && a.Int > 0 {
			return &timeline.Anchor{At: 0, Wall: timeline.Nanos(a.Int), By: "baseTimeNanoseconds"}
		}
	}
	return nil
}

// startTimes reads the wall clock time at the start of the recording.
func (r *ChromeClues) startTimes() {
	if r.started == timeline.NoTime {
		return
	}
	if at, err := time.Parse(time.RFC3339Nano, r.text("metadata.startTime")); err == nil {
		r.addAnchor(timeline.Anchor{
			At: r.started, Wall: timeline.Nanos(at.UnixNano()) + startDelay, Low: -startDelay, High: startDelay, By: "startTime",
		})
	}
	if at, err := time.Parse("2006-1-2 15:4:5", r.text("metadata.trace-capture-datetime")); err == nil {
		r.addAnchor(timeline.Anchor{
			At: r.started, Wall: timeline.Nanos(at.UnixNano()) + captureDelay, Low: -captureDelay, High: captureDelay, By: "trace-capture-datetime",
		})
	}
}

// maxAnchors bounds ChromeClues.anchors.
const maxAnchors = 16

// addAnchor adds the wall clock time that corresponds to a time in the trace.
func (r *ChromeClues) addAnchor(a timeline.Anchor) {
	if o := r.b.Observer(); o != nil {
		o.Anchor(&a)
	}
	if len(r.anchors) < maxAnchors {
		r.anchors = append(r.anchors, a)
	}
	if d := r.date; d == nil || a.High < d.High || a.High == d.High && (a.At < d.At || a.At == d.At && a.Wall < d.Wall) {
		r.date = &a // the earliest of equally good ones, so that the order does not matter
	}
}

// epochError bounds the time, in ns, between Chrome's readings of the wall clock and of the trace clock.
const epochError = 100_000

// offsetSinceEpoch reads the offset between the wall clock and the trace clock, which Chrome for Android writes in µs as text.
// Other producers write other values (0, nanoseconds, the time of day), so the offset is used only if another anchor confirms it.
func (r *ChromeClues) offsetSinceEpoch() {
	a, _ := r.b.Attribute("metadata.clock-offset-since-epoch")
	us := a.Int
	if !a.IsInt {
		var err error
		if us, err = strconv.ParseInt(a.Text, 10, 64); err != nil {
			return
		}
	}
	if us <= 0 || us > math.MaxInt64/1000 {
		return
	}
	offset := timeline.Nanos(us) * timeline.Microsecond
	for _, other := range r.anchors {
		if by := other.Wall - other.At; offset >= by+other.Low && offset <= by+other.High {
			r.addAnchor(timeline.Anchor{Wall: offset, Low: -epochError, High: epochError, By: "clock-offset-since-epoch"})
			return
		}
	}
}

// rank reads the rank, within a distributed program, of the process that recorded the trace.
func (r *ChromeClues) rank() {
	if a, ok := r.b.Attribute("distributedInfo.rank"); ok && a.IsInt {
		r.b.Observer().Rank(a.Int)
	}
}
