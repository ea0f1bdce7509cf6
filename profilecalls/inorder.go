package profilecalls

// InOrder brings calls, of whatever type, into the order in which they were created. Calls come when they end, so what
// came since the oldest open call began waits in memory.
type InOrder[C any] struct {
	emit    func(*C)
	waiting []C    // from order first on
	here    []bool // of each place in waiting: whether its call came
	head    int    // places that were emitted
	first   int64
}

// NewInOrder returns an InOrder that calls emit for each call in its turn. The call is valid during the call of emit
// only.
func NewInOrder[C any](emit func(*C)) *InOrder[C] { return &InOrder[C]{emit: emit} }

// Add takes a copy of a call. The order numbers of all calls count from 0 without gaps.
func (q *InOrder[C]) Add(order int64, call *C) {
	i := int(order - q.first)
	for i >= len(q.waiting) {
		var none C
		q.waiting = append(q.waiting, none)
		q.here = append(q.here, false)
	}
	q.waiting[i], q.here[i] = *call, true
	for q.head < len(q.here) && q.here[q.head] {
		q.emit(&q.waiting[q.head])
		q.head++
	}
	if 2*q.head < len(q.waiting) || q.head == 0 {
		return
	}
	kept := copy(q.waiting, q.waiting[q.head:])
	copy(q.here, q.here[q.head:])
	q.waiting, q.here = q.waiting[:kept], q.here[:kept]
	q.first += int64(q.head)
	q.head = 0
}
