package flowbind

import "github.com/weft-trace/weft/internal/problem"

// maxLinked is how many events one key may link: more have something in common that says nothing of them.
const maxLinked = 64

// finishLink makes a flow of the events that carry one key, in the order of time, if they are of several inputs.
func (l *linker) finishLink() {
	all := l.links
	l.links = l.links[:0]
	several := false
	for i := range all {
		several = several || all[i].input != all[0].input
	}
	switch {
	case len(all) > maxLinked:
		l.count(problem.LinkAmbiguous, &all[0])
		return
	case !several:
		return
	}
	for i := range all {
		before := l.state
		if l.state == none {
			l.begin(&all[i])
		} else if all[i].slice.Ordinal != l.producer.Ordinal { // an event may carry its key twice
			l.arrow(&all[i])
			l.producer = all[i].slice
		}
		l.steps.step(&all[i], before)
	}
	l.visitor.End(false)
	l.endChain()
	l.state = none
}
