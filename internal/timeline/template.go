package timeline

import (
	"bytes"
	"math"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// TemplateID identifies data shared by slices, see Builder.Template; 0: no template.
type TemplateID uint32

// template is data shared by slices. Calls derived from samples use templates: without them, converting chrome-devtools-long
// takes 1.11 times as long (CPU time), because the arguments of a million calls are encoded, stored and spilled one by one.
type template struct {
	name     NameID
	category CategoryID
	args     []byte   // an incomplete dictionary that lacks its last two members
	mark     int      // of the dictionary, for wire.EndMessage
	keys     [2]KeyID // of the last two members; keys[0] is 0 if there is only one
}

// maxTemplateBytes limits the template table. Slices without a template are encoded one by one, with the same result.
const maxTemplateBytes = 16 << 20

// templateTable holds the templates, by TemplateID-1. A Builder and its Timeline share it.
type templateTable struct {
	all   []template
	bytes int
}

// Template stores data shared by slices: a name, a category, and the arguments encoded so far with Args. A top-level dictionary
// must be open in these arguments. Each slice adds two integer members with the given keys, or only the second if keys[0] is 0,
// and closes the dictionary, see Event.Template. Slices with a template need no memory for arguments. Template returns 0 (no
// template) if a table is full.
func (b *Builder) Template(name, category []byte, keys [2]KeyID) TemplateID {
	e, t := b.args, b.templates
	n, ok := b.names.intern(name)
	c, ok2 := b.categories.intern(category)
	size := len(e.buf) + 64
	if !ok || !ok2 || keys[1] == 0 || len(e.open) != 2 || t.bytes+size > maxTemplateBytes {
		return 0
	}
	t.bytes += size
	t.all = append(t.all, template{NameID(n), CategoryID(c), bytes.Clone(e.buf), e.open[1].mark, keys})
	return TemplateID(len(t.all))
}

// BeginArgs starts the arguments in Args with those from a template, for a slice that needs more than two numbers. The template's
// dictionary stays open, and duplicates of the template's keys are not detected.
func (b *Builder) BeginArgs(id TemplateID) {
	t := &b.templates.all[id-1]
	b.args.Load(t.args)
	b.args.open = append(b.args.open, container{mark: t.mark, size: 1})
}

// addFromTemplate adds a slice that uses a template.
func (b *Builder) addFromTemplate(ev *Event) error {
	t := &b.templates.all[ev.Template-1]
	r := b.records.next(ev.TS)
	*r = record{}
	r.ts, r.dur, r.offset, r.event, r.track = ev.TS, min(ev.Dur, math.MaxInt64-ev.TS), ev.Offset, ev.Event, ev.Track
	r.name, r.category, r.flags = t.name, t.category, flagsOf(Slice)|flagTemplate
	r.setTemplate(ev.Template, ev.Numbers)
	if b.derived {
		r.flags |= flagDerived
	}
	if ev.InOrder {
		r.flags |= flagInOrder
	}
	b.fractions.times = b.fractions.times || ev.TS%Microsecond != 0 || r.dur%Microsecond != 0
	b.next = max(b.next, ev.Event+1)
	row := &b.table.tracks[ev.Track]
	row.used = true
	b.unmatched = b.unmatched || row.kind == AsyncTrack
	return b.added()
}

// appendArgs appends the arguments of a record with a template.
func (t *templateTable) appendArgs(b []byte, r *record) []byte {
	id, numbers := r.template()
	tmpl := &t.all[id-1]
	start := len(b)
	b = append(b, tmpl.args...)
	if tmpl.keys[0] != 0 {
		b = appendIntMember(b, tmpl.keys[0], numbers[0])
	}
	b = appendIntMember(b, tmpl.keys[1], numbers[1])
	return wire.EndMessage(b, start+tmpl.mark)
}

// appendIntMember appends an integer member to a dictionary.
func appendIntMember(b []byte, key KeyID, v int64) []byte {
	b, mark := wire.BeginMessage(b, schema.DebugAnnotation_DictEntries)
	b = wire.AppendUint(b, schema.DebugAnnotation_NameIID, uint64(key))
	return wire.EndMessage(wire.AppendInt(b, schema.DebugAnnotation_IntValue, v), mark)
}
