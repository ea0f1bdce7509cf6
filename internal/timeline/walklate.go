package timeline

import "context"

// WalkLate is Walk for passes that need few arguments: the arguments of slices and instants are read only by Item.ReadArgs.
func (t *Timeline) WalkLate(ctx context.Context, fn func(*Item) error) error {
	for i := range t.SegmentCount() {
		if err := t.walkSegment(ctx, i, true, fn); err != nil {
			return err
		}
	}
	return nil
}

// WalkSlices is WalkLate restricted to slices on certain tracks. It takes half the time of WalkLate, because it omits instants,
// counters, samples, notes and overlays. Flows affect only the order, as in Walk. It counts no problems.
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

// isWalkedSlice reports whether WalkSlices includes a record.
func (w *walker) isWalkedSlice(r *record) bool {
	return (r.Kind() == Slice || r.Kind() == Begin) && w.only[r.track]
}

// ReadArgs reads the arguments of an item from WalkLate or WalkSlices; other walks have already read them. The arguments are
// valid for the lifetime of the item. Errors come from temporary files.
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

// Template returns the template for arguments that have not been read, or 0 if there is none. Slices with the same template have
// the same name, category and arguments, except for two numbers.
func (it *Item) Template() TemplateID {
	if it.late == nil || !it.late.hasTemplate() {
		return 0
	}
	return TemplateID(it.late.payload)
}

// MayHaveArg reports whether arguments or members with this name may exist.
func (t *Timeline) MayHaveArg(name string) bool { return t.keys.full || t.keys.knows(name) }
