package selection

// This file parses and formats points in time in a trace. There are two forms, which all commands print and accept:
//
//   - 1.5s, 300ms: relative to the start of the trace;
//   - @1.5s, @1759276800123.456ms: on the clock of the trace.
//
// A number needs a unit (ns, us, µs, ms or s), because numbers without a unit are easily misunderstood. Numbers are exact: a
// fraction of a nanosecond is an error.

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Moment is a parsed point in time, independent of a trace. The zero Moment is the start of the trace.
type Moment struct {
	at      timeline.Nanos // at least 0
	onClock bool           // on the clock of the trace; otherwise relative to its start
	text    string         // as written
}

// String returns the moment as it was written.
func (m Moment) String() string { return m.text }

// units lists the units of time as powers of ten of a nanosecond. A name comes before any name that is its suffix.
var units = []struct {
	name   string
	digits int
}{{"ns", 0}, {"us", 3}, {"µs", 3}, {"μs", 3}, {"ms", 6}, {"s", 9}}

// ParseMoment parses a moment. Errors are for users and start with the text. "0" needs no unit, and commas may separate
// thousands, as in tables.
func ParseMoment(text string) (Moment, error) {
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

// noUnit returns the error for a number without a unit.
func noUnit(number string, onClock bool) error {
	if onClock {
		return fmt.Errorf("%s has no unit; write @%[1]ss, @%[1]sms, @%[1]sus or @%[1]sns on the clock of the trace", number)
	}
	return fmt.Errorf("%s has no unit; write %[1]ss, %[1]sms, %[1]sus or %[1]sns after the start of the trace, or @%[1]sns on its clock", number)
}

// withoutSeparators returns the digits of an integer, which may have commas between thousands.
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

// In returns a moment as a time of the trace. For a moment outside the trace, it returns an ErrOutside, which states the span of
// the trace and suggests the other form if the moment would then be inside.
func (m Moment) In(s Span) (timeline.Nanos, error) {
	at, inside := m.within(s)
	if inside {
		return at, nil
	}
	other := Moment{m.at, !m.onClock, "@" + m.text}
	if m.onClock {
		other.text = strings.TrimPrefix(m.text, "@")
	}
	hint := ""
	if _, ok := other.within(s); ok {
		hint = "; did you mean " + other.text + "?"
	}
	return 0, fmt.Errorf("%s is %w, which lasts %s (from %s to %s)%s", m.text, ErrOutside, FormatMoment(s.Length()), OnClock(s.Start), OnClock(s.End), hint)
}

// ErrOutside is the error for a moment outside the trace.
var ErrOutside = errors.New("outside the trace")

// within returns a moment as a time of the trace, and whether the time is in the span.
func (m Moment) within(s Span) (at timeline.Nanos, ok bool) {
	if m.onClock {
		return m.at, s.Start <= m.at && m.at <= s.End
	}
	if m.at > s.Length() {
		return 0, false
	}
	return s.Start + m.at, true
}

// OnClock formats a time on the clock of the trace, for ParseMoment.
func OnClock(at timeline.Nanos) string { return "@" + FormatMoment(at) }

// Since formats a time of the trace, relative to the trace's start, for ParseMoment.
func (s Span) Since(at timeline.Nanos) string { return FormatMoment(at - s.Start) }

// FormatMoment formats a length of time exactly, in milliseconds: "0.25ms".
func FormatMoment(t timeline.Nanos) string { return string(AppendMoment(nil, t)) }

// AppendMoment appends a length of time as FormatMoment formats it.
func AppendMoment(b []byte, t timeline.Nanos) []byte {
	b = table.AppendMillis(b, t)
	return append(bytes.TrimSuffix(bytes.TrimRight(b, "0"), []byte(".")), "ms"...)
}

// Column formats a length of time exactly, in milliseconds with three or six decimals, so that most columns are aligned.
func Column(t timeline.Nanos) string { return strings.TrimSuffix(Millis(t), "000") + "ms" }

// Millis formats a length of time in milliseconds with six decimals and without a unit, for columns whose title contains the
// unit.
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

// Window is a part of a trace, from one moment up to, but not including, another. The zero Window is the whole trace.
type Window struct{ from, to *Moment }

// ParseWindow parses the ends of a window; an empty text means the start or end of the trace. Errors name --from or --to.
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

// empty returns the error for a window that ends before it starts.
func (w Window) empty() error { return fmt.Errorf("--to: %s is not after --from %s", w.to, w.from) }

// atStart returns the error for a window that ends at the start of the trace.
func (w Window) atStart() error {
	return fmt.Errorf("--to: %s is not after the start of the trace", w.to)
}

func parseEnd(flag, text string) (*Moment, error) {
	if text == "" {
		return nil, nil
	}
	m, err := ParseMoment(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	return &m, nil
}

// Whole reports whether the window is the whole trace.
func (w Window) Whole() bool { return w.from == nil && w.to == nil }

// In returns the window as times of the trace. The second time is exclusive. Missing ends, and an end at the end of the trace,
// become the lowest and highest possible times, so that events at the end of the trace are inside.
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
