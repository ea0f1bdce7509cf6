package weftio

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/weft-trace/weft/beam/internal/process"
	"github.com/weft-trace/weft/internal/migrate"
)

func init() {
	register.DoFn1x2[work, string, work](&keyFn{})
	register.DoFn3x1[context.Context, []byte, func(string, line), error](&recordsFn{})
	register.DoFn6x1[context.Context, string, func(*work) bool, func(*line) bool, func(work), func(Converted), error](&decideFn{})
	register.Emitter2[string, line]()
	register.Iter1[work]()
	register.Iter1[line]()
}

// Remaining compares files with the records that earlier jobs or runs of weft migrate left in Options.Out. It returns in todo,
// for Convert, files that are new, have changed, or were converted with other options; and in done, the records of files that
// have their outputs. Files that failed permanently and have not changed are in neither; their records stay. Invalid options
// panic.
func Remaining(s beam.Scope, files beam.PCollection, o Options) (todo, done beam.PCollection) {
	o.check()
	s = s.Scope("weftio.Remaining")
	keyed := beam.ParDo(s, &keyFn{}, works(s, files, o))
	records := beam.ParDo(s, &recordsFn{Out: o.Out}, beam.Impulse(s))
	return beam.ParDo2(s, &decideFn{Options: o}, beam.CoGroupByKey(s, keyed, records))
}

// keyFn keys a work by its path.
type keyFn struct{}

// ProcessElement is called by Beam.
func (*keyFn) ProcessElement(w work) (string, work) { return w.Found.Path, w }

// recordsFn reads the existing records.
type recordsFn struct {
	Out string
}

// ProcessElement is called by Beam.
func (fn *recordsFn) ProcessElement(ctx context.Context, _ []byte, emit func(string, line)) error {
	var stores stores
	defer stores.close()
	out, remove, err := mirror(ctx, &stores, fn.Out)
	if err != nil {
		return place{err}
	}
	defer remove()
	for r, err := range migrate.Records(out) {
		if err != nil {
			return place{err}
		}
		emit(r.Input, line{*r})
	}
	return nil
}

// mirror returns a local folder with the records of an output folder: the folder itself if it is local, otherwise a temporary
// copy, which remove deletes.
func mirror(ctx context.Context, stores *stores, out string) (dir string, remove func(), err error) {
	if !isRemote(out) {
		return out, func() {}, nil
	}
	fsys, err := stores.get(out)
	if err != nil {
		return "", nil, err
	}
	names, err := listState(ctx, fsys, out)
	if err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp("", "weft-*.tmp"); err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(dir) }
	state := filepath.Join(dir, migrate.StateFolder)
	err = os.Mkdir(state, 0o700)
	for _, name := range names {
		if err != nil {
			break
		}
		err = download(ctx, fsys.OpenRead, name, filepath.Join(state, path.Base(name)))
	}
	if err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// HasRecords reports whether an output folder contains records of earlier jobs or runs of weft migrate.
func HasRecords(ctx context.Context, out string) (bool, error) {
	if !isRemote(out) {
		entries, err := os.ReadDir(filepath.Join(out, migrate.StateFolder))
		for _, e := range entries {
			if migrate.IsStateFile(e.Name()) {
				return true, nil
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	var stores stores
	defer stores.close()
	fsys, err := stores.get(out)
	if err != nil {
		return false, err
	}
	names, err := listState(ctx, fsys, out)
	return len(names) > 0, err
}

// decideFn decides whether to convert an input, from its record and the records of its members.
type decideFn struct {
	Options Options

	config migrate.Config
	stores stores
	batch  *migrate.Batch
}

// Setup is called by Beam.
func (fn *decideFn) Setup() (err error) {
	fn.config, err = fn.Options.config()
	return err
}

// Teardown is called by Beam.
func (fn *decideFn) Teardown() { fn.stores.close() }

// ProcessElement is called by Beam.
func (fn *decideFn) ProcessElement(ctx context.Context, _ string, works func(*work) bool, lines func(*line) bool, todo func(work), done func(Converted)) (err error) {
	if fn.batch == nil {
		if fn.batch, err = fn.newBatch(); err != nil {
			return place{err}
		}
	}
	var own *migrate.Record
	var members map[string]*migrate.Record
	for {
		var l line
		if !lines(&l) {
			break
		}
		switch {
		case l.Member == "":
			own = &l.Record
		default:
			if members == nil {
				members = map[string]*migrate.Record{}
			}
			members[l.Member] = &l.Record
		}
	}
	for {
		var w work
		if !works(&w) {
			return nil
		}
		if fn.batch.Decide(&w.Task, own, members) {
			todo(w)
			continue
		}
		process.Skipped.Add(1)
		for _, r := range members {
			emitDone(r, done)
		}
		emitDone(own, done)
	}
}

// newBatch returns a batch that is only used for decisions and needs no folder for temporary files.
func (fn *decideFn) newBatch() (*migrate.Batch, error) {
	if !isRemote(fn.config.Out) {
		return migrate.NewBatch(fn.config, nil, nil)
	}
	storage, err := newRemoteStorage(fn.config, &fn.stores, nil)
	if err != nil {
		return nil, err
	}
	return migrate.NewBatch(fn.config, storage, nil)
}

func emitDone(r *migrate.Record, done func(Converted)) {
	if r != nil && r.State == migrate.Done && r.Output != "" && !strings.HasSuffix(r.Output, "/") {
		done(Converted{*r})
	}
}
