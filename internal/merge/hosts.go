package merge

// host returns the host of an input; "" if it is unknown.
func (s *solver) host(i int) string {
	if s.in[i].Host != "" || s.in[i].Clues == nil {
		return s.in[i].Host
	}
	return s.in[i].Clues.Host
}

// apart reports whether two inputs name different hosts.
func (s *solver) apart(a, b int) bool {
	x, y := s.host(a), s.host(b)
	return x != "" && y != "" && x != y
}

// groupHosts groups inputs by host, using the host names from the inputs and the user, and the relations of R1 to R3.
func (s *solver) groupHosts() {
	s.hosts = newGroups(len(s.in))
	s.namedBy = make([]int, len(s.in))
	first := map[string]int{}
	for i := range s.in {
		s.namedBy[i] = -1
		name := s.host(i)
		if name == "" || s.in[i].Clues == nil {
			continue
		}
		k, ok := first[name]
		if !ok {
			first[name], s.namedBy[i] = i, i
			continue
		}
		s.hosts.join(k, i)
	}
	for _, same := range s.opts.Same {
		for _, b := range same[1:] {
			s.joinHosts(&Relation{A: same[0], B: b, Rule: Given})
		}
	}
	for i := range s.all {
		if r := &s.all[i]; r.Rule == SameSamples || r.Rule == SameEvents || r.Rule == SameBoot {
			s.joinHosts(r)
		}
	}
}

// joinHosts records that two inputs are from the same host. It refuses to join hosts with different names.
func (s *solver) joinHosts(r *Relation) {
	a, b := s.hosts.find(r.A), s.hosts.find(r.B)
	if a == b {
		return
	}
	x, y := s.namedBy[a], s.namedBy[b]
	if x >= 0 && y >= 0 {
		by := r.why()
		if r.Rule == Given {
			by = "--same"
		}
		s.refuse(r, &HostsError{
			A: s.in[r.A].Name, B: s.in[r.B].Name, By: by,
			NamedA: s.in[x].Name, HostA: s.host(x), NamedB: s.in[y].Name, HostB: s.host(y),
		})
		return
	}
	s.hosts.join(a, b)
	s.namedBy[min(a, b)] = max(x, y)
}

// hostName returns the name of an input's host, from any input known to share the host; "" if none names it.
func (s *solver) hostName(i int) string {
	if by := s.namedBy[s.hosts.find(i)]; by >= 0 {
		return s.host(by)
	}
	return ""
}

// oneHost reports whether two inputs are known to be from the same host, without evidence that it was rebooted or its clock
// was set between the recordings.
func (s *solver) oneHost(a, b int) bool {
	return s.hosts.find(a) == s.hosts.find(b) && !s.hostsDiffer(a, b)
}

// hostsDiffer reports whether two inputs are known to be from different hosts or boots: names or boot times differ.
func (s *solver) hostsDiffer(a, b int) bool {
	if x, y := s.hostName(a), s.hostName(b); x != "" && y != "" && x != y {
		return true
	}
	x, ok := s.in[a].Clues.fingerprint()
	y, ok2 := s.in[b].Clues.fingerprint()
	return ok && ok2 && abs(x-y) > sameBoot
}

// planHosts writes host names, their number and the machines into the plan.
func (s *solver) planHosts() {
	different := map[string]bool{}
	for i := range s.in {
		if s.in[i].Clues == nil {
			continue
		}
		name := s.hostName(i)
		s.plan.Inputs[i].Host = name
		if name != "" {
			different[name] = true
		}
	}
	s.plan.Hosts = len(different)
	s.machines()
}
