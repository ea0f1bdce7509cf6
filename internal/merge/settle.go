package merge

// maxSettling bounds the rounds in which bounds propagate between inputs. No chain of services is that long.
const maxSettling = 64

// settle moves inputs whose wall clocks leave their places uncertain, by as little as the causality between all inputs
// requires: search has used only one relation for each input. If no places satisfy all bounds, nothing moves, and the
// contradiction is found later.
func (s *solver) settle() {
	bounds := s.bounds()
	if len(bounds) == 0 {
		return
	}
	at, most := make([]Nanos, len(s.in)), make([]Nanos, len(s.in))
	for i := range s.nodes {
		at[i] = middle(s.nodes[i].low, s.nodes[i].high)
		most[i] = at[i]
		if s.nodes[i].atLeast {
			most[i] = unbounded
		}
	}
	// First find the latest places that satisfy all bounds. Then put each input at its own place or, if earlier, at its
	// latest place, and from there move it later as far as the bounds require.
	if !s.hand(bounds, func(r *Relation) bool {
		return r.HasHigh() && s.lower(most, r.B, plus(most[r.A], r.High)) || r.HasLow() && s.lower(most, r.A, minus(most[r.B], r.Low))
	}) {
		return
	}
	for i := range at {
		at[i] = min(at[i], most[i])
	}
	if !s.hand(bounds, func(r *Relation) bool {
		return r.HasLow() && s.raise(at, r.B, plus(at[r.A], r.Low)) || r.HasHigh() && s.raise(at, r.A, minus(at[r.B], r.High))
	}) {
		return
	}
	for i := range s.nodes {
		n := &s.nodes[i]
		by := minus(at[i], middle(n.low, n.high))
		n.low, n.high = plus(n.low, by), plus(n.high, by)
	}
}

// bounds returns the relations that must hold after inputs move: causality, and the distances along relations whose
// uncertainty is known. If causality holds already, it returns nil.
func (s *solver) bounds() (list []Relation) {
	broken := false
	for _, r := range s.all {
		a, b := &s.nodes[r.A], &s.nodes[r.B]
		if r.Rule != Causality || !a.done || !b.done || !a.atLeast && !b.atLeast {
			continue
		}
		d := minus(middle(b.low, b.high), middle(a.low, a.high))
		broken = broken || d < r.Low || d > r.High
		list = append(list, r)
	}
	if !broken {
		return nil
	}
	for i := range s.nodes {
		if n := &s.nodes[i]; n.done && n.atLeast && !n.last.AtLeast {
			before := &s.nodes[n.before]
			d := minus(middle(n.low, n.high), middle(before.low, before.high))
			list = append(list, Relation{A: n.before, B: i, Low: d, High: d})
		}
	}
	return list
}

// hand applies bounds until no input moves. It returns false if inputs still move after maxSettling rounds.
func (s *solver) hand(bounds []Relation, move func(r *Relation) bool) (ok bool) {
	for range maxSettling {
		moved := false
		for i := range bounds {
			for move(&bounds[i]) {
				moved = true
			}
		}
		if !moved {
			return true
		}
	}
	return false
}

// lower lowers the time of an input that may move, and reports whether it did.
func (s *solver) lower(at []Nanos, i int, to Nanos) bool {
	if !s.nodes[i].atLeast || at[i] <= to {
		return false
	}
	at[i] = to
	return true
}

// raise raises the time of an input that may move, and reports whether it did.
func (s *solver) raise(at []Nanos, i int, to Nanos) bool {
	if !s.nodes[i].atLeast || at[i] >= to {
		return false
	}
	at[i] = to
	return true
}
