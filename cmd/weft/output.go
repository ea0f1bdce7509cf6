package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// outputBuffer is small, because bundles of packets bypass it.
const outputBuffer = 32 << 10

// An output is a file that appears at its path only once it is complete: it is written under a temporary name in the same
// folder and renamed by Commit. Until then an existing file at that path is untouched.
type output struct {
	*bufio.Writer
	env   *environment
	path  string   // final path; "" for standard output
	file  *os.File // nil for standard output
	temp  string   // the temporary name until Commit; "" if written in place
	force bool

	finished bool // everything has been written, and the file is closed
}

// existsError returns the error for an existing file.
func existsError(path string) error {
	return fmt.Errorf("%s already exists; --force replaces it", path)
}

// createOutput opens path for writing; "-" is standard output. It replaces an existing file only with force, and never an
// input of the run. Anything but a regular file, such as a device or a named pipe, is written in place. Errors start with the
// path.
func createOutput(ctx context.Context, env *environment, path string, force bool) (*output, error) {
	if err := env.files.take(path); err != nil {
		return nil, err
	}
	if path == "-" {
		return &output{Writer: bufio.NewWriterSize(env.stdout, outputBuffer), env: env}, nil
	}
	o := &output{env: env, path: followLinks(path), force: force} // replace the file, not the link to it
	err := env.step()
	switch info, statErr := os.Stat(o.path); {
	case err != nil:
	case statErr == nil && info.IsDir():
		return nil, fmt.Errorf("%s: is a directory", path)
	case statErr == nil && !info.Mode().IsRegular():
		o.file, err = openUntil(ctx, func() (*os.File, error) { return os.OpenFile(o.path, os.O_WRONLY, 0) })
	case statErr == nil && !force:
		return nil, existsError(path)
	default:
		permissions := fs.FileMode(0o666)
		if statErr == nil {
			permissions = info.Mode().Perm()
		}
		o.file, err = createBeside(o.path, permissions)
		if err == nil {
			o.temp = o.file.Name()
		}
		if err == nil && statErr == nil {
			// Keep the permissions of the replaced file, whatever the umask. The call fails on file systems without
			// permissions.
			_ = o.file.Chmod(permissions)
		}
	}
	if dir := filepath.Dir(o.path); errors.Is(err, fs.ErrNotExist) && !exists(dir) {
		return nil, fmt.Errorf("%s: the directory %s does not exist; create it first", path, dir)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, withoutPath(err))
	}
	o.Writer = bufio.NewWriterSize(steppedFile{o.file, env}, outputBuffer)
	return o, nil
}

// steppedFile is a file whose writes are steps of the environment.
type steppedFile struct {
	file *os.File
	env  *environment
}

func (f steppedFile) Write(p []byte) (int, error) {
	if err := f.env.step(); err != nil {
		return 0, err
	}
	return f.file.Write(p)
}

// exists reports whether a file or folder exists, or may exist.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// maxTempBase bounds how much of a name goes into the temporary file's name, which must not become too long.
const maxTempBase = 200

// createBeside creates a new file in the folder of path. It does not use os.CreateTemp, which creates files that only their
// owner can read.
func createBeside(path string, permissions fs.FileMode) (*os.File, error) {
	dir, base := filepath.Split(path)
	base = strings.ToValidUTF8(base[:min(len(base), maxTempBase)], "")
	for range 100 {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%08x.tmp", base, rand.Uint32()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, permissions)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, errors.New("no free name for a temporary file")
}

// Commit flushes the buffer and renames the file to its final name.
func (o *output) Commit() error {
	if err := o.commit(); err != nil {
		o.Abort()
		return fmt.Errorf("%s: %w", outputName(o.path), withoutPath(err))
	}
	o.file, o.temp = nil, ""
	return nil
}

// Finish flushes the buffer and closes the file; Commit then renames it.
func (o *output) Finish() error {
	if err := o.finish(); err != nil {
		o.Abort()
		return fmt.Errorf("%s: %w", outputName(o.path), withoutPath(err))
	}
	return nil
}

func (o *output) finish() error {
	if o.finished {
		return nil
	}
	if err := o.Flush(); err != nil {
		return err
	}
	o.finished = true
	if o.file == nil {
		return nil
	}
	return errors.Join(o.env.step(), o.file.Close())
}

func (o *output) commit() error {
	if err := o.finish(); err != nil {
		return err
	}
	if o.temp == "" {
		return nil
	}
	if _, err := os.Lstat(o.path); err == nil && !o.force {
		return errors.New("appeared during the conversion; --force replaces it")
	}
	if err := errors.Join(o.env.step(), o.env.files.checkRead(o.path)); err != nil {
		return err
	}
	err := os.Rename(o.temp, o.path)
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		return linkErr.Err
	}
	return err
}

// Failed returns the first error from writing to the output; nil if there was none.
func (o *output) Failed() error {
	if _, err := o.Write(nil); err != nil { // a bufio.Writer remembers its first error
		return fmt.Errorf("%s: %w", outputName(o.path), withoutPath(err))
	}
	return nil
}

// Abort removes what was written. It does nothing after Commit.
func (o *output) Abort() {
	if o.file == nil {
		return
	}
	o.file.Close()
	if o.temp != "" {
		os.Remove(o.temp)
	}
	o.file, o.temp = nil, ""
}

// outputName returns an output's name for messages.
func outputName(path string) string {
	if path == "" || path == "-" {
		return "standard output"
	}
	return path
}

// maxLinks is the maximum number of links followed to a file that does not exist yet.
const maxLinks = 40

// followLinks returns the file that path refers to through links, whether it exists or not. A path that cannot be resolved to
// a file in a folder, such as /dev/stdout, is returned unchanged.
func followLinks(path string) string {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink == 0 || errors.Is(err, fs.ErrNotExist) {
		return path // the usual case
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		return target
	}
	target := path
	for range maxLinks {
		if _, err := os.Stat(target); !errors.Is(err, fs.ErrNotExist) {
			return path
		}
		next, err := os.Readlink(target)
		if err != nil {
			return target
		}
		if !filepath.IsAbs(next) {
			next = filepath.Dir(target) + string(filepath.Separator) + next
		}
		target = next
	}
	return path
}

// folders caches the true names of folders by the names under which they were found.
type folders map[string]string

// placeKey returns a key that is the same for all paths to the same output.
func (f folders) placeKey(path string) string {
	if path == "-" {
		return path
	}
	path = followLinks(path)
	dir := filepath.Dir(path)
	if f[dir] == "" {
		f[dir] = trueFolder(dir)
	}
	return filepath.Join(f[dir], filepath.Base(path))
}

// trueFolder returns the absolute path of a folder with links resolved.
func trueFolder(dir string) string {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		dir = target
	}
	if absolute, err := filepath.Abs(dir); err == nil {
		dir = absolute
	}
	return dir
}
