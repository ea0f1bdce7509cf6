//go:build js && wasm

package main

import (
	"bytes"
	"context"
	"errors"
	"path"
	"syscall/js"

	"github.com/weft-trace/weft/convert"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/reportpage"
)

// reportFile returns the page that weft report all --html makes.
func reportFile(src *file, opts convert.Options, _ js.Value) (page string, err error) {
	ctx := context.Background()
	opts.Attribute = nil
	t, err := load.One(ctx, src, opts)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	if err := t.Attach(); err != nil {
		return "", err
	}
	all, err := report.CollectAll(ctx, t.Timeline, engine.Rules{}, report.AllOptions{})
	if err != nil {
		return "", err
	}
	t.Count()
	var html bytes.Buffer
	name := path.Base(src.file.Get("name").String())
	if err := reportpage.Write(&html, reportpage.NewSource(name, t.Report), all, reportpage.Options{}); err != nil {
		return "", err
	}
	return html.String(), nil
}
