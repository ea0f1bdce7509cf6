package main

import (
	"io"

	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/export/parquet"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// parquetFormName is the name of the form that is a table.
const parquetFormName = "parquet"

// parquetForm writes Parquet files.
type parquetForm struct {
	tl     *timeline.Timeline
	header *eventstream.Header
	out    *watchedWriter
	file   *parquet.Writer
	cut    uint64 // truncated events in earlier files
}

// watchedWriter keeps the error of a failed write, because the Parquet writer wraps it with the name of a column.
type watchedWriter struct {
	w   io.Writer
	err error
}

func (w *watchedWriter) Write(b []byte) (int, error) {
	n, err := w.w.Write(b)
	if w.err == nil {
		w.err = err
	}
	return n, err
}

// cause returns the error of the first failed write; err if no write failed.
func (w *watchedWriter) cause(err error) error {
	if err != nil && w.err != nil {
		return w.err
	}
	return err
}

func (p *parquetForm) Begin(w io.Writer, h *eventstream.Header) error {
	p.cut += p.Cut()
	p.header, p.out = h, &watchedWriter{w: w}
	p.file = parquet.NewWriter(p.out, p.tl, parquet.Options{Version: pfwire.Version, SmallGroups: p.tl.Memory() < parquet.SmallMemory})
	return nil
}

func (p *parquetForm) Event(row *resolved.Row) (int, error) {
	n, err := p.file.Write(row)
	return n, p.out.cause(err)
}

func (p *parquetForm) Cost(*eventstream.Cost) error { return nil }

func (p *parquetForm) End(f *eventstream.Footer) error {
	return p.out.cause(p.file.Close(map[string]string{
		"weft.v1.header": string(p.header.AppendJSON(nil)), "weft.v1.footer": string(f.AppendJSON(nil)),
	}))
}

func (p *parquetForm) Cut() uint64 {
	if p.file == nil {
		return 0
	}
	return p.cut + p.file.Truncated
}
