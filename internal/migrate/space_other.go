//go:build !linux && !darwin

package migrate

// freeSpace does not know here how much is left.
func freeSpace(string) (bytes int64, ok bool) { return 0, false }
