//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
	"time"
)

// peakMemory returns the peak resident memory of a process that has ended, in bytes.
func peakMemory(s *os.ProcessState) int64 {
	usage, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss) // in bytes there, in KiB elsewhere
	}
	return int64(usage.Maxrss) << 10
}

// cpuTime returns the CPU time that this process has used.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
