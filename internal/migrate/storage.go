package migrate

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// A Storage provides inputs and stores outputs: in local folders, or in a program's replacement for them. Names are as in
// records: with slashes, below the root and below the output folder.
//
// A *Stopped returned by a method ends the run; any other error is a failure of only that input or output.
type Storage interface {
	// Open opens an input. The error is fs.ErrNotExist if the input does not exist.
	Open(ctx context.Context, input string) (Input, error)
	// Create creates the output of a record.
	Create(ctx context.Context, r *Record) (Output, error)
	// OutputSize returns the size of an output in bytes. It returns false if the output does not exist.
	OutputSize(ctx context.Context, name string) (int64, bool)
	// OpenOutput opens a published output.
	OpenOutput(ctx context.Context, name string) (io.ReadCloser, error)
}

// An Input is an open input.
type Input interface {
	io.Reader
	io.ReaderAt
	io.Seeker // used only to return to the start
	io.Closer
	// Size is the size of the input as stored, in bytes. Mtime is the time of its last change, in nanoseconds since 1970.
	Size() int64
	Mtime() int64
	// Unchanged returns an error if the input has changed since it was opened.
	Unchanged() error
}

// An Output is written, completed, prepared and published, in this order, or discarded at any point before. It is invisible
// until it is published.
type Output interface {
	io.Writer
	// Complete ends the writing. check, unless nil, reads everything that was written.
	Complete(check func(io.Reader) error) error
	// Prepare makes room for the output at its final path. known means that an earlier output of the same input may be there.
	Prepare(known bool) error
	// Publish gives the output its name.
	Publish() error
	// Discard removes the output, unless it is published.
	Discard()
}

// localStorage is the Storage of a run, in local folders.
type localStorage struct{ *run }

type localInput struct {
	*os.File
	info fs.FileInfo
}

// Open implements Storage.
func (s localStorage) Open(_ context.Context, input string) (Input, error) {
	name := s.abs(input)
	f, err := os.Open(name)
	if err != nil {
		if isOfPlace(err) {
			return nil, stopped(err, "%s: %s", name, cause(err))
		}
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &localInput{f, info}, nil
}

// Size implements Input.
func (in *localInput) Size() int64 { return in.info.Size() }

// Mtime implements Input.
func (in *localInput) Mtime() int64 { return in.info.ModTime().UnixNano() }

// Unchanged implements Input.
func (in *localInput) Unchanged() error { return sameFile(in.Name(), in.info) }

// OutputSize implements Storage.
func (s localStorage) OutputSize(_ context.Context, name string) (int64, bool) {
	info, err := os.Lstat(s.output(name))
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// OpenOutput implements Storage.
func (s localStorage) OpenOutput(_ context.Context, name string) (io.ReadCloser, error) {
	return os.Open(s.output(name))
}

// localOutput is a temporary file that becomes an output.
type localOutput struct {
	*run
	f      *os.File // nil: published or removed
	place  string
	record *Record
}

// Create implements Storage.
func (s localStorage) Create(_ context.Context, r *Record) (Output, error) {
	dir := s.state.path(s.tempFolder)
	f, err := os.OpenFile(filepath.Join(dir, s.tempName()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, stopped(err, "%s: %s", dir, cause(err))
	}
	return &localOutput{run: s.run, f: f, place: s.output(r.Output), record: r}, nil
}

// Write implements io.Writer. Its errors stop the run, except for a file that exceeds the maximum file size.
func (o *localOutput) Write(p []byte) (int, error) {
	n, err := o.f.Write(p)
	if err != nil && !errors.Is(err, syscall.EFBIG) {
		err = stopped(err, "%s: %s", o.f.Name(), cause(err))
	}
	return n, err
}

// Complete implements Output.
func (o *localOutput) Complete(check func(io.Reader) error) error {
	if check != nil {
		if _, err := o.f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		if err := check(o.f); err != nil {
			return err
		}
	}
	if err := o.f.Close(); err != nil {
		return stopped(err, "%s: %s", o.f.Name(), cause(err))
	}
	return nil
}

// Prepare implements Output.
func (o *localOutput) Prepare(known bool) error {
	if err := os.MkdirAll(filepath.Dir(o.place), 0o777); err != nil {
		return placeFailure(filepath.Dir(o.place), err)
	}
	if _, err := os.Lstat(o.place); err == nil && !known && !o.Force {
		return failf(KindExists, "%s exists and no record knows it; --force replaces it", o.place)
	}
	if known {
		if err := removeIfSize(o.place, o.record.OutSize); err != nil {
			return placeFailure(o.place, err)
		}
	}
	return nil
}

// Publish implements Output.
func (o *localOutput) Publish() error {
	if err := rename(o.f.Name(), o.place); err != nil {
		return placeFailure(o.place, err)
	}
	o.f = nil
	return nil
}

// Discard implements Output.
func (o *localOutput) Discard() {
	if o.f != nil {
		o.f.Close()
		os.Remove(o.f.Name())
		o.f = nil
	}
}

// removeIfSize removes an output that is about to be replaced by one of the same size. Otherwise, if the process died between
// writing the journal line and renaming the file, the next run would take the old output for the new one.
func removeIfSize(place string, size int64) error {
	info, err := os.Lstat(place)
	if err != nil || !info.Mode().IsRegular() || info.Size() != size {
		return nil // rename will report any error
	}
	return os.Remove(place)
}

// rename moves a temporary file to its final path, even on another file system.
func rename(temp, place string) error {
	err := os.Rename(temp, place)
	if err == nil || !isCrossDevice(err) {
		return err
	}
	hidden := filepath.Join(filepath.Dir(place), "."+path.Base(filepath.ToSlash(temp)))
	if err := copyFile(temp, hidden); err != nil {
		os.Remove(hidden)
		return err
	}
	if err := os.Rename(hidden, place); err != nil {
		os.Remove(hidden)
		return err
	}
	return os.Remove(temp)
}

func copyFile(from, to string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Sync(), dst.Close())
}

// sameFile returns a failure if a file has changed since it was opened.
func sameFile(name string, info fs.FileInfo) error {
	now, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return failf(KindChanged, "it was removed while it was read")
	case err != nil:
		return failf(KindIO, "%s", cause(err))
	case now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()):
		return failf(KindChanged, "it changed while it was read")
	}
	return nil
}
