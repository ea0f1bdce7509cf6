package main

import (
	"fmt"
)

// formatSize formats a number of bytes with up to three digits.
func formatSize(n int64) string {
	const names = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	v := float64(n)
	i := -1
	for v >= 1000 && i < len(names)-1 {
		v /= 1 << 10
		i++
	}
	digits := 0
	if v < 99.95 {
		digits = 1
	}
	return fmt.Sprintf("%.*f %ciB", digits, v, names[i])
}
