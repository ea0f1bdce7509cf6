package har

import (
	"math"
	"strings"
	"time"

	"github.com/weft-trace/weft/internal/timeline"
)

// zone says what is known of the zone of a time.
type zone uint8

const (
	noTime zone = iota // it is no time
	zoned
	unzoned // there is no zone: taken for UTC
)

// maxSeconds bounds times to what nanoseconds can hold: the year 2262.
const maxSeconds = math.MaxInt64/1_000_000_000 - 1

// layouts are the forms of times of ISO 8601 in archives. All take any number of digits of the second, of which nine count.
var layouts = []struct {
	layout string
	zone   zone
}{
	{"2006-01-02T15:04:05Z07:00", zoned}, {"2006-01-02T15:04:05Z0700", zoned}, {"2006-01-02T15:04:05Z07", zoned}, {"2006-01-02T15:04:05", unzoned},
}

// isoTime reads a time of ISO 8601.
func isoTime(text []byte) (timeline.Nanos, zone) {
	for _, l := range layouts {
		t, err := time.Parse(l.layout, strings.Replace(strings.ToUpper(strings.TrimSpace(string(text))), " ", "T", 1))
		if s := t.Unix(); err == nil && -maxSeconds <= s && s <= maxSeconds {
			return timeline.Nanos(t.UnixNano()), l.zone
		}
	}
	return 0, noTime
}
