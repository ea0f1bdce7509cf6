// Package room bounds the memory for what must stay in it while an input is read.
package room

import "fmt"

// A Room is the memory that some things may take. The zero Room is unlimited.
type Room struct {
	// What says what is held, at the start of a sentence: "profiles are held in memory while they are read".
	What string
	// Limit is the number of bytes that may be held; 0: any.
	Limit int64
	held  int64
}

// OfProfiles returns the Room for sampled profiles.
func OfProfiles(limit int64) Room {
	return Room{What: "profiles are held in memory while they are read", Limit: limit}
}

// Take says that n more bytes are held, or fewer if n is negative. The error is an *Error.
func (r *Room) Take(n int64) error {
	r.held += n
	if r.Limit > 0 && r.held > r.Limit {
		return r.Full()
	}
	return nil
}

// Full is the error of a Room in which there is no more room.
func (r *Room) Full() error { return &Error{r.What, r.Limit} }

// Held returns the number of bytes that are held.
func (r *Room) Held() int64 { return r.held }

// Error says that an input needs more memory than it may have.
type Error struct {
	What  string // as in Room
	Limit int64
}

// Error says how much that is.
func (e *Error) Error() string {
	return fmt.Sprintf("%s, and there is more in this input than the %d MiB that they may have", e.What, e.Limit>>20)
}
