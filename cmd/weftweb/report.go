//go:build js && wasm

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"syscall/js"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/reportpage"
	"github.com/weft-trace/weft/internal/verdict"
)

// openFile passes the page of weft report all --html to on.report, if requested, and then the trace of weft convert to on.chunk.
func openFile(files []*file, flags, on js.Value) (err error) {
	ctx, src, opts := context.Background(), files[0], options()
	if flags.Get("attribute").Truthy() {
		opts.Attribute = &attribution.Options{}
	}
	var survey func(*load.Trace) error
	if flags.Get("report").Truthy() {
		survey = func(t *load.Trace) error {
			page, _, err := reportpage.Survey(ctx, t, src.name)
			if err != nil {
				on.Call("unreported", load.ErrorText(err))
				return nil
			}
			on.Call("report", string(page))
			return nil
		}
	}
	t, err := load.OneWithSurvey(ctx, src, opts, survey)
	if err != nil {
		return src.failed(err)
	}
	defer func() { err = errors.Join(err, t.Close()) }()
	out := &chunks{on: on}
	if err := t.Write(ctx, out, nil); err != nil {
		return src.failed(err)
	}
	out.flush()
	return nil
}

// read reads a file and calls fn with its trace.
func read(ctx context.Context, src *file, fn func(*load.Trace) error) error {
	t, err := load.One(ctx, src, options())
	if err == nil {
		err = errors.Join(fn(t), t.Close())
	}
	if err != nil {
		return src.failed(err)
	}
	return nil
}

// compareFiles passes the page of weft compare --html for two files to on.report.
func compareFiles(files []*file, _, on js.Value) error {
	ctx := context.Background()
	c, flame := compare.NewComparison(len(files)), compare.NewComparison(len(files))
	for side, src := range files {
		err := read(ctx, src, func(t *load.Trace) error {
			sums, err := compare.SumUp(ctx, t.Timeline, compare.BySlice, nil)
			if err != nil {
				return err
			}
			stacks, err := compare.SumUp(ctx, t.Timeline, compare.ByStack, nil)
			if err != nil {
				return err
			}
			t.Count()
			sums.Lost = verdict.Lost(t.Report.Problems, t.Report.Usual)
			c.Add(compare.Side(side), src.name, sums)
			flame.Add(compare.Side(side), src.name, stacks)
			return nil
		})
		if err != nil {
			return err
		}
	}
	var page bytes.Buffer
	err := reportpage.WriteComparison(&page, &reportpage.Comparison{
		Title: files[0].name + " → " + files[1].name, By: compare.BySlice, Per: "recording", Result: c.Result(compare.Options{}), Stacks: flame.Result(compare.Options{}),
	})
	if err == nil {
		on.Call("report", page.String())
	}
	return err
}

// sumFiles passes a page that summarizes many files to on.report. The page lists files that cannot be read.
func sumFiles(files []*file, _, on js.Value) error {
	ctx := context.Background()
	sum := reportpage.NewSum(memory/8, "")
	defer sum.Close()
	for _, src := range files {
		if err := read(ctx, src, func(t *load.Trace) error { return sum.Add(ctx, src.name, t) }); err != nil {
			sum.Fail(fmt.Errorf("%s", load.ErrorText(err)))
		}
	}
	page, err := sum.Page(ctx)
	if err == nil {
		on.Call("report", string(page))
	}
	return err
}
