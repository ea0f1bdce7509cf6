package timeline

import "fmt"

// UniqueNames are names that are taken, and the number that each of them got last.
type UniqueNames map[string]int

// Take returns a name that is not taken: the given one, or that with the next free number, "NAME #2". Many equal names take time in proportion
// to their number.
func (u UniqueNames) Take(name string) string {
	own, n := name, u[name]+1
	for n > 1 {
		own = fmt.Sprintf("%s #%d", name, n)
		if u[own] == 0 {
			u[own] = 1
			break
		}
		n++
	}
	u[name] = n
	return own
}
