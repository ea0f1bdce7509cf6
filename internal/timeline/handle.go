package timeline

import "context"

// Handle holds a timeline for a public type, which embeds the Handle in an unexported field. weft's own packages obtain the
// timeline with Of; programs that use weft cannot, because a Handle has no exported methods.
type Handle struct {
	ctx context.Context
	tl  *Timeline
}

// Holder is a type that embeds a Handle.
type Holder interface{ handle() *Handle }

func (h *Handle) handle() *Handle { return h }

// Hold puts a timeline into an empty holder, which then owns it. ctx applies to the holder's operations.
func Hold(ctx context.Context, in Holder, tl *Timeline) { *in.handle() = Handle{ctx, tl} }

// Of returns the holder's timeline.
func Of(in Holder) *Timeline { return in.handle().tl }

// ContextOf returns the holder's context.
func ContextOf(in Holder) context.Context { return in.handle().ctx }
