package readers

import (
	"cmp"
	"context"
	"io"

	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Options says how a reader reads, as far as readers have the choice in common.
type Options struct {
	// Problems counts what is wrong with the data. It is required, and should be the log of the Builder.
	Problems *problem.Log
	// Args says which arguments of events are kept, by the names that the input gives them. It does not touch what weft adds.
	Args timeline.ArgFilter
	// Offset is added to all times, before negative ones are dropped. With an offset, times have no clock.
	Offset timeline.Nanos
	// NoScreenshots leaves the pictures of screenshots out.
	NoScreenshots bool
	// Memory is the budget of the conversion in bytes, of which what waits to be sorted takes a quarter; 0: timeline.DefaultMemory.
	Memory int64
	// TempDir is where temporary files are made; "": the system's directory for them.
	TempDir string

	// Window is the initial size of the window on the input, and Spool the number of bytes that wait in memory. 0 is what the
	// reader chooses; other values are for tests.
	Window int
	Spool  int64
}

// minSpool is the least memory that is used before something is sorted on disk: it bounds the number of runs.
const minSpool = 256 << 10

// Budget returns one of n equal parts of the memory.
func (o *Options) Budget(n int64) int64 {
	return max(cmp.Or(max(o.Memory, 0), timeline.DefaultMemory)/n, minSpool)
}

// SpoolSize returns how many bytes of what waits are in memory.
func (o *Options) SpoolSize() int64 { return cmp.Or(o.Spool, o.Budget(4)) }

// Document returns a reader of the JSON in r, which ends with the error of ctx when that is done.
func (o *Options) Document(ctx context.Context, r io.Reader) *jsondoc.Reader {
	return jsondoc.New(jsonscan.NewSize(jsondoc.Cancelled(ctx, r), cmp.Or(o.Window, jsonscan.DefaultWindow)), o.Problems)
}
