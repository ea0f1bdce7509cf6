//go:build !unix

package convert

import "time"

// cpuTime returns 0, because this system does not provide it.
func cpuTime() time.Duration { return 0 }
