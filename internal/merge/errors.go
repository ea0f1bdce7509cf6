package merge

import (
	"errors"
	"fmt"
	"strings"
)

// ErrNoInputs means that no input is left to merge.
var ErrNoInputs = errors.New("no input is left")

// Errors that a weft merge flag can resolve have a Hint method, whose result continues their text.

// UnplacedError means that nothing relates an input to the others.
type UnplacedError struct {
	Input, Anchors              string
	Reference, ReferenceAnchors string
	Why                         error // the reason why some evidence did not place it; may be nil
}

func (e *UnplacedError) Error() string {
	text := fmt.Sprintf("nothing says where %s belongs in time. %s: %s. %s: %s", e.Input, e.Input, e.Anchors, e.Reference, e.ReferenceAnchors)
	if e.Why != nil {
		text += "; " + e.Why.Error()
	}
	return text
}

// Hint suggests a flag to use.
func (e *UnplacedError) Hint() string {
	return fmt.Sprintf(". --offset %s=DUR says what to add to its times", e.Input)
}

// Unwrap returns the reason why some evidence did not place the input.
func (e *UnplacedError) Unwrap() error { return e.Why }

// ContradictionError means that two facts about a pair of inputs cannot both be true.
type ContradictionError struct {
	A, B         string
	Found, Other Relation
	Itself       string // set if one kind of evidence contradicts itself
}

func (e *ContradictionError) Error() string {
	if e.Itself != "" {
		return fmt.Sprintf("%s and %s: %s", e.A, e.B, e.Itself)
	}
	return fmt.Sprintf("%s and %s contradict each other: the offset between them is %s, but %s", e.A, e.B, e.Found.describe(), e.Other.describe())
}

// Hint suggests a flag to use.
func (e *ContradictionError) Hint() string { return fmt.Sprintf(". --offset %s=DUR decides", e.B) }

// describe formats the interval of a relation, its rule and its evidence.
func (r *Relation) describe() string {
	return fmt.Sprintf("%s by %s", interval{r.Low, r.High}, r.why())
}

// span formats a duration exactly, in the largest unit that is not longer than the duration.
func span(t Nanos) string {
	sign := ""
	if t < 0 {
		sign, t = "−", -max(t, -maxNanos)
	}
	unit, decimals, name := Nanos(1), 0, "ns"
	switch {
	case t >= 1e9:
		unit, decimals, name = 1e9, 9, "s"
	case t >= 1e6:
		unit, decimals, name = 1e6, 6, "ms"
	case t >= 1e3:
		unit, decimals, name = 1e3, 3, "µs"
	}
	text := fmt.Sprintf("%d", t/unit)
	if part := t % unit; part != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%0*d", decimals, part), "0")
	}
	if t == 0 {
		return "0"
	}
	return sign + text + " " + name
}

// HostsError means that two inputs are known to share a host although their hosts have different names.
type HostsError struct {
	A, B, By      string // the evidence that they share a host
	NamedA, HostA string // an input on A's host, and its name for that host
	NamedB, HostB string
}

func (e *HostsError) Error() string {
	return fmt.Sprintf("%s and %s are of one host by %s, but the names of hosts contradict that: %s is of %s, %s of %s",
		e.A, e.B, e.By, e.NamedA, e.HostA, e.NamedB, e.HostB)
}

// Hint suggests flags to use.
func (e *HostsError) Hint() string {
	hint := fmt.Sprintf(". --host %s=HOST says where that was recorded", e.A)
	if e.By == "--same" {
		hint += "; leave out --same if they are of two hosts"
	}
	return hint
}

// UncertainError means that an offset is less certain than required.
type UncertainError struct {
	Input              string
	Uncertainty, Limit Nanos
	AtLeast            bool // the uncertainty is unknown
}

func (e *UncertainError) Error() string {
	if e.AtLeast {
		return fmt.Sprintf("the offset of %s depends on the wall clocks of hosts that may differ, so its uncertainty is not known; %s is allowed", e.Input, span(e.Limit))
	}
	return fmt.Sprintf("the offset of %s is uncertain by %s; %s is allowed", e.Input, span(e.Uncertainty), span(e.Limit))
}

// Hint suggests flags to use.
func (e *UncertainError) Hint() string {
	return fmt.Sprintf(" by --max-uncertainty. If you know the offset, give it with --offset %s=DUR", e.Input)
}

// UnconfirmedError means that the samples of a .cpuprofile do not coincide with scripts running in the trace.
type UnconfirmedError struct {
	In, Of int
	Needs  int // the minimum number of samples that can confirm anything
}

func (e *UnconfirmedError) Error() string {
	if e.Of < e.Needs {
		return fmt.Sprintf("%d of its samples of JavaScript lie in the time of the trace, too few to tell whether the two are of one recording (%d would do)", e.Of, e.Needs)
	}
	return fmt.Sprintf("only %d of its %d samples of JavaScript lie in calls of one thread: the two do not seem to be of one recording", e.In, e.Of)
}

// BeforeZeroError means that an input starts before 0 on the output's clock, which Perfetto cannot represent.
type BeforeZeroError struct {
	Input, Reference string
	Start            Nanos
}

func (e *BeforeZeroError) Error() string {
	return fmt.Sprintf("%s begins %s before 0 on the clock of %s, so the output needs another clock", e.Input, span(-e.Start), e.Reference)
}

// Hint suggests a flag to use.
func (e *BeforeZeroError) Hint() string { return ". Try --reference " + e.Input }

// RangeError means that an input's times cannot be represented on the output's clock.
type RangeError struct{ Input, Reference string }

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s lies more than 292 years from 0 on the clock of %s, which a trace cannot represent", e.Input, e.Reference)
}

// Hint suggests flags to use.
func (e *RangeError) Hint() string {
	return fmt.Sprintf(". Try --reference %s, and check --offset", e.Input)
}
