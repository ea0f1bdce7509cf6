//go:build !unix

package convert

import "time"

// cpuTime returns 0 because this system does not provide CPU times.
func cpuTime() time.Duration { return 0 }
