package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// findProcesses finds which processes of the inputs are one, and of which threads profiles are.
func (s *solver) findProcesses() {
	s.sameInputs()
	s.askWhetherTwice()
	for i := range s.in {
		if p := s.in[i].Clues; p != nil && (p.CPUProfile || len(p.Pages) > 0) {
			s.placeProfile(i, p)
		}
	}
	s.listProcesses()
	s.shareIDs()
}

// sameSpaces finds inputs whose equal pids are one process by the user's word.
func (s *solver) sameSpaces() {
	s.plan.spaces = newGroups(len(s.in))
	for _, same := range s.opts.Same {
		for _, i := range same {
			s.plan.spaces.join(same[0], i)
		}
	}
	first := map[string]int{}
	for i := range s.in {
		name := s.in[i].Host
		if name == "" {
			continue
		}
		if k, ok := first[name]; ok {
			s.plan.spaces.join(k, i)
		} else {
			first[name] = i
		}
	}
}

// sameInputs finds inputs with the same events, once they are aligned (R2): their equal pids are one process, but for those with other
// events.
func (s *solver) sameInputs() {
	s.said = slices.Clone(s.plan.spaces)
	for _, p := range s.pairs {
		if s.hostsDiffer(p.a, p.b) || s.said.find(p.a) == s.said.find(p.b) {
			continue
		}
		offset := s.plan.Inputs[p.b].Offset - s.plan.Inputs[p.a].Offset
		if s.same[p] {
			offset = 0 // at which that was found, whatever the user states about the clocks
		}
		if s.same[p] || offset != 0 && s.sameShifted(p, offset) {
			s.plan.spaces.join(p.a, p.b)
			s.plan.tellApart(p.a, p.b, otherProcesses(s.in[p.a].Clues, s.in[p.b].Clues, offset))
		}
	}
}

// sameShifted reports whether two inputs have the same events when the second one is moved by an offset.
func (s *solver) sameShifted(p pair, offset Nanos) bool {
	x, y := s.in[p.a].Clues, s.in[p.b].Clues
	if !s.spend(len(x.events.list) + len(y.events.list)) {
		return false
	}
	found := compareEvents(x, y, offset)
	if found.holds() {
		s.common[p] = found
	}
	return found.holds()
}

// member is a process of the inputs of a number space.
type member struct {
	space   int
	process timeline.ProcessKey
}

// member returns a process of an input.
func (p *Plan) member(input int, id timeline.ProcessKey) member {
	if p.alone[member{input, id}] {
		return member{-1 - input, id}
	}
	return member{p.spaces.find(input), id}
}

// tellApart records the processes that two inputs do not share although their events are the same. Processes that both distinguish from an earlier
// input may be one.
func (p *Plan) tellApart(a, b int, others map[timeline.ProcessKey]bool) {
	for id, other := range others {
		x, y := member{a, id}, member{b, id}
		switch {
		case other && p.alone == nil:
			p.alone = map[member]bool{y: true}
		case other:
			p.alone[y] = true
		case p.alone[x] && p.alone[y]:
			p.join(p.member(a, id), p.member(b, id), SameEvents)
		}
	}
}

// twice is the share of common events, in percent, above which two inputs may be one recording, and maxAsked for how many pairs that is asked.
const (
	twice    = 90
	maxAsked = 3
)

// askWhetherTwice asks whether inputs with nearly all events in common are one recording. Two recorders of one run have as many.
func (s *solver) askWhetherTwice() {
	asked := 0
	for _, p := range s.pairs {
		found, ok := s.common[p]
		if !ok || found.Same*100 <= found.Of*twice {
			continue
		}
		if asked++; asked > maxAsked {
			return
		}
		s.plan.Notes = append(s.plan.Notes, fmt.Sprintf("%s and %s have %d of %d rare events in common: is this one recording in two forms? "+
			"The output has the events of both; for one recording, merge only one of them", s.in[p.a].Name, s.in[p.b].Name, found.Same, found.Of))
	}
}

// oneProcess is which processes are one, and why.
type oneProcess struct {
	alone   map[member]bool // processes, by their input instead of its space, that are not in the space
	numbers map[member]int  // of those that are known to be one with others
	sets    groups          // by these numbers
	by      []Rule
}

// number returns the index of a process.
func (o *oneProcess) number(m member) int {
	n, ok := o.numbers[m]
	if !ok {
		if o.numbers == nil {
			o.numbers = map[member]int{}
		}
		n = len(o.sets)
		o.numbers[m], o.sets, o.by = n, append(o.sets, n), append(o.by, Given)
	}
	return n
}

// join makes one process of two.
func (o *oneProcess) join(x, y member, by Rule) {
	if x == y {
		return
	}
	a, b := o.number(x), o.number(y)
	for _, n := range [...]int{a, b} {
		if o.by[n] == Given {
			o.by[n] = by
		}
	}
	o.sets.join(a, b)
}

// set returns the number of what a process is one with; not ok: it is a process of its own.
func (o *oneProcess) set(m member) (set int, ok bool) {
	n, ok := o.numbers[m]
	if !ok {
		return 0, false
	}
	return o.sets.find(n), true
}

// placeProfile finds the threads that profiles are of.
func (s *solver) placeProfile(i int, p *Clues) {
	if f := s.files[i]; f != nil {
		s.placePages(i, f)
		return
	}
	for _, t := range s.ties[i] {
		s.tie(i, t)
		return
	}
	for a := range s.in {
		c := s.in[a].Clues
		if c == nil || a == i || len(c.Invocations) == 0 {
			continue
		}
		best, next, of := c.placeScript(p, s.plan.Inputs[i].Offset-s.plan.Inputs[a].Offset)
		if of >= minSame && best.share() >= confirmed && next.share() <= excluded {
			s.tie(i, tie{input: a, thread: best.thread})
			return
		}
	}
}

// tie records the thread of a profile.
func (s *solver) tie(i int, t tie) {
	s.plan.Inputs[i].Thread = &t.thread
	s.shareProcess(i, t.input, t.thread)
}

// shareProcess records that a process of a profile is the process of a thread of an earlier input.
func (s *solver) shareProcess(i, of int, thread Thread) {
	process := timeline.ProcessKey{Num: thread.PID}
	s.in[i].Clues.processes[process] = true
	s.plan.join(s.plan.member(of, process), s.plan.member(i, process), SameSamples)
}

// Shares reports whether an earlier and a later input share the process with an id.
func (p *Plan) Shares(earlier, later int, id timeline.ProcessKey) bool {
	x, y := p.member(earlier, id), p.member(later, id)
	if x == y {
		return true
	}
	a, ok := p.set(x)
	b, ok2 := p.set(y)
	return ok && ok2 && a == b
}

// Detail returns how many slices and instants an input has of a thread.
func (p *Plan) Detail(input int, process timeline.ProcessKey, thread timeline.ThreadKey) uint64 {
	return p.threads[input][threadKey{process, thread}]
}

// listProcesses lists the pids that several inputs have.
func (s *solver) listProcesses() {
	of := map[timeline.ProcessKey][]int{}
	for i := range s.in {
		if s.in[i].Clues == nil {
			continue
		}
		for id := range s.in[i].Clues.processes {
			of[id] = append(of[id], i)
		}
	}
	for id, inputs := range of {
		if len(inputs) > 1 {
			s.plan.Processes = append(s.plan.Processes, SameProcess{PID: id.String(), Inputs: inputs, By: s.sharedBy(inputs, id), id: id})
		}
	}
	slices.SortFunc(s.plan.Processes, func(a, b SameProcess) int {
		return cmp.Or(cmp.Compare(len(a.PID), len(b.PID)), strings.Compare(a.PID, b.PID))
	})
}

// shareIDs finds inputs in which ids that belong to no process, such as windows and requests, mean the same: inputs with a process
// in common, and inputs that --same joins.
func (s *solver) shareIDs() {
	s.plan.ids = newGroups(len(s.in))
	for _, same := range s.opts.Same {
		for _, i := range same {
			s.plan.ids.join(same[0], i)
		}
	}
	type shared struct { // a process, by what it is one with or by itself
		set int
		member
	}
	for _, p := range s.plan.Processes {
		first := map[shared]int{}
		for _, i := range p.Inputs {
			of := shared{set: -1, member: s.plan.member(i, p.id)}
			if set, ok := s.plan.set(of.member); ok {
				of = shared{set: set}
			}
			k, ok := first[of]
			if !ok {
				first[of] = i
				continue
			}
			s.plan.ids.join(k, i)
		}
	}
}

// IDSpace returns the first of the inputs that have their ids in common with one.
func (p *Plan) IDSpace(i int) int { return p.ids.find(i) }

// sharedBy explains why at least two of some inputs share a process; "" if none do.
func (s *solver) sharedBy(inputs []int, id timeline.ProcessKey) string {
	said, members, sets := map[int]bool{}, map[member]bool{}, map[int]bool{}
	by := ""
	for _, i := range inputs {
		m, space := s.plan.member(i, id), s.said.find(i)
		set, ok := s.plan.set(m)
		switch {
		case said[space]:
			by = cmp.Or(by, Given.String())
		case members[m]:
			return SameEvents.String()
		case ok && sets[set]:
			return s.plan.by[s.plan.numbers[m]].String()
		}
		said[space], members[m] = true, true
		sets[set] = sets[set] || ok
	}
	return by
}
