package main

import (
	"os"
	"syscall"
)

// maxRSS is the most memory that a process had, in bytes.
func maxRSS(s *os.ProcessState) int64 { return s.SysUsage().(*syscall.Rusage).Maxrss << 10 }
