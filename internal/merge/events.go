package merge

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// hash is a 64-bit hash that is the same in every run, because it decides which events are kept.
type hash uint64

const (
	hashStart  hash   = 0x9e3779b97f4a7c15
	hashFactor uint64 = 0xa0761d6478bd642f
)

func newHash() hash { return hashStart }

// number mixes in a number, by both halves of a 128-bit product.
func (h hash) number(n uint64) hash {
	high, low := bits.Mul64(uint64(h)^n, hashFactor)
	return hash(high ^ low)
}

// bytes mixes in a text and its length.
func (h hash) bytes(b []byte) hash {
	h = h.number(uint64(len(b)) + 1)
	for ; len(b) >= 8; b = b[8:] {
		h = h.number(binary.LittleEndian.Uint64(b))
	}
	var rest [8]byte
	copy(rest[:], b)
	return h.number(binary.LittleEndian.Uint64(rest[:]))
}

// sampledEvents holds event times by pid, tid and name. A large input keeps only a sample, chosen by hash, so that two inputs
// keep the same part of their common events.
type sampledEvents struct {
	limit  int
	index  map[uint64]int32 // in list
	list   []eventTimes
	stored int
	mask   uint64 // only hashes with none of these bits are kept
}

// eventTimes holds the times of the events of one kind.
type eventTimes struct {
	hash   uint64
	pid    int64
	times  []Nanos
	common bool // too frequent to be of use: times are not kept
}

// maxOfKind is the maximum number of times kept for one kind. Frequent events prove little.
const maxOfKind = 1 << 11

func (s *sampledEvents) add(h uint64, pid int64, ts Nanos) {
	if mixed(h)&s.mask != 0 {
		return
	}
	at, ok := s.index[h]
	if !ok {
		if s.index == nil {
			s.index = map[uint64]int32{}
		}
		at = int32(len(s.list))
		s.index[h] = at
		s.list = append(s.list, eventTimes{hash: h, pid: pid})
		s.stored++
	}
	e := &s.list[at]
	switch {
	case e.common:
		return
	case len(e.times) == min(maxOfKind, s.limit/8):
		s.stored -= len(e.times)
		e.times, e.common = nil, true
		return
	}
	e.times = append(e.times, ts)
	if s.stored++; s.stored > s.limit {
		s.thin()
	}
}

// thin drops half of the kinds at a time, until the rest is within the limit.
func (s *sampledEvents) thin() {
	for s.stored > s.limit && s.mask != 1<<32-1 {
		s.mask = s.mask<<1 | 1
		kept := s.list[:0]
		s.stored = 0
		clear(s.index)
		for _, e := range s.list {
			if mixed(e.hash)&s.mask == 0 {
				s.index[e.hash] = int32(len(kept))
				kept = append(kept, e)
				s.stored += len(e.times) + 1
			}
		}
		clear(s.list[len(kept):])
		s.list = kept
	}
}

// sort prepares the events for comparison. No more events may be added after that.
func (s *sampledEvents) sort() {
	for i := range s.list {
		slices.Sort(s.list[i].times)
	}
	slices.SortFunc(s.list, func(a, b eventTimes) int { return cmp.Compare(a.hash, b.hash) })
	s.index = nil
}

// within returns the part of sorted times that lies in a range.
func within(times []Nanos, r Range) []Nanos {
	from := sort.Search(len(times), func(i int) bool { return times[i] >= r.From })
	to := sort.Search(len(times), func(i int) bool { return times[i] > r.To })
	return times[from:max(from, to)]
}

// Rule R2.
const (
	rareEvery Nanos = 10_000_000 // the minimum average distance of rare events
	nearby    Nanos = 100_000
	minSame         = 100
	sameInTwo       = 2 // one in two must be the same
)

// sameEvents counts the rare events that two inputs have in common.
type sameEvents struct {
	Same, Of int // of the Of rare events in the input that has fewer, Same have a match in the other
}

// holds reports whether rule R2 applies.
func (s sameEvents) holds() bool { return s.Same >= minSame && s.Same*sameInTwo >= s.Of }

// compareEvents counts the rare events that a and b have in common once the times of b are moved by offset.
func compareEvents(a, b *Clues, offset Nanos) sameEvents {
	var of [2]int
	var same int
	eachKind(a, b, offset, func(_ int64, n, m, alike int) {
		of[0], of[1], same = of[0]+n, of[1]+m, same+alike
	})
	return sameEvents{Same: same, Of: min(of[0], of[1])}
}

// minOther is the minimum number of rare events in each input needed to decide whether a process is the same one.
const minOther = 16

// otherProcesses reports which processes with equal pids in two inputs with the same events are nevertheless different,
// because fewer than half of their events match. Processes with too few events to decide are omitted.
func otherProcesses(a, b *Clues, offset Nanos) map[timeline.ProcessKey]bool {
	type counts struct{ n, m, same int }
	of := map[int64]counts{}
	eachKind(a, b, offset, func(pid int64, n, m, same int) {
		c := of[pid]
		of[pid] = counts{c.n + n, c.m + m, c.same + same}
	})
	others := map[timeline.ProcessKey]bool{}
	for pid, c := range of {
		if least := min(c.n, c.m); least >= minOther {
			others[timeline.ProcessKey{Num: pid}] = c.same*sameInTwo < least
		}
	}
	return others
}

// eachKind calls f for each kind of event, with its pid, the numbers of its rare events in the period that two inputs have in
// common, and how many of them match.
func eachKind(a, b *Clues, offset Nanos, f func(pid int64, n, m, alike int)) {
	common := Range{max(a.Start, plus(b.Start, offset)), min(a.End, plus(b.End, offset))}
	if !a.Any || !b.Any || common.To <= common.From {
		return
	}
	most := int(minus(common.To, common.From)/rareEvery) + 1
	mask := a.events.mask | b.events.mask
	for i, j := 0, 0; i < len(a.events.list) || j < len(b.events.list); {
		switch {
		case j == len(b.events.list) || i < len(a.events.list) && a.events.list[i].hash < b.events.list[j].hash:
			x := &a.events.list[i]
			f(x.pid, rareIn(x, mask, common, most, 0), 0, 0)
			i++
		case i == len(a.events.list) || a.events.list[i].hash > b.events.list[j].hash:
			y := &b.events.list[j]
			f(y.pid, 0, rareIn(y, mask, common, most, offset), 0)
			j++
		default:
			x, y := &a.events.list[i], &b.events.list[j]
			if n, m := rareIn(x, mask, common, most, 0), rareIn(y, mask, common, most, offset); n > 0 && m > 0 {
				f(x.pid, n, m, near(within(x.times, common), within(y.times, Range{common.From - offset, common.To - offset}), offset))
			}
			i, j = i+1, j+1
		}
	}
}

// rareIn returns how many events of a kind are in a range, or 0 if they are not rare there.
func rareIn(e *eventTimes, mask uint64, r Range, most int, offset Nanos) int {
	if mixed(e.hash)&mask != 0 || e.common {
		return 0
	}
	if n := len(within(e.times, Range{r.From - offset, r.To - offset})); n <= most {
		return n
	}
	return 0
}

// near counts pairs of times close to each other; each time is in at most one pair.
func near(x, y []Nanos, offset Nanos) (n int) {
	for len(x) > 0 && len(y) > 0 {
		switch d := y[0] + offset - x[0]; {
		case d < -nearby:
			y = y[1:]
		case d > nearby:
			x = x[1:]
		default:
			n++
			x, y = x[1:], y[1:]
		}
	}
	return n
}

// plural formats a count and its noun: "3 responses" for 3 and "response".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if strings.HasSuffix(what, "y") {
		return fmt.Sprintf("%d %sies", n, strings.TrimSuffix(what, "y"))
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// collectives are parts of the names, in lower case and without underscores, of operations that return no result to any rank
// before all have contributed. Other collectives prove nothing: a rank that broadcasts, sends or reduces does not wait for
// late ranks.
var collectives = []string{"allreduce", "allgather", "reducescatter", "alltoall", "barrier"}

// launches are PyTorch's categories of calls that start work on a device and return before it is done.
var launches = []string{"cpu_op", "cuda_runtime", "cuda_driver", "user_annotation", "python_function"}

// isCollective reports whether a slice is an operation that no participant leaves before all have entered it.
func isCollective(name, category []byte) bool {
	if len(name) == 0 || len(name) > 1<<10 || slices.Contains(launches, string(category)) {
		return false
	}
	lower := strings.ReplaceAll(strings.ToLower(string(name)), "_", "")
	return slices.ContainsFunc(collectives, func(c string) bool { return strings.Contains(lower, c) })
}

// isSync reports whether a key is a sync, which relates clocks, and not the key of a flow.
func isSync(key string) bool { return strings.HasPrefix(key, syncKey) }

// Prefixes of the keys that this package makes.
const (
	syncKey = "sync:"
	linkKey = "link:"
)
