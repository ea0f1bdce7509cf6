//go:build !linux

package main

import "os"

// maxRSS returns 0: the peak is unknown on this system.
func maxRSS(*os.ProcessState) int64 { return 0 }
