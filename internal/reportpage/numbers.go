package reportpage

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

const (
	microsecond = timeline.Microsecond
	millisecond = 1000 * microsecond
	second      = 1000 * millisecond
)

// The formats of times, shares and bytes in sentences.
var (
	length = table.Length
	share  = table.Percent
	size   = table.Size
)

// moment formats a time since the start of a trace in seconds, or in milliseconds if the trace is short. If the space is removed,
// --from accepts the result.
func (p *page) moment(t timeline.Nanos) string {
	unit, name := float64(second), " s"
	if p.all.End-p.all.Start < second {
		unit, name = float64(millisecond), " ms"
	}
	return table.Separated(strconv.FormatFloat(float64(t)/unit, 'f', 3, 64)) + name
}

// permille returns the share of a part in a whole in thousandths, between 0 and 1000.
func permille(part, whole timeline.Nanos) int { return scaled(part, whole, 1000) }

// scaled returns the share of a part in a whole, multiplied by n and rounded, between 0 and n.
func scaled(part, whole timeline.Nanos, n int) int {
	if whole <= 0 {
		return 0
	}
	return int(min(max(float64(part)/float64(whole)*float64(n)+0.5, 0), float64(n)))
}

// percent formats a position in a whole as a percentage for an attribute, with up to two decimals.
func percent(part, whole timeline.Nanos) markup {
	n := scaled(part, whole, 10000)
	text := strconv.Itoa(n/100) + "." + fmt.Sprintf("%02d", n%100)
	return markup(cmp.Or(strings.TrimRight(strings.TrimRight(text, "0"), "."), "0") + "%")
}
