package weftio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/storage"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"google.golang.org/api/googleapi"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/migrate"
)

// remoteStorage reads and writes the objects of a store through a Beam file system. Inputs can also be local files.
type remoteStorage struct {
	in, out  filesystem.Interface
	root     string             // folder of inputs, without a slash at its end
	place    string             // folder of outputs, without a slash at its end
	measures map[string]measure // sizes and times of inputs by name, to save requests
}

// measure is the size of an input in bytes and its modification time in nanoseconds since 1970.
type measure struct{ size, mtime int64 }

// stores caches the file systems of a DoFn, by scheme: opening one is slow, and each holds connections.
type stores struct {
	mu   sync.Mutex
	open map[string]filesystem.Interface
}

// get returns the file system for a name. The file system outlives the caller's context.
func (s *stores) get(name string) (fsys filesystem.Interface, err error) {
	defer func() { // Beam's S3 file system panics if its configuration is invalid
		if value := recover(); value != nil {
			err = &migrate.Stopped{Reason: fmt.Sprint(value)}
		}
	}()
	scheme, _, _ := strings.Cut(name, "://")
	if !isRemote(name) {
		scheme = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if fsys = s.open[scheme]; fsys != nil {
		return fsys, nil
	}
	if fsys, err = filesystem.New(context.Background(), name); err != nil {
		return nil, &migrate.Stopped{Reason: err.Error()}
	}
	if s.open == nil {
		s.open = map[string]filesystem.Interface{}
	}
	s.open[scheme] = fsys
	return fsys, nil
}

func (s *stores) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, fsys := range s.open {
		fsys.Close()
	}
	s.open = nil
}

// maxObjectName is the maximum length of object names in stores, in bytes.
const maxObjectName = 1024

// checkObjectName rejects names that are too long, or that Beam's file systems, which parse them as URLs, would take for other
// objects.
func checkObjectName(name string) error {
	if !isRemote(name) || strings.HasPrefix(name, "memfs://") {
		return nil
	}
	if i := strings.IndexAny(name, "#?%"); i >= 0 {
		return migrate.Failf(migrate.KindName, "the name holds %q, which Beam takes for a part of a URL: it would lead to another object", name[i])
	}
	_, object, _ := strings.Cut(strings.SplitN(name, "://", 2)[1], "/")
	if len(object) > maxObjectName {
		return migrate.Failf(migrate.KindName, "the name of the object would have %d bytes, and %d are possible", len(object), maxObjectName)
	}
	return nil
}

// joinPlace joins a folder and an escaped name.
func joinPlace(folder, name string) string {
	return strings.TrimSuffix(folder, "/") + "/" + inputs.UnescapeName(name)
}

// placeError classifies an error from a store: it returns a *migrate.Stopped if the next file would fail too. Beam's S3 file
// system returns errors as text only.
func placeError(name string, err error) error {
	if err == nil {
		return nil
	}
	code := 0
	if google := (*googleapi.Error)(nil); errors.As(err, &google) {
		code = google.Code
	}
	text := err.Error()
	for _, denied := range []string{"StatusCode: 401", "StatusCode: 403", "NoSuchBucket"} {
		if strings.Contains(text, denied) {
			code = 403
		}
	}
	if code == 401 || code == 403 || errors.Is(err, storage.ErrBucketNotExist) {
		return &migrate.Stopped{Reason: fmt.Sprintf("%s: %v", name, err)}
	}
	return err
}

// missing converts a store's error for a missing object to fs.ErrNotExist.
func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, storage.ErrObjectNotExist) ||
		err != nil && (strings.Contains(err.Error(), "NoSuchKey") || strings.Contains(err.Error(), "NotFound")) {
		return fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	return placeError(name, err)
}

// Open implements migrate.Storage.
func (s remoteStorage) Open(ctx context.Context, input string) (migrate.Input, error) {
	name := joinPlace(s.root, input)
	if err := checkObjectName(name); err != nil {
		return nil, err
	}
	known, ok := s.measures[input]
	if !ok || known.mtime == 0 {
		var err error
		if known, err = measureOf(ctx, s.in, name); err != nil {
			return nil, missing(name, err)
		}
	}
	in := &remoteInput{measure: known}
	in.reopen = func() (io.ReadCloser, error) {
		r, err := s.in.OpenRead(ctx, name)
		return r, missing(name, err)
	}
	var err error
	if in.src, err = in.reopen(); err != nil {
		return nil, err
	}
	return in, nil
}

// measureOf requests the size and modification time of an object.
func measureOf(ctx context.Context, fsys filesystem.Interface, name string) (m measure, err error) {
	if m.size, err = fsys.Size(ctx, name); err != nil {
		return m, err
	}
	var at time.Time
	if timed, ok := fsys.(filesystem.LastModifiedGetter); ok {
		at, err = timed.LastModified(ctx, name)
	}
	m.mtime = at.UnixNano()
	return m, err
}

// peekSize is the number of bytes kept from the start of an object for format detection.
const peekSize = 64 << 10

// A remoteInput is an object that is read as a stream. Random access, such as to the member list of a zip archive, copies it to a
// temporary file.
type remoteInput struct {
	measure
	reopen func() (io.ReadCloser, error)
	src    io.ReadCloser
	peeked []byte // the first bytes; nil: not read yet
	at     int64  // offset of the next Read
	spool  *os.File
}

// Size implements migrate.Input.
func (in *remoteInput) Size() int64 { return in.size }

// Mtime implements migrate.Input.
func (in *remoteInput) Mtime() int64 { return in.mtime }

// Unchanged implements migrate.Input. An object never changes while it is read, but can differ from its listing.
func (in *remoteInput) Unchanged() error {
	if in.at != in.size {
		return migrate.Failf(migrate.KindChanged, "it has %d bytes, and had %d when it was listed", in.at, in.size)
	}
	return nil
}

func (in *remoteInput) peek() error {
	if in.peeked != nil {
		return nil
	}
	in.peeked = make([]byte, peekSize)
	n, err := io.ReadFull(in.src, in.peeked)
	in.peeked = in.peeked[:n]
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return err
}

// Read implements io.Reader.
func (in *remoteInput) Read(p []byte) (n int, err error) {
	switch {
	case in.spool != nil:
		n, err = in.spool.ReadAt(p, in.at)
		if n > 0 && err == io.EOF {
			err = nil
		}
	case in.at < int64(len(in.peeked)):
		n = copy(p, in.peeked[in.at:])
	default:
		n, err = in.src.Read(p)
	}
	in.at += int64(n)
	return n, err
}

// ReadAt implements io.ReaderAt.
func (in *remoteInput) ReadAt(p []byte, off int64) (int, error) {
	if in.at == 0 && in.spool == nil {
		if err := in.peek(); err != nil {
			return 0, err
		}
		whole := len(in.peeked) < peekSize
		if off+int64(len(p)) <= int64(len(in.peeked)) || whole {
			if off >= int64(len(in.peeked)) {
				return 0, io.EOF
			}
			n := copy(p, in.peeked[off:])
			if n < len(p) {
				return n, io.EOF
			}
			return n, nil
		}
	}
	if err := in.toDisk(); err != nil {
		return 0, err
	}
	return in.spool.ReadAt(p, off)
}

// toDisk copies the object to a temporary file.
func (in *remoteInput) toDisk() error {
	if in.spool != nil {
		return nil
	}
	at := in.at
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f, err := os.CreateTemp("", "weft-*.tmp")
	if err != nil {
		return err
	}
	os.Remove(f.Name()) // the open file stays readable
	if _, err := io.Copy(f, readerOnly{in}); err != nil {
		f.Close()
		return err
	}
	in.spool, in.at = f, at
	return nil
}

// readerOnly hides the other methods of a reader.
type readerOnly struct{ io.Reader }

// Seek implements io.Seeker, but only for the start of the object.
func (in *remoteInput) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekStart {
		return in.at, errors.New("an object is read from its start")
	}
	if in.spool == nil && in.at > int64(len(in.peeked)) {
		in.src.Close()
		src, err := in.reopen()
		if err != nil {
			return in.at, err
		}
		in.src, in.peeked = src, nil
	}
	in.at = 0
	return 0, nil
}

// Close implements io.Closer.
func (in *remoteInput) Close() error {
	if in.spool != nil {
		in.spool.Close()
	}
	return in.src.Close()
}

// OutputSize implements migrate.Storage.
func (s remoteStorage) OutputSize(ctx context.Context, name string) (int64, bool) {
	object := joinPlace(s.place, name)
	if checkObjectName(object) != nil {
		return 0, false
	}
	size, err := s.out.Size(ctx, object)
	return size, err == nil
}

// OpenOutput implements migrate.Storage.
func (s remoteStorage) OpenOutput(ctx context.Context, name string) (io.ReadCloser, error) {
	return s.out.OpenRead(ctx, joinPlace(s.place, name))
}

// A remoteOutput is written in place: the complete object appears when it is closed. A temporary object would take two more
// requests, and stores limit the size of objects that they copy.
type remoteOutput struct {
	io.WriteCloser
	name   string
	cancel context.CancelFunc
	ended  bool
}

// Create implements migrate.Storage.
func (s remoteStorage) Create(ctx context.Context, r *migrate.Record) (migrate.Output, error) {
	name := joinPlace(s.place, r.Output)
	if err := checkObjectName(name); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := s.out.OpenWrite(ctx, name)
	if err != nil {
		cancel()
		return nil, placeError(name, err)
	}
	return &remoteOutput{WriteCloser: w, name: name, cancel: cancel}, nil
}

// Write implements io.Writer.
func (o *remoteOutput) Write(p []byte) (int, error) {
	n, err := o.WriteCloser.Write(p)
	return n, placeError(o.name, err)
}

// Complete implements migrate.Output. Options reject Verify for objects.
func (o *remoteOutput) Complete(func(io.Reader) error) error { return nil }

// Prepare implements migrate.Output.
func (o *remoteOutput) Prepare(bool) error { return nil }

// Publish implements migrate.Output.
func (o *remoteOutput) Publish() error {
	o.ended = true
	defer o.cancel()
	return placeError(o.name, o.Close())
}

// Discard implements migrate.Output. The order matters: without cancellation, Close would create an object from the data so far.
func (o *remoteOutput) Discard() {
	o.cancel()
	if !o.ended {
		o.ended = true
		o.Close()
	}
}

// stateName returns the name of a file in the state folder of place.
func stateName(place, name string) string {
	return strings.TrimSuffix(place, "/") + "/" + path.Join(migrate.StateFolder, name)
}
