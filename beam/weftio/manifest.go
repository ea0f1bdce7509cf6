package weftio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/transforms/stats"

	"github.com/weft-trace/weft/internal/migrate"
)

func init() {
	register.Function1x1(oneConverted)
	register.Function1x1(oneFailed)
	register.DoFn3x1[context.Context, int, func(Summary), error](&mergeFn{})
	register.Emitter1[Summary]()
}

func oneConverted(Converted) int { return 1 }
func oneFailed(Failure) int      { return 1 }

// WriteManifest writes the manifest of an output folder once converted and failed, the results of Convert, are complete. It
// returns the Summary, as one element. The runner never collects the records: each batch has already written its own beside the
// outputs, and only the number of elements passes through the pipeline.
func WriteManifest(s beam.Scope, converted, failed beam.PCollection, place string) (summary beam.PCollection) {
	s = s.Scope("weftio.WriteManifest")
	counted := beam.Flatten(s, beam.ParDo(s, oneConverted, converted), beam.ParDo(s, oneFailed, failed), beam.Create(s, 0))
	return beam.ParDo(s, &mergeFn{Place: place}, stats.Sum(s, counted))
}

// mergeFn merges the parts in a folder into its manifest.
type mergeFn struct {
	Place string
}

// ProcessElement is called by Beam.
func (fn *mergeFn) ProcessElement(ctx context.Context, _ int, emit func(Summary)) error {
	merge := mergeLocal
	if isRemote(fn.Place) {
		merge = mergeRemote
	}
	summary, err := merge(ctx, fn.Place)
	if err != nil {
		return place{err}
	}
	emit(Summary{*summary})
	return nil
}

// mergeLocal merges the parts in a local folder. Concurrent jobs take turns.
func mergeLocal(ctx context.Context, out string) (*migrate.Summary, error) {
	const patience, pause = time.Minute, 100 * time.Millisecond
	for began := time.Now(); ; {
		summary, err := migrate.Finish(out)
		if !errors.Is(err, migrate.ErrInUse) || time.Since(began) > patience {
			return summary, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// partAge is the age at which parts that are in the manifest are removed from stores. Stores have no locks: a job that merges at
// the same time can miss parts, and its manifest can be the one that remains. The next job reads the parts again.
const partAge = 24 * time.Hour

// mergeRemote merges the parts in a folder of a store into its manifest and summary, and removes old parts.
func mergeRemote(ctx context.Context, place string) (*migrate.Summary, error) {
	var stores stores
	defer stores.close()
	fsys, err := stores.get(place)
	if err != nil {
		return nil, err
	}
	dir, remove, err := mirror(ctx, &stores, place)
	if err != nil {
		return nil, err
	}
	defer remove()
	state := filepath.Join(dir, migrate.StateFolder)
	parts, err := filepath.Glob(filepath.Join(state, "part-*"))
	if err != nil {
		return nil, err
	}
	summary, err := migrate.Finish(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := os.Open(filepath.Join(state, migrate.ManifestName))
	if err != nil {
		return nil, err
	}
	defer manifest.Close()
	if err := upload(ctx, fsys, stateName(place, migrate.ManifestName), manifest); err != nil {
		return nil, err
	}
	text, err := json.Marshal(summary)
	if err == nil {
		err = writeObject(ctx, fsys, stateName(place, summaryName), text)
	}
	if err != nil {
		return nil, err
	}
	return summary, removeOldParts(ctx, fsys, place, parts)
}

// summaryName is the name of the summary beside a manifest in a store. The process that started the job reads it.
const summaryName = "summary.json"

func removeOldParts(ctx context.Context, fsys filesystem.Interface, place string, parts []string) error {
	remover, ok := fsys.(filesystem.Remover)
	if !ok {
		return nil
	}
	for _, part := range parts { // oldest first: an old record must not outlive a newer one
		if at, ok := migrate.PartTime(path.Base(part)); ok && time.Since(at) > partAge {
			if err := remover.Remove(ctx, stateName(place, path.Base(part))); err != nil {
				return err
			}
		}
	}
	return nil
}

// Read returns the summary of an output folder.
func Read(ctx context.Context, out string) (*Summary, error) {
	if !isRemote(out) {
		s, err := migrate.Status(out)
		if err != nil {
			return nil, err
		}
		return &Summary{*s}, nil
	}
	var stores stores
	defer stores.close()
	fsys, err := stores.get(out)
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	if err := copyObject(ctx, fsys, stateName(out, summaryName), &text); err != nil {
		return nil, err
	}
	s := new(Summary)
	return s, json.Unmarshal([]byte(text.String()), s)
}

// download copies an object to a local file.
func download(ctx context.Context, open func(context.Context, string) (io.ReadCloser, error), name, to string) error {
	r, err := open(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// upload writes an object; on failure, no object remains.
func upload(ctx context.Context, fsys filesystem.Interface, name string, r io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := fsys.OpenWrite(ctx, name)
	if err != nil {
		return placeError(name, err)
	}
	if _, err := io.Copy(w, r); err != nil {
		cancel()
		w.Close()
		return placeError(name, err)
	}
	return placeError(name, w.Close())
}

// Migrate combines Match, Remaining, Convert and WriteManifest: it is weft migrate as a pipeline. As in weft migrate, inputs with
// the same output, and entries of a folder that cannot be opened, are in failed and in the manifest. Set again if there may be
// records of earlier jobs (see HasRecords); otherwise all files are converted.
func Migrate(s beam.Scope, o Options, again bool, patterns ...string) (converted, failed, summary beam.PCollection) {
	o.check()
	s = s.Scope("weftio.Migrate")
	todo := beam.ParDo(s, &findFn{Options: o, Patterns: patterns}, beam.Impulse(s))
	if again {
		todo, _ = Remaining(s, todo, o)
	}
	converted, failed = Convert(s, todo, o)
	return converted, failed, WriteManifest(s, converted, failed, o.Out)
}

// Sweep removes temporary files of dead processes below a local output folder and returns their number.
func Sweep(out string) (int, error) { return migrate.Sweep(out) }
