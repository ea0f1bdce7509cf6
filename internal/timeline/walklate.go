package timeline

import "context"

// WalkLate is Walk for passes that look at few arguments: it reads arguments of slices and instants only for Item.ReadArgs.
func (t *Timeline) WalkLate(ctx context.Context, fn func(*Item) error) error {
	for i := range t.SegmentCount() {
		if err := t.walkSegment(ctx, i, true, fn); err != nil {
			return err
		}
	}
	return nil
}

// WalkSlices is WalkLate for the slices on some tracks alone, in half the time: it leaves out instants, counters, samples, notes, and what an
// overlay has. Flows only decide the order, as in Walk. It counts no problems.
func (t *Timeline) WalkSlices(ctx context.Context, tracks func(TrackID) bool, fn func(*Item) error) error {
	samples, err := t.sampled.cursor(0, 0)
	if err != nil {
		return err
	}
	w := t.newWalker(fn, 0, true, samples)
	if err := w.flows.open(t.flows, 0); err != nil {
		return err
	}
	w.only = make([]bool, len(t.table.tracks))
	for id := range w.only {
		w.only[id] = tracks(TrackID(id))
	}
	return w.walk(ctx, uint64(t.store.len()), true)
}

// takes reports whether a walk over slices has a record.
func (w *walker) takes(r *record) bool {
	return (r.Kind() == Slice || r.Kind() == Begin) && w.only[r.track]
}

// ReadArgs reads the arguments of an item of WalkLate or WalkSlices; other walks have read them already. They are valid while the
// item is. The error is one of the temporary files.
func (it *Item) ReadArgs() error {
	w, r := it.walker, it.late
	switch {
	case r == nil || it.Args != nil:
		return nil
	case r.hasTemplate():
		w.expanded = w.t.templates.appendArgs(w.expanded[:0], r)
		it.Args = w.expanded
		return nil
	}
	b, err := w.payloads.payload(r.payload)
	if err == nil {
		it.Args = decodePayload(b, r.flags).args
	}
	return err
}

// Template returns the template of arguments that are not read; 0 if they have none. Slices that have the same one have the same name and
// category, and the same arguments but for two numbers.
func (it *Item) Template() TemplateID {
	if it.late == nil || !it.late.hasTemplate() {
		return 0
	}
	return TemplateID(it.late.payload)
}

// MayHaveArg reports whether there may be arguments of a name, or members of one.
func (t *Timeline) MayHaveArg(name string) bool { return t.keys.full || t.keys.knows(name) }
