package convert

import (
	"context"
	"errors"
)

// readMerged reads the inputs of a merge, of which there are none: a browser converts one file at a time, and its module leaves the
// code out, a thirtieth of its size.
func (l *loader) readMerged(context.Context) (done bool, err error) { return false, nil }

// readJoined would merge a self-profile and a trace.
func (l *loader) readJoined(context.Context, *replay) (int64, error) {
	return 0, errors.New("here weft reads one file at a time: put the profile into the trace with weft convert --join")
}
