package merge

import (
	"errors"
	"fmt"
)

// ErrNoInputs says that there is nothing to merge.
var ErrNoInputs = errors.New("no input is left")

// UnplacedError says that nothing relates an input to the others.
type UnplacedError struct {
	Input, Anchors              string
	Reference, ReferenceAnchors string
	Why                         error // what almost placed it; may be nil
}

func (e *UnplacedError) Error() string {
	text := fmt.Sprintf("nothing says where %s belongs in time. %s: %s. %s: %s", e.Input, e.Input, e.Anchors, e.Reference, e.ReferenceAnchors)
	if e.Why != nil {
		text += ". " + e.Why.Error()
	}
	return text
}

// Unwrap returns what almost placed the input.
func (e *UnplacedError) Unwrap() error { return e.Why }

// ContradictionError says that two things that are known of a pair of inputs cannot both be true.
type ContradictionError struct {
	A, B         string
	Found, Other Relation
	Itself       string // one thing contradicts itself
}

func (e *ContradictionError) Error() string {
	if e.Itself != "" {
		return fmt.Sprintf("%s and %s: %s", e.A, e.B, e.Itself)
	}
	return fmt.Sprintf("%s and %s contradict each other: the offset between them is %s, but %s", e.A, e.B, e.Found.describe(), e.Other.describe())
}

// describe says what a relation says.
func (r *Relation) describe() string {
	text := r.Rule.String()
	if r.Evidence != "" {
		text += " (" + r.Evidence + ")"
	}
	switch {
	case r.Low <= -unbounded:
		return fmt.Sprintf("at most %d ns by %s", r.High, text)
	case r.High >= unbounded:
		return fmt.Sprintf("at least %d ns by %s", r.Low, text)
	case r.Low == r.High:
		return fmt.Sprintf("%d ns by %s", r.Low, text)
	}
	return fmt.Sprintf("%d to %d ns by %s", r.Low, r.High, text)
}

// UncertainError says that an offset is less certain than asked for.
type UncertainError struct {
	Input              string
	Uncertainty, Limit Nanos
}

func (e *UncertainError) Error() string {
	return fmt.Sprintf("the offset of %s is uncertain by %d ns, more than the %d ns allowed", e.Input, e.Uncertainty, e.Limit)
}

// UnconfirmedError says that the samples of a .cpuprofile are not where scripts ran in the trace.
type UnconfirmedError struct{ In, Of int }

func (e *UnconfirmedError) Error() string {
	return fmt.Sprintf("only %d of its %d samples of JavaScript lie in calls of one thread: the two do not seem to be of one recording", e.In, e.Of)
}

// BeforeZeroError says that an input begins before 0 on the clock of the output, which Perfetto cannot represent.
type BeforeZeroError struct {
	Input, Reference string
	Start            Nanos
}

func (e *BeforeZeroError) Error() string {
	return fmt.Sprintf("%s begins %d ns before 0 on the clock of %s; another reference is needed", e.Input, -e.Start, e.Reference)
}
