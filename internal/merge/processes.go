package merge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// findProcesses finds which processes of the inputs are one, and of which threads profiles are.
func (s *solver) findProcesses() {
	s.sameInputs()
	for i := range s.in {
		if p := s.in[i].Clues; p != nil && (p.CPUProfile || p.SelfProfile) {
			s.placeProfile(i, p)
		}
	}
	s.listProcesses()
}

// sameInputs finds inputs of which all equal pids are one process: those that someone says to be of one host, and those with the same
// events, once they are aligned.
func (s *solver) sameInputs() {
	for _, group := range s.opts.Same {
		for _, a := range group {
			for _, b := range group {
				s.plan.all[pair{a, b}] = true
			}
		}
	}
	for b := range s.in {
		for a := range b {
			x, y := s.in[a].Clues, s.in[b].Clues
			one := s.in[a].Host != "" && s.in[a].Host == s.in[b].Host
			if x == nil || y == nil || !one && !s.compares(a, b) {
				continue
			}
			if !one && !s.apart(a, b) {
				one = s.same[pair{a, b}]
				offset := s.plan.Inputs[b].Offset - s.plan.Inputs[a].Offset
				if !one && offset != 0 && s.spend(len(x.events.list)+len(y.events.list)) {
					one = compareEvents(x, y, offset).holds()
				}
				s.same[pair{a, b}] = one
			}
			if one {
				s.plan.all[pair{a, b}], s.plan.all[pair{b, a}] = true, true
			}
		}
	}
}

// placeProfile finds the thread that a profile is of.
func (s *solver) placeProfile(i int, p *Clues) {
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
			s.tie(i, tie{a, best.thread})
			return
		}
	}
}

// tie says of which thread a profile is.
func (s *solver) tie(i int, t tie) {
	s.plan.Inputs[i].Thread = &t.thread
	process := timeline.ProcessKey{Num: t.thread.PID}
	s.in[i].Clues.processes[process] = true
	s.plan.shares[shareKey{pair{t.input, i}, process}] = true
	// It is of this process in all inputs that have it.
	for a := range s.in {
		if s.plan.all[pair{a, t.input}] {
			s.plan.shares[shareKey{pair{a, i}, process}] = true
		}
	}
}

// Shares reports whether a process of an earlier input is that of a later one with the same id.
func (p *Plan) Shares(earlier, later int, id timeline.ProcessKey) bool {
	return p.all[pair{earlier, later}] || p.shares[shareKey{pair{earlier, later}, id}] || p.shares[shareKey{pair{later, earlier}, id}]
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
		if len(inputs) < 2 {
			continue
		}
		p := SameProcess{PID: id.String(), Inputs: inputs}
		for i, b := range inputs {
			for _, a := range inputs[:i] {
				if s.plan.Shares(a, b, id) {
					p.By = cmp.Or(p.By, s.sharedBy(a, b))
				}
			}
		}
		s.plan.Processes = append(s.plan.Processes, p)
	}
	slices.SortFunc(s.plan.Processes, func(a, b SameProcess) int {
		return cmp.Or(cmp.Compare(len(a.PID), len(b.PID)), strings.Compare(a.PID, b.PID))
	})
}

// sharedBy says why two inputs have a process in common.
func (s *solver) sharedBy(a, b int) string {
	switch {
	case s.same[pair{a, b}]:
		return SameEvents.String()
	case s.plan.all[pair{a, b}]:
		return Given.String()
	}
	return SameSamples.String()
}
