// Package collections has data structures for many values that are in memory while an input is read: a list that does not move, a heap, an
// order by numbers, and a limit for their memory. Package extsort sorts what does not fit.
package collections

import "fmt"

// A Room limits the memory of some data. The zero Room is unlimited.
type Room struct {
	// What describes the data at the start of a sentence: "profiles are held in memory while they are read".
	What string
	// Limit is the most bytes; 0: unlimited.
	Limit int64
	used  int64
}

// RoomOfProfiles returns the Room for sampled profiles.
func RoomOfProfiles(limit int64) Room {
	return Room{What: "profiles are held in memory while they are read", Limit: limit}
}

// Take adds n bytes, or subtracts them if n is negative. The error is a *RoomError.
func (r *Room) Take(n int64) error {
	r.used += n
	if r.Limit > 0 && r.used > r.Limit {
		return r.Full()
	}
	return nil
}

// Full is the error of a Room whose limit is exceeded.
func (r *Room) Full() error { return &RoomError{r.What, r.Limit} }

// Held returns the number of bytes in use.
func (r *Room) Held() int64 { return r.used }

// RoomError means that an input needs more memory than the limit.
type RoomError struct {
	What  string // as in Room
	Limit int64
}

// Error describes the limit.
func (e *RoomError) Error() string {
	return fmt.Sprintf("%s, and this input needs more than their limit of %d MiB", e.What, e.Limit>>20)
}

// Hint names the flag that raises the limit.

func (e *RoomError) Hint() string { return "; allow more with --memory" }
