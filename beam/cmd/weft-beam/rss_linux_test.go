package main

import (
	"os"
	"syscall"
)

// maxRSS returns the peak resident memory of a process, in bytes.
func maxRSS(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Maxrss << 10 }
