//go:build !unix

package main

import (
	"os"
	"time"
)

// peakMemory returns 0: this system does not report it.
func peakMemory(*os.ProcessState) int64 { return 0 }

// cpuTime returns 0: this system does not report it.
func cpuTime() time.Duration { return 0 }
