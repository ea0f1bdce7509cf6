package migrate

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/pftrace"
)

// A Worker converts one input after another. It owns the memory that conversions reuse. Only one goroutine may use it at a
// time.
type Worker struct {
	*run
	converter convert.Converter
	input     bytes.Buffer
	sniffer
	count   *taskCounter
	workers int   // goroutines of one conversion
	memory  int64 // for one conversion in Each, in bytes
}

// hashedReader hashes the bytes read through it.
type hashedReader struct {
	mu    sync.Mutex // the conversion's last Read may still be running when the conversion returns
	r     io.Reader
	sum   hash.Hash
	n     int64
	err   error
	done  bool
	count *taskCounter
}

func newHashedReader(r io.Reader, count *taskCounter) *hashedReader {
	return &hashedReader{r: r, sum: sha256.New(), count: count}
}

// Read implements io.Reader.
func (h *hashedReader) Read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return 0, io.EOF
	}
	return h.read(p)
}

func (h *hashedReader) read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.sum.Write(p[:n])
	h.n += int64(n)
	h.count.add(int64(n))
	if err != nil && err != io.EOF {
		h.err = err
	}
	return n, err
}

// finish reads the rest and returns the hash of everything. It returns "" if not everything could be read.
func (h *hashedReader) finish(ctx context.Context) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	buf := make([]byte, 64<<10)
	for !h.done {
		if h.err != nil || ctx.Err() != nil {
			return ""
		}
		if _, err := h.read(buf); err == io.EOF {
			h.done = true
		}
	}
	return hex.EncodeToString(h.sum.Sum(nil))
}

// stop makes later reads return io.EOF.
func (h *hashedReader) stop() {
	h.mu.Lock()
	h.done = true
	h.mu.Unlock()
}

// hashedOutput hashes the bytes written to an output.
type hashedOutput struct {
	Output
	buf *bufio.Writer
	sum hash.Hash
	n   int64
	err error
}

// Write implements io.Writer.
func (o *hashedOutput) Write(p []byte) (int, error) {
	n, err := o.Output.Write(p)
	o.sum.Write(p[:n])
	o.n += int64(n)
	if err != nil {
		o.err = err
	}
	return n, err
}

// tempName returns a name for a temporary file.
func (r *run) tempName() string { return fmt.Sprintf("%s.%016x.tmp", r.Shard, rand.Uint64()) }

// create opens the output of a record.
func (w *Worker) create(ctx context.Context, r *Record) (*hashedOutput, error) {
	out, err := w.storage.Create(ctx, r)
	if err != nil {
		return nil, outputFailure(err)
	}
	o := &hashedOutput{Output: out, sum: sha256.New()}
	o.buf = bufio.NewWriterSize(o, 32<<10)
	return o, nil
}

// newRecord returns a new record for an input.
func (r *run) newRecord(input, member string, size, mtime int64) *Record {
	return &Record{Input: input, Member: member, Size: size, MtimeNS: mtime, OptionsID: r.optionsID, Weft: pfwire.Version}
}

// content is a file or archive member to convert.
type content struct {
	record *Record
	prior  *Record // the earlier record of the same input; nil: none
	named  bool    // the user named it, so it must be a trace
	src    io.Reader
	size   int64
	head   []byte // start of the unpacked content, for recognition; nil if unknown
	// settled means that there is nothing to do: the earlier record still applies.
	settled bool
	// unchanged returns an error if the input has changed since it was opened.
	unchanged func() error
	count     *taskCounter
	began     time.Time
}

// setSeconds records the duration of the conversion.
func (c *content) setSeconds() {
	if !c.began.IsZero() {
		c.record.Seconds = time.Since(c.began).Round(time.Microsecond).Seconds()
	}
}

// convertContent converts one trace and completes its record, whatever the outcome. Errors are errors of the run.
func (w *Worker) convertContent(ctx context.Context, c *content) error {
	err := w.tryContent(ctx, c)
	fail := (*failure)(nil)
	if err != nil && !errors.As(err, &fail) {
		return err
	}
	if fail != nil {
		w.failed(c, fail)
	}
	return nil
}

// failed stores a failure in the record. A file that is not a trace is skipped, unless it was named.
func (w *Worker) failed(c *content, fail *failure) {
	r := c.record
	r.State, r.Kind, r.Reason, r.Stack = Failed, fail.kind, fail.reason, fail.stack
	r.OutSize, r.OutSHA256 = 0, ""
	c.setSeconds()
	if r.Output = ""; c.prior != nil {
		r.Output = c.prior.Output // from an earlier state of the input; may be replaced
	}
	if fail.kind == KindUnrecognised && !c.named {
		r.State, r.Kind, r.SHA256 = Skipped, KindNoTrace, ""
	}
	if fail.kind == KindPerfetto {
		r.State, r.SHA256 = Skipped, ""
	}
}

// tryContent converts one trace: it writes a temporary file, verifies it, checks that the input is unchanged, writes the
// journal line, and renames the file.
func (w *Worker) tryContent(ctx context.Context, c *content) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicFailure(value)
		}
	}()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.began = time.Now()
	r := c.record
	r.Output = outputName(r.Input, r.Member)
	if fail := checkOutputName(r.Output); fail != nil {
		return fail
	}
	isPerfetto := len(c.head) > 0 && load.Sniff(c.head) == load.FormatPerfetto
	if isPerfetto && (w.Perfetto == "" || w.Perfetto == "skip") {
		return failf(KindPerfetto, "a Perfetto trace; --perfetto copy or convert takes it")
	}
	out, err := w.create(ctx, r)
	if err != nil {
		return err
	}
	defer out.Discard()
	fileCtx := ctx
	if w.FileTimeout > 0 {
		timed, cancel := context.WithTimeoutCause(ctx, w.FileTimeout, errTimeout)
		defer cancel()
		fileCtx = timed
	}
	in := newHashedReader(c.src, c.count)
	defer in.stop()
	if isPerfetto && w.Perfetto == "copy" {
		err = w.copyTrace(fileCtx, out, in, r)
	} else {
		err = w.convertTrace(fileCtx, out, in, c)
	}
	if err == nil {
		err = out.buf.Flush()
	}
	if err != nil {
		err = conversionFailure(fileCtx, err, in, out)
		if fail := (*failure)(nil); errors.As(err, &fail) && (fail.kind == KindUnreadable || fail.kind == KindUnrecognised && c.named) {
			r.SHA256 = in.finish(fileCtx)
		}
		return err
	}
	if r.SHA256 = in.finish(fileCtx); r.SHA256 == "" {
		return conversionFailure(fileCtx, errors.Join(in.err, fileCtx.Err()), in, out)
	}
	return w.commit(ctx, c, out)
}

// convertTrace converts the trace in an input, and records its format, events and problems.
func (w *Worker) convertTrace(ctx context.Context, out *hashedOutput, in *hashedReader, c *content) error {
	report, err := w.convert(ctx, out.buf, in, c.size, w.Config.Convert)
	if err != nil {
		return err
	}
	r := c.record
	r.Format, r.Containers, r.Lost = report.Format, report.Containers, report.Lost()
	events := report.Events
	r.Events = &events
	for i := range report.Problems {
		if r.Problems == nil {
			r.Problems = map[string]uint64{}
		}
		r.Problems[report.Problems[i].Name] += report.Problems[i].Count
	}
	return nil
}

// copyTrace unpacks and copies a Perfetto trace.
func (w *Worker) copyTrace(ctx context.Context, out *hashedOutput, in io.Reader, r *Record) error {
	src, err := inputs.Unpack(ctx, in, "")
	if err != nil {
		return err
	}
	defer src.Close()
	r.Format, r.Containers = convert.FormatPerfetto, src.Containers
	if _, err := io.Copy(out.buf, src); err != nil {
		return err
	}
	return src.Damage()
}

// commit completes the output, records it, and gives it its name.
func (w *Worker) commit(ctx context.Context, c *content, out *hashedOutput) error {
	r := c.record
	r.State, r.Kind, r.Reason = Done, "", ""
	r.OutSize, r.OutSHA256 = out.n, hex.EncodeToString(out.sum.Sum(nil))
	var check func(io.Reader) error
	if w.Verify {
		check = func(written io.Reader) error { return w.verify(ctx, written) }
	}
	if err := out.Complete(check); err != nil {
		return outputFailure(err)
	}
	if err := c.unchanged(); err != nil {
		return err
	}
	if err := out.Prepare(c.prior != nil && c.prior.Output == r.Output); err != nil {
		return outputFailure(err)
	}
	c.setSeconds()
	if err := w.record(r); err != nil {
		return err
	}
	return outputFailure(out.Publish())
}

// maxNameLength is the maximum length of a name in file systems, in bytes.
const maxNameLength = 255

// checkOutputName rejects names that are too long for file systems.
func checkOutputName(name string) *failure {
	for part := range strings.SplitSeq(name, "/") {
		if n := len(inputs.UnescapeName(part)); n > maxNameLength {
			return failf(KindName, "the name of the output would have %d bytes, and %d are possible", n, maxNameLength)
		}
	}
	return nil
}

// verify checks an output against the rules of the format.
func (w *Worker) verify(ctx context.Context, f io.Reader) error {
	report, err := pftrace.Verify(ctx, f, pftrace.VerifyOptions{})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return failf(KindInvalid, "the output cannot be read again: %s", cause(err))
	}
	if report.OK() {
		return nil
	}
	first := report.Findings[0]
	return failf(KindInvalid, "the output breaks the rule %s, at %s", first.Rule, first.Cases[0])
}

// convertFile converts a file, or the members of an archive, and records the result. Errors are errors of the run.
func (w *Worker) convertFile(ctx context.Context, t *Task) error {
	var record *Record
	var c *content
	for attempt := 1; ; attempt++ {
		c = &content{record: w.newRecord(t.Found.Path, "", t.Found.Size, t.Found.Mtime), prior: t.Prior, named: t.Found.Named, count: w.count}
		record = c.record
		err := w.tryFile(ctx, t, c)
		fail := (*failure)(nil)
		if err != nil && !errors.As(err, &fail) {
			return err
		}
		if record.State == Failed {
			record.Attempts = attempt
		}
		isArchive := record.Format == tarArchive || record.Format == zipArchive // its members have records: the next run continues
		if fail == nil || !fail.again() || attempt > len(w.pauses) || isArchive {
			break
		}
		if err := w.pause(ctx, attempt); err != nil {
			return err
		}
	}
	switch {
	case c.settled:
		return nil
	case record.State == Done && record.Output != "":
		w.counts.done.Add(1)
		return nil
	}
	return w.finish(record)
}

// tryFile opens a file and converts it as a trace or an archive.
func (w *Worker) tryFile(ctx context.Context, t *Task, c *content) (err error) {
	fail := func(f *failure) error {
		w.failed(c, f)
		return f
	}
	defer func() { // for panics while recognising and unpacking; tryContent recovers its own
		if value := recover(); value != nil {
			err = fail(panicFailure(value))
		}
	}()
	f, err := w.storage.Open(ctx, t.Found.Path)
	stop, known := (*Stopped)(nil), (*failure)(nil)
	switch {
	case errors.As(err, &known):
		return fail(known)
	case errors.Is(err, fs.ErrNotExist):
		return fail(failf(KindMissing, "it is not there any more"))
	case errors.As(err, &stop):
		return err
	case err != nil:
		return fail(readingFailure(err))
	}
	defer f.Close()
	c.record.Size, c.record.MtimeNS = f.Size(), f.Mtime()
	c.src, c.size, c.unchanged = f, f.Size(), f.Unchanged
	if t.Action == actHash {
		if done, err := w.hashFile(ctx, t, c); done || err != nil {
			return err
		}
	}
	kind, err := w.sniff(f, c)
	if err != nil {
		return fail(failf(KindIO, "%s", cause(err)))
	}
	if t.Collision != "" {
		return w.collide(c, t.Collision)
	}
	if kind != "" {
		return w.convertArchive(ctx, t, c, f, kind)
	}
	err = w.tryContent(ctx, c)
	if f := (*failure)(nil); errors.As(err, &f) {
		w.failed(c, f)
	}
	return err
}

// collide records that another input has the same output, unless this one is not a trace.
func (w *Worker) collide(c *content, other string) error {
	if c.head != nil && load.Sniff(c.head) == "" {
		w.failed(c, failf(KindUnrecognised, "%s", convert.ErrUnknownFormat))
		if c.record.State == Skipped {
			return nil
		}
	}
	fail := failf(KindCollision, "%s has the same output", other)
	w.failed(c, fail)
	c.record.Output = ""
	return fail
}

// hashFile compares the content of a file with its record. If it is the same, the record gets the new modification time,
// and done is true.
func (w *Worker) hashFile(ctx context.Context, t *Task, c *content) (done bool, err error) {
	sum, err := hashOf(ctx, c.src, uncounted())
	if err != nil {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		fail := failf(KindIO, "%s", cause(err))
		w.failed(c, fail)
		return true, fail
	}
	if sum == t.Prior.SHA256 {
		mtime := c.record.MtimeNS
		*c.record = *t.Prior
		c.record.MtimeNS, c.record.journalPart = mtime, journalPart{}
		if c.record.State == Done {
			c.settled = true
			w.counts.unchanged.Add(1)
			if t.Prior.MtimeNS != mtime {
				return true, w.record(c.record)
			}
		}
		return true, nil
	}
	_, err = c.src.(io.Seeker).Seek(0, io.SeekStart)
	return false, err
}

// sameOutput reports whether an output still has the recorded content.
func (w *Worker) sameOutput(ctx context.Context, r *Record) bool {
	if r.Output == "" || r.State != Done {
		return true
	}
	f, err := w.storage.OpenOutput(ctx, r.Output)
	if err != nil {
		return false
	}
	defer f.Close()
	sum, err := hashOf(ctx, f, uncounted())
	return err == nil && sum == r.OutSHA256
}

// hashOf returns the hash of src.
func hashOf(ctx context.Context, src io.Reader, count *taskCounter) (string, error) {
	h := newHashedReader(src, count)
	if sum := h.finish(ctx); sum != "" {
		return sum, nil
	}
	return "", errors.Join(h.err, ctx.Err())
}
