// Package testkit has what the tests of several packages share: a text form of timelines, packets and bundles of them (packets.go),
// and a check of sort keys (keys.go).
//
// In the text form, Add reads events, and Dump writes the items of Timeline.Walk. It is not a trace format.
//
// An input has one event per line; the index of an event is the number of events before it. Empty lines and lines that start with
// # are ignored.
//
//	X TRACK NAME TS DUR      a slice          C TRACK VALUE TS      a counter
//	B TRACK NAME TS          its start        S TRACK WEIGHT TS     a sample
//	E TRACK NAME TS          its end          s|t|f TRACK ID TS     a Chrome flow event (FlowV1)
//	I TRACK NAME TS          an instant       M TRACK NAME TS       names a process or thread
//	D TRACK NAME TS          a dropped event: only the flows that it would carry are added
//
// NAME "-" means no name. Times are integers. Options follow in any order:
//
//	cat=A,B  args=K:V,K:V  tts=T  tdur=D  stack=outer;inner  task=yes
//	name=N bp=e              for s, t and f
//	stream=yes               for M: the thread is a GPU stream
//	out=ID in=ID step=ID     the event carries a Chrome flow (FlowV2)
//	flow=ID end=ID           the event carries a Perfetto flow (FlowNative); several IDs are separated by commas
//
// A TRACK is PID, PID/TID, PID/main, PID/instants, PID/counter:NAME, PID/track:NAME, PID/TID/track:NAME, global, or an
// asynchronous id: PID/KIND:ID, PID/id:ID@SCOPE, or PID/TID/id:ID if it is private to the thread, where KIND is id, local, global
// or legacy. An ID that starts with "#" is a number; any other ID is a text. A PID or TID that is not a number is a text.
package testkit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Add reads events from text and adds them to b. Their Offset is ten times their index.
func Add(b *timeline.Builder, text string) error {
	p := parser{b: b}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := p.line(fields); err != nil {
			return fmt.Errorf("%q: %w", strings.TrimSpace(line), err)
		}
		p.event++
	}
	return nil
}

type parser struct {
	b     *timeline.Builder
	event uint32
}

// kinds maps letters to kinds of events.
var kinds = map[string]timeline.Kind{
	"X": timeline.Slice, "B": timeline.Begin, "E": timeline.End, "I": timeline.Instant,
	"C": timeline.Counter, "S": timeline.Sample,
}

var errFields = errors.New("wrong number of fields")

func (p *parser) line(fields []string) error {
	n := 4
	if fields[0] == "X" {
		n = 5
	}
	if len(fields) < n {
		return errFields
	}
	options, err := parseOptions(fields[n:])
	if err != nil {
		return err
	}
	ts, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		return err
	}
	track, err := p.track(fields[1], options["cat"])
	if err != nil {
		return err
	}
	if kind, ok := kinds[fields[0]]; ok {
		ev := timeline.Event{
			Kind: kind, Track: track, Event: p.event, Offset: p.offset(), TS: timeline.Nanos(ts),
			Category: []byte(options["cat"]),
		}
		if kind == timeline.Slice {
			dur, err := strconv.ParseInt(fields[4], 10, 64)
			if err != nil {
				return err
			}
			ev.Dur = timeline.Nanos(dur)
		}
		return p.add(&ev, fields[2], options)
	}
	switch fields[0] {
	case "D":
		ev := timeline.Event{Track: track, Event: p.event, Offset: p.offset(), TS: timeline.Nanos(ts)}
		return p.carried(&ev, timeline.BindNothing, options)
	case "s", "t", "f":
		return p.flow(fields[0], fields[2], track, timeline.Nanos(ts), options)
	case "M":
		if strings.Contains(fields[1], "/") {
			p.b.SetThreadName(track, timeline.Nanos(ts), []byte(fields[2]))
			if options["stream"] != "" {
				p.b.SetStream(track)
			}
		} else {
			p.b.SetProcessName(track, timeline.Nanos(ts), []byte(fields[2]))
		}
		return nil
	}
	return fmt.Errorf("unknown kind of event %q", fields[0])
}

func (p *parser) offset() int64 { return int64(p.event) * 10 }

func parseOptions(fields []string) (map[string]string, error) {
	options := map[string]string{}
	for _, f := range fields {
		key, value, ok := strings.Cut(f, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not an option", f)
		}
		options[key] = value
	}
	return options, nil
}

// add adds an event, its name or value, and its flows.
func (p *parser) add(ev *timeline.Event, text string, options map[string]string) error {
	if ev.Kind == timeline.Counter || ev.Kind == timeline.Sample {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			ev.Value = timeline.Int(v)
		} else if v, err := strconv.ParseFloat(text, 64); err == nil {
			ev.Value = timeline.Float(v)
		} else {
			return err
		}
	} else if text != "-" {
		ev.Name = []byte(text)
	}
	for key, to := range map[string]*timeline.CPUTime{"tts": &ev.ThreadTS, "tdur": &ev.ThreadDur} {
		if text, ok := options[key]; ok {
			v, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return err
			}
			*to = timeline.NewCPUTime(timeline.Nanos(v))
		}
	}
	ev.Task = options["task"] != ""
	ev.Args = p.args(options["args"])
	ev.Callstack = p.stack(options["stack"])
	if err := p.b.Add(ev); err != nil {
		return err
	}
	return p.carried(ev, timeline.BindCarrier, options)
}

func (p *parser) args(list string) timeline.Args {
	e := p.b.Args()
	e.Reset()
	for member := range strings.SplitSeq(list, ",") {
		key, value, ok := strings.Cut(member, ":")
		if !ok {
			continue
		}
		e.OwnKey([]byte(key))
		if v, err := strconv.ParseInt(value, 10, 64); err == nil {
			e.Int(v)
		} else {
			e.String([]byte(value))
		}
	}
	return e.Args()
}

func (p *parser) stack(list string) timeline.CallstackID {
	if list == "" {
		return 0
	}
	var frames []timeline.FrameID
	for name := range strings.SplitSeq(list, ";") {
		frames = append(frames, p.b.Frame(timeline.Frame{Function: name}))
	}
	return p.b.Callstack(frames)
}

// carriedFlows lists the options for flows that an event carries.
var carriedFlows = []struct {
	option string
	space  timeline.FlowSpace
	role   timeline.FlowRole
}{
	{"out", timeline.FlowV2, timeline.FlowStart},
	{"step", timeline.FlowV2, timeline.FlowContinue},
	{"in", timeline.FlowV2, timeline.FlowEnd},
	{"flow", timeline.FlowNative, timeline.FlowContinue},
	{"end", timeline.FlowNative, timeline.FlowEnd},
}

func (p *parser) carried(ev *timeline.Event, binding timeline.FlowBinding, options map[string]string) error {
	for _, c := range carriedFlows {
		for id := range strings.SplitSeq(options[c.option], ",") {
			if id == "" {
				continue
			}
			f := timeline.FlowEvent{
				Space: c.space, Role: c.role, Binding: binding,
				Track: ev.Track, Event: ev.Event, Offset: ev.Offset, TS: ev.TS,
			}
			setFlowID(&f, id)
			if err := p.b.AddFlow(&f); err != nil {
				return err
			}
		}
	}
	return nil
}

// flow adds an s, t or f event.
func (p *parser) flow(ph, id string, track timeline.TrackID, ts timeline.Nanos, options map[string]string) error {
	f := timeline.FlowEvent{
		Space: timeline.FlowV1, Binding: timeline.BindEnclosing, Track: track, Event: p.event, Offset: p.offset(), TS: ts,
		Name: []byte(options["name"]), Category: []byte(options["cat"]),
	}
	switch ph {
	case "s":
		f.Role = timeline.FlowStart
	case "t":
		f.Role = timeline.FlowContinue
	case "f":
		f.Role = timeline.FlowEnd
		if options["bp"] != "e" {
			f.Binding = timeline.BindNext
		}
	}
	setFlowID(&f, id)
	return p.b.AddFlow(&f)
}

func setFlowID(f *timeline.FlowEvent, id string) {
	if v, err := strconv.ParseUint(id, 10, 64); err == nil {
		f.ID = v
	} else {
		f.IDText = []byte(id)
	}
}

// asyncKinds maps names to kinds of asynchronous ids.
var asyncKinds = map[string]timeline.AsyncIDKind{
	"id": timeline.AsyncPlain, "local": timeline.AsyncLocal, "global": timeline.AsyncGlobal, "legacy": timeline.AsyncLegacy,
}

// track returns the track with a path.
func (p *parser) track(path, category string) (timeline.TrackID, error) {
	if path == "global" {
		return p.b.GlobalInstants(), nil
	}
	pid, rest, below := strings.Cut(path, "/")
	num, text := numberOrText(pid)
	process := p.b.Process(timeline.ProcessKey{Num: num, Text: text})
	if !below {
		return process, nil
	}
	if rest == "instants" {
		return p.b.ProcessInstants(process), nil
	}
	parent := process
	first, child, deeper := strings.Cut(rest, "/")
	if deeper || !strings.Contains(rest, ":") {
		num, text := numberOrText(first)
		if first == "main" {
			num, text = 0, ""
		}
		parent = p.b.Thread(process, timeline.ThreadKey{Num: num, Text: text})
		if !deeper {
			return parent, nil
		}
		rest = child
	}
	kind, name, _ := strings.Cut(rest, ":")
	switch kind {
	case "counter":
		return p.b.Counter(parent, &timeline.CounterKey{Name: []byte(name)}), nil
	case "track":
		return p.b.Child(parent, name), nil
	}
	asyncKind, ok := asyncKinds[kind]
	if !ok {
		return 0, fmt.Errorf("unknown track %q", path)
	}
	id, scope, _ := strings.Cut(name, "@")
	number, isNumber := strings.CutPrefix(id, "#")
	key := timeline.AsyncKey{
		Category: []byte(category), Kind: asyncKind, ID: []byte(number), IsText: !isNumber, Scope: []byte(scope), Process: process,
	}
	if parent != process {
		key.Thread, key.At = parent, problem.Position{Event: int64(p.event), Offset: p.offset()}
	}
	return p.b.Async(&key), nil
}

func numberOrText(s string) (num int64, text string) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v, ""
	}
	return 0, s
}
