// Package writeback writes an attribution into a trace. The additions (notes.go, overlay.go, and the attributes here) are the
// same whether they are added to a timeline or to the packets of a Perfetto trace (packets.go).
package writeback

import (
	"fmt"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/timeline"
)

// Parts selects the parts of an attribution to write. The zero value writes everything. The additions of an earlier attribution
// are always removed.
type Parts struct {
	NoNotes     bool // no "contexts" argument on slices and instants
	NoTracks    bool // no tracks with the contexts in effect, one for each thread and type
	NoCatalogue bool // no track with all contexts and their states
	NoCosts     bool // no cost tables among the trace attributes
}

// nothing reports whether nothing is written.
func (w Parts) nothing() bool {
	return w == Parts{NoNotes: true, NoTracks: true, NoCatalogue: true, NoCosts: true}
}

// Additions holds the content that attribution adds to a trace: an argument for each slice and instant with contexts (notes),
// tracks, and trace attributes.
type Additions struct {
	result *attribution.Result
	parts  Parts
}

// Of returns the additions for an attribution.
func Of(r *attribution.Result, parts Parts) *Additions { return &Additions{r, parts} }

// Attach adds the additions to the timeline for later walks and writers, and removes the additions of an earlier attribution. It
// must be called at most once. The timeline takes ownership of the parts of the result that it needs.
func (a *Additions) Attach() error {
	t := a.result.Timeline
	a.removeEarlier()
	if a.parts.nothing() {
		return nil
	}
	if !a.parts.NoNotes {
		notes := a.notes(t.NewArgs(), true)
		a.result.EventSets = nil // the timeline owns them now
		t.AttachNotes(notes)
	}
	if !a.parts.NoTracks || !a.parts.NoCatalogue {
		if err := a.attachTracks(); err != nil {
			return err
		}
	}
	facts, err := a.attributes(attribution.FormConverted)
	for _, f := range facts {
		t.SetAttribute(f)
	}
	return err
}

// removeEarlier removes the additions of an earlier attribution from the timeline.
func (a *Additions) removeEarlier() {
	r := a.result
	if !r.Attributed {
		return
	}
	r.Timeline.HideTracks(r.Own.Tracks, r.Own.Slices, r.Own.Instants)
	r.Timeline.HideArg(func(args timeline.Args) int {
		i, _ := attribution.NoteIn(r.Timeline, args)
		return i
	})
	r.Timeline.DropAttributes(attribution.IsOwnAttribute)
}

// attributes returns the attributes for a trace that contains the attribution in the given form.
func (a *Additions) attributes(form string) ([]timeline.Attribute, error) {
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

// CostText returns the first rows of a cost table as JSON, short enough for an attribute.
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

// Cost tables in attributes have at most attributeRows rows, and fewer if needed to fit in MaxAttribute bytes: readers,
// including weft's, drop longer texts.
const (
	attributeRows = 20
	MaxAttribute  = 16 << 10
)

// MarkConverted updates the form of the attribution in a timeline that was read from an attributed trace: a conversion writes
// the whole trace, so the attribution is no longer appended.
func MarkConverted(t *timeline.Timeline) {
	if attribution.WasAttributed(t) {
		t.SetAttribute(timeline.Attribute{Key: attribution.FormAttribute, Text: attribution.FormConverted})
		t.DropAttributes(func(key string) bool { return key == timeline.AppendedAttribute })
	}
}
