//go:build !wasm

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/readers/otlp"
	"github.com/weft-trace/weft/internal/view"
)

// A stored is a file that can be read in any order and repeatedly.
type stored struct {
	io.ReaderAt
	io.Closer
	size int64
}

// reader returns a reader of the whole file.
func (s *stored) reader() io.Reader { return io.NewSectionReader(s, 0, s.size) }

// prepare converts a file to a Perfetto trace and passes it to the server. If that fails, it closes the files that it opened.
func (v *viewing) prepare(ctx context.Context, t *view.Trace, name string) (err error) {
	opened := len(v.close)
	defer func() {
		if err != nil && ctx.Err() == nil { // otherwise a pipe may still be being read
			for _, c := range v.close[opened:] {
				_ = c.Close() // err is more informative
			}
			v.close = v.close[:opened]
		}
	}()
	src, err := openInput(ctx, v.env, name)
	if err != nil {
		return err
	}
	p := startProgress(v.env, inputName(name), src.size, !v.quiet)
	v.showProgress(p)
	stopped := v.tell(t, p, src.size)
	survey := v.survey(ctx, t, name)
	in, made, report, first, err := v.make(ctx, name, src, p, survey)
	shown := made
	if err == nil {
		shown, err = v.fit(ctx, name, made, p)
	}
	stopped()
	v.showProgress(nil)
	p.Stop()
	if err != nil {
		return err
	}
	if err := v.requested(ctx, &first, name, in, report); err != nil {
		return err
	}
	if !v.quiet {
		v.print("%s", madeText(name, made, shown, report))
	}
	content := view.Content{ReaderAt: shown, Bytes: shown.size, FileName: v.fileName(name, report != nil, made == in)}
	if shown != made && filepath.Ext(content.FileName) != ".gz" {
		content.FileName += ".gz"
	}
	t.Ready(content, first)
	if !v.direct && (survey == nil || report == nil) {
		v.reports.Go(func() { v.reportLater(ctx, t, name, in) })
	}
	return nil
}

// fileName returns the name under which a browser saves a trace: the name in -o; for a Perfetto trace its own name, without
// the suffix of a container that it was unpacked from; otherwise the name that convert would use.
func (v *viewing) fileName(name string, converted, asIs bool) string {
	base := filepath.Base(name)
	isTrace := func(name string) bool {
		return slices.Contains([]string{outputSuffix, ".perfetto-trace"}, filepath.Ext(name))
	}
	unpacked := strings.TrimSuffix(base, filepath.Ext(base))
	switch {
	case v.output != "":
		return filepath.Base(v.output)
	case name == inputs.Stdin:
		return filepath.Base(outputPlace(inputs.File{Path: name}, "."))
	case asIs, isTrace(base):
		return base
	case isTrace(unpacked):
		return unpacked
	case converted:
		return base + outputSuffix
	}
	return unpacked + outputSuffix
}

// fit returns a trace that the page can hand over. It compresses a trace that is too long, because the UI reads gzip.
func (v *viewing) fit(ctx context.Context, name string, made *stored, p *progress) (*stored, error) {
	switch {
	case made.size == 0:
		return nil, fmt.Errorf("%s: the trace is empty", inputName(name))
	case made.size <= v.handover || v.direct:
		return made, nil
	}
	packed, err := v.pack(ctx, made, p)
	if !errors.Is(err, errTooLongForPage) {
		return packed, err
	}
	is, most := formatSize(made.size), formatSize(v.handover)
	if is == most { // rounded
		is, most = fmt.Sprintf("%d MiB", (made.size-1)>>20+1), fmt.Sprintf("%d MiB", v.handover>>20)
	}
	use := "use --direct"
	if len(v.files) > 1 {
		use = "view it alone, with --direct"
	}
	return nil, fmt.Errorf("%s: trace is %s, a page can hand over %s: %s", inputName(name), is, most, use)
}

// errTooLongForPage means that a trace is too long for a page even when compressed.
var errTooLongForPage = errors.New("too long for a page")

// pack compresses a trace with gzip into a nameless file.
func (v *viewing) pack(ctx context.Context, made *stored, p *progress) (packed *stored, err error) {
	var magic [2]byte
	if _, err := made.ReadAt(magic[:], 0); err == nil && magic == [2]byte{0x1F, 0x8B} { // already compressed, and still too long
		return nil, errTooLongForPage
	}
	temp, err := extsort.NewFile(v.opts.TempDir)
	if err != nil {
		return nil, &outputError{err}
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, temp.Close())
		}
	}()
	out, err := gzip.NewWriterLevel(&cappedWriter{p.writer(temp), v.handover}, gzip.BestSpeed)
	if err != nil {
		return nil, err
	}
	src := made.reader()
	if p.read.Load() == 0 { // the input is shown unchanged, and was not read yet
		src = p.reader(src)
	}
	if _, err := io.Copy(out, contextReader{ctx, src}); err != nil {
		return nil, err
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	packed = &stored{ReaderAt: temp, Closer: temp, size: temp.Size()}
	if err := temp.Flush(); err != nil {
		return nil, &outputError{err}
	}
	v.close = append(v.close, packed)
	return packed, nil
}

// A cappedWriter fails with errTooLongForPage when more is written than a page can hand over.
type cappedWriter struct {
	w    io.Writer
	left int64
}

func (c *cappedWriter) Write(p []byte) (int, error) {
	if c.left -= int64(len(p)); c.left < 0 {
		return 0, errTooLongForPage
	}
	return c.w.Write(p)
}

// tell sends the progress of a conversion to the page until stop is called.
func (v *viewing) tell(t *view.Trace, p *progress, size int64) (stop func()) {
	stopped, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(progressInterval)
		defer ticker.Stop()
		for {
			t.Progress(p.read.Load(), size)
			select {
			case <-ticker.C:
			case <-stopped:
				return
			}
		}
	}()
	return func() {
		close(stopped)
		<-done
	}
}

// madeText describes the conversion. Without a report the input is shown unchanged, except for its compression.
func madeText(name string, made, shown *stored, report *convert.Report) string {
	packed := ""
	if shown != made {
		packed = fmt.Sprintf("  packed to %s, because a page can hand over no more than %s; --direct needs no page\n", formatSize(shown.size), formatSize(view.MaxHandover))
	}
	if report == nil {
		return fmt.Sprintf("%s: perfetto, %s, shown as it is\n", printable(inputName(name)), formatSize(made.size)) + packed
	}
	r := &inputReport{Input: inputName(name), Report: report}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s → %s, in %s\n", printable(r.Input), r.Format, r.sizeIn(), formatSize(made.size),
		report.Durations.Total.Round(time.Millisecond))
	b.WriteString(packed)
	if lossesOf(report).unusual > 0 {
		r.writeProblems(&b)
	}
	return b.String()
}

// make converts an input to a Perfetto trace, and finds the first view. The files in and made are closed when the viewing ends.
// If nothing was converted, survey was not called and report is nil.
func (v *viewing) make(ctx context.Context, name string, src *input, p *progress, survey func(*load.Trace) error) (
	in, made *stored, report *convert.Report, first view.FirstView, err error,
) {
	if in, err = v.store(ctx, src, p); err != nil {
		return nil, nil, nil, first, fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	counted := in.reader()
	if src.size >= 0 {
		counted = p.reader(counted)
	}
	is, containers := false, []string(nil)
	if v.asIs {
		is, containers = v.isPerfetto(ctx, in)
	}
	switch packed := slices.DeleteFunc(containers, func(c string) bool { return c == "gzip" }); {
	case is && len(packed) == 0 && v.output == "": // the UI reads gzip
		return in, in, nil, first, nil
	case is && len(packed) == 0:
		made, err = v.write(ctx, func(dst io.Writer) error {
			_, err := io.Copy(dst, contextReader{ctx, counted})
			return err
		})
	case is:
		made, err = v.write(ctx, func(dst io.Writer) error { return unpackTo(ctx, dst, counted, v.opts.TempDir) })
	default:
		made, err = v.write(ctx, func(dst io.Writer) (err error) {
			report, first, err = convertToLookAt(ctx, p.writer(dst), counted, v.opts, survey)
			return err
		})
	}
	if err != nil && !errors.As(err, new(*outputError)) {
		err = fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	return in, made, report, first, err
}

// store returns an input as a file. It copies a pipe to a nameless file.
func (v *viewing) store(ctx context.Context, src *input, p *progress) (*stored, error) {
	if f, ok := src.ReadCloser.(io.ReaderAt); ok && src.size >= 0 {
		in := &stored{f, src, src.size}
		v.close = append(v.close, in)
		return in, nil
	}
	temp, err := extsort.NewFile(v.opts.TempDir)
	if err != nil {
		return nil, errors.Join(err, src.Close())
	}
	v.close = append(v.close, src)
	in := &stored{ReaderAt: temp, Closer: temp}
	copied := make(chan error, 1)
	go func() { // a pipe may never end
		_, err := io.Copy(temp, p.reader(src))
		copied <- errors.Join(err, temp.Flush())
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		return nil, ctx.Err() // the file has no name, and vanishes with the program
	}
	v.close = append(v.close, in)
	in.size = temp.Size()
	return in, err
}

// headSize is the number of bytes at the start of an input by which a Perfetto trace is recognised.
const headSize = 4 << 10

// isPerfetto reports whether an input is a Perfetto trace, and returns its containers. It returns false for an input that
// cannot be unpacked; the conversion will report why.
func (v *viewing) isPerfetto(ctx context.Context, in *stored) (is bool, containers []string) {
	if v.opts.From != convert.FormatAuto && v.opts.From != convert.FormatPerfetto {
		return false, nil
	}
	src, err := inputs.Unpack(ctx, in.reader(), v.opts.TempDir)
	if err != nil {
		return false, nil
	}
	defer src.Close()
	head := make([]byte, headSize)
	n, _ := io.ReadFull(src, head)
	return pfwire.LooksLikeTrace(head[:n]) && !otlp.Detect(head[:n]), src.Containers
}

// unpackTo writes the contents of a container.
func unpackTo(ctx context.Context, dst io.Writer, src io.Reader, tempDir string) error {
	r, err := inputs.UnpackStrict(ctx, src, tempDir)
	if err != nil {
		return err
	}
	defer r.Close()
	_, err = io.Copy(dst, r)
	return err
}

// A contextReader reads until its context is done.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// outputError is an error about the output; it names the output.
type outputError struct{ error }

func (e *outputError) Unwrap() error { return e.error }

// write creates the -o file or a nameless one, and calls fill to write it.
func (v *viewing) write(ctx context.Context, fill func(io.Writer) error) (*stored, error) {
	if v.output != "" {
		return v.writeOutput(ctx, fill)
	}
	temp, err := extsort.NewFile(v.opts.TempDir)
	if err != nil {
		return nil, &outputError{err}
	}
	made := &stored{ReaderAt: temp, Closer: temp}
	v.close = append(v.close, made)
	if err := fill(temp); err != nil {
		return nil, err
	}
	made.size = temp.Size()
	if err := temp.Flush(); err != nil {
		return nil, &outputError{err}
	}
	return made, nil
}

// writeOutput calls fill to write the -o file, which appears only once it is complete.
func (v *viewing) writeOutput(ctx context.Context, fill func(io.Writer) error) (*stored, error) {
	dst, err := createOutput(ctx, v.env, v.output, v.force)
	if err != nil {
		return nil, &outputError{err}
	}
	defer dst.Abort()
	if err := fill(dst); err != nil {
		if failed := dst.Failed(); failed != nil {
			return nil, &outputError{failed}
		}
		return nil, err
	}
	if err := dst.Commit(); err != nil {
		return nil, &outputError{err}
	}
	src, err := openInput(ctx, v.env, v.output)
	if err != nil {
		return nil, &outputError{err}
	}
	v.close = append(v.close, src)
	f, ok := src.ReadCloser.(io.ReaderAt)
	if !ok || src.size < 0 {
		return nil, &outputError{fmt.Errorf("%s is not a regular file; view shows a file", v.output)}
	}
	return &stored{f, src, src.size}, nil
}
