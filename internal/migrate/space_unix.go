//go:build linux || darwin

package migrate

import "syscall"

// freeSpace returns how many bytes a file system has left for users.
func freeSpace(dir string) (bytes int64, ok bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(min(uint64(s.Bavail)*uint64(s.Bsize), 1<<62)), true
}
