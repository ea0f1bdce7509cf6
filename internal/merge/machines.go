package merge

// machines numbers the hosts that are known to differ from the reference's. Inputs that may be from the reference's host
// count as being from it; others share a machine only with inputs known to be from the same host.
func (s *solver) machines() {
	find, members := s.hosts.find, map[int][]int{}
	for i := range s.in {
		if s.in[i].Clues != nil {
			members[find(i)] = append(members[find(i)], i)
		}
	}
	home := find(s.plan.Reference)
	numbers := map[int]uint32{home: 0}
	for i := range s.in {
		if s.in[i].Clues == nil {
			continue
		}
		group := find(i)
		number, ok := numbers[group]
		if !ok && s.differ(members[home], members[group]) {
			s.plan.Machines = append(s.plan.Machines, s.machineName(members[group]))
			number = uint32(len(s.plan.Machines))
		}
		numbers[group] = number
		s.plan.Inputs[i].Machine = number
	}
}

// differ reports whether the inputs of two groups are known to be from different hosts.
func (s *solver) differ(x, y []int) bool {
	for _, a := range x {
		for _, b := range y {
			if s.hostsDiffer(a, b) {
				return true
			}
		}
	}
	return false
}

// machineName returns the host name of a group of inputs, or the first input's name if no host name is known.
func (s *solver) machineName(group []int) string {
	for _, i := range group {
		if name := s.host(i); name != "" {
			return name
		}
	}
	return s.in[group[0]].Name
}
