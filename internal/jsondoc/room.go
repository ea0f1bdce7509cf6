package jsondoc

import "fmt"

// Room bounds the memory for an input that must be read to its end before use. The zero Room is unlimited.
type Room struct {
	// Limit is the number of bytes that may be held; 0: any.
	Limit int64
	held  int64
}

// Take says that n more bytes are held, or fewer if n is negative. The error is a *NoRoomError.
func (r *Room) Take(n int64) error {
	r.held += n
	if r.Limit > 0 && r.held > r.Limit {
		return &NoRoomError{Limit: r.Limit}
	}
	return nil
}

// Held returns the number of bytes that are held.
func (r *Room) Held() int64 { return r.held }

// NoRoomError says that an input needs more memory than it may have.
type NoRoomError struct{ Limit int64 }

// Error says how much that is.
func (e *NoRoomError) Error() string {
	return fmt.Sprintf("profiles are held in memory while they are read, and there is more in this one than the %d MiB that they may have",
		e.Limit>>20)
}
