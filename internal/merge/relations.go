package merge

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// Rule is the source of a relation, see docs/merge.md. Among exact rules, lower ones outrank higher ones.
type Rule uint8

// The rules.
const (
	Given       Rule = iota // R0
	SameSamples             // R1
	SameEvents              // R2
	SameBoot                // R3
	ClockSync               // R4
	WallClock               // R5
	Causality               // R6
	Assumed                 // R7
)

var ruleNames = [...]string{"given", "same samples", "same events", "same boot", "clock sync", "wall clock", "causality", "assumed"}

// String returns the name of the rule.
func (r Rule) String() string { return ruleNames[r] }

// strong reports whether a rule outranks wall clocks and causality.
func (r Rule) strong() bool { return r <= ClockSync }

// Relation is an interval, Low to High, of offsets that turn times of the input B into times of the input A.
type Relation struct {
	A, B      int
	Rule      Rule
	Low, High Nanos
	Evidence  string
	AtLeast   bool // the clocks themselves may be wrong by more

	dispute *dispute // set if causal bounds contradict each other; Low and High then cover all of them
}

// maxNanos is the longest duration: 292 years.
const maxNanos = Nanos(math.MaxInt64)

// unbounded is the end of an interval that is unbounded on that side.
const unbounded = maxNanos

// width returns the width of the interval, which is twice its uncertainty.
func (r *Relation) width() Nanos { return minus(r.High, r.Low) }

// bounded reports whether a relation bounds an offset on both sides.
func (r *Relation) bounded() bool { return r.HasLow() && r.HasHigh() }

// HasLow reports whether a relation bounds an offset from below.
func (r *Relation) HasLow() bool { return r.Low > -unbounded }

// HasHigh reports whether a relation bounds an offset from above.
func (r *Relation) HasHigh() bool { return r.High < unbounded }

// why names the rule and its evidence.
func (r *Relation) why() string {
	if r.Evidence == "" {
		return r.Rule.String()
	}
	return r.Rule.String() + " (" + r.Evidence + ")"
}

// reversed returns the relation with A and B swapped.
func (r Relation) reversed() Relation {
	r.A, r.B, r.Low, r.High = r.B, r.A, -r.High, -r.Low
	if r.dispute != nil {
		d := *r.dispute
		d.best = d.best.seenFrom(false)
		r.dispute = &d
	}
	return r
}

// relations finds the relations of all pairs of inputs.
func (s *solver) relations() {
	s.given()
	for b := range s.in {
		s.samples(b)
	}
	s.findPairs()
	for _, p := range s.pairs {
		s.events(p.a, p.b)
		s.boot(p.a, p.b)
	}
	s.groupHosts()
	for _, p := range s.pairs {
		s.shared(p.a, p.b)
		s.wall(p.a, p.b)
	}
	s.hostSyncs()
	s.links()
}

func (s *solver) add(r Relation) { s.all = append(s.all, r) }

// given adds the user's offsets, which are relative to the reference.
func (s *solver) given() {
	for _, g := range s.opts.Offsets {
		if g.Input != s.plan.Reference {
			s.add(Relation{A: s.plan.Reference, B: g.Input, Rule: Given, Low: minus(g.Offset, g.Within), High: plus(g.Offset, g.Within)})
		} else if note := fmt.Sprintf("the offset given for %s has no effect: all inputs are on its clock, so give the offsets of the others",
			s.in[g.Input].Name); g.Offset != 0 && !slices.Contains(s.plan.Notes, note) {
			s.plan.Notes = append(s.plan.Notes, note)
		}
	}
}

// events applies rule R2: two recorders recorded the same events.
func (s *solver) events(a, b int) {
	x, y := s.in[a].Clues, s.in[b].Clues
	if s.apart(a, b) || !s.spend(len(x.events.list)+len(y.events.list)) {
		return
	}
	if found := compareEvents(x, y, 0); found.holds() {
		s.add(Relation{A: a, B: b, Rule: SameEvents, Evidence: fmt.Sprintf("%d of %d", found.Same, found.Of)})
		s.same[pair{a, b}], s.common[pair{a, b}] = true, found
	}
}

// maxCompared bounds how many kinds of events are compared.
const maxCompared = 1 << 27

// spend reports whether the budget allows n more comparisons, and deducts them.
func (s *solver) spend(n int) bool {
	if s.compared+n > maxCompared {
		return false
	}
	s.compared += n
	return true
}

// Rule R3.
const (
	sameBoot   Nanos = 2_000_000
	goodAnchor Nanos = 2_000_000 // width of ± 1 ms
)

// fingerprint returns REALTIME − MONOTONIC on the host of an input, which distinguishes its boot from others.
func (c *Clues) fingerprint() (Nanos, bool) {
	linux := c.Domain == "" || c.Domain == "LINUX_CLOCK_MONOTONIC"
	if c.Wall == nil || !c.Monotonic || c.Wall.High-c.Wall.Low > goodAnchor || !linux {
		return 0, false
	}
	return c.Wall.Middle() - c.ToMonotonic, true
}

// boot applies rule R3: the clocks were started and set together.
func (s *solver) boot(a, b int) {
	x, ok := s.in[a].Clues.fingerprint()
	y, ok2 := s.in[b].Clues.fingerprint()
	if !ok || !ok2 || s.apart(a, b) || abs(x-y) > sameBoot {
		return
	}
	s.booted[pair{a, b}] = true
	to := s.in[b].Clues.ToMonotonic - s.in[a].Clues.ToMonotonic
	s.add(Relation{
		A: a, B: b, Rule: SameBoot, Low: to, High: to,
		Evidence: fmt.Sprintf("REALTIME − MONOTONIC differ by %s", span(abs(x-y))),
	})
}

// shared applies rule R3 to inputs that the user puts on one host: they share its clocks, unless it was rebooted or its clock
// was set between the recordings.
func (s *solver) shared(a, b int) {
	x, y := s.in[a].Clues, s.in[b].Clues
	given := s.in[a].Host != "" || s.in[b].Host != ""
	one := given && s.host(a) == s.host(b) || s.plan.spaces.find(a) == s.plan.spaces.find(b)
	if !one || s.booted[pair{a, b}] || s.hostsDiffer(a, b) || otherDomains(x, y) {
		return
	}
	to := Nanos(0)
	switch {
	case x.Monotonic && y.Monotonic:
		to = minus(y.ToMonotonic, x.ToMonotonic)
	case x.Clock != ClockBoottime || y.Clock != ClockBoottime:
		return
	}
	s.booted[pair{a, b}] = true
	s.add(Relation{A: a, B: b, Rule: SameBoot, Low: to, High: to, Evidence: "one host, as given"})
}

// otherDomains reports whether two inputs have different clock domains.
func otherDomains(x, y *Clues) bool { return x.Domain != "" && y.Domain != "" && x.Domain != y.Domain }

// wall applies rule R5. The wall clocks of two hosts, or of inputs possibly from two hosts, may differ by an unknown amount.
func (s *solver) wall(a, b int) {
	x, y := s.in[a].Clues.Wall, s.in[b].Clues.Wall
	if x == nil || y == nil || s.booted[pair{a, b}] { // R3 relates these anchors more exactly
		return
	}
	by := x.By + "; " + y.By
	if x.By == y.By {
		by = x.By + " in both"
	}
	s.add(Relation{
		A: a, B: b, Rule: WallClock, Low: minus(y.Low, x.High), High: minus(y.High, x.Low), AtLeast: !s.oneHost(a, b), Evidence: by,
	})
}

// assumed applies rule R7 to inputs that no other rule places.
func (s *solver) assumed(a, b int) (r Relation, ok bool) {
	x, y := s.in[a].Clues, s.in[b].Clues
	switch {
	case s.hostsDiffer(a, b), x.Clock != ClockMonotonic || y.Clock != ClockMonotonic, otherDomains(x, y),
		!x.Any || !y.Any, x.Start > y.End || y.Start > x.End:
		return r, false
	}
	if x.Wall != nil && y.Wall != nil && (y.Low(x) > 0 || y.High(x) < 0) {
		return r, false
	}
	r = Relation{A: a, B: b, Rule: Assumed, Evidence: "both are monotonic clocks, and their times overlap"}
	for _, side := range [...][2]int{{a, b}, {b, a}} {
		trace, profile := s.in[side[0]].Clues, s.in[side[1]].Clues
		if !profile.CPUProfile {
			continue
		}
		best, _, of := trace.placeScript(profile, 0)
		if of < minSame || best.share() < confirmed {
			s.why[side[1]] = &UnconfirmedError{In: best.in, Of: of, Needs: minSame}
			return r, false
		}
		r.Evidence = fmt.Sprintf("%d of %d samples of JavaScript lie in calls of thread %d", best.in, of, best.thread.TID)
	}
	return r, true
}

// Low and High bound the difference between two inputs' wall clocks.
func (c *Clues) Low(other *Clues) Nanos  { return c.Wall.Low - other.Wall.High }
func (c *Clues) High(other *Clues) Nanos { return c.Wall.High - other.Wall.Low }

// Percentages of JavaScript samples in the invocations of a thread, from which a place is confirmed and below which it is
// excluded.
const (
	confirmed = 95
	excluded  = 50
)

// scriptsIn counts the JavaScript samples that lie in the invocations of a thread.
type scriptsIn struct {
	thread Thread
	in, of int
}

// share returns the percentage of the samples that lie in the invocations.
func (s scriptsIn) share() int {
	if s.of == 0 {
		return 0
	}
	return s.in * 100 / s.of
}

// placeScript finds the two threads whose invocations contain the most JavaScript samples of a profile moved by an offset.
// Samples outside the trace do not count.
func (c *Clues) placeScript(p *Clues, offset Nanos) (best, next scriptsIn, of int) {
	script := c.scriptOf(p.Script, offset)
	for thread := range c.Invocations {
		found := c.scriptsIn(thread, script, offset, 0)
		switch {
		case found.in > best.in || found.in == best.in && best.of > 0 && less(thread, best.thread) || best.of == 0:
			best, next = found, best
		case found.in > next.in || next.of == 0:
			next = found
		}
	}
	return best, next, len(script)
}

// scriptOf returns the JavaScript samples that, moved by an offset, lie within the time span of the trace.
func (c *Clues) scriptOf(script []Nanos, offset Nanos) []Nanos {
	return within(script, Range{minus(c.Start, offset), minus(c.End, offset)})
}

// scriptsIn counts the JavaScript samples that, moved by an offset with some uncertainty, lie in the invocations of a thread.
func (c *Clues) scriptsIn(thread Thread, script []Nanos, offset, uncertain Nanos) scriptsIn {
	found := scriptsIn{thread: thread, of: len(script)}
	calls := c.Invocations[thread]
	for _, ts := range script {
		ts = plus(ts, offset)
		for len(calls) > 0 && plus(calls[0].To, uncertain) < ts {
			calls = calls[1:]
		}
		if len(calls) > 0 && minus(calls[0].From, uncertain) <= ts {
			found.in++
		}
	}
	return found
}

func less(a, b Thread) bool { return a.PID < b.PID || a.PID == b.PID && a.TID < b.TID }

func abs(n Nanos) Nanos { return max(n, -n) }

// linked is an event of an input that carries a key.
type linked struct {
	input int
	linkClue
}

// links applies rules R4 and R6 to inputs whose events carry the same keys.
func (s *solver) links() {
	byKey := map[uint64][]linked{}
	for i := range s.in {
		if s.in[i].Clues == nil {
			continue
		}
		for _, l := range s.in[i].Clues.links {
			byKey[l.key] = append(byKey[l.key], linked{i, l})
		}
	}
	keys := slices.Sorted(maps.Keys(byKey)) // so that the evidence does not depend on the order of a map
	all := map[pair]*bounds{}
	of := func(a, b int) *bounds { return boundsOf(all, a, b) }
	var meetings []meeting
	for _, key := range keys {
		members := byKey[key]
		if members[0].role == timeline.LinkMeet && members[0].input != members[len(members)-1].input {
			meetings = append(meetings, meetingOf(members))
		}
		s.bound(of, members)
	}
	s.meet(all, meetings)
	if disputed := disputedOf(all); len(disputed) > 0 {
		of = func(a, b int) *bounds { return disputed[pair{a, b}] }
		for _, key := range keys {
			s.bound(of, byKey[key])
		}
		for p := range disputed {
			s.meetApart(of, p, meetings)
		}
	}
	for _, p := range slices.SortedFunc(maps.Keys(all), comparePairs) {
		all[p].relate(s, p)
	}
}

// maxLinked is the maximum number of events per key, except for collectives and syncs.
const maxLinked = 64

// bounds holds the bounds that links imply for a pair of inputs.
type bounds struct {
	causal, sync interval
	halves       [2]interval // the causal bounds of each half of the recording
	all          []interval  // every causal bound, if they contradict each other
	disputed     bool
	arrows       int
	meetings     int
	syncs        int
}

// interval is a range that contains an offset.
type interval struct{ low, high Nanos }

var everywhere = interval{-unbounded, unbounded}

// fits reports whether an interval contains any offset.
func (i interval) fits() bool { return i.low <= i.high }

// String formats the interval.
func (i interval) String() string {
	switch {
	case i.low <= -unbounded:
		return "at most " + span(i.high)
	case i.high >= unbounded:
		return "at least " + span(i.low)
	case i.low == i.high:
		return span(i.low)
	}
	return span(i.low) + " to " + span(i.high)
}

func (i *interval) atLeast(n Nanos) { i.low = max(i.low, n) }
func (i *interval) atMost(n Nanos)  { i.high = min(i.high, n) }

// bound adds the bounds that events with a common key imply for pairs of inputs, unless the events are a collective.
func (s *solver) bound(of func(a, b int) *bounds, members []linked) {
	switch last := len(members) - 1; {
	case members[0].input == members[last].input || members[0].role == timeline.LinkMeet:
		return
	case len(members) <= maxLinked:
		members = unrepeated(members)
		for i, x := range members {
			for _, y := range members[i+1:] {
				s.boundBy(of, x, y)
			}
		}
	case members[0].role >= timeline.LinkSync:
		members = unrepeated(members)
		for i := 1; i < len(members); i++ { // all are simultaneous, so relating each to the first is enough
			s.boundBy(of, members[0], members[i])
		}
	}
}

// boundBy adds the bounds that a pair of events implies.
func (s *solver) boundBy(of func(a, b int) *bounds, x, y linked) {
	if x.input > y.input {
		x, y = y, x
	}
	if x.input == y.input {
		return
	}
	if b := of(x.input, y.input); b != nil {
		b.take(&x.linkClue, &y.linkClue, s.half(x))
	}
}

// unrepeated omits events whose role occurs several times in an input, because which of them is meant is unknown.
func unrepeated(members []linked) (kept []linked) {
	count := map[[2]int]int{}
	for _, m := range members {
		count[[2]int{m.input, int(m.role)}]++
	}
	for _, m := range members {
		if count[[2]int{m.input, int(m.role)}] == 1 {
			kept = append(kept, m)
		}
	}
	return kept
}

// boundsOf returns the bounds of a pair of inputs.
func boundsOf(all map[pair]*bounds, a, b int) *bounds {
	p := pair{a, b}
	if all[p] == nil {
		all[p] = newBounds()
	}
	return all[p]
}

func newBounds() *bounds {
	return &bounds{causal: everywhere, sync: everywhere, halves: [2]interval{everywhere, everywhere}}
}

// half returns which half of its recording an event is in, 0 or 1.
func (s *solver) half(x linked) int {
	if c := s.in[x.input].Clues; x.ts > c.Start+(c.End-c.Start)/2 {
		return 1
	}
	return 0
}

// take adds a pair of events with a common key; y belongs to the input whose times move.
func (b *bounds) take(x, y *linkClue, half int) {
	switch {
	case x.role == timeline.LinkMeet && y.role == timeline.LinkMeet:
		b.meetings++
		b.narrow(interval{minus(x.ts, y.end), minus(x.end, y.ts)}, half)
	case x.before(y):
		b.arrows++
		b.narrow(interval{minus(x.ts, y.latest), unbounded}, half)
	case y.before(x):
		b.arrows++
		b.narrow(interval{-unbounded, minus(x.latest, y.ts)}, half)
	case x.role >= timeline.LinkSync && y.role >= timeline.LinkSync:
		b.syncs++
		step := max(timeline.StepOf(x.ts), timeline.StepOf(y.ts))
		low, high := minus(minus(x.ts, y.ts), step), plus(minus(x.ts, y.ts), step)
		if x.role == timeline.LinkSyncSent {
			low = minus(x.issued, y.ts)
		}
		if y.role == timeline.LinkSyncSent {
			high = minus(x.ts, y.issued)
		}
		b.sync.atLeast(low)
		b.sync.atMost(high)
	}
}

// narrow adds a causal bound.
func (b *bounds) narrow(by interval, half int) {
	for _, i := range [...]*interval{&b.causal, &b.halves[half]} {
		i.atLeast(by.low)
		i.atMost(by.high)
	}
	if b.disputed && len(b.all) < maxDisputed {
		b.all = append(b.all, by)
	}
}

// before reports whether an event is known to precede another with its key: a request precedes its receivers, and the start of
// a server's span precedes the receipt of the response. The end of the span proves nothing: a client can receive the head of
// the response while the server is still writing it.
func (l *linkClue) before(m *linkClue) bool {
	switch l.role {
	case timeline.LinkSend:
		return m.role == timeline.LinkReceive || m.role == timeline.LinkServe
	case timeline.LinkServe:
		return m.role == timeline.LinkReceive
	}
	return false
}

// relate adds the relations that follow from the bounds.
func (b *bounds) relate(s *solver, p pair) {
	if b.syncs > 0 {
		r := Relation{A: p.a, B: p.b, Rule: ClockSync, Low: b.sync.low, High: b.sync.high, Evidence: plural(b.syncs, "sync")}
		if r.Low > r.High {
			s.refuse(&r, &ContradictionError{A: s.in[r.A].Name, B: s.in[r.B].Name, Found: r, Other: r, Itself: "its syncs contradict each other"})
			return
		}
		s.add(r)
	}
	evidence := b.evidence()
	if evidence == "" {
		return
	}
	if len(s.in) > manyInputs { // a wall clock can give the bound that an arrow does not
		s.wallOfLinked(p)
	}
	r := Relation{A: p.a, B: p.b, Rule: Causality, Low: b.causal.low, High: b.causal.high, Evidence: evidence}
	if !b.causal.fits() {
		b.settleDispute(&r)
		s.plan.Notes = append(s.plan.Notes, b.describeDispute(s.in[p.a].Name, s.in[p.b].Name, r.dispute))
	}
	s.add(r)
}

// wallOfLinked applies rule R5 to a linked pair of inputs that was not compared, unless both are from the same boot.
func (s *solver) wallOfLinked(p pair) {
	boot := s.bootOf[p.a]
	_, compared := slices.BinarySearchFunc(s.pairs, p, compareLater)
	if !compared && (boot < 0 || boot != s.bootOf[p.b]) {
		s.wall(p.a, p.b)
	}
}

// evidence describes the number of links that imply causality.
func (b *bounds) evidence() string {
	var parts []string
	if b.arrows > 0 {
		parts = append(parts, plural(b.arrows, "arrow"))
	}
	if b.meetings > 0 {
		parts = append(parts, plural(b.meetings, "collective"))
	}
	return strings.Join(parts, ", ")
}
