package migrate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"path/filepath"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/pfwire"
)

func shardHash(input string) uint64 {
	sum := sha256.Sum256([]byte(input))
	return binary.BigEndian.Uint64(sum[:8])
}

// Actions for an input.
const (
	actConvert = "convert"
	actHash    = "hash" // hash, and convert if the content has changed
	actSkip    = "skip"
	actFail    = "fail"
)

// Reasons for actions, as dry runs print them.
const (
	whyNew       = "new"
	whyUnchanged = "unchanged"
	whyChanged   = "changed"
	whyTouched   = "touched" // only the time differs
	whyOutput    = "output-missing"
	whyOptions   = "options"
	whyVersion   = "version"
	whyRedo      = "redo"
	whyFailed    = "failed-before"
	whyRetry     = "retry"
	whyLeftOut   = "not-converted" // skipped before and unchanged
)

// A decider chooses actions for inputs based on their records.
type decider struct {
	*Config
	storage   Storage
	optionsID string
}

func newDecider(c *Config, storage Storage) *decider {
	return &decider{Config: c, storage: storage, optionsID: optionsID(c.Settings)}
}

// decide returns the action for an input with a size, a modification time and a record (nil: none), and the reason, by the
// table in docs/batch.md.
func (d *decider) decide(record *Record, size, mtime int64) (action, why string) {
	switch {
	case record == nil:
		return actConvert, whyNew
	case d.Redo == "all":
		return actConvert, whyRedo
	case record.OptionsID != d.optionsID:
		return actConvert, whyOptions
	case record.State == Failed:
		return d.decideFailed(record, size, mtime)
	case record.Size != size:
		return actConvert, whyChanged
	case record.State == Skipped && record.MtimeNS == mtime:
		return actSkip, whyLeftOut
	case record.State == Skipped:
		return actConvert, whyChanged // check again whether it is a trace
	case !d.outputThere(record):
		return actConvert, whyOutput
	case record.Weft != pfwire.Version && d.Redo == "version":
		return actConvert, whyVersion
	case record.MtimeNS != mtime:
		return actHash, whyTouched
	}
	return actSkip, whyUnchanged
}

// decideFile decides about a file or, using the records of its members too, about an archive. It also reports whether a
// member failed before.
func (d *decider) decideFile(f *Found, own *Record, members map[string]*Record) (action, why string, memberFailed bool) {
	action, why = d.decide(own, f.Size, f.Mtime)
	if len(members) == 0 || own == nil {
		return action, why, false
	}
	if action != actSkip && action != actHash {
		return action, why, false
	}
	if own.Members != int64(len(members)) {
		return actConvert, whyChanged, false
	}
	for _, m := range members {
		switch action, why := d.decide(m, m.Size, m.MtimeNS); action {
		case actFail:
			memberFailed = true
		case actSkip:
		default:
			return actConvert, why, false // the member gets its own decision later
		}
	}
	return action, why, memberFailed
}

// convertedAndGone reports whether a named input is missing because it was deleted after it was converted. Its record, which
// locates the traces, must not become a failure.
func (d *decider) convertedAndGone(f *Found, own *Record) bool {
	if f.Kind != KindMissing || own == nil || own.State != Done || own.Output == "" {
		return false
	}
	action, _ := d.decide(own, own.Size, own.MtimeNS)
	return action == actSkip || action == actHash
}

// decideFailed decides about inputs that failed before. A bad input stays bad until it or weft changes.
func (d *decider) decideFailed(record *Record, size, mtime int64) (action, why string) {
	if d.RetryFailed {
		return actConvert, whyRetry
	}
	switch record.Kind {
	case KindUnreadable, KindUnrecognised:
	default:
		return actConvert, whyRetry
	}
	switch {
	case record.Weft != pfwire.Version:
		return actConvert, whyVersion
	case record.Size != size:
		return actConvert, whyChanged
	case record.MtimeNS != mtime && record.SHA256 != "":
		return actHash, whyTouched
	case record.MtimeNS != mtime:
		return actConvert, whyChanged
	}
	return actFail, whyFailed
}

// outputThere reports whether the output of a record exists with the recorded size. It returns true for an archive, which
// has no output.
func (d *decider) outputThere(record *Record) bool {
	if record.Output == "" {
		return true
	}
	size, ok := d.storage.OutputSize(context.Background(), record.Output)
	return ok && size == record.OutSize
}

// output returns the path of an output.
func (p *places) output(name string) string {
	return filepath.Join(p.out, filepath.FromSlash(inputs.UnescapeName(name)))
}
