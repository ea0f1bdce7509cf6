package merge

import (
	"cmp"
	"slices"
)

// class returns the priority of a rule when inputs are placed: the user's statements, exact relations, causality, wall
// clocks, assumptions.
func (r Rule) class() int {
	switch {
	case r == Given:
		return 0
	case r.strong():
		return 1
	case r == Causality:
		return 2
	case r == WallClock:
		return 3
	}
	return 4
}

// edge is the best relation between a pair of inputs.
type edge struct {
	Relation
	over   Nanos // by how much the wall clock is wrong if causality contradicts it
	coarse bool  // an input's times are whole milliseconds, and causality does not contradict its wall clock
}

// class returns the class of the rule, lowered in two cases. Causality with coarse times is no better than the wall clock. A
// wall clock that is wrong by an unknown amount is worse than one that nothing contradicts.
func (e *edge) class() int {
	switch {
	case e.over > 0 && e.AtLeast:
		return Assumed.class()
	case e.coarse:
		return WallClock.class()
	}
	return e.Rule.class()
}

// known holds the relations of a pair from which its edge is made; nil: none.
type known struct{ best, causal, wall *Relation }

// take adds a relation.
func (k *known) take(r *Relation) {
	switch {
	case r.Rule == Causality:
		k.causal = r
	case r.Rule == WallClock:
		k.wall = r
	case k.best == nil || better(r, k.best):
		k.best = r
	}
}

// better reports whether the first of two relations outranks the second. It does not compare causality and wall clocks.
func better(r, than *Relation) bool {
	return cmp.Or(cmp.Compare(r.Rule.class(), than.Rule.class()), cmp.Compare(r.width(), than.width()), cmp.Compare(r.Rule, than.Rule)) < 0
}

// edge returns the best relation. A bound on one side only does not determine an offset.
func (k *known) edge() (e edge, ok bool) {
	switch {
	case k.best != nil:
		return edge{Relation: *k.best}, true
	case k.causal != nil && k.wall != nil:
		return narrowed(k.causal, k.wall), true
	case k.wall != nil:
		return edge{Relation: *k.wall}, true
	}
	return edge{Relation: *k.causal}, k.causal.bounded()
}

// narrowed combines a pair's causality and wall clocks. Where they contradict each other, causality counts; if it bounds only
// one side, the wall clock is assumed to be wrong by as little as possible. Contradictory causality follows the majority of
// its bounds.
func narrowed(causal, wall *Relation) edge {
	best := interval{causal.Low, causal.High}
	if d := causal.dispute; d != nil {
		best = d.best
	}
	off := max(minus(wall.Low, best.high), minus(best.low, wall.High)) // if positive, the wall clock is wrong
	low, high := max(causal.Low, wall.Low), min(causal.High, wall.High)
	if off <= 0 && (causal.dispute == nil || causal.dispute.outliers()) {
		e := edge{Relation: *wall}
		e.Low, e.High = low, high
		byLow, byHigh := low == causal.Low, high == causal.High
		e.Evidence = wall.Evidence + "; " + causal.Evidence
		if byLow || byHigh {
			e.Rule, e.Evidence = Causality, causal.Evidence+"; "+wall.Evidence
		}
		e.AtLeast = wall.AtLeast && !(byLow && byHigh)
		return e
	}
	e := edge{Relation: *causal, over: max(off, 0)}
	switch {
	case causal.bounded():
		return e
	case causal.Low > -unbounded:
		e.High = plus(causal.Low, wall.width())
	default:
		e.Low = minus(causal.High, wall.width())
	}
	e.AtLeast = true
	e.Evidence += "; " + wall.Evidence
	return e
}

// edges returns the edges of all pairs whose relations determine an offset, in the order of the pairs.
func (s *solver) edges() []edge {
	all := map[pair]*known{}
	var pairs []pair
	for _, r := range s.all {
		if r.A > r.B {
			r = r.reversed()
		}
		p := pair{r.A, r.B}
		if all[p] == nil {
			all[p] = &known{}
			pairs = append(pairs, p)
		}
		all[p].take(&r)
	}
	slices.SortFunc(pairs, comparePairs)
	var list []edge
	for _, p := range pairs {
		if e, ok := all[p].edge(); ok {
			e.coarse = e.Rule == Causality && e.over == 0 && all[p].wall != nil && (s.in[p.a].Clues.coarse() || s.in[p.b].Clues.coarse())
			list = append(list, e)
		}
	}
	return list
}

// node is the state of an input during placement.
type node struct {
	reached, done bool
	low, high     Nanos // bounds of the offset to the reference
	atLeast       bool
	coarse        bool // an input on its path has times in whole milliseconds
	hops          int
	last          edge // the last edge of its path, from before
	before        int
}

// compare orders the best paths to inputs without a place, best first.
func (n *node) compare(m *node) int {
	return cmp.Or(
		cmp.Compare(n.last.class(), m.last.class()), compareBools(n.coarse, m.coarse), compareBools(n.atLeast, m.atLeast),
		cmp.Compare(minus(n.high, n.low), minus(m.high, m.low)), cmp.Compare(n.hops, m.hops), cmp.Compare(n.before, m.before),
	)
}

// compareBools puts false first.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// places places the inputs that relations reach from the reference. A given offset outranks other relations.
func (s *solver) places() {
	s.nodes = make([]node, len(s.in))
	s.graph = make([][]edge, len(s.in))
	for i := range s.nodes {
		s.nodes[i].before = -1
	}
	s.nodes[s.plan.Reference].reached = true
	for _, e := range s.edges() {
		s.connect(e)
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

// search places all reachable inputs. The next input is always the one to which the best relation leads; within a class,
// it is the one with the smallest total width along its path. Inputs related by a better rule are therefore placed as a whole: no
// path uses wall clocks between two inputs that causality relates.
func (s *solver) search() {
	for {
		at := -1
		for i := range s.nodes {
			n := &s.nodes[i]
			if n.reached && !n.done && (at < 0 || n.compare(&s.nodes[at]) < 0) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		s.place(at)
	}
}

// place fixes the path to an input and offers paths to its neighbours.
func (s *solver) place(at int) {
	n := &s.nodes[at]
	n.done = true
	s.placed = append(s.placed, at)
	for _, e := range s.graph[at] {
		s.offer(at, e)
	}
}

// offer extends the path of a placed input by an edge, and keeps the result if it is the best so far.
func (s *solver) offer(at int, e edge) {
	n, to := &s.nodes[at], &s.nodes[e.B]
	way := node{
		reached: true, low: plus(n.low, e.Low), high: plus(n.high, e.High), atLeast: n.atLeast || e.AtLeast,
		coarse: n.coarse || at != s.plan.Reference && s.in[at].Clues.coarse(), hops: n.hops + 1, last: e, before: at,
	}
	if !to.done && (!to.reached || way.compare(to) < 0) {
		*to = way
	}
}

// assume applies rule R7 to inputs that no other rule reaches.
func (s *solver) assume() {
	if s.opts.Strict {
		return
	}
	var left []int
	for b := range s.in {
		if !s.nodes[b].done && s.in[b].Clues != nil {
			left = append(left, b)
		}
	}
	for k := 0; k < len(s.placed) && len(left) > 0; k++ { // s.placed grows meanwhile
		rest := left[:0]
		for _, b := range left {
			if s.nodes[b].done {
				continue
			}
			r, ok := s.assumed(s.placed[k], b)
			if !ok {
				rest = append(rest, b)
				continue
			}
			s.all = append(s.all, r)
			s.connect(edge{Relation: r})
			s.offer(s.placed[k], edge{Relation: r})
			s.search()
		}
		left = rest
	}
}

// plus adds times, saturating at the longest representable time.
func plus(a, b Nanos) Nanos {
	switch sum := a + b; {
	case a > 0 && b > 0 && sum < 0:
		return maxNanos
	case a < 0 && b < 0 && (sum >= 0 || sum < -maxNanos):
		return -maxNanos
	default:
		return sum
	}
}

// minus subtracts times, saturating like plus.
func minus(a, b Nanos) Nanos { return plus(a, -max(b, -maxNanos)) }
