// Package moment reads and writes points in time of a trace as people write them. There are two forms, and every command
// prints and takes both:
//
//   - 1.5s, 300ms: counted from the start of the trace;
//   - @1.5s, @1759276800123.456ms: on the clock of the trace, whatever that is.
//
// A number needs a unit (ns, us, µs, ms or s), because a bare number was always read as the wrong one of these. Numbers are
// exact: nothing is rounded, and what is finer than a nanosecond is an error.
//
// What does not live here: lengths of time, such as the size of a bucket, and reading flags (cmd/weft).
package moment

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// Moment is a point in time as it was written: it is not known yet when the trace starts. The zero Moment is the start of
// the trace.
type Moment struct {
	at      timeline.Nanos // at least 0
	onClock bool           // else from the start of the trace
	text    string         // as written
}

// String returns the moment as it was written.
func (m Moment) String() string { return m.text }

// units are the units of time and the powers of ten by which they differ from nanoseconds. Longer names come before those
// that they end with.
var units = []struct {
	name   string
	digits int
}{{"ns", 0}, {"us", 3}, {"µs", 3}, {"μs", 3}, {"ms", 6}, {"s", 9}}

// Parse reads a moment. The error is for people and begins with what they wrote. "0" needs no unit, and the thousands of a
// number may be separated by commas, as they are in tables.
func Parse(text string) (Moment, error) {
	number, onClock := strings.CutPrefix(text, "@")
	digits, unit := 0, false
	for _, u := range units {
		if rest, ok := strings.CutSuffix(number, u.name); ok {
			number, digits, unit = rest, u.digits, true
			break
		}
	}
	whole, fraction, point := strings.Cut(number, ".")
	whole, ok := withoutSeparators(whole)
	switch {
	case !ok || point && fraction == "" || !isDigits(fraction):
		return Moment{}, fmt.Errorf("%q is not a time; write, for example, 1.5s or 300ms after the start of the trace, or @1.5s on its clock", text)
	case !unit && strings.Trim(whole+fraction, "0") != "":
		return Moment{}, noUnit(strings.TrimPrefix(text, "@"), onClock)
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > digits {
		return Moment{}, fmt.Errorf("%q is finer than a nanosecond", text)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil {
		return Moment{}, fmt.Errorf("%q is too large", text)
	}
	return Moment{timeline.Nanos(n), onClock, text}, nil
}

// noUnit is the error for a number that could be of any unit.
func noUnit(number string, onClock bool) error {
	if onClock {
		return fmt.Errorf("%s has no unit; write @%[1]ss, @%[1]sms, @%[1]sus or @%[1]sns on the clock of the trace", number)
	}
	return fmt.Errorf("%s has no unit; write %[1]ss, %[1]sms, %[1]sus or %[1]sns after the start of the trace, or @%[1]sns on its clock", number)
}

// withoutSeparators returns the digits of a whole number, which may have a comma before every three of them.
func withoutSeparators(number string) (digits string, ok bool) {
	groups := strings.Split(number, ",")
	for i, group := range groups {
		if group == "" || !isDigits(group) || i > 0 && len(group) != 3 || len(groups) > 1 && len(group) > 3 {
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}

func isDigits(text string) bool { return strings.Trim(text, "0123456789") == "" }

// Span is the time from the first event of a trace to the end of the last one. A trace without events has the zero Span.
type Span struct{ Start, End timeline.Nanos }

// SpanOf returns the span of a trace.
func SpanOf(tl *timeline.Timeline) Span {
	totals := tl.Totals()
	return Span{totals.Start, totals.End}
}

// Length returns the length of the span.
func (s Span) Length() timeline.Nanos { return s.End - s.Start }

// In returns a moment as a time of the trace. A moment outside of the trace is an ErrOutside, which says what the trace spans and,
// where the other form would be inside, that this one was probably meant.
func (m Moment) In(s Span) (timeline.Nanos, error) {
	at, inside := m.within(s)
	if inside {
		return at, nil
	}
	other := Moment{m.at, !m.onClock, "@" + m.text}
	if m.onClock {
		other.text = strings.TrimPrefix(m.text, "@")
	}
	meant := ""
	if _, ok := other.within(s); ok {
		meant = "; did you mean " + other.text + "?"
	}
	return 0, fmt.Errorf("%s is %w, which lasts %s (from %s to %s)%s", m.text, ErrOutside, Text(s.Length()), OnClock(s.Start), OnClock(s.End), meant)
}

// ErrOutside is the error for a moment at which a trace has nothing.
var ErrOutside = errors.New("outside the trace")

// within returns a moment as a time of the trace, and whether that is in the span.
func (m Moment) within(s Span) (at timeline.Nanos, ok bool) {
	if m.onClock {
		return m.at, s.Start <= m.at && m.at <= s.End
	}
	if m.at > s.Length() {
		return 0, false
	}
	return s.Start + m.at, true
}

// OnClock writes a time of the trace on its own clock, as Parse reads it.
func OnClock(at timeline.Nanos) string { return "@" + Text(at) }

// Since writes a time of the trace as the time since its start, as Parse reads it.
func (s Span) Since(at timeline.Nanos) string { return Text(at - s.Start) }

// Text writes a length of time in milliseconds with as many decimals as it has: "0.25ms".
func Text(t timeline.Nanos) string { return string(Append(nil, t)) }

// Append appends the Text of a length of time.
func Append(b []byte, t timeline.Nanos) []byte {
	b = appendMillis(b, t)
	return append(bytes.TrimSuffix(bytes.TrimRight(b, "0"), []byte(".")), "ms"...)
}

// Column writes a length of time in milliseconds with three decimals, or with six if it has them: columns of such times line up
// as far as they can.
func Column(t timeline.Nanos) string { return strings.TrimSuffix(Millis(t), "000") + "ms" }

// Millis writes a length of time as milliseconds with six decimals and without unit, for columns that name it.
func Millis(t timeline.Nanos) string { return string(appendMillis(nil, t)) }

func appendMillis(b []byte, t timeline.Nanos) []byte {
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

// Window is a part of a trace, from one moment until before another. The zero Window is the whole trace.
type Window struct{ from, to *Moment }

// ParseWindow reads the two ends of a window; an empty text means the trace's end. Errors are about --from and --to.
func ParseWindow(from, to string) (w Window, err error) {
	if w.from, err = parseEnd("--from", from); err != nil {
		return w, err
	}
	if w.to, err = parseEnd("--to", to); err != nil || w.to == nil {
		return w, err
	}
	switch {
	case w.from != nil && w.from.onClock == w.to.onClock && w.to.at <= w.from.at:
		return w, w.empty()
	case *w.to == Moment{text: w.to.text}:
		return w, w.atStart()
	}
	return w, nil
}

// empty is the error for a window that ends before it begins.
func (w Window) empty() error { return fmt.Errorf("--to: %s is not after --from %s", w.to, w.from) }

// atStart is the error for a window that ends where the trace begins.
func (w Window) atStart() error {
	return fmt.Errorf("--to: %s is not after the start of the trace", w.to)
}

func parseEnd(flag, text string) (*Moment, error) {
	if text == "" {
		return nil, nil
	}
	m, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return &m, nil
}

// Whole reports whether the window is the whole trace.
func (w Window) Whole() bool { return w.from == nil && w.to == nil }

// In returns the window as times of the trace: those from from on and before to count. Without ends, and to the end of the
// trace, they are the first and the last there can be, so that what happens at the very end is in the window.
func (w Window) In(s Span) (from, to timeline.Nanos, err error) {
	from, to = math.MinInt64, math.MaxInt64
	if w.from != nil {
		if from, err = w.from.In(s); err != nil {
			return 0, 0, fmt.Errorf("--from: %w", err)
		}
	}
	if w.to == nil {
		return from, to, nil
	}
	if to, err = w.to.In(s); err != nil {
		return 0, 0, fmt.Errorf("--to: %w", err)
	}
	switch {
	case w.from != nil && to <= from:
		return 0, 0, w.empty()
	case to <= s.Start:
		return 0, 0, w.atStart()
	case to == s.End:
		to = math.MaxInt64
	}
	return from, to, nil
}
