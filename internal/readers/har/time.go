package har

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-trace/weft/internal/timeline"
)

// zone shows whether a text is a time, and whether it has a time zone.
type zone uint8

const (
	noTime zone = iota // not a time
	zoned
	unzoned // no zone: read as UTC
)

// maxSeconds limits times to the range of Nanos, up to the year 2262.
const maxSeconds = math.MaxInt64/1_000_000_000 - 1

// isoTime reads an ISO 8601 time, with or without seconds. It truncates decimals after the ninth. A leap second is the
// first second of the next minute, and hour 24 is the first hour of the next day. It copies only as much of a long text
// as could be a time.
func isoTime(text []byte) (timeline.Nanos, zone) {
	const point, nano = len("2006-01-02T15:04:05"), len("2006-01-02T15:04:05.123456789")
	text = bytes.TrimSpace(text)
	rest := bytes.TrimLeft(text[min(point+1, len(text)):], "0123456789") // the zone
	if len(text) < len("2006-01-02T15:04") || text[13] != ':' || len(rest) > len("+01:00") {
		return 0, noTime
	}
	short := slices.Concat(text[:min(nano, len(text)-len(rest))], rest)
	if short[10] == ' ' {
		short[10] = 'T'
	}
	var carry time.Duration
	if string(short[11:13]) == "24" {
		copy(short[11:], "00")
		carry += 24 * time.Hour
	}
	if bytes.HasPrefix(short[16:], []byte(":60")) {
		copy(short[16:], ":59")
		carry += time.Second
	}
	upper := strings.ToUpper(string(short))
	for _, clock := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		for _, suffix := range []string{"Z07:00", "Z0700", "Z07", ""} {
			t, err := time.Parse(clock+suffix, upper)
			t = t.Add(carry)
			if s := t.Unix(); err != nil || s < -maxSeconds || s > maxSeconds {
				continue
			}
			if suffix == "" {
				return timeline.Nanos(t.UnixNano()), unzoned
			}
			return timeline.Nanos(t.UnixNano()), zoned
		}
	}
	return 0, noTime
}
