package merge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Input is one of the inputs to merge.
type Input struct {
	Name, File, Format string
	Host               string // as given by the user; "": as in the input
	Clues              *Clues // nil: it was left out
}

// Options are the user's statements about the inputs.
type Options struct {
	Offsets        []GivenOffset
	Reference      int     // -1: not given
	Same           [][]int // inputs from one host and one pid namespace
	MaxUncertainty Nanos   // 0: any
	Strict         bool    // no assumptions (rule R7)
	KeepGoing      bool    // inputs without a place are left out
}

// GivenOffset is the offset to add to the times of an input, give or take Within.
type GivenOffset struct {
	Input          int
	Offset, Within Nanos
}

// Plan places each input.
type Plan struct {
	Reference int
	Clock     string // of the output: the reference's, or REALTIME
	Inputs    []Placed
	Processes []SameProcess
	Checked   []Check
	Unchecked int // relations beyond maxChecked, all of which fit
	Notes     []string
	Clocks    timeline.Clocks // of the output
	Ranked    bool            // all inputs have ranks
	Hosts     int             // the number of hosts with different names
	Machines  []string        // names of the machines, which inputs number from 1: one for each host except the reference's

	ranks    []int64
	requests []map[string]string // see Clues.requests
	threads  []map[threadKey]uint64

	spaces groups // inputs in which equal pids are the same process
	ids    groups // inputs that share ids, see IDSpace
	oneProcess
}

// Placed is an input's place in time, and its source.
type Placed struct {
	Offset    Nanos // to the clock of the output
	Low, High Nanos // bounds of Offset
	AtLeast   bool
	Rule      Rule
	Evidence  string
	Host      string
	Machine   uint32 // in Plan.Machines; 0: as far as is known, the reference's host
	Clock     string
	Span      Range   // on the clock of the output
	Thread    *Thread // the thread that a profile belongs to
	Pages     []Page  // the self-profiles of the input; nil: no trace has any
	LeftOut   error   // why it has no place; nil: it has one
}

// SameProcess is a pid that occurs in several inputs.
type SameProcess struct {
	PID    string
	Inputs []int
	By     string // such as "same events"; "": not known to be one process
	id     timeline.ProcessKey
}

// Check compares a relation that was not needed with the result.
type Check struct {
	Relation
	Residual Nanos // the distance of its middle from the result
}

// maxChecked is the maximum length of Plan.Checked.
const maxChecked = 1000

type pair struct{ a, b int }

func comparePairs(x, y pair) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) }

// compareLater orders pairs by their later inputs.
func compareLater(x, y pair) int { return cmp.Or(cmp.Compare(x.b, y.b), cmp.Compare(x.a, y.a)) }

type solver struct {
	in       []Input
	opts     Options
	plan     *Plan
	all      []Relation
	hosts    groups              // inputs from one host
	userSame groups              // inputs whose equal pids are one process, as the user states
	namedBy  []int               // by the first input from a host: the input that names it; -1: none does
	same     map[pair]bool       // rule R2 holds
	common   map[pair]sameEvents // the common events, also of pairs that match only when shifted
	booted   map[pair]bool       // rule R3 holds
	pairs    []pair              // inputs that are compared, see compareLater
	boots    []boot
	bootOf   []int // by input: the index of its boot; -1: unknown
	ties     map[int][]tie
	files    map[int]*profileFile // inputs of self-profiles, some of which were found in traces
	why      map[int]error        // why there is no better relation
	compared int
	matched  int
	failed   []InputError // inputs to leave out with KeepGoing
	bad      map[int]bool // inputs that have failed
	nodes    []node
	graph    [][]edge
	placed   []int        // the inputs with a place, in the order of placement
	wrong    map[int]bool // inputs whose wall clocks are known to be wrong, with a note
	// By inputs with given offsets: the best relation that contradicts the offset.
	overruled map[int]Relation
}

// Solve places every input. Without KeepGoing, the error names an input without a place and the reason: an *UnplacedError, a
// *ContradictionError, a *HostsError, an *UncertainError, a *RangeError or a *BeforeZeroError.
func Solve(in []Input, opts Options) (*Plan, error) {
	in = slices.Clone(in)
	left := map[int]error{}
	for {
		s := newSolver(in, opts)
		if err := s.solve(); err != nil {
			return nil, err
		}
		if len(s.failed) == 0 {
			for i, why := range left {
				s.plan.Inputs[i].LeftOut = why
			}
			return s.plan, nil
		}
		for _, f := range s.failed {
			if !opts.KeepGoing || f.Input == s.plan.Reference {
				return nil, f.Err
			}
			left[f.Input], in[f.Input].Clues = f.Err, nil
		}
	}
}

func newSolver(in []Input, opts Options) *solver {
	return &solver{
		in: in, opts: opts, plan: &Plan{Inputs: make([]Placed, len(in))},
		same: map[pair]bool{}, common: map[pair]sameEvents{}, booted: map[pair]bool{}, ties: map[int][]tie{}, files: map[int]*profileFile{}, why: map[int]error{}, wrong: map[int]bool{}, bad: map[int]bool{}, overruled: map[int]Relation{},
	}
}

// solve makes the plan, or stops once inputs have failed.
func (s *solver) solve() error {
	if s.plan.Reference = s.reference(); s.plan.Reference < 0 {
		return ErrNoInputs
	}
	for _, step := range [...]func(){
		s.sameSpaces, s.relations, s.places, s.assume, s.settle, s.fill, s.checkRelations, s.planHosts, s.planRanks, s.findProcesses, s.clock,
	} {
		if step(); len(s.failed) > 0 {
			return nil
		}
	}
	return nil
}

// fail records that an input has no place.
func (s *solver) fail(i int, err error) {
	s.failed, s.bad[i] = append(s.failed, InputError{Input: i, Err: err}), true
}

// refuse fails the later input of a relation that contradicts something, or the earlier one if the later one is the
// reference. Contradictions with inputs that have already failed are ignored.
func (s *solver) refuse(r *Relation, err error) {
	i := r.B
	if i == s.plan.Reference {
		i = r.A
	}
	if !s.bad[r.A] && !s.bad[r.B] {
		s.fail(i, err)
	}
}

// followsBad reports whether an input, or one on the path to it, has failed.
func (s *solver) followsBad(i int) bool {
	for ; i >= 0; i = s.nodes[i].before {
		if s.bad[i] {
			return true
		}
	}
	return false
}

// reference returns the input whose clock the output uses: the given one; otherwise the first with a monotonic clock and a known
// wall clock or clock domain; otherwise the first input. It returns -1 if no input is left.
func (s *solver) reference() int {
	if s.opts.Reference >= 0 {
		return s.opts.Reference
	}
	first := -1
	for i := range s.in {
		c := s.in[i].Clues
		switch {
		case c == nil:
		case c.Clock == ClockMonotonic && c.Wall != nil || c.Clock == ClockMonotonic && c.Domain != "":
			return i
		case first < 0:
			first = i
		}
	}
	return first
}

// fill writes the places of all inputs into the plan. It fails inputs without a place, and inputs whose place is too uncertain
// or out of range.
func (s *solver) fill() {
	for i := range s.in {
		c, n, p := s.in[i].Clues, &s.nodes[i], &s.plan.Inputs[i]
		if c == nil {
			continue
		}
		if !n.done {
			s.fail(i, s.unplaced(i))
			continue
		}
		p.Low, p.High, p.AtLeast, p.Clock = n.low, n.high, n.atLeast, c.Clock.String()
		p.Offset = middle(n.low, n.high)
		p.Span = Range{plus(c.Start, p.Offset), plus(c.End, p.Offset)}
		switch {
		case i != s.plan.Reference:
			p.Rule, p.Evidence = n.last.Rule, n.last.Evidence
			if n.last.over > 0 {
				s.noteWrong(i, &n.last.Relation, n.last.over)
			}
		case c.Wall != nil && c.Clock == ClockMonotonic:
			p.Evidence = "REALTIME − MONOTONIC from " + c.Wall.By
		}
		if limit := s.opts.MaxUncertainty; limit > 0 && (n.atLeast || p.Uncertainty() > limit) {
			s.fail(i, &UncertainError{Input: s.in[i].Name, Uncertainty: p.Uncertainty(), Limit: limit, AtLeast: n.atLeast})
		}
		if n.low <= -maxNanos || n.high >= maxNanos || s.outOfRange(i, 0) {
			s.fail(i, &RangeError{Input: s.in[i].Name, Reference: s.in[s.plan.Reference].Name})
		}
	}
}

// middle returns the midpoint of two times.
func middle(low, high Nanos) Nanos { return low + minus(high, low)/2 }

// outOfRange reports whether an input's times cannot be represented once its place is moved.
func (s *solver) outOfRange(i int, shift Nanos) bool {
	span := s.plan.Inputs[i].Span
	return s.in[i].Clues.Any && (plus(span.From, shift) <= -maxNanos || plus(span.To, shift) >= maxNanos)
}

// checkRelations compares relations that no path uses with the result. A wall clock that contradicts the result is wrong,
// because everything else outranks wall clocks; other relations must not contradict it.
func (s *solver) checkRelations() {
	for i := range s.all {
		r := &s.all[i]
		if r.Rule == Given || s.uses(r) || len(s.bad) > 0 && (s.followsBad(r.A) || s.followsBad(r.B)) {
			continue
		}
		a, b := &s.nodes[r.A], &s.nodes[r.B]
		found := Relation{A: r.A, B: r.B, Low: minus(b.low, a.high), High: minus(b.high, a.low), Rule: b.last.Rule, Evidence: b.last.Evidence}
		if r.B == s.plan.Reference {
			found.Rule, found.Evidence = a.last.Rule, a.last.Evidence
		}
		if r.Low > found.High || r.High < found.Low {
			switch given := s.placedByHand(r); {
			case given >= 0:
				s.overrule(given, r)
			case r.Rule == WallClock:
				s.wrongClock(r, max(minus(r.Low, found.High), minus(found.Low, r.High)))
			default:
				s.refuse(r, &ContradictionError{A: s.in[r.A].Name, B: s.in[r.B].Name, Found: found, Other: *r})
				continue
			}
		}
		if len(s.plan.Checked) == maxChecked {
			s.plan.Unchecked++
			continue
		}
		c := Check{Relation: *r}
		if r.bounded() {
			c.Residual = s.plan.Inputs[r.B].Offset - s.plan.Inputs[r.A].Offset - middle(r.Low, r.High)
		}
		s.plan.Checked = append(s.plan.Checked, c)
	}
	s.noteOverruled()
}

// overrule keeps the best relation that contradicts a given offset.
func (s *solver) overrule(given int, r *Relation) {
	if was, ok := s.overruled[given]; !ok || better(r, &was) {
		s.overruled[given] = *r
	}
}

// noteOverruled adds notes about relations that contradict given offsets.
func (s *solver) noteOverruled() {
	for i := range s.in {
		r, ok := s.overruled[i]
		if !ok {
			continue
		}
		if r.A == i || r.B == s.plan.Reference {
			r = r.reversed()
		}
		a, b := &s.plan.Inputs[r.A], &s.plan.Inputs[r.B]
		s.plan.Notes = append(s.plan.Notes, fmt.Sprintf("--offset puts %s at %s from %s, and counts; %s says %s",
			s.in[r.B].Name, span(minus(b.Offset, a.Offset)), s.in[r.A].Name, r.why(), r.around()))
	}
}

// around formats an interval by its middle: "0.997 s ± 5 µs".
func (r *Relation) around() string {
	if !r.bounded() || r.Low == r.High {
		return interval{r.Low, r.High}.String()
	}
	width := r.width()
	return fmt.Sprintf("%s ± %s", span(middle(r.Low, r.High)), span(width/2+width%2))
}

// wrongClock finds the input whose wall clock contradicts its place, and adds a note about it. It is one of the two, or an
// input on their paths, that was not placed by its wall clock.
func (s *solver) wrongClock(r *Relation, off Nanos) {
	for _, i := range [...]int{r.B, r.A} {
		for at := i; at >= 0 && at != s.plan.Reference; at = s.nodes[at].before {
			if last := &s.nodes[at].last.Relation; last.Rule != WallClock {
				s.noteWrong(at, &Relation{A: r.A, B: r.B, Rule: last.Rule}, off)
				return
			}
		}
	}
}

// noteWrong adds a note about a wrong wall clock, once for each input.
func (s *solver) noteWrong(i int, r *Relation, off Nanos) {
	if s.wrong[i] {
		return
	}
	s.wrong[i] = true
	s.plan.Notes = append(s.plan.Notes, fmt.Sprintf("the wall clocks of %s and %s contradict %s by %s; %[3]s counts", s.in[r.A].Name, s.in[r.B].Name, r.Rule, span(off)))
}

// placedByHand returns the input whose given offset places one of the inputs of a relation, or -1 if there is none.
func (s *solver) placedByHand(r *Relation) int {
	for _, i := range [...]int{r.B, r.A} {
		for at := i; at >= 0 && at != s.plan.Reference; at = s.nodes[at].before {
			if s.nodes[at].last.Rule == Given {
				return at
			}
		}
	}
	return -1
}

// uses reports whether a path uses a relation.
func (s *solver) uses(r *Relation) bool {
	for _, n := range [...]struct{ at, from int }{{r.A, r.B}, {r.B, r.A}} {
		node := &s.nodes[n.at]
		if node.before == n.from && n.at != s.plan.Reference && node.last.Rule == r.Rule {
			return true
		}
	}
	return false
}

// unplaced explains why an input has no place.
func (s *solver) unplaced(i int) error {
	e := &UnplacedError{Input: s.in[i].Name, Anchors: s.anchors(i), Reference: s.in[s.plan.Reference].Name, Why: s.why[i]}
	e.ReferenceAnchors = s.anchors(s.plan.Reference)
	return e
}

// anchors describes the known facts about the clock of an input.
func (s *solver) anchors(i int) string {
	c := s.in[i].Clues
	text := "its clock is " + c.Clock.String()
	if c.Clock == ClockUnknown {
		text = "its clock is its own"
	}
	if c.Clock == ClockWall {
		return text
	}
	if c.Wall != nil {
		return text + ", and the wall clock is known by " + c.Wall.By
	}
	text += ", and nothing says when that was by the wall clock"
	if c.Any {
		return text + fmt.Sprintf("; its times go from %s to %s", seconds(c.Start), seconds(c.End))
	}
	return "it has no events, " + text
}

// planRanks writes ranks, requests and threads into the plan.
func (s *solver) planRanks() {
	s.plan.Ranked = true
	s.plan.ranks, s.plan.requests = make([]int64, len(s.in)), make([]map[string]string, len(s.in))
	s.plan.threads = make([]map[threadKey]uint64, len(s.in))
	ranks := map[int64]bool{}
	for i := range s.in {
		if c := s.in[i].Clues; c != nil {
			s.plan.Ranked = s.plan.Ranked && c.Ranked && !ranks[c.Rank]
			ranks[c.Rank] = true
			s.plan.ranks[i], s.plan.requests[i], s.plan.threads[i] = c.Rank, c.requests, c.threads
		}
	}
}

// clock chooses the output's clock: the reference's, or REALTIME if an input would start before 0 on the reference's. It
// converts the places of all inputs to the output's clock.
func (s *solver) clock() {
	ref := s.in[s.plan.Reference].Clues
	first, at := s.earliest()
	shift, kind := Nanos(0), ref.Clock
	if at < 0 {
		if ref.Wall == nil || plus(at, ref.Wall.Middle()) < 0 {
			s.fail(first, &BeforeZeroError{Input: s.in[first].Name, Start: at, Reference: s.in[s.plan.Reference].Name})
			return
		}
		shift, kind = ref.Wall.Middle(), ClockWall
	}
	for i := range s.plan.Inputs {
		p := &s.plan.Inputs[i]
		if s.in[i].Clues != nil && s.outOfRange(i, shift) {
			s.fail(i, &RangeError{Input: s.in[i].Name, Reference: s.in[s.plan.Reference].Name})
			return
		}
		p.Offset, p.Low, p.High = p.Offset+shift, plus(p.Low, shift), plus(p.High, shift)
		p.Span = Range{p.Span.From + shift, p.Span.To + shift}
	}
	s.plan.Clock = kind.String()
	s.plan.Clocks = outputClocks(ref, kind, at+shift)
}

// earliest returns the input that starts first, and its start. It returns zeros if no input has events.
func (s *solver) earliest() (first int, at Nanos) {
	first = -1
	for i := range s.in {
		if c := s.in[i].Clues; c != nil && c.Any && (first < 0 || s.plan.Inputs[i].Span.From < at) {
			first, at = i, s.plan.Inputs[i].Span.From
		}
	}
	return max(first, 0), at
}

// outputClocks returns the clocks of the output.
func outputClocks(ref *Clues, kind ClockKind, at Nanos) timeline.Clocks {
	names := map[ClockKind]timeline.Clock{
		ClockMonotonic: timeline.ClockMonotonic, ClockBoottime: timeline.ClockBoottime, ClockWall: timeline.ClockRealtime,
	}
	c := timeline.Clocks{Trace: names[kind]}
	if c.Trace == 0 {
		return c
	}
	c.Readings = []timeline.ClockReading{{Clock: c.Trace, Time: at}}
	if kind != ClockWall && ref.Wall != nil && ref.Wall.High-ref.Wall.Low <= goodAnchor && at+ref.Wall.Middle() >= 0 {
		c.Readings = append(c.Readings, timeline.ClockReading{Clock: timeline.ClockRealtime, Time: at + ref.Wall.Middle()})
	}
	if kind == ClockBoottime && ref.Monotonic && at+ref.ToMonotonic >= 0 {
		c.Readings = append(c.Readings, timeline.ClockReading{Clock: timeline.ClockMonotonic, Time: at + ref.ToMonotonic})
	}
	return c
}

// Uncertainty returns how far the offset may be from the truth in either direction.
func (p *Placed) Uncertainty() Nanos {
	width := minus(p.High, p.Low)
	return width/2 + width%2
}

// Order returns the position of an input among the inputs shown, and the prefix of its processes' names. Both come from its
// rank if all inputs have one.
func (p *Plan) Order(i, at int) (place int, prefix string) {
	if !p.Ranked {
		return at, ""
	}
	return int(p.ranks[i]), fmt.Sprintf("[rank %d] ", p.ranks[i])
}

// seconds formats a time for messages.
func seconds(t Nanos) string { return fmt.Sprintf("%d.%06d s", t/1e9, abs(t)%1e9/1e3) }
