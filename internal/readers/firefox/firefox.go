// Package firefox reads Firefox profiles into a timeline: the raw form that Firefox itself writes (versions 3 to 36)
// and the processed form that the Firefox Profiler and many other programs write (versions 0 to 70 and newer).
//
// The rules are in docs/formats/firefox.md, whose sections the comments cite. A profile is a set of tables that refer
// to each other and may come in any order, so reading has two steps:
//
//  1. decoding (decode.go, table.go, profile.go and the files named after tables): the text becomes typed columns. The
//     content of a file decides how it is read, not its version: programs write wrong versions, and every shape of every
//     version occurs in practice.
//  2. converting (converter.go): rows become markers (derive.go: pairs of rows; ipc.go: messages between processes),
//     markers get tracks (lanes.go), payloads become arguments (payload.go) as their schemas define (schema.go, label.go),
//     stacks become call stacks (stacks.go, location.go), and other files convert the data that they are named after.
//
// Package flowbind, not this one, resolves flows: the reader only reports which marker refers to which flow.
package firefox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Options configures Read.
type Options struct {
	readers.Options

	// JSCalls adds slices for the JavaScript functions in the samples, on a timeline.RoleCalls track below each thread.
	JSCalls bool
}

// The newest known versions, and the oldest readable one.
const (
	newestRaw       = 36
	newestProcessed = 70
	oldestRaw       = 3
)

// Read reads the unpacked Firefox profile r into b. Errors from r, b and ctx, and errors about inputs that are not Firefox
// profiles, include the position in the input.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts Options) error {
	p, err := decode(ctx, r, opts)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return newConverter(ctx, b, opts).convert(p)
}

// decode reads a profile into its columns.
func decode(ctx context.Context, r io.Reader, opts Options) (*profile, error) {
	d := &decoder{Document: opts.Document(ctx, r)}
	d.Where = d.where
	p := new(profile)
	if err := d.document(p); err != nil && err != readers.ErrEnded {
		return nil, err
	}
	switch version := p.meta.version; {
	case !p.has.threads && !p.has.meta && d.Malformed() != nil:
		return nil, d.Malformed()
	case !p.has.threads && !p.has.meta:
		return nil, errors.New("not a Firefox profile: it has neither meta nor threads")
	case !p.isProcessed() && version != 0 && version < oldestRaw:
		return nil, fmt.Errorf("version %d of the raw Firefox profile format is too old; the oldest that can be read is %d", version, oldestRaw)
	case p.isProcessed() && p.meta.preprocessed > newestProcessed:
		opts.Problems.Add(problem.FirefoxNewerVersion, problem.NoPosition, fmt.Sprintf("processed version %d", p.meta.preprocessed))
	case !p.isProcessed() && version > newestRaw:
		opts.Problems.Add(problem.FirefoxNewerVersion, problem.NoPosition, fmt.Sprintf("version %d", version))
	}
	return p, nil
}

// isProcessed reports whether a profile is in the processed form (section 1).
func (p *profile) isProcessed() bool { return p.meta.isProcessed || p.has.shared }

// document reads the whole input.
func (d *decoder) document(p *profile) error {
	window := d.S.Window()
	if len(window) == 0 {
		if err := d.S.Fill(); err != nil && err != io.EOF {
			return d.Failed(err)
		}
		window = d.S.Window()
	}
	if len(window) >= len(jslbMagic) && string(window[:len(jslbMagic)]) == jslbMagic {
		return d.container(p)
	}
	c, err := d.Begin()
	switch {
	case err != nil:
		return err
	case c != '{':
		return d.Failed(fmt.Errorf("not a Firefox profile: found %q instead of an object", c))
	}
	if err := d.readProfile(p); err != nil {
		return err
	}
	return d.Trailing()
}

// container reads a JSLB container.
func (d *decoder) container(p *profile) error {
	unread, rest := d.S.Detach()
	slabs, err := readSlabs(io.MultiReader(bytes.NewReader(unread), rest))
	if err != nil {
		return err
	}
	d.slabs = slabs
	if slabs.truncated {
		d.Ended = true
		d.Log.Add(problem.JSONUnterminated, problem.Position{Event: -1, Offset: slabs.size}, "slabs of the container")
	}
	return d.within(slabs.scanner(slabs.root), func() error { return d.readProfile(p) })
}
