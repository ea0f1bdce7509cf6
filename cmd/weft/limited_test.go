//go:build linux

package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
)

func init() { programs["limited"] = limited }

// limited runs weft as on a disk that soon fills up: no file may become longer than $LIMIT bytes.
func limited() {
	limit, err := strconv.ParseUint(os.Getenv("LIMIT"), 10, 64)
	if err == nil {
		signal.Ignore(syscall.SIGXFSZ) // the write fails, as on a full disk
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(exitUsage)
	}
	main()
}
