// Package writeback puts an attribution into a trace. In comes the result of package cost; what is to be added is found once
// (notes.go, overlay.go, and the facts here), and goes into a timeline that is written, or beside the packets of a Perfetto
// trace that are kept (packets.go).
package writeback

import (
	"fmt"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/timeline"
)

// Parts says what of an attribution goes into the trace. The zero value writes everything. Whatever is written, all
// that an earlier attribution has written is taken away.
type Parts struct {
	NoNotes     bool // no argument "contexts" on slices and instants
	NoTracks    bool // no track for each thread and type with the times at which contexts are in effect
	NoCatalogue bool // no track with the contexts and what is known of them
	NoCosts     bool // no cost tables among the facts about the trace
}

// nothing reports whether nothing is written.
func (w Parts) nothing() bool {
	return w == Parts{NoNotes: true, NoTracks: true, NoCatalogue: true, NoCosts: true}
}

// Additions is what an attribution adds to a trace: an argument for each slice and instant with contexts (notes), tracks,
// and facts about the trace. What is added is the same in both ways to write it: into a timeline that is written, and beside
// the packets of a Perfetto trace that are kept. These ways differ in how tracks, names and texts are encoded only.
type Additions struct {
	result *attribution.Result
	parts  Parts
}

// Of returns what a result adds to a trace.
func Of(r *attribution.Result, parts Parts) *Additions { return &Additions{r, parts} }

// Attach puts the additions into the timeline for later walks and writers, replacing those from an earlier attribution. Nothing
// else of the trace changes. It comes at most once; the timeline closes what it needs of the result.
func (a *Additions) Attach() error {
	t := a.result.Timeline
	a.takeAway()
	if a.parts.nothing() {
		return nil
	}
	if !a.parts.NoNotes {
		notes := a.notes(t.NewArgs(), true)
		a.result.EventSets = nil // they are the timeline's
		t.AttachNotes(notes)
	}
	if !a.parts.NoTracks || !a.parts.NoCatalogue {
		if err := a.attachTracks(); err != nil {
			return err
		}
	}
	facts, err := a.facts(attribution.FormConverted)
	for _, f := range facts {
		t.SetAttribute(f)
	}
	return err
}

// takeAway leaves out of the timeline what an earlier attribution has written.
func (a *Additions) takeAway() {
	r := a.result
	if !r.Attributed {
		return
	}
	r.Timeline.HideTracks(r.Own.Tracks, r.Own.Slices, r.Own.Instants)
	r.Timeline.HideArg(func(args timeline.Args) int {
		place, _ := attribution.NoteIn(r.Timeline, args)
		return place
	})
	r.Timeline.DropAttributes(attribution.IsOwnAttribute)
}

// facts are the facts about a trace that holds the attribution in a form.
func (a *Additions) facts(form string) ([]timeline.Attribute, error) {
	list := []timeline.Attribute{{Key: attribution.FormAttribute, Text: form}}
	if a.parts.NoCosts {
		return list, nil
	}
	costs := tables.Of(a.result)
	for _, typ := range costs.Types() {
		text, err := CostText(costs, typ)
		if err != nil {
			return list, fmt.Errorf("cost of %s: %w", typ, err)
		}
		list = append(list, timeline.Attribute{Key: attribution.CostAttribute + typ, Text: string(text)})
	}
	return list, nil
}

// CostText returns the first rows of a cost table.
func CostText(from *tables.Tables, typ string) ([]byte, error) {
	table, err := from.Table(tables.TableOptions{Type: typ, Limit: attributeRows})
	if err != nil {
		return nil, err
	}
	for rows := attributeRows; ; {
		text, err := table.JSON()
		if err != nil || len(text) <= MaxAttribute || rows == 1 {
			return text, err
		}
		rows /= 2
		table.Shorten(rows)
	}
}

// Costs among the facts about a trace have the first attributeRows rows, or fewer: of longer texts than maxAttribute
// bytes readers, weft's own among them, keep nothing.
const (
	attributeRows = 20
	MaxAttribute  = 16 << 10
)

// MarkConverted notes in a timeline that was read from an attributed trace, and is written as it is, that the attribution
// is now a part of what is written.
func MarkConverted(t *timeline.Timeline) {
	if attribution.WasAttributed(t) {
		t.SetAttribute(timeline.Attribute{Key: attribution.FormAttribute, Text: attribution.FormConverted})
		t.DropAttributes(func(key string) bool { return key == timeline.AppendedAttribute })
	}
}
