package weftio

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/migrate"
)

func init() {
	register.DoFn2x1[context.Context, fileio.FileMetadata, work](&toWorkFn{})
	register.DoFn2x0[work, func(batch)](&batchFn{})
	register.Emitter1[batch]()
	register.Emitter1[work]()
	register.Emitter1[fileio.FileMetadata]()
}

// works converts files to works, unless they already are works.
func works(s beam.Scope, files beam.PCollection, o Options) beam.PCollection {
	if files.Type().Type() == workType {
		return files
	}
	return beam.ParDo(s, &toWorkFn{Options: o}, files)
}

// toWorkFn converts a file to a work.
type toWorkFn struct{ Options Options }

// ProcessElement is called by Beam.
func (fn *toWorkFn) ProcessElement(_ context.Context, file fileio.FileMetadata) work {
	return toWork(&fn.Options, file)
}

func toWork(o *Options, file fileio.FileMetadata) (w work) {
	name, outside := belowRoot(o.Root, file.Path)
	w.Found = migrate.Found{Path: inputs.EscapeName(name), Size: file.Size, Mtime: file.LastModified.UnixNano(), Named: o.Named}
	if file.LastModified.IsZero() {
		w.Found.Mtime = 0
	}
	if outside {
		w.Found.State, w.Found.Kind, w.Found.Reason = migrate.Failed, migrate.KindName, "it is not below the root "+o.Root
	}
	return w
}

// belowRoot returns the path of a file relative to the root, and whether the file is outside the root.
func belowRoot(root, name string) (rel string, outside bool) {
	if isRemote(name) || isRemote(root) {
		rel, ok := strings.CutPrefix(name, strings.TrimSuffix(root, "/")+"/")
		return rel, !ok || rel == ""
	}
	rel, err := filepath.Rel(root, name)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(name), true
	}
	return filepath.ToSlash(rel), false
}

// Limits of a batch: small enough to retry, large enough to keep all cores busy.
const (
	maxBatchFiles = 256
	maxBatchBytes = 32 << 20
)

// batchFn groups works into batches.
type batchFn struct {
	held  batch
	bytes int64
}

// StartBundle is called by Beam.
func (fn *batchFn) StartBundle(func(batch)) { fn.held, fn.bytes = batch{}, 0 }

// ProcessElement is called by Beam.
func (fn *batchFn) ProcessElement(w work, emit func(batch)) {
	size := max(w.Found.Size, 0)
	if len(fn.held.Works) > 0 && (len(fn.held.Works) >= maxBatchFiles || fn.bytes+size > maxBatchBytes) {
		fn.FinishBundle(emit)
	}
	fn.held.Works = append(fn.held.Works, w)
	fn.bytes += size
}

// FinishBundle is called by Beam.
func (fn *batchFn) FinishBundle(emit func(batch)) {
	if len(fn.held.Works) > 0 {
		emit(fn.held)
	}
	fn.held, fn.bytes = batch{}, 0
}
