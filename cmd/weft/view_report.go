//go:build !wasm

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/reportpage"
	"github.com/weft-trace/weft/internal/view"
)

// survey returns the function that makes the report on a trace during its conversion. It returns nil if there is no report
// (--direct), or if the report must read the input again because the conversion leaves out data (--args) or adds some
// (--attribute).
func (v *viewing) survey(ctx context.Context, shown *view.Trace, name string) func(*load.Trace) error {
	if v.direct || v.opts.KeepPackets || v.opts.NoArgs || len(v.opts.Args) > 0 {
		return nil
	}
	return func(t *load.Trace) error { return v.report(ctx, shown, name, t) }
}

// reportLater makes the report on an input that is not converted, or that survey cannot handle, while other files are
// converted.
func (v *viewing) reportLater(ctx context.Context, shown *view.Trace, name string, in *stored) {
	v.reporting.Lock()
	defer v.reporting.Unlock()
	opts := v.opts
	opts.Attribute, opts.KeepPackets = nil, false // the report attributes on its own,
	opts.Args, opts.NoArgs = nil, false           // and needs arguments that the trace may lack
	t, err := load.One(ctx, in.reader(), opts)
	if err == nil {
		err = errors.Join(v.report(ctx, shown, name, t), t.Close())
	}
	if err != nil && ctx.Err() == nil {
		v.noReport(shown, fmt.Errorf("%s: %w", inputName(name), withoutPath(err)))
	}
}

// report adds the report on a trace to the page. Without the report, the page still shows the timeline, so the method returns an
// error only once ctx is done.
func (v *viewing) report(ctx context.Context, shown *view.Trace, name string, t *load.Trace) error {
	file := filepath.Base(name)
	if name == inputs.Stdin {
		file = ""
	}
	html, all, err := reportpage.Survey(ctx, t, file)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		v.noReport(shown, fmt.Errorf("%s: %w", inputName(name), err))
		return nil
	}
	page := view.Report{HTML: html, Span: view.Window{Start: int64(all.Start), End: int64(all.End)}}
	page.ScriptHash, page.StyleHash = reportpage.Hashes()
	for _, id := range reportpage.Threads(all) {
		page.Tracks = append(page.Tracks, strings.TrimSpace(id.Thread+" "+id.TID.Number()))
	}
	shown.Report(page)
	return nil
}

func (v *viewing) noReport(shown *view.Trace, err error) {
	v.print("%s no report: %s\n", messageHead(v.env), printable(message(err)))
	shown.Unreported()
}
