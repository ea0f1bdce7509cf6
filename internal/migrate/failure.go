package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"syscall"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/collections"
)

// A failure explains why an input has no output. It is a result, not an error of the run.
type failure struct {
	kind    Kind
	reason  string
	stack   string
	lasting bool // a retry after a pause does not help
}

// readingFailure returns the failure of an input that cannot be read. A missing permission is lasting, because it does not
// change within seconds.
func readingFailure(err error) *failure {
	return &failure{kind: KindIO, reason: cause(err), lasting: errors.Is(err, fs.ErrPermission)}
}

func (f *failure) Error() string { return f.reason }

// Failf returns the failure of an input or output, for methods of a Storage.
func Failf(kind Kind, format string, args ...any) error { return failf(kind, format, args...) }

func failf(kind Kind, format string, args ...any) *failure {
	return &failure{kind: kind, reason: fmt.Sprintf(format, args...)}
}

// panicFailure returns the failure of an input on which weft panicked. It must be called where the panic is recovered.
func panicFailure(value any) *failure {
	const maxStack = 8 << 10
	stack := debug.Stack()
	return &failure{kind: KindPanic, reason: fmt.Sprint("weft failed: ", value), stack: string(stack[:min(len(stack), maxStack)])}
}

// again reports whether another attempt may succeed at once.
func (f *failure) again() bool { return !f.lasting && (f.kind == KindIO || f.kind == KindChanged) }

// Stopped is the error of a run that had to stop because of its environment rather than a file: no space, too many failures.
// Finished work is recorded; the same command continues it.
type Stopped struct {
	Reason string
	err    error
}

// Error implements error.
func (s *Stopped) Error() string { return s.Reason }

// Unwrap returns the system error that was the cause, if any.
func (s *Stopped) Unwrap() error { return s.err }

func stopped(err error, format string, args ...any) *Stopped {
	return &Stopped{Reason: fmt.Sprintf(format, args...), err: err}
}

// asStop turns an error of the environment, such as a full temporary folder or an unreadable manifest, into a stop.
func asStop(err error) error {
	mistake, stop := (*Mistake)(nil), (*Stopped)(nil)
	if err == nil || errors.As(err, &mistake) || errors.As(err, &stop) {
		return err
	}
	return stopped(err, "%s", err)
}

func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// isOfPlace reports whether an error concerns the storage, so that the next file would fail too.
func isOfPlace(err error) bool {
	return isNoSpace(err) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}

// placeFailure returns the error for an operation below the output folder: a stop, or a failure of this output only.
func placeFailure(name string, err error) error {
	if isOfPlace(err) {
		return stopped(err, "%s: %s", name, cause(err))
	}
	return failf(KindOutput, "%s: %s", name, cause(err))
}

// ErrInUse is wrapped by the *Stopped error of a run that found another run in progress.
var ErrInUse = errLocked

// outputFailure returns an error from an Output unchanged if it is a stop or a failure already, and otherwise as a failure of
// this output.
func outputFailure(err error) error {
	stop, fail := (*Stopped)(nil), (*failure)(nil)
	if err == nil || errors.As(err, &stop) || errors.As(err, &fail) {
		return err
	}
	return failf(KindOutput, "the output: %s", cause(err))
}

// conversionFailure classifies an error of a conversion.
func conversionFailure(ctx context.Context, err error, in *hashedReader, out *hashedOutput) error {
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return failf(KindTimeout, "it took longer than --file-timeout")
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case out.err != nil:
		return outputFailure(out.err)
	case isOfPlace(err):
		return stopped(err, "%s", err)
	case in != nil && in.err != nil:
		return failf(KindIO, "%s", cause(in.err))
	case errors.Is(err, convert.ErrUnknownFormat):
		return failf(KindUnrecognised, "%s", withoutPath(err))
	}
	if full := (*collections.MemoryLimitError)(nil); errors.As(err, &full) {
		return failf(KindMemory, "%s; allow more with --file-memory", err)
	}
	return failf(KindUnreadable, "%s", withoutPath(err))
}

// withoutPath strips the operation and the file name from an error of package os.
func withoutPath(err error) error {
	if path, ok := err.(*fs.PathError); ok {
		return path.Err
	}
	return err
}

var errTimeout = errors.New("timeout")

func isCrossDevice(err error) bool { return errors.Is(err, syscall.EXDEV) }
