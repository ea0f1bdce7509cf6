// Package collections has what holds many values while an input is read: a list that stays where it is, a heap, an order by numbers,
// and a bound for the memory of all of these. What is larger than memory is sorted by package extsort.
package collections

import "fmt"

// A Room is the memory that some things may take. The zero Room is unlimited.
type Room struct {
	// What says what is held, at the start of a sentence: "profiles are held in memory while they are read".
	What string
	// Limit is the number of bytes that may be held; 0: any.
	Limit int64
	held  int64
}

// RoomOfProfiles returns the Room for sampled profiles.
func RoomOfProfiles(limit int64) Room {
	return Room{What: "profiles are held in memory while they are read", Limit: limit}
}

// Take counts n more bytes as held, or fewer if n is negative. The error is an *RoomError.
func (r *Room) Take(n int64) error {
	r.held += n
	if r.Limit > 0 && r.held > r.Limit {
		return r.Full()
	}
	return nil
}

// Full is the error of a Room in which there is no more room.
func (r *Room) Full() error { return &RoomError{r.What, r.Limit} }

// Held returns the number of bytes that are held.
func (r *Room) Held() int64 { return r.held }

// RoomError means that an input needs more memory than it may have.
type RoomError struct {
	What  string // as in Room
	Limit int64
}

// Error says how much that is.
func (e *RoomError) Error() string {
	return fmt.Sprintf("%s, and there is more in this input than the %d MiB that they may have", e.What, e.Limit>>20)
}

// Hint says which flag helps.
func (e *RoomError) Hint() string { return "; allow more with --memory" }
