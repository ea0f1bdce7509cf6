package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/resolved"
)

// writeStream writes the events of an input that is a stream of events, as JSON lines: the same as those of its trace.
func (x *eventExport) writeStream(ctx context.Context, stream *eventstream.Stream, header *eventstream.Header, out *parts) error {
	for _, option := range x.content {
		if name, _, _ := strings.Cut(option, "="); name != "types" {
			return usagef("--%s: %s is a stream of events, of which only --types selects; export the trace that it was made of", name, inputName(x.input))
		}
	}
	switch x.form.name {
	case "jsonl":
	case "proto":
		return fmt.Errorf("%s: this is a stream of resolved events already; export the trace that it was made of, or copy the file", inputName(x.input))
	default:
		return fmt.Errorf("%s: %w", inputName(x.input), bridge.ErrStream)
	}
	lines := &streamForm{}
	if err := out.beginStream(stream, lines, header); err != nil {
		return err
	}
	leftOut := uint64(0)
	err := stream.Each(ctx, func(ev *eventstream.Event) error {
		if x.kinds != nil && !slices.Contains(x.kinds, ev.Kind) {
			leftOut++
			return nil
		}
		lines.next = ev
		return out.event(ev.Row())
	})
	if err != nil {
		return err
	}
	return out.endStream(leftOut)
}

// streamForm writes the events of a stream as JSON lines.
type streamForm struct {
	linesForm
	next *eventstream.Event // that the next row was made of
	buf  []byte
}

func (s *streamForm) Event(*resolved.Row) (int, error) {
	s.buf = s.next.AppendLine(s.buf[:0])
	return s.w.Write(s.buf)
}

// beginStream begins the first part of the events of a stream.
func (p *parts) beginStream(source *eventstream.Stream, form eventForm, header *eventstream.Header) error {
	p.source, p.form, p.header = source, form, header
	return p.beginPart()
}

// endStream ends the last part of the events of a stream. What was lost is what its footer says, and the rest of it if it was cut.
func (p *parts) endStream(leftOut uint64) error {
	p.footer.Problems = p.source.Problems
	p.lost.all, p.lost.unusual = p.footer.Lost(p.source.Inputs)
	p.leftOut, p.footer.LeftOut, p.footer.Complete = leftOut, leftOut, true
	return p.endPart()
}

// laterThings returns how many things of a stream a later version of weft has written that this one does not know: records, events of
// another kind, the revision itself. 0 if there is no stream.
func laterThings(stream *eventstream.Stream) (n uint64) {
	if stream == nil {
		return 0
	}
	for _, p := range stream.Problems {
		if p.Name == problem.StreamNewer.Name() {
			n += p.Count
		}
	}
	return n
}

// lostWhy says why data was lost in front of a stream or in it, with what is usual or without.
func lostWhy(stream *eventstream.Stream, usual bool) string {
	var whys []string
	for _, p := range stream.Problems {
		if p.Severity == problem.Lost.String() && (usual || !p.IsUsual(stream.Inputs)) {
			why := printable(p.Name) + " ×" + thousands(int64(p.Count))
			if p.Name == problem.StreamIncomplete.Name() {
				why += " (the stream was cut, or events are missing)"
			}
			whys = append(whys, why)
		}
	}
	return strings.Join(whys, ", ")
}
