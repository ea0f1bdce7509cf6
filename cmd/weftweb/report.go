//go:build js && wasm

package main

import (
	"bytes"
	"context"
	"errors"
	"path"
	"syscall/js"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/reportpage"
)

// reportFile returns the page that weft report all --html makes.
func reportFile(src *file, opts convert.Options, _ js.Value) (page string, err error) {
	ctx, said := bridge.Unwalked(context.Background()), new(convert.Report)
	opts.Report, opts.Attribute = said, nil
	tr, err := convert.Open(ctx, src, opts)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, tr.Close()) }()
	all, err := report.CollectAll(ctx, bridge.Timeline(tr), attribution.Rules{}, report.AllOptions{})
	if err != nil {
		return "", err
	}
	bridge.Walked(ctx)
	var html bytes.Buffer
	name := path.Base(src.file.Get("name").String())
	if err := reportpage.Write(&html, reportpage.NewSource(name, said), all, reportpage.Options{}); err != nil {
		return "", err
	}
	return html.String(), nil
}
