//go:build !linux

package migrate

// memoryLimit does not know here how much memory there is.
func memoryLimit() int64 { return 0 }
