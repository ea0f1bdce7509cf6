//go:build unix

package convert

import (
	"syscall"
	"time"
)

// cpuTime returns the CPU time of this process, which is more meaningful than wall-clock time on a busy machine.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
