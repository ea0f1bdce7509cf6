package timeline

import "context"

// Handle holds a timeline for a public type that embeds it in an unexported field. weft's own packages get at the timeline with Of; a program
// that uses weft does not see the engine, because a Handle has no exported methods.
type Handle struct {
	ctx context.Context
	tl  *Timeline
}

// Holder is a type that embeds a Handle.
type Holder interface{ handle() *Handle }

func (h *Handle) handle() *Handle { return h }

// Hold puts a timeline into an empty holder, which owns it from now on. ctx governs what the holder does with it.
func Hold(ctx context.Context, in Holder, tl *Timeline) { *in.handle() = Handle{ctx, tl} }

// Of returns the timeline of a holder.
func Of(in Holder) *Timeline { return in.handle().tl }

// ContextOf returns the context of a holder.
func ContextOf(in Holder) context.Context { return in.handle().ctx }
