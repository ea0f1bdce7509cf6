package table

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/cellwidth"
	"github.com/weft-trace/weft/internal/moment"
	"github.com/weft-trace/weft/internal/printable"
	"github.com/weft-trace/weft/internal/timeline"
)

// Thousands writes a number with commas between thousands, as text for people has all its numbers; JSON and CSV have none.
func Thousands[N Integer](n N) string { return Separated(fmt.Sprint(n)) }

// Separated puts commas between the thousands of a decimal number, which may have a sign and decimals.
func Separated(number string) string {
	whole, decimals := number, ""
	if at := strings.IndexByte(number, '.'); at >= 0 {
		whole, decimals = number[:at], number[at:]
	}
	sign := len(whole) - len(strings.TrimLeft(whole, "+-"))
	for i := len(whole) - 3; i > sign; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole + decimals
}

// Plural says how many there are of what has a name for one and a name for many.
func Plural[N Integer](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Count says how many there are of what has a regular plural.
func Count[N Integer](n N, what string) string { return Plural(n, what, what+"s") }

// Millis writes a time as milliseconds with three decimals and without unit, for columns that name it.
func Millis(t timeline.Nanos) string {
	return Separated(strconv.FormatFloat(float64(t)/1e6, 'f', 3, 64))
}

// WholeMillis writes a length of time as milliseconds without decimals that say nothing, and as Length where that says as much.
func WholeMillis(t timeline.Nanos) string {
	if t >= 10*second && t%second == 0 {
		return Length(t)
	}
	return strconv.FormatFloat(float64(t)/1e6, 'f', -1, 64) + " ms"
}

// MomentText writes a time since the start of a trace, for columns of them, as --from and --to read it.
func MomentText(t timeline.Nanos) string { return Separated(moment.Column(t)) }

// numberAtEnd matches the number with which a text ends, which means nothing if only a part of it is seen: the number of a process or thread, the
// line and column of a function.
var numberAtEnd = regexp.MustCompile(`(?:[ /(\[]|[pt]id )*[0-9][0-9:,.]*[\])]*$`)

// Elide makes a text printable and shortens it in the middle to a number of columns, of which a number at its end is left whole where it
// has room.
func Elide(text string, width int) string {
	text = printable.Text(text)
	if cellwidth.Of(text) <= width {
		return text
	}
	runes := []rune(text)
	tail := (width - 1) - (width-1)*2/3
	if number := len(numberAtEnd.FindString(text)); number <= width-4 {
		tail = max(tail, number)
	}
	head := width - 1 - tail
	for head+tail > 0 && (len(runes) < head+tail || cellwidth.Of(string(runes[:head])+"…"+string(runes[len(runes)-tail:])) > width) {
		if head > tail {
			head--
		} else {
			tail--
		}
	}
	isDigit := func(i int) bool { return i >= 0 && i < len(runes) && '0' <= runes[i] && runes[i] <= '9' }
	for head > 1 && isDigit(head-1) && isDigit(head) { // a part of a number is another number
		head--
	}
	for tail > 1 && isDigit(len(runes)-tail) && isDigit(len(runes)-tail-1) {
		tail--
	}
	first, _, _ := strings.Cut(string(runes[:head]), "…") // it was shortened before
	last := string(runes[len(runes)-tail:])
	if i := strings.LastIndex(last, "…"); i >= 0 {
		last = last[i+len("…"):]
	}
	return first + "…" + last
}

// Printable is a text with escapes for what is not seen, or does something else in a terminal than be seen.
func Printable(text string) string { return printable.Text(text) }
