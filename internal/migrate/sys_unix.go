//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package migrate

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens and locks a file. It does not wait for the lock.
func openLocked(path string, shared bool) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if shared {
		how = syscall.LOCK_SH
	}
	if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	return f, nil
}
