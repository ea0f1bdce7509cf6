package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/readers"
)

// checkReadOnce rejects standard input and pipes, which can be read only once, if they would be read twice.
func (j *mergeJob) checkReadOnce(listIsStdin bool) error {
	var stdin bool
	var pipes []os.FileInfo
	for i := range j.Sources {
		file := j.Sources[i].File
		if file == inputs.Stdin {
			switch {
			case listIsStdin:
				return usagef("--%s reads its list from standard input, so no input can come from there", inputsFrom)
			case stdin:
				return usagef("standard input can be only one of the inputs")
			}
			stdin = true
			continue
		}
		info, err := os.Stat(file)
		if err != nil || info.Mode().IsRegular() {
			continue
		}
		for _, pipe := range pipes {
			if os.SameFile(pipe, info) {
				return usagef("%s is named twice, but it can be read only once", file)
			}
		}
		pipes = append(pipes, info)
	}
	return nil
}

// openSources makes all inputs readable several times. It copies inputs that can be read only once to files.
func (j *mergeJob) openSources(ctx context.Context) error {
	paths := make([]string, len(j.Sources))
	for i := range j.Sources {
		s := &j.Sources[i]
		info, err := os.Stat(s.File)
		if paths[i] = s.File; s.File == inputs.Stdin || err == nil && !info.Mode().IsRegular() {
			if paths[i], err = j.spool(ctx, s.File); err != nil {
				return err
			}
		}
		s.Open = reopener(ctx, j.env, paths[i])
	}
	return j.checkTwice(ctx, paths)
}

// spool copies an input to a temporary file and returns its path.
func (j *mergeJob) spool(ctx context.Context, name string) (path string, err error) {
	in, err := openInput(ctx, j.env, name)
	if err != nil {
		return "", err
	}
	defer in.Close()
	f, err := os.CreateTemp(j.opts.TempDir, "weft-input-")
	if err != nil {
		return "", err
	}
	j.spooled = append(j.spooled, f.Name())
	copied := make(chan error, 1)
	go func() { // reading may block forever
		_, err := io.Copy(f, readers.Cancelled(ctx, in))
		copied <- errors.Join(err, f.Close())
	}()
	select {
	case err = <-copied:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	return f.Name(), err
}

// errChanged is the error for an input that changed between two readings.
var errChanged = errors.New("it changed while weft was reading it; try again when it is complete")

// reopener returns a function that opens an input, whose bytes are in the file named path. The function fails if the file has
// changed since its first call, because offsets found for other bytes would be wrong.
func reopener(ctx context.Context, env *environment, path string) func() (io.ReadCloser, error) {
	var first os.FileInfo
	var lock sync.Mutex // several conversions may put profiles into one trace
	return func() (io.ReadCloser, error) {
		in, err := openInput(ctx, env, path)
		if err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), path+": "))
		}
		f, ok := in.ReadCloser.(*os.File)
		if !ok {
			return in, nil
		}
		lock.Lock()
		defer lock.Unlock()
		info, err := f.Stat()
		switch {
		case err != nil:
		case first == nil:
			first = info
		case info.Size() != first.Size() || !info.ModTime().Equal(first.ModTime()):
			err = errChanged
		}
		if err != nil {
			in.Close()
			return nil, withoutPath(err)
		}
		return in, nil
	}
}

// removeSpooled removes the copies of inputs that can be read only once.
func (j *mergeJob) removeSpooled() {
	for _, file := range j.spooled {
		os.Remove(file)
	}
}

// checkTwice rejects inputs with identical contents; it compares inputs of equal size. paths are the files that contain the
// inputs.
func (j *mergeJob) checkTwice(ctx context.Context, paths []string) error {
	sizes, count := make([]int64, len(paths)), map[int64]int{}
	for i, path := range paths {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			sizes[i] = info.Size()
			count[sizes[i]]++
		}
	}
	sums := map[[sha256.Size]byte]int{}
	for i, path := range paths {
		if count[sizes[i]] < 2 {
			continue
		}
		sum, err := sumOf(ctx, path)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			continue // reading it later will report the error
		}
		if k, ok := sums[sum]; ok {
			return usagef("%s and %s are the same recording", inputName(j.Sources[k].File), inputName(j.Sources[i].File))
		}
		sums[sum] = i
	}
	return nil
}

// sumOf returns the hash of a file.
func sumOf(ctx context.Context, path string) (sum [sha256.Size]byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, readers.Cancelled(ctx, f)); err != nil {
		return sum, err
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
