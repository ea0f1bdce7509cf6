package migrate

import (
	"errors"
	"os"
	"syscall"
)

// openLocked opens a file so that other processes cannot open it; a shared lock opens it for reading and lets others read it
// too.
func openLocked(path string, shared bool) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	access, share := uint32(syscall.GENERIC_READ|syscall.GENERIC_WRITE), uint32(0)
	if shared {
		access, share = syscall.GENERIC_READ, syscall.FILE_SHARE_READ
	}
	handle, err := syscall.CreateFile(name, access, share, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	const sharingViolation = syscall.Errno(32)
	if errors.Is(err, sharingViolation) {
		return nil, errLocked
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}
