package migrate

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/inputs"
)

// An archive is a tar or zip file whose members are converted.
type archive struct {
	*Worker
	task    *Task
	record  *Record
	prior   map[string]*Record // records of members that were not read yet, by name
	outputs map[inputKey]string
	n       int64 // number of members with records
	twice   uint64
	jobs    sync.WaitGroup
	mu      sync.Mutex
	err     error // of the run
}

// A member is a file in an archive.
type member struct {
	name  string // as in the archive
	size  int64  // unpacked
	mtime time.Time
	link  bool // a link, or something else that is not a file
	open  func() (io.Reader, error)
}

// A memberJob is a member in memory that any worker may convert.
type memberJob struct {
	a *archive
	c *content
}

// convertArchive converts the members of an archive and completes its record.
func (w *Worker) convertArchive(ctx context.Context, t *Task, c *content, f Input, kind string) error {
	a := &archive{Worker: w, task: t, record: c.record, prior: t.Members, outputs: map[inputKey]string{}}
	a.record.Format = convert.Format(kind)
	err := a.read(ctx, f, c.size)
	a.jobs.Wait()
	if a.err != nil {
		return a.err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	a.record.Members = a.n
	if a.twice > 0 {
		a.record.Problems = map[string]uint64{"member_twice": a.twice}
	}
	if err == nil {
		err = c.unchanged()
	}
	if err == nil {
		err = a.forget()
	}
	fail := (*failure)(nil)
	if err != nil && !errors.As(err, &fail) {
		return err
	}
	if fail != nil {
		w.failed(c, fail)
		return fail
	}
	a.record.State = Done
	return nil
}

// read reads the archive and converts its members.
func (a *archive) read(ctx context.Context, f Input, size int64) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = panicFailure(value)
		}
	}()
	if a.record.Format == zipArchive {
		return a.readZip(ctx, f, size)
	}
	return a.readTar(ctx, f)
}

// forget ends the records of members that no longer exist, except for converted ones.
func (a *archive) forget() error {
	for _, r := range a.prior {
		if r.State != Done {
			if err := a.run.forget(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// readTar reads a tar archive, compressed or not, as a stream.
func (a *archive) readTar(ctx context.Context, f io.Reader) error {
	in := newHashedReader(f, a.count)
	defer in.stop()
	src, err := inputs.Unpack(ctx, in, "")
	if err != nil {
		return a.readFailure(ctx, in, err)
	}
	defer src.Close()
	a.record.Containers = src.Containers
	end := &tarEnd{r: src}
	r := tar.NewReader(end)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return a.readFailure(ctx, in, fmt.Errorf("tar: %w after member %d", err, a.n))
		}
		m := member{name: h.Name, size: h.Size, mtime: h.ModTime, open: func() (io.Reader, error) { return r, nil }}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse:
		case tar.TypeDir, tar.TypeXGlobalHeader:
			continue
		default:
			m.link = true
		}
		if err := a.member(ctx, &m); err != nil {
			return err
		}
	}
	if !end.marked() && src.Damage() == nil {
		return failf(KindUnreadable, "tar: the archive is truncated after member %d", a.n)
	}
	if _, err := io.Copy(io.Discard, src); err != nil {
		return a.readFailure(ctx, in, err)
	}
	if damage := src.Damage(); damage != nil {
		return failf(KindUnreadable, "%s; %d members were read", damage, a.n)
	}
	if a.record.SHA256 = in.finish(ctx); a.record.SHA256 == "" {
		return a.readFailure(ctx, in, ctx.Err())
	}
	return nil
}

// tarEnd looks for the block of zeros at the end of a tar archive, because package tar accepts truncated archives.
type tarEnd struct {
	r     io.Reader
	zeros int // number of zeros at the end of the bytes read so far
}

// Read implements io.Reader.
func (e *tarEnd) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	rest := len(bytes.TrimRight(p[:n], "\x00"))
	if rest > 0 {
		e.zeros = 0
	}
	e.zeros += n - rest
	return n, err
}

// marked reports whether the input ended with such a block.
func (e *tarEnd) marked() bool {
	const block = 512
	return e.zeros >= block
}

func (a *archive) readFailure(ctx context.Context, in *hashedReader, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case in.err != nil:
		return failf(KindIO, "%s", cause(in.err))
	}
	return failf(KindUnreadable, "%s", err)
}

// readZip reads a zip archive.
func (a *archive) readZip(ctx context.Context, f Input, size int64) error {
	members, err := zipMembers(f, size)
	if err != nil {
		return failf(KindUnreadable, "zip: %s", err)
	}
	if a.record.SHA256, err = hashOf(ctx, f, a.count); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return failf(KindIO, "%s", cause(err))
	}
	for _, z := range members {
		m := member{name: z.Name, size: int64(min(z.UncompressedSize64, 1<<62)), mtime: z.Modified, link: !z.Mode().IsRegular()}
		var opened io.ReadCloser
		m.open = func() (io.Reader, error) {
			const encrypted = 1
			if z.Flags&encrypted != 0 {
				return nil, errors.New("it is encrypted; unpack it first")
			}
			var err error
			opened, err = z.Open()
			return opened, err
		}
		err := a.member(ctx, &m)
		if opened != nil {
			opened.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// drive matches the start of a Windows path.
var drive = regexp.MustCompile(`^[A-Za-z]:`)

// memberName returns the path of a member below the archive, or a failure if the name is invalid.
func memberName(name string) (string, *failure) {
	slashed := strings.ReplaceAll(name, `\`, "/")
	for part := range strings.SplitSeq(slashed, "/") {
		if part == ".." {
			return name, failf(KindName, `a name with ".." would leave the folder of the archive`)
		}
	}
	clean := path.Clean(name)
	if path.IsAbs(slashed) || drive.MatchString(name) || !filepath.IsLocal(filepath.FromSlash(clean)) || clean == "." {
		return name, failf(KindName, "the name is not one below the archive")
	}
	return clean, nil
}

// member decides about a member and, if necessary, converts it or hands it to an idle worker. Errors are errors of the run.
func (a *archive) member(ctx context.Context, m *member) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	name, fail := memberName(m.name)
	name = inputs.EscapeName(name)
	c := &content{record: a.newRecord(a.record.Input, name, m.size, m.mtime.UnixNano()), unchanged: func() error { return nil }, count: uncounted()}
	prior, met := a.prior[name]
	c.prior = prior
	delete(a.prior, name)
	folded := foldKey(outputName(a.record.Input, name))
	other, taken := a.outputs[folded]
	if taken && other == name {
		a.twice++
		return nil
	}
	a.n++
	switch {
	case fail != nil:
	case m.link:
		fail = &failure{kind: KindLink, reason: "not a regular file"}
	case taken:
		fail = failf(KindCollision, "the member %s has the same output", other)
	default:
		a.outputs[folded] = name
	}
	if fail != nil {
		a.failed(c, fail)
		if fail.kind == KindLink {
			c.record.State, c.record.Output = Skipped, ""
		}
		return a.finishMember(c, met)
	}
	action, _ := a.decide(prior, m.size, m.mtime.UnixNano())
	switch action {
	case actSkip:
		return nil
	case actFail:
		a.counts.failedBefore.Add(1)
		return nil
	}
	return a.convertMember(ctx, m, c, action)
}

// limited reads a member; it returns errTooLong if the member is longer than a limit.
type limited struct {
	r    io.Reader
	left int64
}

var errTooLong = fmt.Errorf("it is longer than %d GiB", maxUnpacked>>30)

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		if n, err := l.r.Read(p[:min(len(p), 1)]); n == 0 {
			return 0, err
		}
		return 0, errTooLong
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// maxUnpacked bounds the unpacked size of an archive member, in bytes.
const maxUnpacked = 100 << 30

// convertMember converts a member. It reads a small member into memory first, and hands it to another worker if one is idle.
func (a *archive) convertMember(ctx context.Context, m *member, c *content, action string) error {
	src, err := m.open()
	if err != nil {
		a.failed(c, failf(KindUnreadable, "%s", err))
		return a.finishMember(c, false)
	}
	bounded := &limited{r: src, left: maxUnpacked}
	small := a.fileMemory() / shareOfMember
	var held bytes.Buffer
	if m.size <= small {
		held.Grow(int(max(m.size, 0)) + bytes.MinRead)
	}
	n, err := held.ReadFrom(io.LimitReader(bounded, min(small, max(m.size, packedHead))+1))
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		a.failed(c, memberFailure(err))
		return a.finishMember(c, false)
	}
	c.head = bytes.Clone(a.head(held.Bytes()[:min(held.Len(), packedHead)]))
	if n > small || n > max(m.size, packedHead) {
		c.src, c.size = io.MultiReader(&held, bounded), m.size
		if c.size <= maxWhole {
			c.size = maxWhole + 1 // its stated size is too small
		}
		if err := a.convertContent(ctx, c); err != nil {
			return err
		}
		return a.finishMember(c, false)
	}
	c.record.Size = n
	content := held.Bytes()
	if action == actHash && c.prior.SHA256 == hashBytes(content) && a.sameOutput(ctx, c.prior) {
		return nil
	}
	c.src, c.size = bytes.NewReader(content), n
	job := memberJob{a, c}
	a.jobs.Add(1)
	select {
	case a.members <- job:
		return nil
	default:
	}
	job.run(ctx, a.Worker)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// memberFailure returns why a member cannot be read: the archive is damaged, or reading it failed, which may be temporary.
func memberFailure(err error) *failure {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return readingFailure(err)
	}
	return failf(KindUnreadable, "%s", err)
}

// shareOfMember is the number of shares of a file's memory budget; a member waiting in memory may use up to one of them.
const shareOfMember = 4

// run converts the member.
func (j memberJob) run(ctx context.Context, w *Worker) {
	defer j.a.jobs.Done()
	err := w.convertContent(ctx, j.c)
	if err == nil {
		err = j.a.finishMember(j.c, false)
	}
	if err != nil {
		j.a.mu.Lock()
		if j.a.err == nil {
			j.a.err = err
		}
		j.a.mu.Unlock()
	}
}

// finishMember records the outcome of a member, unless its earlier record already has the same outcome.
func (a *archive) finishMember(c *content, recorded bool) error {
	if c.record.State == Done {
		a.counts.members.Add(1)
		return nil
	}
	if recorded && sameOutcome(c.prior, c.record) {
		if c.record.State == Failed {
			a.counts.failedBefore.Add(1)
		}
		return nil
	}
	return a.finish(c.record)
}
