package table

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// Thousands formats a number with commas between thousands, for text; JSON and CSV have no commas.
func Thousands[N Integer](n N) string { return Separated(fmt.Sprint(n)) }

// Separated inserts commas between the thousands of a decimal number, which may have a sign and decimals.
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

// Plural formats a number with the singular or plural of a noun.
func Plural[N Integer](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Count formats a number with a noun that has a regular plural.
func Count[N Integer](n N, noun string) string { return Plural(n, noun, noun+"s") }

// Millis formats a time in milliseconds with three decimals, without the unit, which is in the title of the column.
func Millis(t timeline.Nanos) string {
	return Separated(strconv.FormatFloat(float64(t)/1e6, 'f', 3, 64))
}

// WholeMillis formats a length of time in milliseconds without trailing zeros, or as Length does if it is a multiple of a
// second and at least 10 s.
func WholeMillis(t timeline.Nanos) string {
	if t >= 10*second && t%second == 0 {
		return Length(t)
	}
	return strconv.FormatFloat(float64(t)/1e6, 'f', -1, 64) + " ms"
}

// MomentText formats a time since the start of a trace for a column, in the syntax of --from and --to. It has three or six
// decimals, so that most columns are aligned.
func MomentText(t timeline.Nanos) string {
	return Separated(strings.TrimSuffix(string(AppendMillis(nil, t)), "000") + "ms")
}

// AppendMillis appends a time in milliseconds, exactly, with six decimals and without the unit.
func AppendMillis(b []byte, t timeline.Nanos) []byte {
	n := uint64(t)
	if t < 0 {
		b, n = append(b, '-'), -n
	}
	b = append(strconv.AppendUint(b, n/1e6, 10), '.')
	for digit := uint64(1e5); digit > 0; digit /= 10 {
		b = append(b, '0'+byte(n/digit%10))
	}
	return b
}

// numberAtEnd matches a number at the end of a text. Such a number must not be truncated: it is the id of a process or thread, or
// the line and column of a function.
var numberAtEnd = regexp.MustCompile(`(?:[ /(\[]|[pt]id )*[0-9][0-9:,.]*[\])]*$`)

// Elide makes a text printable and shortens it in the middle to a number of columns. It keeps a number at the end whole if that
// fits.
func Elide(text string, width int) string {
	text = words.Printable(text)
	if words.Width(text) <= width {
		return text
	}
	runes := []rune(text)
	tail := (width - 1) - (width-1)*2/3
	if number := len(numberAtEnd.FindString(text)); number <= width-4 {
		tail = max(tail, number)
	}
	head := width - 1 - tail
	for head+tail > 0 && (len(runes) < head+tail || words.Width(string(runes[:head])+"…"+string(runes[len(runes)-tail:])) > width) {
		if head > tail {
			head--
		} else {
			tail--
		}
	}
	isDigit := func(i int) bool { return i >= 0 && i < len(runes) && '0' <= runes[i] && runes[i] <= '9' }
	for head > 1 && isDigit(head-1) && isDigit(head) { // a truncated number would be a different one
		head--
	}
	for tail > 1 && isDigit(len(runes)-tail) && isDigit(len(runes)-tail-1) {
		tail--
	}
	first, _, _ := strings.Cut(string(runes[:head]), "…") // the text may be shortened already
	last := string(runes[len(runes)-tail:])
	if i := strings.LastIndex(last, "…"); i >= 0 {
		last = last[i+len("…"):]
	}
	return first + "…" + last
}
