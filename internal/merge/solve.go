package merge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Input is one of the inputs to be merged.
type Input struct {
	Name, File, Format string
	Host               string // as given; "": what the input says
	Clues              *Clues // nil: it was left out
}

// Options are what someone has said of the inputs.
type Options struct {
	Offsets        []GivenOffset
	Reference      int     // -1: not given
	Same           [][]int // inputs of one host and one pid namespace
	MaxUncertainty Nanos   // 0: any
	Strict         bool    // nothing is assumed
	KeepGoing      bool    // inputs without a place are left out
}

// GivenOffset is what is to be added to the times of an input, give or take Within.
type GivenOffset struct {
	Input          int
	Offset, Within Nanos
}

// Plan says where each input goes.
type Plan struct {
	Reference int
	Clock     string // of the output: that of the reference, or REALTIME
	Inputs    []Placed
	Processes []SameProcess
	Checked   []Check
	Unchecked int // relations beyond maxChecked, which fit
	Notes     []string
	Clocks    timeline.Clocks // of the output
	Ranked    bool            // all inputs have ranks
	Hosts     int             // how many are known to differ
	Machines  []string        // what those are called whose numbers inputs have, from 1 on: one for each host but that of the reference

	ranks    []int64
	requests []map[string]string // see Clues.requests

	shares map[shareKey]bool
	all    map[pair]bool // inputs of which all equal pids are one process
}

// Placed is the place of an input.
type Placed struct {
	Offset    Nanos // to the clock of the output
	Low, High Nanos // where it lies
	AtLeast   bool
	Rule      Rule
	Evidence  string
	Host      string
	Machine   uint32 // of Plan.Machines; 0: it is on the host of the reference, as far as is known
	Clock     string
	Span      Range   // on the clock of the output
	Thread    *Thread // of which a profile is
	LeftOut   error   // why it has no place; nil: it has
	Via       []int   // inputs on the way from the reference
}

// SameProcess is a process of several inputs.
type SameProcess struct {
	PID    string
	Inputs []int
	By     string // "same events"; "": nothing says that they are one
}

// Check is a relation that was not needed, and how far it is from what was found.
type Check struct {
	Relation
	Residual Nanos // of its middle
}

// maxChecked is how many relations are listed that were not needed.
const maxChecked = 1000

type pair struct{ a, b int }

func comparePairs(x, y pair) int { return cmp.Or(cmp.Compare(x.a, y.a), cmp.Compare(x.b, y.b)) }

// shareKey is a process of two inputs.
type shareKey struct {
	pair
	process timeline.ProcessKey
}

// tie says that a profile is of a thread of another input.
type tie struct {
	input  int
	thread Thread
}

type solver struct {
	in       []Input
	opts     Options
	plan     *Plan
	all      []Relation
	same     map[pair]bool // rule R2 holds
	booted   map[pair]bool // rule R3 holds
	ties     map[int][]tie
	why      map[int]error // why there is no better relation
	compared int
	bad      error
	nodes    []node
	graph    [][]edge
}

// Solve finds the place of every input. Without KeepGoing the error says which one has none, and why: an *UnplacedError or a
// *ContradictionError.
func Solve(in []Input, opts Options) (*Plan, error) {
	in = slices.Clone(in)
	left := map[int]error{}
	for {
		s := &solver{in: in, opts: opts, same: map[pair]bool{}, booted: map[pair]bool{}, ties: map[int][]tie{}, why: map[int]error{}}
		s.plan = &Plan{Inputs: make([]Placed, len(in)), shares: map[shareKey]bool{}, all: map[pair]bool{}}
		bad, err := s.solve()
		if err == nil {
			for i, why := range left {
				s.plan.Inputs[i].LeftOut = why
			}
			return s.plan, nil
		}
		if !opts.KeepGoing || bad < 0 || bad == s.plan.Reference {
			return nil, err
		}
		left[bad], in[bad].Clues = err, nil
	}
}

// solve returns the input that is to blame with its error.
func (s *solver) solve() (bad int, err error) {
	if s.plan.Reference = s.reference(); s.plan.Reference < 0 {
		return -1, ErrNoInputs
	}
	s.relations()
	if s.bad != nil {
		return s.bad.(*ContradictionError).Found.B, s.bad
	}
	s.places()
	if !s.opts.Strict {
		s.assume()
	}
	if bad, err := s.check(); err != nil {
		return bad, err
	}
	s.hosts()
	s.findProcesses()
	if err := s.clock(); err != nil {
		return -1, err
	}
	return -1, nil
}

// reference returns the input whose clock the output has.
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

// host returns the host of an input; "" if nothing names it.
func (s *solver) host(i int) string {
	if s.in[i].Host != "" || s.in[i].Clues == nil {
		return s.in[i].Host
	}
	return s.in[i].Clues.Host
}

// apart reports whether two inputs are of different hosts, as far as that is said.
func (s *solver) apart(a, b int) bool {
	x, y := s.host(a), s.host(b)
	return x != "" && y != "" && x != y
}

// oneHost reports whether two inputs are known to be of one host, or at least nothing says otherwise.
func (s *solver) oneHost(a, b int) bool {
	if s.apart(a, b) {
		return false
	}
	x, ok := s.in[a].Clues.fingerprint()
	y, ok2 := s.in[b].Clues.fingerprint()
	return !ok || !ok2 || abs(x-y) <= sameBoot
}

// edge is the best that is known of a pair.
type edge struct {
	Relation
	over Nanos // by how much a wall clock is wrong that causality contradicts
}

// edges makes one edge of the relations of each pair.
func (s *solver) edges() map[pair]edge {
	best := map[pair]edge{}
	for _, r := range s.all {
		p := pair{min(r.A, r.B), max(r.A, r.B)}
		if r.A > r.B {
			r = r.reversed()
		}
		have, ok := best[p]
		switch {
		case !ok:
			best[p] = edge{Relation: r}
		case r.Rule.strong() || have.Rule.strong():
			if better(&r, &have.Relation) {
				best[p] = edge{Relation: r}
			}
		default:
			best[p] = have.intersect(r)
		}
	}
	for p, e := range best {
		if e.Low <= -unbounded || e.High >= unbounded {
			delete(best, p) // a bound on one side does not give an offset
		}
	}
	return best
}

// better reports whether of two relations, one of which is strong, the first is to be used.
func better(r, than *Relation) bool {
	if r.Rule.strong() != than.Rule.strong() {
		return r.Rule.strong()
	}
	if (r.Rule == Given) != (than.Rule == Given) {
		return r.Rule == Given
	}
	return cmp.Or(cmp.Compare(r.width(), than.width()), cmp.Compare(r.Rule, than.Rule)) < 0
}

// intersect joins what wall clocks and causality say; where they contradict each other, causality counts.
func (e edge) intersect(r Relation) edge {
	low, high := max(e.Low, r.Low), min(e.High, r.High)
	if low <= high {
		if r.Rule == Causality {
			e.Rule = Causality
		}
		if e.Rule != r.Rule || e.Evidence != r.Evidence {
			e.Evidence += "; " + r.Evidence
		}
		e.Low, e.High, e.AtLeast = low, high, e.AtLeast && r.AtLeast
		return e
	}
	over := low - high
	if r.Rule == Causality {
		return edge{r, over}
	}
	e.over = over
	return e
}

// cost is how bad a path is.
type cost struct {
	width Nanos
	weak  int
	hops  int
}

func (c cost) compare(d cost) int {
	return cmp.Or(cmp.Compare(c.width, d.width), cmp.Compare(c.weak, d.weak), cmp.Compare(c.hops, d.hops))
}

// node is what is known of an input while paths are searched.
type node struct {
	reached, done bool
	cost          cost
	low, high     Nanos // of the offset to the reference
	last          edge  // on its path, from the input before it
	before        int
	atLeast       bool
}

// places finds the shortest paths from the reference.
func (s *solver) places() {
	s.nodes = make([]node, len(s.in))
	s.nodes[s.plan.Reference].reached = true
	s.nodes[s.plan.Reference].before = -1
	s.graph = make([][]edge, len(s.in))
	found := s.edges()
	pairs := make([]pair, 0, len(found))
	for p := range found {
		pairs = append(pairs, p)
	}
	slices.SortFunc(pairs, comparePairs)
	for _, p := range pairs {
		s.connect(found[p])
	}
	s.search()
}

// connect adds an edge in both directions.
func (s *solver) connect(e edge) {
	s.graph[e.A] = append(s.graph[e.A], e)
	back := e
	back.Relation = e.reversed()
	s.graph[e.B] = append(s.graph[e.B], back)
}

// search goes on with the search for paths.
func (s *solver) search() {
	for {
		at := -1
		for i := range s.nodes {
			n := &s.nodes[i]
			if n.reached && !n.done && (at < 0 || n.cost.compare(s.nodes[at].cost) < 0) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		n := &s.nodes[at]
		n.done = true
		for _, e := range s.graph[at] {
			to := &s.nodes[e.B]
			c := cost{n.cost.width + e.width(), n.cost.weak, n.cost.hops + 1}
			if !e.Rule.strong() {
				c.weak++
			}
			if to.done || to.reached && to.cost.compare(c) <= 0 {
				continue
			}
			*to = node{reached: true, cost: c, low: n.low + e.Low, high: n.high + e.High, last: e, before: at, atLeast: n.atLeast || e.AtLeast}
		}
	}
}

// assume uses rule R7 for what nothing else reaches.
func (s *solver) assume() {
	for changed := true; changed; {
		changed = false
		for b := range s.in {
			if s.nodes[b].reached || s.in[b].Clues == nil {
				continue
			}
			for a := range s.in {
				if !s.nodes[a].reached || s.in[a].Clues == nil {
					continue
				}
				if r, ok := s.assumed(a, b); ok {
					s.all = append(s.all, r)
					s.connect(edge{Relation: r})
					for i := range s.nodes { // what is reached may lead on
						s.nodes[i].done = false
					}
					s.search()
					changed = true
					break
				}
			}
		}
	}
}

// check fills in the plan, and refuses what has no place or more than one.
func (s *solver) check() (bad int, err error) {
	for i := range s.in {
		c, n, p := s.in[i].Clues, &s.nodes[i], &s.plan.Inputs[i]
		if c == nil {
			continue
		}
		if !n.reached {
			return i, s.unplaced(i)
		}
		p.Low, p.High, p.AtLeast, p.Clock = n.low, n.high, n.atLeast, c.Clock.String()
		p.Offset = n.low + (n.high-n.low)/2
		p.Span = Range{c.Start + p.Offset, c.End + p.Offset}
		if i == s.plan.Reference && c.Wall != nil && c.Clock == ClockMonotonic {
			p.Evidence = "REALTIME − MONOTONIC from " + c.Wall.By
		}
		if i != s.plan.Reference {
			p.Rule, p.Evidence = n.last.Rule, n.last.Evidence
			for at := n.before; at >= 0 && at != s.plan.Reference; at = s.nodes[at].before {
				p.Via = append(p.Via, at)
			}
			if over := n.last.over; over > 0 {
				s.plan.Notes = append(s.plan.Notes, fmt.Sprintf("the wall clocks of %s and %s contradict causality by %s; causality counts", s.in[n.before].Name, s.in[i].Name, micros(over)))
			}
		}
		if limit := s.opts.MaxUncertainty; limit > 0 && (n.high-n.low+1)/2 > limit {
			return i, &UncertainError{Input: s.in[i].Name, Uncertainty: (n.high - n.low + 1) / 2, Limit: limit}
		}
	}
	return s.checkRelations()
}

// checkRelations compares relations that no path uses with what was found.
func (s *solver) checkRelations() (bad int, err error) {
	for _, r := range s.all {
		if s.uses(&r) || r.Rule == Given {
			continue
		}
		a, b := &s.nodes[r.A], &s.nodes[r.B]
		low, high := b.low-a.high, b.high-a.low // what the paths say of the offset between the two
		weak := r.Rule == WallClock && (r.AtLeast || s.placedBy(r.A, r.B, Causality) || s.placedBy(r.A, r.B, Given))
		if given := s.placedBy(r.A, r.B, Given); !given && !weak && (r.Low > high || r.High < low) {
			if r.Rule == Causality && r.Low <= -unbounded && r.High >= unbounded {
				continue
			}
			found := Relation{A: r.A, B: r.B, Low: low, High: high, Rule: b.last.Rule, Evidence: b.last.Evidence}
			if r.B == s.plan.Reference {
				found.Rule, found.Evidence = a.last.Rule, a.last.Evidence
			}
			blame := r.B
			if blame == s.plan.Reference {
				blame = r.A
			}
			return blame, &ContradictionError{A: s.in[r.A].Name, B: s.in[r.B].Name, Found: found, Other: r}
		}
		s.noteWrongClock(&r, max(r.Low-high, low-r.High))
		if len(s.plan.Checked) == maxChecked {
			s.plan.Unchecked++
			continue
		}
		residual := s.plan.Inputs[r.B].Offset - s.plan.Inputs[r.A].Offset - (max(r.Low, -unbounded)/2 + min(r.High, unbounded)/2)
		s.plan.Checked = append(s.plan.Checked, Check{r, residual})
	}
	return -1, nil
}

// noteWrongClock says by how much the wall clocks of two hosts contradict what places them. Of causality that is said already.
func (s *solver) noteWrongClock(r *Relation, off Nanos) {
	if off <= 0 || !r.AtLeast || s.placedBy(r.A, r.B, Causality) || s.placedBy(r.A, r.B, Given) {
		return
	}
	by := s.nodes[r.B].last.Rule
	if r.B == s.plan.Reference {
		by = s.nodes[r.A].last.Rule
	}
	s.plan.Notes = append(s.plan.Notes, fmt.Sprintf("the wall clocks of %s and %s contradict the rule %s by %s; %[3]s counts", s.in[r.A].Name, s.in[r.B].Name, by, micros(off)))
}

// placedBy reports whether the place of one of two inputs follows from a rule.
func (s *solver) placedBy(a, b int, rule Rule) bool {
	for _, i := range [...]int{a, b} {
		for at := i; at >= 0 && at != s.plan.Reference; at = s.nodes[at].before {
			if s.nodes[at].last.Rule == rule {
				return true
			}
		}
	}
	return false
}

// uses reports whether a path goes over a relation.
func (s *solver) uses(r *Relation) bool {
	for _, n := range [...]struct{ at, from int }{{r.A, r.B}, {r.B, r.A}} {
		node := &s.nodes[n.at]
		if node.before == n.from && n.at != s.plan.Reference && node.last.Rule == r.Rule {
			return true
		}
	}
	return false
}

// unplaced says why an input has no place.
func (s *solver) unplaced(i int) error {
	e := &UnplacedError{Input: s.in[i].Name, Anchors: s.anchors(i), Reference: s.in[s.plan.Reference].Name, Why: s.why[i]}
	e.ReferenceAnchors = s.anchors(s.plan.Reference)
	return e
}

// anchors says what is known of the clock of an input.
func (s *solver) anchors(i int) string {
	c := s.in[i].Clues
	text := "its clock is " + c.Clock.String()
	if c.Clock == ClockUnknown {
		text = "its clock is its own"
	}
	if c.Wall != nil {
		return text + ", and the wall clock is known by " + c.Wall.By
	}
	text += ", and nothing says when that was by the wall clock"
	if c.Any {
		text += fmt.Sprintf("; its times go from %s to %s", seconds(c.Start), seconds(c.End))
	}
	return text
}

// contradiction notes that one rule contradicts itself.
func (s *solver) contradiction(r Relation, what string) {
	if s.bad == nil {
		s.bad = &ContradictionError{A: s.in[r.A].Name, B: s.in[r.B].Name, Found: r, Other: r, Itself: what}
	}
}

// hosts finds which inputs are of one host.
func (s *solver) hosts() {
	of := make([]int, len(s.in))
	for i := range of {
		of[i] = i
	}
	find := func(i int) int {
		for of[i] != i {
			i = of[i]
		}
		return i
	}
	for _, r := range s.all {
		if r.Rule == SameSamples || r.Rule == SameEvents || r.Rule == SameBoot {
			of[find(r.B)] = find(r.A)
		}
	}
	names, first := map[int]string{}, map[string]int{}
	for i := range s.in {
		if name := s.host(i); name != "" {
			if k, ok := first[name]; ok {
				of[find(i)] = find(k)
			} else {
				first[name] = i
			}
			names[find(i)] = name
		}
	}
	s.machines(find)
	different := map[string]bool{}
	for i := range s.in {
		s.plan.Inputs[i].Host = names[find(i)]
		if name := names[find(i)]; name != "" {
			different[name] = true
		}
	}
	s.plan.Hosts = len(different)
	s.plan.Ranked = true
	s.plan.ranks, s.plan.requests = make([]int64, len(s.in)), make([]map[string]string, len(s.in))
	ranks := map[int64]bool{}
	for i := range s.in {
		if c := s.in[i].Clues; c != nil {
			s.plan.Ranked = s.plan.Ranked && c.Ranked && !ranks[c.Rank]
			ranks[c.Rank] = true
			s.plan.ranks[i], s.plan.requests[i] = c.Rank, c.requests
		}
	}
}

// clock chooses the clock of the output: that of the reference, or REALTIME if an input would begin before 0 on it.
func (s *solver) clock() error {
	ref := s.in[s.plan.Reference].Clues
	shift, kind := Nanos(0), ref.Clock
	for i := range s.in {
		c := s.in[i].Clues
		if c == nil || !c.Any || c.Start+s.plan.Inputs[i].Offset >= 0 {
			continue
		}
		if ref.Wall == nil || c.Start+s.plan.Inputs[i].Offset+ref.Wall.Middle() < 0 {
			return &BeforeZeroError{Input: s.in[i].Name, Start: c.Start + s.plan.Inputs[i].Offset, Reference: s.in[s.plan.Reference].Name}
		}
		shift, kind = ref.Wall.Middle(), ClockWall
	}
	for i := range s.plan.Inputs {
		p := &s.plan.Inputs[i]
		p.Offset, p.Low, p.High = p.Offset+shift, p.Low+shift, p.High+shift
		p.Span = Range{p.Span.From + shift, p.Span.To + shift}
	}
	s.plan.Clock = kind.String()
	at := Nanos(0)
	for i := range s.in {
		if c := s.in[i].Clues; c != nil && c.Any && (at == 0 || s.plan.Inputs[i].Span.From < at) {
			at = s.plan.Inputs[i].Span.From
		}
	}
	s.plan.Clocks = outputClocks(ref, kind, at)
	return nil
}

// outputClocks returns what the output says of its clock.
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
func (p *Placed) Uncertainty() Nanos { return (p.High - p.Low + 1) / 2 }

// Order returns the place of an input among those that are shown, and what is in front of the names of its processes: by its rank, if all
// inputs have one.
func (p *Plan) Order(i, at int) (place int, prefix string) {
	if !p.Ranked {
		return at, ""
	}
	return int(p.ranks[i]), fmt.Sprintf("[rank %d] ", p.ranks[i])
}

// KeyOf returns the function that finds the keys of requests of an input.
func (p *Plan) KeyOf(i int) func(request string) string {
	requests := p.requests[i]
	return func(request string) string { return requests[request] }
}

// seconds writes a time for messages.
func seconds(t Nanos) string { return fmt.Sprintf("%d.%06d s", t/1e9, abs(t)%1e9/1e3) }
