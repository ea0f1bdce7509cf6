// Package collections provides data structures for large numbers of values that stay in memory while an input is read: a list
// that does not move its values, a heap, an order by number, and a limit on their memory. Package extsort sorts data that does
// not fit into memory.
package collections

import "fmt"

// A MemoryLimit limits the memory for some data. The zero MemoryLimit is unlimited.
type MemoryLimit struct {
	// What describes the data as the start of a sentence: "profiles are held in memory while they are read".
	What string
	// Limit is the maximum number of bytes; 0: unlimited.
	Limit int64
	used  int64
}

// ProfileMemoryLimit returns the limit for sampled profiles.
func ProfileMemoryLimit(limit int64) MemoryLimit {
	return MemoryLimit{What: "profiles are held in memory while they are read", Limit: limit}
}

// Add adds n bytes, or subtracts them if n is negative. The error is a *MemoryLimitError.
func (r *MemoryLimit) Add(n int64) error {
	r.used += n
	if r.Limit > 0 && r.used > r.Limit {
		return r.Full()
	}
	return nil
}

// Full returns the error for a MemoryLimit whose limit is exceeded.
func (r *MemoryLimit) Full() error { return &MemoryLimitError{r.What, r.Limit} }

// Used returns the number of bytes in use.
func (r *MemoryLimit) Used() int64 { return r.used }

// MemoryLimitError means that an input needs more memory than its limit allows.
type MemoryLimitError struct {
	What  string // as in MemoryLimit
	Limit int64
}

// Error describes the limit.
func (e *MemoryLimitError) Error() string {
	return fmt.Sprintf("%s, and this input needs more than their limit of %d MiB", e.What, e.Limit>>20)
}

// Hint names the flag that raises the limit.
func (e *MemoryLimitError) Hint() string { return "; allow more with --memory" }
