package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

const outputBuffer = 256 << 10

// An output is a file that appears at its place only when it is complete: it is written under another name beside its
// place and renamed by Commit. Until then an existing file at that place is untouched.
type output struct {
	*bufio.Writer
	path  string   // where it will be; "" for standard output
	file  *os.File // nil for standard output
	temp  string   // its name until Commit; "" if it is written in place
	force bool
}

// createOutput begins to write path; "-" is standard output. An existing file is replaced only with force. What is no
// regular file, such as a device or a named pipe, is written in place. Errors begin with the path.
func createOutput(env *environment, path string, force bool) (*output, error) {
	if path == "-" {
		return &output{Writer: bufio.NewWriterSize(env.stdout, outputBuffer)}, nil
	}
	o := &output{path: path, force: force}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		o.path = target // replace the file, not the link to it
	}
	var err error
	switch info, statErr := os.Stat(o.path); {
	case statErr == nil && info.IsDir():
		return nil, fmt.Errorf("%s: is a directory", path)
	case statErr == nil && !info.Mode().IsRegular():
		o.file, err = os.OpenFile(o.path, os.O_WRONLY, 0)
	case statErr == nil && !force:
		return nil, fmt.Errorf("%s: exists already; --force replaces it", path)
	default:
		o.file, err = createBeside(o.path)
		if err == nil {
			o.temp = o.file.Name()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, withoutPath(err))
	}
	o.Writer = bufio.NewWriterSize(o.file, outputBuffer)
	return o, nil
}

// createBeside makes a new file in the folder of path, with the permissions of any new file (os.CreateTemp makes files
// that only their owner can read).
func createBeside(path string) (*os.File, error) {
	dir, base := filepath.Split(path)
	for range 100 {
		name := filepath.Join(dir, fmt.Sprintf(".%s.%08x.tmp", base, rand.Uint32()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, errors.New("no free name for a temporary file")
}

// Commit writes what is buffered and gives the file its name.
func (o *output) Commit() error {
	if err := o.commit(); err != nil {
		o.Abort()
		return fmt.Errorf("%s: %w", outputName(o.path), withoutPath(err))
	}
	o.file, o.temp = nil, ""
	return nil
}

func (o *output) commit() error {
	if err := o.Flush(); err != nil {
		return err
	}
	if o.file == nil {
		return nil
	}
	if err := o.file.Close(); err != nil {
		return err
	}
	if o.temp == "" {
		return nil
	}
	if _, err := os.Lstat(o.path); err == nil && !o.force {
		return errors.New("appeared during the conversion; --force replaces it")
	}
	err := os.Rename(o.temp, o.path)
	var linkErr *os.LinkError
	if errors.As(err, &linkErr) {
		return linkErr.Err
	}
	return err
}

// Failed returns the error of writing to the place of the output, nil if there was none.
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

// outputName is how an output is called in messages.
func outputName(path string) string {
	if path == "" || path == "-" {
		return "standard output"
	}
	return path
}

// isInput reports whether the output would replace one of the inputs.
func isInput(path string, inputs []string) bool {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	for _, input := range inputs {
		if in, err := os.Stat(input); err == nil && os.SameFile(info, in) {
			return true
		}
	}
	return false
}
