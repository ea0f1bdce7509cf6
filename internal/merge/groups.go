package merge

// groups partitions the numbers 0, 1, … into disjoint sets. The lowest number in a set represents it.
type groups []int

func newGroups(n int) groups {
	g := make(groups, n)
	for i := range g {
		g[i] = i
	}
	return g
}

// find returns the number that represents the set of i.
func (g groups) find(i int) int {
	for g[i] != i {
		i = g[i]
	}
	return i
}

// join joins the sets of a and b.
func (g groups) join(a, b int) {
	x, y := g.find(a), g.find(b)
	root := min(x, y)
	for _, i := range [...]int{a, b} { // keep the path to the root short
		for g[i] != i {
			g[i], i = root, g[i]
		}
	}
	g[max(x, y)] = root
}
