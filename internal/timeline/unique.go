package timeline

import "fmt"

// UniqueNames maps each name in use to the last number appended to it.
type UniqueNames map[string]int

// Take returns an unused name: the given name, or "NAME #2" with the next free number. Many equal names take linear time.
func (u UniqueNames) Take(name string) string {
	unique, n := name, u[name]+1
	for n > 1 {
		unique = fmt.Sprintf("%s #%d", name, n)
		if u[unique] == 0 {
			u[unique] = 1
			break
		}
		n++
	}
	u[name] = n
	return unique
}
