// Package jsoninput holds what the readers of all JSON formats do alike with their input: end it when a context ends, and
// count what the scanner tolerated.
package jsoninput

import (
	"context"
	"io"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/problem"
)

// Cancelled returns a reader of r that ends with the error of ctx when that is done, wherever its user is.
func Cancelled(ctx context.Context, r io.Reader) io.Reader { return cancelled{ctx, r} }

type cancelled struct {
	ctx context.Context
	r   io.Reader
}

func (c cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// CountNotes counts what a scanner tolerated at a place, all but commas: what these mean is the business of the reader.
func CountNotes(log *problem.Log, n *jsonscan.Notes, at problem.Position) {
	log.AddN(problem.JSONControlCharacter, uint64(n.Controls), at, "")
	log.AddN(problem.JSONInvalidUTF8, uint64(n.InvalidUTF8), at, "")
	log.AddN(problem.JSONLoneSurrogate, uint64(n.LoneSurrogates), at, "")
	log.AddN(problem.JSONBadEscape, uint64(n.BadEscapes), at, "")
	log.AddN(problem.JSONNonstandardNumber, uint64(n.Nonstandard), at, "")
}
