package perfetto

import (
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// legacyState converts an event of phase T with a duration and no id: a thread state (chrome-json.md 1).
func (r *reader) legacyState() error {
	dur, ok := r.legacyDuration()
	if !ok {
		return r.droppedBindID()
	}
	e := &r.ev
	e.track = r.b.RoleTrack(r.eventTrack(), timeline.RoleThreadState)
	r.noThreadTime("thread state")
	r.encodeArgs(nil)
	r.fillEvent(timeline.Slice)
	r.out.Dur = dur
	if err := r.b.Add(&r.out); err != nil {
		return err
	}
	return r.addFlows()
}

// noThreadTime drops the thread time of an event whose kind has none in the event model.
func (r *reader) noThreadTime(kind string) {
	if r.ev.threadTime != timeline.NoTime {
		r.notConverted("thread time of a legacy " + kind)
		r.ev.threadTime = timeline.NoTime
	}
}

// legacyObject converts phases N, O and D: the lifetime and snapshots of an object (chrome-json.md 17).
func (r *reader) legacyObject() error {
	e := &r.ev
	l := &e.Legacy
	if l.IDKind == message.NoID {
		r.add(problem.AsyncMissingID, "")
		return r.droppedBindID()
	}
	parent := timeline.TrackID(0)
	if l.IDKind != message.GlobalID {
		parent = r.eventProcess()
	}
	e.track = r.b.Objects(parent, string(e.resolvedName))
	r.noThreadTime("object event")
	r.encodeArgs(nil)
	args := r.b.Args()
	args.OwnKey([]byte(timeline.OwnArgs))
	args.ExtendDict()
	args.Key([]byte("id"))
	args.String(idText(l.ID))
	args.EndDict()
	r.fillEvent(timeline.Instant)
	switch l.Phase {
	case 'N':
		r.out.Kind = timeline.Begin
	case 'D':
		r.out.Kind, r.out.KeepEnd = timeline.End, true
	}
	r.text = append(append(append(r.text[:0], e.resolvedName...), ' '), idText(l.ID)...)
	r.out.Name = r.text
	if err := r.b.Add(&r.out); err != nil {
		return err
	}
	return r.addFlows()
}

// legacyCounter converts phase C: every annotation is a separate counter (chrome-json.md 13).
func (r *reader) legacyCounter() error {
	e := &r.ev
	l := &e.Legacy
	if len(e.Annotations) == 0 {
		r.add(problem.CounterWithoutValues, "")
		return nil
	}
	r.noThreadTime("counter")
	name := append([]byte{}, e.resolvedName...)
	if l.IDKind != message.NoID {
		name = append(append(name, " id: "...), idText(l.ID)...)
	}
	name = append(name, ' ')
	process := r.eventProcess()
	for _, msg := range e.Annotations {
		a, err := r.parseAnnotation(msg)
		if err != nil {
			r.malformed("debug annotation", err)
			continue
		}
		value, ok := a.number()
		if !ok {
			r.add(problem.CounterInvalidValue, string(a.name))
			continue
		}
		track := r.b.Counter(process, &timeline.CounterKey{Name: append(name, a.name...)})
		if err := r.addCounter(track, value); err != nil {
			return err
		}
	}
	return nil
}

// number returns the value of a numeric annotation, or of a text that is a number.
func (a *annotation) number() (timeline.Number, bool) {
	switch a.Kind {
	case message.IntAnnotation:
		return timeline.Int(a.Int()), true
	case message.UintAnnotation:
		if v := a.Uint(); v > math.MaxInt64 {
			return timeline.Float(float64(v)), true
		}
		return timeline.Int(a.Int()), true
	case message.DoubleAnnotation:
		return timeline.Float(a.Double()), true
	case message.TextAnnotation, message.JSONAnnotation:
		if !jsonscan.IsNumber(a.text) {
			return timeline.Number{}, false
		}
		if v, ok := jsonscan.Int64(a.text); ok {
			return timeline.Int(v), true
		}
		v, _ := jsonscan.Float64(a.text)
		return timeline.Float(v), true
	}
	return timeline.Number{}, false
}

// legacyOther converts other phases to instants: V8 profile pieces that are not collected (P), memory dumps (v, V),
// clock syncs (c), contexts, links, and unknown letters.
func (r *reader) legacyOther() error {
	e := &r.ev
	l := &e.Legacy
	if l.Phase == 'P' {
		if taken, err := r.collectProfile(); taken || err != nil {
			return err
		}
	}
	switch l.Phase {
	case 'V':
		e.track = r.b.RoleTrack(0, timeline.RoleOther)
	case 'c':
		e.track = r.b.RoleTrack(0, timeline.RoleClockSync)
	default:
		e.track = r.b.RoleTrack(r.eventTrack(), timeline.RoleOther)
	}
	switch l.Phase {
	case 'P', 'v', 'V', 'c', '(', ')', '=':
	default:
		r.add(problem.EventUnknownPhase, strconv.QuoteRune(rune(l.Phase)))
	}
	r.encodeArgs(l)
	e.threadTime = timeline.NoTime // the arguments include it
	r.fillEvent(timeline.Instant)
	if err := r.b.Add(&r.out); err != nil {
		return err
	}
	return r.addFlows()
}

// legacyMetadata reads a legacy event of phase M, whose value is in an annotation (chrome-json.md 14). The last value in the
// file counts, except that the largest num_cpus counts and labels accumulate.
func (r *reader) legacyMetadata() {
	name := string(r.ev.resolvedName)
	process, tid, ok := r.sequenceThread()
	if !ok {
		r.add(problem.MetadataInvalid, name)
		return
	}
	switch name {
	case "process_name":
		if text, ok := r.metadataText("name"); ok {
			r.nameProcess(process, weakName, text)
		}
	case "thread_name":
		if text, ok := r.metadataText("name"); ok {
			r.nameThread(r.thread(process, tid), process, weakName, text)
		}
	case "process_labels":
		if text, ok := r.metadataText("labels"); ok {
			for label := range strings.SplitSeq(string(text), ",") {
				r.b.AddLabel(process, strings.TrimSpace(label))
			}
		}
	case "process_sort_index":
		if n, ok := r.metadataNumber("sort_index"); ok {
			r.b.SetSortIndex(process, int32(max(math.MinInt32, min(n, math.MaxInt32))))
		}
	case "thread_sort_index":
		if n, ok := r.metadataNumber("sort_index"); ok {
			r.b.SetSortIndex(r.thread(process, tid), int32(max(math.MinInt32, min(n, math.MaxInt32))))
		}
	case "num_cpus":
		if n, ok := r.metadataNumber("number"); ok {
			if known, _ := r.b.Attribute(name); n > known.Int {
				r.b.SetIntAttribute(name, n)
			}
		}
	default:
		r.notConverted("metadata event " + name)
	}
}

// metadataValue returns the last annotation of the current event with the given name.
func (r *reader) metadataValue(name string) (found annotation) {
	for _, msg := range r.ev.Annotations {
		if a, err := r.parseAnnotation(msg); err == nil && string(a.name) == name {
			found = a
		}
	}
	return found
}

// metadataText returns the text of the text annotation with the given name. If the event lacks it, metadataText counts a
// problem and returns false.
func (r *reader) metadataText(name string) ([]byte, bool) {
	if a := r.metadataValue(name); a.Kind == message.TextAnnotation {
		return r.validText(a.text), true
	}
	r.add(problem.MetadataInvalid, string(r.ev.resolvedName))
	return nil, false
}

// metadataNumber returns the value of the numeric annotation with the given name, rounded towards 0. If the event lacks it,
// metadataNumber counts a problem and returns false.
func (r *reader) metadataNumber(name string) (int64, bool) {
	a := r.metadataValue(name)
	if n, ok := a.number(); ok && (n.IsInt() || math.Abs(n.Float()) < 1<<62) { // false for NaN
		return n.Int(), true
	}
	r.add(problem.MetadataInvalid, string(r.ev.resolvedName))
	return 0, false
}
