package readers

import (
	"cmp"
	"context"
	"io"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Options are the options that readers share.
type Options struct {
	// Problems counts bad data. It is required, and should be the log of the Builder.
	Problems *problem.Log
	// Args selects the event arguments that are kept, by their names in the input. It does not affect arguments
	// that weft adds.
	Args timeline.ArgFilter
	// Offset is added to all times, before negative times are dropped. Times with an offset belong to no clock.
	Offset timeline.Nanos
	// NoScreenshots drops the pictures of screenshots.
	NoScreenshots bool
	// Memory is the budget of the conversion in bytes; records that wait for sorting use a quarter. 0:
	// timeline.DefaultMemory.
	Memory int64
	// TempDir is the folder for temporary files; "": the system's.
	TempDir string

	// Window is the initial size of the window on the input, and Spool the number of bytes of waiting records in
	// memory; 0: the reader's choice. Other values are for tests.
	Window int
	Spool  int64
}

// MaxAttribute is the maximum length in bytes of a value that becomes an attribute of the trace.
const MaxAttribute = 16 << 10

// minSpool is the minimum amount of memory in use before records are sorted on disk: it limits the number of runs.
const minSpool = 256 << 10

// Budget returns one of n equal shares of the memory, but at least minSpool.
func (o *Options) Budget(n int64) int64 {
	return max(cmp.Or(max(o.Memory, 0), timeline.DefaultMemory)/n, minSpool)
}

// SpoolSize returns the number of bytes of waiting records in memory.
func (o *Options) SpoolSize() int64 { return cmp.Or(o.Spool, o.Budget(4)) }

// Document returns a reader of the JSON in r, which fails with ctx's error when ctx is done.
func (o *Options) Document(ctx context.Context, r io.Reader) *Document {
	return NewDocument(jsonscan.NewSize(Cancelled(ctx, r), cmp.Or(o.Window, jsonscan.DefaultWindow)), o.Problems)
}
