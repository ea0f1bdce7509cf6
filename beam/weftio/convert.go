package weftio

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/weft-trace/weft/beam/internal/process"
	"github.com/weft-trace/weft/internal/migrate"
)

var workType = reflect.TypeFor[work]()

func init() {
	register.DoFn4x1[context.Context, batch, func(Converted), func(Failure), error](&convertFn{})
	register.Emitter1[Converted]()
	register.Emitter1[Failure]()
}

// Convert converts files: a PCollection of fileio.FileMetadata, from Match or elsewhere, or the todo of Remaining. Each trace,
// including the members of tar and zip archives, becomes Options.Out/<path below Options.Root>.pftrace and an element of
// converted; each file that cannot be converted becomes an element of failed. Files that are not traces are skipped and appear
// only in the manifest.
//
// Convert needs no Reshuffle before or after it. It writes records to parts, from which WriteManifest makes the manifest. Invalid
// options panic.
func Convert(s beam.Scope, files beam.PCollection, o Options) (converted, failed beam.PCollection) {
	o.check()
	s = s.Scope("weftio.Convert")
	batches := beam.ParDo(s, &batchFn{}, works(s, files, o))
	// Without the Reshuffle, listing and converting would be one bundle of one element.
	return beam.ParDo2(s, &convertFn{Options: o}, beam.Reshuffle(s, batches))
}

// convertFn converts the files of a batch, as many concurrently as the process has slots.
type convertFn struct {
	Options Options

	config  migrate.Config
	id      string
	stores  stores
	skipped beam.Counter
}

// Setup is called by Beam.
func (fn *convertFn) Setup() (err error) {
	fn.skipped = beam.NewCounter("weft", "skipped")
	fn.id = fn.Options.id()
	if fn.config, err = fn.Options.config(); err == nil {
		process.Tune(os.Getenv)
	}
	return err
}

// Teardown is called by Beam.
func (fn *convertFn) Teardown() { fn.stores.close() }

// newBatch starts a batch of works. It must be called after process.Begin.
func newBatch(c migrate.Config, stores *stores, works []work) (b *migrate.Batch, scratch *migrate.Scratch, err error) {
	if !isRemote(c.Out) {
		if scratch, err = process.Scratch(c.Out); err != nil {
			return nil, nil, err
		}
		if !isRemote(c.Root) {
			b, err = migrate.NewBatch(c, nil, scratch)
			return b, scratch, err
		}
	}
	storage, err := newRemoteStorage(c, stores, works)
	if err != nil {
		return nil, nil, err
	}
	b, err = migrate.NewBatch(c, storage, scratch)
	return b, scratch, err
}

func newRemoteStorage(c migrate.Config, stores *stores, works []work) (s remoteStorage, err error) {
	s = remoteStorage{root: c.Root, place: c.Out, measures: map[string]measure{}}
	if s.in, err = stores.get(c.Root); err != nil {
		return s, err
	}
	if s.out, err = stores.get(c.Out); err != nil {
		return s, err
	}
	for i := range works {
		f := &works[i].Found
		s.measures[f.Path] = measure{f.Size, f.Mtime}
	}
	return s, nil
}

// ProcessElement is called by Beam.
func (fn *convertFn) ProcessElement(ctx context.Context, in batch, emitConverted func(Converted), emitFailed func(Failure)) error {
	records, err := fn.convertBatch(ctx, in.Works)
	if err != nil {
		return place{err}
	}
	for _, r := range records {
		switch {
		case r.State == migrate.Failed:
			process.Failed.Add(1)
			emitFailed(Failure{*r})
		case r.State == migrate.Skipped:
			fn.skipped.Inc(ctx, 1)
		case r.Output != "": // archives have no output; their members are elements
			emitConverted(Converted{*r})
		}
	}
	return nil
}

// convertBatch converts the works of a batch and saves their records as a part, even after an error, so that the next attempt or
// job has less to do.
func (fn *convertFn) convertBatch(ctx context.Context, all []work) ([]*migrate.Record, error) {
	ending, end, err := process.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	b, scratch, err := newBatch(fn.config, &fn.stores, all)
	if err != nil {
		return nil, err
	}
	err = errors.Join(fn.convert(ending, b, all), fn.savePart(context.WithoutCancel(ctx), b, scratch))
	return b.Records(), err
}

// PlaceMark is the prefix of storage errors, because runners pass on only the text of errors.
const PlaceMark = "weft stopped: "

// place is a storage error.
type place struct{ err error }

// Error implements error.
func (p place) Error() string { return PlaceMark + strings.ReplaceAll(p.err.Error(), "\n", "; ") }

// Unwrap returns the wrapped error.
func (p place) Unwrap() error { return p.err }

// convert converts works concurrently in the slots of the process. Its errors are storage errors; the first one stops all
// conversions.
func (fn *convertFn) convert(ctx context.Context, b *migrate.Batch, all []work) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// Largest files first, because a batch is done when its last file is.
	order := make([]*work, len(all))
	for i := range all {
		order[i] = &all[i]
	}
	slices.SortStableFunc(order, func(x, y *work) int { return int(min(max(y.Found.Size-x.Found.Size, -1), 1)) })
	var conversions sync.WaitGroup
	for _, w := range order {
		worker, release, err := process.Slot(ctx, fn.id)
		if err != nil {
			cancel(err)
			break
		}
		conversions.Go(func() {
			defer release()
			if err := do(ctx, b, worker, w); err != nil {
				cancel(err)
			}
		})
	}
	conversions.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// do processes a work and counts it.
func do(ctx context.Context, b *migrate.Batch, worker *migrate.Worker, w *work) (err error) {
	defer func() { // conversions recover from their own panics; this is for the surrounding code
		if value := recover(); value != nil {
			err = b.Fail(&w.Task, migrate.KindPanic, fmt.Sprint("weft failed: ", value))
		}
	}()
	if err := b.Do(ctx, worker, &w.Task); err != nil {
		return err
	}
	process.Files.Add(1)
	process.Bytes.Add(max(w.Found.Size, 0))
	return nil
}

// savePart writes the records of a batch beside the outputs.
func (fn *convertFn) savePart(ctx context.Context, b *migrate.Batch, scratch *migrate.Scratch) error {
	if len(b.Records()) == 0 {
		return nil
	}
	part, err := b.Part()
	if err != nil {
		return err
	}
	if !isRemote(fn.config.Out) {
		return migrate.SavePart(fn.config.Out, scratch, part)
	}
	out, err := fn.stores.get(fn.config.Out)
	if err != nil {
		return err
	}
	return writeObject(ctx, out, stateName(fn.config.Out, migrate.PartName()), part)
}
