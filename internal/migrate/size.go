package migrate

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// units of sizes, ordered so that "MiB" is not read as "B".
var units = []struct {
	name  string
	bytes int64
}{
	{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30},
	{"kb", 1e3}, {"mb", 1e6}, {"gb", 1e9},
	{"k", 1 << 10}, {"m", 1 << 20}, {"g", 1 << 30},
	{"b", 1},
}

// ParseSize parses a number of bytes such as 256MiB, 1.5G, 64MB or 1000000. K, M and G alone are powers of 1024.
func ParseSize(text string) (int64, error) {
	number, unit := strings.ToLower(strings.TrimSpace(text)), int64(1)
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	v *= float64(unit)
	if err != nil || !(v >= 0 && v < math.MaxInt64) {
		return 0, fmt.Errorf("%q is not a size; write, for example, 256MiB", text)
	}
	return int64(v), nil
}
