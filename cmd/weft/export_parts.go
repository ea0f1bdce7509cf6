package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// eventForm writes events in one of the export forms, one file or part after another.
type eventForm interface {
	// Begin starts a file.
	Begin(w io.Writer, h *eventstream.Header) error
	// Event writes an event and returns its size in bytes before compression.
	Event(row *resolved.Row) (int, error)
	// Cost writes the cost of a context.
	Cost(c *eventstream.Cost) error
	// End ends the file.
	End(f *eventstream.Footer) error
	// Cut returns the number of events that have been truncated because parts of them were too large.
	Cut() uint64
}

// newEventForm returns the writer of a form.
func newEventForm(name string, tl *timeline.Timeline) eventForm {
	switch name {
	case "jsonl":
		return &linesForm{lines: eventstream.NewLines(tl)}
	case parquetFormName:
		return &parquetForm{tl: tl}
	}
	return &protoForm{enc: eventstream.NewEncoder(tl)}
}

// protoForm writes streams of weft.v1.
type protoForm struct {
	enc *eventstream.Encoder
	w   io.Writer
}

func (p *protoForm) Begin(w io.Writer, h *eventstream.Header) error {
	p.w = w
	return writeAll(w, h.Append(nil))
}

func (p *protoForm) Event(row *resolved.Row) (int, error) { return p.w.Write(p.enc.Event(row)) }

func (p *protoForm) Cost(c *eventstream.Cost) error { return writeAll(p.w, c.Append(nil)) }

func (p *protoForm) End(f *eventstream.Footer) error { return writeAll(p.w, f.Append(nil)) }

func (p *protoForm) Cut() uint64 { return p.enc.Truncated }

// linesForm writes JSON lines.
type linesForm struct {
	lines *eventstream.Lines
	w     io.Writer
}

func (l *linesForm) Begin(w io.Writer, _ *eventstream.Header) error {
	l.w = w
	return nil
}

func (l *linesForm) Event(row *resolved.Row) (int, error) { return l.w.Write(l.lines.Event(row)) }

func (l *linesForm) Cost(*eventstream.Cost) error { return nil }

func (l *linesForm) End(*eventstream.Footer) error { return nil }

func (l *linesForm) Cut() uint64 { return 0 }

func writeAll(w io.Writer, b []byte) error {
	_, err := w.Write(b)
	return err
}

// parts are the files that an export writes: one, or several with --split. They are renamed to their final names once all are
// complete, and the manifest follows.
type parts struct {
	x      *eventExport
	ctx    context.Context
	form   eventForm
	header *eventstream.Header

	outputs []*output // of all parts, under temporary names; the last one is being written
	coder   io.WriteCloser
	counted *countedWriter
	bytes   uint64 // size of the part before compression
	footer  eventstream.Footer
	files   []manifestFile

	total, leftOut uint64
	lost           losses
	list           *output // the manifest
}

// A manifest lists the files of an export. A loader should load these, and skip a StreamID that it has already loaded.
type manifest struct {
	StreamID string         `json:"stream_id"`
	Form     string         `json:"form"` // "proto", "parquet", "jsonl"
	Events   uint64         `json:"events"`
	LeftOut  uint64         `json:"left_out"`
	Files    []manifestFile `json:"files"`
}

// manifestFile is one file of a manifest. Times and ids come from the events in the file; they are 0 if it contains no events.
type manifestFile struct {
	File    string         `json:"file"` // path relative to the manifest
	Bytes   uint64         `json:"bytes"`
	SHA256  string         `json:"sha256"`
	Events  uint64         `json:"events"`
	FirstNS timeline.Nanos `json:"first_ns"`
	LastNS  timeline.Nanos `json:"last_ns"`
	FirstID uint64         `json:"first_id"`
	LastID  uint64         `json:"last_id"`
}

// newParts creates the first file and the manifest, so that errors come before the input is read.
func (x *eventExport) newParts(ctx context.Context) (*parts, error) {
	p := &parts{x: x, ctx: ctx}
	if x.manifest != "" {
		list, err := createOutput(ctx, x.env, x.manifest, x.force)
		if err != nil {
			return nil, err
		}
		p.list = list
	}
	if err := p.create(); err != nil {
		p.abort()
		return nil, err
	}
	return p, nil
}

// create creates the file of the next part.
func (p *parts) create() error {
	out, err := createOutput(p.ctx, p.x.env, p.partName(len(p.outputs)), p.x.force)
	if err == nil {
		p.outputs = append(p.outputs, out)
	}
	return err
}

// partName returns the name of a part: trace.json-00002.events.binpb.zst for the second one.
func (p *parts) partName(i int) string {
	if p.x.split == (splitRule{}) {
		return p.x.place
	}
	dir, base := filepath.Split(p.x.place)
	suffix, _ := eventstream.Suffix(p.x.codec)
	suffix = p.x.form.suffix + suffix
	if !strings.HasSuffix(base, suffix) || base == suffix {
		suffix = ""
		if i := strings.IndexByte(base, '.'); i > 0 {
			suffix = base[i:]
		}
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%05d%s", strings.TrimSuffix(base, suffix), i+1, suffix))
}

// begin starts the first part.
func (p *parts) begin(tl *timeline.Timeline, header *eventstream.Header) error {
	p.form, p.header = newEventForm(p.x.form.name, tl), header
	return p.beginPart()
}

func (p *parts) beginPart() (err error) {
	p.counted = &countedWriter{w: p.outputs[len(p.outputs)-1]}
	if p.list != nil {
		p.counted.hash = sha256.New()
	}
	p.bytes, p.footer = 0, eventstream.Footer{}
	p.files = append(p.files, manifestFile{File: p.partName(len(p.outputs) - 1)})
	if p.coder, err = eventstream.Compress(p.counted, p.x.codec); err != nil {
		return err
	}
	return p.form.Begin(p.coder, p.header)
}

// countedWriter counts the bytes of a file, and hashes them for a manifest.
type countedWriter struct {
	w    io.Writer
	hash hash.Hash // nil: no manifest
	n    uint64
}

func (c *countedWriter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	if c.hash != nil {
		c.hash.Write(b[:n])
	}
	c.n += uint64(n)
	return n, err
}

// event writes an event, into a new part if the last one is full.
func (p *parts) event(row *resolved.Row) error {
	s := p.x.split
	if n := p.footer.Total(); s.events > 0 && n >= s.events || s.bytes > 0 && p.bytes >= s.bytes {
		if err := p.endPart(); err != nil {
			return err
		}
		if err := p.create(); err != nil {
			return err
		}
		if err := p.beginPart(); err != nil {
			return err
		}
	}
	n, err := p.form.Event(row)
	if err != nil {
		return err
	}
	p.bytes += uint64(n)
	p.footer.Count(row)
	p.total++
	file := &p.files[len(p.files)-1]
	if file.FirstID == 0 {
		file.FirstID = row.ID
	}
	file.LastID = row.ID
	return nil
}

func (p *parts) cost(c *eventstream.Cost) error { return p.form.Cost(c) }

// endPart ends a part; its file keeps its temporary name.
func (p *parts) endPart() error {
	if err := p.form.End(&p.footer); err != nil {
		return err
	}
	if err := p.coder.Close(); err != nil {
		return err
	}
	file := &p.files[len(p.files)-1]
	file.Bytes, file.Events = p.counted.n, p.footer.Total()
	if p.counted.hash != nil {
		file.SHA256 = hex.EncodeToString(p.counted.hash.Sum(nil))
	}
	file.FirstNS, file.LastNS = p.footer.First, p.footer.Last
	return p.outputs[len(p.outputs)-1].Finish()
}

// end ends the last part. Only now, after the walk, are all problems of the input known.
func (p *parts) end(leftOut uint64, found *problem.Log) error {
	p.footer.AddProblems(found, p.form.Cut())
	p.lost.all, p.lost.unusual = p.footer.Lost(p.header.Inputs)
	p.leftOut, p.footer.LeftOut, p.footer.Complete = leftOut, leftOut, true
	return p.endPart()
}

// commit renames the files to their final names, and then writes the manifest. It first removes the manifest of an earlier
// export, so that a manifest never lists another export's files.
func (p *parts) commit() error {
	if p.list != nil {
		if err := p.list.Clear(); err != nil {
			return err
		}
	}
	for _, out := range p.outputs {
		if err := out.Commit(); err != nil {
			return err
		}
	}
	if p.list == nil {
		return nil
	}
	if err := p.writeManifest(); err != nil {
		return err
	}
	return p.list.Commit()
}

func (p *parts) writeManifest() error {
	m := manifest{StreamID: p.header.StreamID(), Form: p.x.form.name, Events: p.total, LeftOut: p.leftOut, Files: p.files}
	for i := range m.Files {
		name, err := filepath.Rel(trueFolder(filepath.Dir(p.x.manifest)), filepath.Join(trueFolder(filepath.Dir(m.Files[i].File)), filepath.Base(m.Files[i].File)))
		if err != nil {
			return err
		}
		m.Files[i].File = filepath.ToSlash(name)
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeAll(p.list, append(jsonscan.Escape(text), '\n'))
}

// abort removes the files that were not committed.
func (p *parts) abort() {
	for _, out := range p.outputs {
		out.Abort()
	}
	if p.list != nil {
		p.list.Abort()
	}
}

// Clear removes the file that an output is going to replace. It does nothing if the output is written in place or without
// --force.
func (o *output) Clear() error {
	if o.temp == "" || !o.force {
		return nil
	}
	err := o.env.step()
	if err == nil {
		err = os.Remove(o.path)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", outputName(o.path), withoutPath(err))
	}
	return nil
}
