package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// SyscallError summarizes the runs of a system call that failed with the same error, according to the return values recorded by
// probes.
type SyscallError struct {
	Name  string         `json:"name"`
	Errno int            `json:"errno"`
	Error string         `json:"error"` // "ENOENT"; "errno 200" for unknown numbers
	Count int64          `json:"count"`
	Total timeline.Nanos `json:"total_ns"`
	First timeline.Nanos `json:"first_ts_ns"`
	On    ThreadID       `json:"-"` // thread of the first
}

// Limits: the highest error number of Linux, and the number of distinguished rows.
const (
	maxErrno         = 4095
	maxSyscallErrors = 1 << 12
)

// errnos maps error numbers to their names on most Linux systems.
var errnos = map[int]string{
	1: "EPERM, or −1 for any error", 2: "ENOENT", 3: "ESRCH", 4: "EINTR", 5: "EIO", 6: "ENXIO", 7: "E2BIG", 8: "ENOEXEC", 9: "EBADF", 10: "ECHILD", 11: "EAGAIN", 12: "ENOMEM", 13: "EACCES", 14: "EFAULT",
	16: "EBUSY", 17: "EEXIST", 18: "EXDEV", 19: "ENODEV", 20: "ENOTDIR", 21: "EISDIR", 22: "EINVAL", 23: "ENFILE", 24: "EMFILE", 25: "ENOTTY", 26: "ETXTBSY", 27: "EFBIG", 28: "ENOSPC",
	29: "ESPIPE", 30: "EROFS", 31: "EMLINK", 32: "EPIPE", 34: "ERANGE", 35: "EDEADLK", 36: "ENAMETOOLONG", 38: "ENOSYS", 39: "ENOTEMPTY", 40: "ELOOP", 61: "ENODATA", 75: "EOVERFLOW",
	88: "ENOTSOCK", 95: "EOPNOTSUPP", 97: "EAFNOSUPPORT", 98: "EADDRINUSE", 99: "EADDRNOTAVAIL", 101: "ENETUNREACH", 104: "ECONNRESET", 105: "ENOBUFS", 106: "EISCONN", 107: "ENOTCONN",
	110: "ETIMEDOUT", 111: "ECONNREFUSED", 113: "EHOSTUNREACH", 114: "EALREADY", 115: "EINPROGRESS", 125: "ECANCELED", 512: "ERESTARTSYS", 516: "ERESTART_RESTARTBLOCK",
}

type syscallCollector struct {
	tl      *timeline.Timeline
	wanted  *timeline.ArgSelection
	include func(*timeline.Item) bool
	index   map[string]int
	list    []SyscallError
}

func newSyscallCollector(tl *timeline.Timeline, include func(*timeline.Item) bool) *syscallCollector {
	return &syscallCollector{tl: tl, include: include, index: map[string]int{}, wanted: tl.SelectArgs(func(name string) bool { return name == "end.ret" })}
}

func (c *syscallCollector) item(it *timeline.Item) error {
	if it.Kind != timeline.ItemBegin || string(it.Category) != "syscall" || c.include != nil && !c.include(it) {
		return nil
	}
	if err := it.ReadArgs(); err != nil {
		return err
	}
	for arg := range c.wanted.List(it.Args) {
		if arg.Kind == timeline.ArgInt && arg.Int() < 0 && arg.Int() >= -maxErrno {
			c.add(it, int(-arg.Int()))
		}
	}
	return nil
}

func (c *syscallCollector) add(it *timeline.Item, errno int) {
	key := fmt.Sprintf("%d %s", errno, it.Name)
	i, ok := c.index[key]
	if !ok {
		if len(c.list) == maxSyscallErrors {
			return
		}
		i = len(c.list)
		c.index[key] = i
		c.list = append(c.list, SyscallError{
			Name: string(it.Name), Errno: errno, Error: cmp.Or(errnos[errno], fmt.Sprintf("errno %d", errno)), First: it.TS, On: threadID(c.tl, ownerOf(c.tl, it.Track)),
		})
	}
	c.list[i].Count++
	sum(&c.list[i].Total, max(it.Dur, 0))
}

// done returns the errors, most frequent first.
func (c *syscallCollector) done() []SyscallError {
	slices.SortStableFunc(c.list, func(a, b SyscallError) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(b.Total, a.Total))
	})
	return c.list
}

// ErrorsTable returns a table of the failed system calls; start is the start of the trace.
func (p *AllProbes) ErrorsTable(start timeline.Nanos) *table.Table {
	return table.New(table.Table{Name: "failed", Title: "System calls that failed", Key: "count", RowNoun: "errors", All: p.ErrorCount}, p.Errors,
		table.Texts("name", "system call", func(e *SyscallError) string { return e.Name }),
		table.Texts("error", "error", func(e *SyscallError) string { return e.Error }),
		table.Counts("count", "count", func(e *SyscallError) int64 { return e.Count }),
		table.Times("total_ns", "total ms", func(e *SyscallError) timeline.Nanos { return e.Total }),
		table.Moments("first_ts_ns", "first at", start, func(e *SyscallError) timeline.Nanos { return e.First }),
	)
}
