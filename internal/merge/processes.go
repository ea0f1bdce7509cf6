package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// findProcesses finds which processes of different inputs are the same, and which threads the profiles belong to.
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

// sameSpaces groups inputs in which, as the user states, equal pids are the same process.
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

// sameInputs finds inputs that have the same events once aligned (R2): their equal pids are the same process, except for
// processes whose events differ.
func (s *solver) sameInputs() {
	s.userSame = slices.Clone(s.plan.spaces)
	for _, p := range s.pairs {
		if s.hostsDiffer(p.a, p.b) || s.userSame.find(p.a) == s.userSame.find(p.b) {
			continue
		}
		offset := s.plan.Inputs[p.b].Offset - s.plan.Inputs[p.a].Offset
		if s.same[p] {
			offset = 0 // R2 matched at this offset, whatever the user states about the clocks
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

// member identifies a process within a space of pids that several inputs may share.
type member struct {
	space   int
	process timeline.ProcessKey
}

// member returns the member for a process of an input.
func (p *Plan) member(input int, id timeline.ProcessKey) member {
	if p.alone[member{input, id}] {
		return member{-1 - input, id}
	}
	return member{p.spaces.find(input), id}
}

// tellApart records the processes that two inputs do not share although the inputs have the same events. Processes in a and b
// that both differ from an earlier input's may be the same.
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

// twice is the percentage of common events above which two inputs may be one recording; maxAsked bounds the pairs asked
// about.
const (
	twice    = 90
	maxAsked = 3
)

// askWhetherTwice adds notes that ask whether inputs with nearly all events in common are one recording. Two recorders of one
// run can have as many in common.
func (s *solver) askWhetherTwice() {
	questions := 0
	for _, p := range s.pairs {
		found, ok := s.common[p]
		if !ok || found.Same*100 <= found.Of*twice {
			continue
		}
		if questions++; questions > maxAsked {
			return
		}
		s.plan.Notes = append(s.plan.Notes, fmt.Sprintf("%s and %s have %d of %d rare events in common: is this one recording in two forms? "+
			"The output has the events of both; for one recording, merge only one of them", s.in[p.a].Name, s.in[p.b].Name, found.Same, found.Of))
	}
}

// oneProcess records which processes are the same, and why.
type oneProcess struct {
	alone   map[member]bool // processes, keyed by input instead of space, that do not belong to the space
	numbers map[member]int  // numbers of the processes known to be the same as others
	sets    groups          // of these numbers
	by      []Rule
}

// number returns the number of a process, and assigns one if needed.
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

// join records that two processes are the same.
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

// set returns the number of the set of equal processes that a process is in. It returns false if the process is in none.
func (o *oneProcess) set(m member) (set int, ok bool) {
	n, ok := o.numbers[m]
	if !ok {
		return 0, false
	}
	return o.sets.find(n), true
}

// placeProfile finds the thread of a profile, or the places of its pages.
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

// tie records the thread of a profile, and that the profile's process is the thread's process.
func (s *solver) tie(i int, t tie) {
	s.plan.Inputs[i].Thread = &t.thread
	s.shareProcess(i, t.input, t.thread)
}

// shareProcess records that a profile's process is the process of a thread in another input.
func (s *solver) shareProcess(i, of int, thread Thread) {
	process := timeline.ProcessKey{Num: thread.PID}
	s.in[i].Clues.processes[process] = true
	s.plan.join(s.plan.member(of, process), s.plan.member(i, process), SameSamples)
}

// Shares reports whether two inputs share the process with a given id.
func (p *Plan) Shares(earlier, later int, id timeline.ProcessKey) bool {
	x, y := p.member(earlier, id), p.member(later, id)
	if x == y {
		return true
	}
	a, ok := p.set(x)
	b, ok2 := p.set(y)
	return ok && ok2 && a == b
}

// Detail returns how many slices and instants an input has for a thread.
func (p *Plan) Detail(input int, process timeline.ProcessKey, thread timeline.ThreadKey) uint64 {
	return p.threads[input][threadKey{process, thread}]
}

// listProcesses lists the pids that occur in several inputs.
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

// shareIDs groups inputs in which equal ids outside processes, such as ids of windows and requests, mean the same: inputs
// with a process in common, and inputs joined by --same.
func (s *solver) shareIDs() {
	s.plan.ids = newGroups(len(s.in))
	for _, same := range s.opts.Same {
		for _, i := range same {
			s.plan.ids.join(same[0], i)
		}
	}
	type shared struct { // a process, identified by its set or, without one, by itself
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

// IDSpace returns the first of the inputs that share their ids with input i.
func (p *Plan) IDSpace(i int) int { return p.ids.find(i) }

// sharedBy explains why at least two of some inputs share a process; it returns "" if none do.
func (s *solver) sharedBy(inputs []int, id timeline.ProcessKey) string {
	spaces, members, sets := map[int]bool{}, map[member]bool{}, map[int]bool{}
	by := ""
	for _, i := range inputs {
		m, space := s.plan.member(i, id), s.userSame.find(i)
		set, ok := s.plan.set(m)
		switch {
		case spaces[space]:
			by = cmp.Or(by, Given.String())
		case members[m]:
			return SameEvents.String()
		case ok && sets[set]:
			return s.plan.by[s.plan.numbers[m]].String()
		}
		spaces[space], members[m] = true, true
		sets[set] = sets[set] || ok
	}
	return by
}
