//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package migrate

import "os"

// openLocked opens a file without locking it, because this system has no locks.
func openLocked(path string, shared bool) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
}
