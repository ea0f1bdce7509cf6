//go:build !wasm

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/moment"
	"github.com/weft-trace/weft/internal/reportpage"
	"github.com/weft-trace/weft/internal/view"
)

// A viewInput is an input whose trace is shown.
type viewInput struct {
	shown *view.Trace
	name  string
	in    *stored
}

// report makes the report of a trace when the UI has got it, also while other files are still being converted: the timeline comes first.
// Without a report there is the timeline.
func (v *viewing) report(ctx context.Context, input viewInput) {
	select {
	case <-input.shown.HandedOver():
	case <-ctx.Done():
		return
	}
	v.reporting.Lock()
	defer v.reporting.Unlock()
	if ctx.Err() == nil {
		v.reportOn(ctx, input)
	}
}

// reportOn gives the page the report of an input.
func (v *viewing) reportOn(ctx context.Context, input viewInput) {
	page, err := v.reportOf(ctx, input)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		v.print("%s no report: %s\n", messageHead(v.env), printable(message(err)))
	default:
		input.shown.Report(*page)
	}
}

// reportOf makes the page that weft report all --html makes.
func (v *viewing) reportOf(ctx context.Context, input viewInput) (page *view.Report, err error) {
	opts := v.opts
	opts.Attribute, opts.KeepPackets = nil, false // the report attributes by itself,
	opts.Args, opts.NoArgs = nil, false           // and reads what the trace may lack
	in, err := newPageInput(ctx, input.name, input.in.reader(), opts)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	all, err := in.collectAll(ctx, false)
	if err != nil {
		return nil, err
	}
	var html bytes.Buffer
	if err := reportpage.Write(&html, pageSource(input.name, in.said), all, reportpage.Options{}); err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(input.name), err)
	}
	span := moment.SpanOf(in.timeline)
	scriptHash, styleHash := reportpage.Hashes()
	return &view.Report{HTML: html.Bytes(), ScriptHash: scriptHash, StyleHash: styleHash, Span: view.Window{Start: int64(span.Start), End: int64(span.End)}}, nil
}
