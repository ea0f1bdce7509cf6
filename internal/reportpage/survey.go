package reportpage

import (
	"bytes"
	"context"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/report"
)

// Survey writes the page of all reports on a trace that was read but not walked, and completes the trace's report. name is the base name of the
// file.
func Survey(ctx context.Context, t *load.Trace, name string) (html []byte, all *report.All, err error) {
	if all, err = report.CollectAll(ctx, t.Timeline, attribution.Rules{}, report.AllOptions{}); err != nil {
		return nil, nil, err
	}
	t.Count()
	var page bytes.Buffer
	err = Write(&page, NewSource(name, t.Report), all, Options{})
	return page.Bytes(), all, err
}

// Threads returns the threads in the timeline of a page, in the order of its rows.
func Threads(all *report.All) (ids []report.ThreadID) {
	if all.Utilisation == nil {
		return nil
	}
	for _, i := range (&page{all: all}).rows() {
		ids = append(ids, all.Utilisation.Threads[i].ThreadID)
	}
	return ids
}
