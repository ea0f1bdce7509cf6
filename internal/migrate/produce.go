package migrate

import (
	"context"
	"strings"
	"unicode"

	"github.com/weft-trace/weft/internal/extsort"
)

// A producer walks inputs and records side by side, and makes tasks for the inputs to open.
type producer struct {
	*run
	base  *records
	ahead *Record // the next record of base
	ended bool
	known int64 // records
	sums  *summarizer

	seen    *Collisions
	decided []Decided
}

// produce decides about all inputs, and handles the records of missing inputs.
func (p *producer) produce(ctx context.Context, sources extsort.Sequence[Found]) error {
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var f Found
		ok, err := sources(&f)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := p.input(&f); err != nil {
			return err
		}
	}
	for {
		record, err := p.record(nil)
		if record == nil || err != nil {
			return err
		}
		if err := p.gone(record); err != nil {
			return err
		}
	}
}

// record returns the next record, or nil if its input comes after limit or there are no more records.
func (p *producer) record(limit *string) (*Record, error) {
	if p.ahead == nil && !p.ended {
		record, err := p.base.read()
		if err != nil {
			return nil, err
		}
		p.ahead, p.ended = record, record == nil
	}
	if p.ahead == nil || limit != nil && comparePaths(p.ahead.Input, *limit) > 0 {
		return nil, nil
	}
	record := p.ahead
	p.ahead = nil
	p.known++
	p.sums.add(record)
	return record, nil
}

// wholeTree reports whether the run covers everything that can have records.
func (p *producer) wholeTree() bool {
	return len(p.Inputs) == 1 && len(p.Lists) == 0 && len(p.filters) == 0 && p.Shard.Count <= 1 && !p.RetryFailed && p.places.isWhole(p.Inputs[0])
}

// gone handles the record of a missing input. Converted inputs keep their record; failed and skipped ones lose it.
func (p *producer) gone(record *Record) error {
	if record.State == Done || p.DryRun || !p.wholeTree() {
		return nil
	}
	return p.forget(record)
}

// prior returns the record of an input, and its members' records. It treats earlier records as records of missing inputs.
func (p *producer) prior(path string) (own *Record, members map[string]*Record, err error) {
	for {
		record, err := p.record(&path)
		if record == nil || err != nil {
			return own, members, err
		}
		switch {
		case record.Input != path:
			if err := p.gone(record); err != nil {
				return nil, nil, err
			}
		case record.Member == "":
			own = record
		default:
			if members == nil {
				members = map[string]*Record{}
			}
			members[record.Member] = record
		}
	}
}

// input decides what to do with an input, and queues its task or records its outcome.
func (p *producer) input(f *Found) error {
	if !p.filters.take(f.Path) {
		_, _, err := p.prior(f.Path)
		return err
	}
	p.counts.found.Add(1)
	p.counts.foundBytes.Add(f.Size)
	own, members, err := p.prior(f.Path)
	if err != nil {
		return err
	}
	collision := ""
	if f.State == "" {
		collision = p.seen.With(f.Path)
	}
	if !p.Shard.Has(f.Path) {
		return nil
	}
	if f.State != "" {
		return p.unopened(f, own)
	}
	t := &Task{Found: *f, Prior: own, Members: members, Collision: collision}
	var memberFailed bool
	if t.Action, t.Why, memberFailed = p.decideFile(f, own, members); memberFailed && t.Action == actSkip {
		p.counts.failedBefore.Add(1)
	}
	if collision != "" && t.Action != actSkip {
		t.Action, t.Why = actConvert, string(KindCollision)
	}
	if p.OnDecision != nil || p.DryRun {
		p.decide1(t)
		return nil
	}
	p.pass(t)
	return nil
}

// pass queues the task of an input to open, and counts other tasks.
func (p *producer) pass(t *Task) {
	switch t.Action {
	case actSkip:
		p.counts.unchanged.Add(1)
	case actFail:
		p.counts.failedBefore.Add(1)
	default:
		p.counts.todo.Add(1)
		p.counts.todoBytes.Add(t.Found.Size)
		p.queue.add(t)
	}
}

// unopened records an input that is not opened.
func (p *producer) unopened(f *Found, own *Record) error {
	record := p.newRecord(f.Path, "", f.Size, f.Mtime)
	record.State, record.Kind, record.Reason = f.State, f.Kind, f.Reason
	if own != nil && own.State == Done && f.State == Skipped {
		return nil // its output is still valid
	}
	if p.convertedAndGone(f, own) {
		f.Size, f.Mtime = own.Size, own.MtimeNS
		t := &Task{Found: *f, Prior: own, Action: actSkip, Why: whyUnchanged}
		if p.DryRun {
			p.decide1(t)
			return nil
		}
		p.pass(t)
		return nil
	}
	if p.DryRun {
		action := actSkip
		if f.State == Failed {
			action = actFail
		}
		p.decide1(&Task{Found: *f, Action: action, Why: string(f.Kind)})
		return nil
	}
	if own != nil && sameOutcome(own, record) {
		if record.State == Failed {
			p.counts.failedBefore.Add(1)
		} else {
			p.counts.unchanged.Add(1)
		}
		return nil
	}
	if own != nil {
		record.Output = own.Output
	}
	return p.finish(record)
}

// sameOutcome reports whether a record has the outcome of the previous one.
func sameOutcome(a, b *Record) bool {
	return a != nil && a.State == b.State && a.Kind == b.Kind && a.Reason == b.Reason && a.Size == b.Size && a.MtimeNS == b.MtimeNS && a.OptionsID == b.OptionsID
}

// Collisions finds inputs with the same output. It keeps only 64 bits per output, so that millions fit: among a million
// inputs, two collide by chance once in ten million runs.
type Collisions struct {
	seen   map[inputKey]struct{}
	recent [256]struct{ key, input string }
}

// NewCollisions returns an empty Collisions.
func NewCollisions() *Collisions { return &Collisions{seen: map[inputKey]struct{}{}} }

// With returns the earlier input with the same output, or "". It ignores case, because trees may be moved to
// case-insensitive file systems.
func (c *Collisions) With(input string) string {
	folded := strings.ToLower(foldCase(outputName(input, "")))
	k := keyOf(folded, "")
	slot := &c.recent[int(k[0])]
	if _, ok := c.seen[k]; ok {
		if slot.key == folded {
			return slot.input
		}
		return "an earlier input"
	}
	c.seen[k] = struct{}{}
	slot.key, slot.input = folded, input
	return ""
}

// foldCase makes names that differ only in case equal.
func foldCase(name string) string {
	return strings.Map(func(r rune) rune { return unicode.ToLower(unicode.ToUpper(r)) }, name)
}

func foldKey(name string) inputKey { return keyOf(foldCase(name), "") }

// A Decided counts the inputs of a dry run with the same action and reason.
type Decided struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	Files  int64  `json:"files"`
	Bytes  int64  `json:"bytes"`
}

// decide1 reports a decision of a dry run to OnDecision, and counts it.
func (p *producer) decide1(t *Task) {
	action := t.Action
	if t.Why == string(KindCollision) {
		action = actFail
	}
	d := Decision{Input: t.Found.Path, Size: t.Found.Size, Action: action, Reason: t.Why}
	if p.OnDecision != nil {
		p.OnDecision(d)
	}
	for i := range p.decided {
		if c := &p.decided[i]; c.Action == action && c.Reason == t.Why {
			c.Files++
			c.Bytes += t.Found.Size
			return
		}
	}
	p.decided = append(p.decided, Decided{action, t.Why, 1, t.Found.Size})
}
