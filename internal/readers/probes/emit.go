package probes

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// lossName is the name of the instants for events that the tracer lost, and of their track.
const lossName = "data loss"

// emitter adds slices and instants to a timeline.
type emitter struct {
	b      *timeline.Builder
	log    *problem.Log
	keep   timeline.ArgFilter
	offset timeline.Nanos

	losses timeline.TrackID // track of the losses; 0: none so far
	event  timeline.Event
	name   []byte // scratch
	lost   parameter
}

// nameThreads creates the tracks of all threads, in order of their numbers, and names them and their processes
// (D6).
func (p *pairer) nameThreads() {
	p.threads = make([]thread, len(p.threadList))
	order := make([]int, len(p.threadList))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		a, b := p.threadList[i], p.threadList[j]
		return cmp.Or(cmp.Compare(a.pid, b.pid), cmp.Compare(a.tid, b.tid), cmp.Compare(a.cpu, b.cpu))
	})
	named := map[timeline.TrackID]bool{}
	for _, i := range order {
		k := p.threadList[i]
		process := p.b.Process(timeline.ProcessKey{Num: k.pid})
		if !named[process] {
			named[process] = true
			p.nameProcess(process, k.pid)
		}
		name := p.threadName(k)
		key := timeline.ThreadKey{Num: k.tid}
		switch {
		case k.pid == 0 && k.tid == 0:
			key = timeline.ThreadKey{Text: name} // no number: each processor has such a thread
		case k.tid == 0:
			key = timeline.ThreadKey{Text: "0", IsNumber: true}
		}
		track := p.b.Thread(process, key)
		p.b.SetThreadName(track, 0, []byte(name))
		p.threads[i] = thread{track: track, stack: stack{track: track}}
	}
}

func (p *pairer) threadName(k threadKey) string {
	name := ""
	if n, ok := p.header.threads[[2]int64{k.pid, k.tid}]; ok {
		name = p.args.validName(n)
	}
	if name == "" {
		name = fmt.Sprintf("thread %d", k.tid)
	}
	if k.pid == 0 && k.tid == 0 {
		name += fmt.Sprintf(" (cpu %d)", k.cpu)
	}
	return name
}

func (p *pairer) nameProcess(process timeline.TrackID, pid int64) {
	n, ok := p.header.processes[pid]
	if !ok {
		n = p.header.threads[[2]int64{pid, pid}]
	}
	p.b.SetProcessName(process, 0, []byte(p.args.validName(n)))
}

// startArgs starts the arguments of a slice or instant.
func (e *emitter) startArgs(pr *probe) *timeline.ArgsEncoder {
	enc := e.b.Args()
	enc.Reset()
	enc.OwnKey([]byte(timeline.OwnProbe))
	enc.InternedText(pr.fullText)
	return enc
}

func (e *emitter) encode(enc *timeline.ArgsEncoder, args *arguments) {
	for i := range args.list {
		if a := &args.list[i]; e.keeps(a) {
			a.param.setKey(enc, false)
			a.encode(enc)
		}
	}
}

func (e *emitter) keeps(a *argument) bool { return e.keep.KeepsText(a.param.name) }

// encodeEnd adds the arguments of an end that differ from the arguments of its start.
func (e *emitter) encodeEnd(enc *timeline.ArgsEncoder, start, end *arguments) {
	for i := range end.list {
		a := &end.list[i]
		same := (*argument)(nil)
		if i < len(start.list) && start.list[i].param.name == a.param.name {
			same = &start.list[i]
		} else {
			same = start.find(a.param.name)
		}
		if (same == nil || !same.equals(a)) && e.keeps(a) {
			a.param.setKey(enc, true)
			a.encode(enc)
		}
	}
}

// encodeFlags adds the flags of a slice or instant.
func (e *emitter) encodeFlags(enc *timeline.ArgsEncoder, flag string, truncated uint64) {
	if flag == "" && truncated == 0 {
		return
	}
	enc.OwnKey([]byte(timeline.OwnFlags))
	enc.BeginArray()
	if flag != "" {
		enc.InternedString(flag)
	}
	if truncated > 0 {
		enc.InternedString(FlagTextCut)
	}
	enc.EndArray()
}

// slice adds the slice of a pair.
func (e *emitter) slice(o *open, track timeline.TrackID, at timeline.Nanos, start, end *arguments, flag string) error {
	enc := e.startArgs(o.probe)
	e.encode(enc, start)
	truncated := start.truncated
	if end != nil {
		e.encodeEnd(enc, start, end)
		truncated += end.truncated
	}
	e.encodeFlags(enc, flag, truncated)
	e.event.Kind, e.event.Dur, e.event.InOrder = timeline.Slice, at-o.ts, true
	return e.add(o.ts, o.event, o.offset, track, e.sliceName(o.probe, start), o.probe.category, enc.Args())
}

// sliceName returns the name of a slice (D3).
func (e *emitter) sliceName(pr *probe, args *arguments) []byte {
	e.name = e.name[:0]
	if d := pr.decl; d != nil && d.name >= 0 {
		if a := args.find(d.params[d.name].name); a != nil {
			e.name = a.appendTo(e.name)
		}
		return e.orBase(pr)
	}
	if pr.function {
		if a := functionArg(args); a != nil {
			e.name = a.appendTo(e.name)
		}
		return e.orBase(pr)
	}
	e.name = append(e.name, pr.base...)
	for i := range args.list {
		if a := &args.list[i]; a.param.typ == typeEnum {
			e.name = a.appendTo(append(e.name, ' '))
			break
		}
	}
	return e.name
}

// orBase returns the composed name or, if it is empty, the base name of the probe.
func (e *emitter) orBase(pr *probe) []byte {
	if len(e.name) == 0 {
		e.name = append(e.name, pr.base...)
	}
	return e.name
}

// functionArg returns the argument that names the called function: "function" or, without a declaration, the third.
func functionArg(args *arguments) *argument {
	if a := args.find("function"); a != nil {
		return a
	}
	return args.find("arg2")
}

// instant adds a record as an instant.
func (e *emitter) instant(r *record, pr *probe, track timeline.TrackID, args *arguments, flag string) error {
	enc := e.startArgs(pr)
	e.encode(enc, args)
	e.encodeFlags(enc, flag, args.truncated)
	e.event.Kind, e.event.Dur, e.event.InOrder = timeline.Instant, 0, false
	e.name = append(e.name[:0], pr.name...)
	return e.add(r.ts, r.event, r.offset, track, e.name, pr.category, enc.Args())
}

// loss adds an instant for lost events.
func (e *emitter) loss(r *record, n uint64) error {
	enc := e.b.Args()
	enc.Reset()
	e.lost.setKey(enc, false)
	enc.Uint(n)
	e.event.Kind, e.event.Dur, e.event.InOrder = timeline.Instant, 0, false
	if e.losses == 0 {
		e.losses = e.b.NewTrack(0, timeline.TrackSpec{Name: lossName, Role: timeline.RoleInstants})
	}
	return e.add(r.ts, r.event, r.offset, e.losses, []byte(lossName), "", enc.Args())
}

// add adds e.event, whose kind and duration are already set.
func (e *emitter) add(
	ts timeline.Nanos, event uint32, offset int64, track timeline.TrackID, name []byte, category string, args timeline.Args,
) error {
	if e.offset > 0 && ts >= math.MaxInt64-e.offset {
		e.log.Add(problem.EventInvalidTimestamp, positionOf(event, offset), string(name))
		return nil
	}
	if ts += e.offset; ts < 0 {
		e.log.Add(problem.EventNegativeTimestamp, positionOf(event, offset), string(name))
		return nil
	}
	ev := &e.event
	ev.Dur = min(ev.Dur, math.MaxInt64-1-ts)
	ev.TS, ev.Event, ev.Offset, ev.Track, ev.Name, ev.Args = ts, event, offset, track, name, args
	ev.Category = append(ev.Category[:0], category...)
	return e.b.Add(ev)
}
