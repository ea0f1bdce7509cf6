package weftio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/storage"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/fileio"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/gcsx"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"google.golang.org/api/iterator"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/migrate"
)

func init() {
	register.DoFn3x1[context.Context, []byte, func(fileio.FileMetadata), error](&matchFn{})
	register.DoFn3x1[context.Context, []byte, func(work), error](&findFn{})
	register.Emitter1[fileio.FileMetadata]()
}

// Match returns the files that match patterns, as a PCollection of fileio.FileMetadata: for a folder, everything below it; for a
// glob, where ** matches any number of folders, its matches; for "@LIST", the files named in LIST, one per line. It walks local
// folders and lists stores by prefix, which provides sizes and times. For names from a "@LIST" they are 0; Convert requests them
// later. A pattern without matches fails the pipeline.
func Match(s beam.Scope, patterns ...string) beam.PCollection {
	if len(patterns) == 0 {
		panic("weftio: Match needs a pattern")
	}
	s = s.Scope("weftio.Match")
	return beam.ParDo(s, &matchFn{Patterns: patterns}, beam.Impulse(s))
}

// matchFn lists files.
type matchFn struct{ Patterns []string }

// ProcessElement is called by Beam.
func (fn *matchFn) ProcessElement(ctx context.Context, _ []byte, emit func(fileio.FileMetadata)) error {
	for _, pattern := range fn.Patterns {
		o := Options{Out: "", Root: rootOf(pattern)}
		for w, err := range find(ctx, &o, []string{pattern}) {
			if err != nil {
				return place{err}
			}
			f := &w.Found
			if f.State != "" && f.Kind != migrate.KindMissing {
				continue // a link to a folder, a device, or a folder that cannot be listed
			}
			file := fileio.FileMetadata{Path: filepath.Join(o.Root, filepath.FromSlash(inputs.UnescapeName(f.Path))), Size: f.Size}
			if isRemote(o.Root) {
				file.Path = joinPlace(o.Root, f.Path)
			}
			if f.Mtime != 0 {
				file.LastModified = time.Unix(0, f.Mtime)
			}
			emit(file)
		}
	}
	return nil
}

// findFn lists works.
type findFn struct {
	Options  Options
	Patterns []string
}

// ProcessElement is called by Beam.
func (fn *findFn) ProcessElement(ctx context.Context, _ []byte, emit func(work)) error {
	n := 0
	for w, err := range find(ctx, &fn.Options, fn.Patterns) {
		if err != nil {
			return place{err}
		}
		if n++; fn.Options.MaxFiles > 0 && n > fn.Options.MaxFiles {
			return place{fmt.Errorf("there are more than %d files, which this runner would hold in memory; use weft migrate, or another runner", fn.Options.MaxFiles)}
		}
		emit(*w)
	}
	return nil
}

// Count counts the inputs that match patterns, up to limit.
func Count(ctx context.Context, o Options, limit int, patterns ...string) (n int, err error) {
	for _, err := range find(ctx, &o, patterns) {
		if err != nil {
			return n, err
		}
		if n++; n >= limit {
			break
		}
	}
	return n, nil
}

// RootOf returns the default of Options.Root for one pattern: the folder before its first wildcard.
func RootOf(pattern string) string { return rootOf(pattern) }

func rootOf(pattern string) string {
	if strings.HasPrefix(pattern, "@") {
		return "."
	}
	base, _ := splitPattern(pattern)
	return base
}

// splitPattern is like inputs.SplitPattern, but also accepts names with a scheme and removes the slash at the end of the folder.
func splitPattern(pattern string) (base, glob string) {
	scheme, rest, isRemote := strings.Cut(pattern, "://")
	if !isRemote {
		base, glob = inputs.SplitPattern(pattern)
		return strings.TrimSuffix(base, "/"), glob
	}
	base, glob = inputs.SplitPattern(rest)
	return scheme + "://" + strings.TrimSuffix(base, "/"), glob
}

// find yields the inputs that match patterns.
func find(ctx context.Context, o *Options, patterns []string) iter.Seq2[*work, error] {
	return func(yield func(*work, error) bool) {
		var local migrate.Config
		var stores stores
		defer stores.close()
		seen := migrate.NewCollisions()
		take, err := migrate.Take(filtersOf(o))
		if err != nil {
			yield(nil, err)
			return
		}
		for _, pattern := range patterns {
			name, isList := strings.CutPrefix(pattern, "@")
			switch {
			case isList && (isRemote(name) || isRemote(o.Root)):
				err = findListed(ctx, o, &stores, name, yield)
			case isList:
				local.Lists = append(local.Lists, name)
			case isRemote(pattern):
				err = findRemote(ctx, o, &stores, pattern, take, seen, yield)
			default:
				local.Inputs = append(local.Inputs, pattern)
			}
			if err == errEnough {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
		}
		if len(local.Inputs)+len(local.Lists) > 0 {
			findLocal(o, local, yield)
		}
	}
}

// errEnough ends a search early.
var errEnough = errors.New("enough")

func filtersOf(o *Options) (all []migrate.Filter) {
	for _, glob := range o.Include {
		all = append(all, migrate.Filter{Glob: glob})
	}
	for _, glob := range o.Exclude {
		all = append(all, migrate.Filter{Glob: glob, Exclude: true})
	}
	return all
}

// findLocal yields local inputs.
func findLocal(o *Options, c migrate.Config, yield func(*work, error) bool) {
	c.Out, c.Root, c.Filters = o.Out, o.Root, filtersOf(o)
	if c.Out == "" || isRemote(c.Out) {
		c.Out = filepath.Join(c.Root, migrate.StateFolder) // it contains no inputs, and nothing is written to it
	}
	for task, err := range migrate.Find(c) {
		if err != nil {
			yield(nil, err)
			return
		}
		task.Found.Named = task.Found.Named || o.Named
		if !yield(&work{*task}, nil) {
			return
		}
	}
}

// findListed yields the inputs that a list names.
func findListed(ctx context.Context, o *Options, stores *stores, list string, yield func(*work, error) bool) error {
	fsys, err := stores.get(list)
	if err != nil {
		return err
	}
	r, err := fsys.OpenRead(ctx, list)
	if err != nil {
		return fmt.Errorf("%s: %w", list, err)
	}
	defer r.Close()
	const maxName = 1 << 20
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxName)
	for lines.Scan() {
		name := strings.TrimSuffix(lines.Text(), "\r")
		if name == "" {
			continue
		}
		w := toWork(o, fileio.FileMetadata{Path: name})
		w.Found.Named = true
		if !yield(&w, nil) {
			return errEnough
		}
	}
	return lines.Err()
}

// findRemote yields the objects that match a pattern.
func findRemote(ctx context.Context, o *Options, stores *stores, pattern string, take func(string) bool, seen *migrate.Collisions,
	yield func(*work, error) bool) error {
	base, glob := splitPattern(pattern)
	matches, err := inputs.ParseGlob(glob)
	if err != nil {
		return err
	}
	n := 0
	for object, err := range listObjects(ctx, stores, base) {
		if err != nil {
			return fmt.Errorf("%s: %w", base, err)
		}
		below := strings.TrimPrefix(object.Path, base+"/")
		if strings.HasSuffix(below, "/") || isHidden(below) || strings.HasPrefix(object.Path, strings.TrimSuffix(o.Out, "/")+"/") && o.Out != "" ||
			slices.Contains(strings.Split(below, "/"), migrate.StateFolder) {
			continue
		}
		if glob != "" && !matches.Match(strings.Split(below, "/")) {
			continue
		}
		n++
		w := toWork(o, object)
		if !take(w.Found.Path) {
			continue
		}
		if w.Found.State == "" {
			w.Collision = seen.With(w.Found.Path)
		}
		if !yield(&w, nil) {
			return errEnough
		}
	}
	if n == 0 {
		return fmt.Errorf("there are no objects to convert in %s", pattern)
	}
	return nil
}

// isHidden reports whether a part of a name starts with a dot.
func isHidden(name string) bool { return strings.HasPrefix(name, ".") || strings.Contains(name, "/.") }

// listObjects lists the objects below a folder in a store, with sizes and times, which would otherwise take a request per object.
func listObjects(ctx context.Context, stores *stores, folder string) iter.Seq2[fileio.FileMetadata, error] {
	scheme, rest, _ := strings.Cut(folder, "://")
	bucket, prefix, _ := strings.Cut(rest, "/")
	if prefix != "" {
		prefix += "/"
	}
	switch scheme {
	case "gs":
		return listGoogle(ctx, bucket, prefix)
	case "s3":
		return listS3(ctx, bucket, prefix)
	}
	return listOther(ctx, stores, folder)
}

func listGoogle(ctx context.Context, bucket, prefix string) iter.Seq2[fileio.FileMetadata, error] {
	return func(yield func(fileio.FileMetadata, error) bool) {
		client, err := gcsx.NewClient(ctx, storage.ScopeReadOnly)
		if err != nil {
			client, err = gcsx.NewUnauthenticatedClient(ctx) // as Beam does
		}
		if err != nil {
			yield(fileio.FileMetadata{}, err)
			return
		}
		defer client.Close()
		query := &storage.Query{Prefix: prefix}
		if err := query.SetAttrSelection([]string{"Name", "Size", "Updated"}); err != nil {
			yield(fileio.FileMetadata{}, err)
			return
		}
		objects := client.Bucket(bucket).Objects(ctx, query)
		for {
			object, err := objects.Next()
			if err == iterator.Done {
				return
			}
			if err != nil {
				yield(fileio.FileMetadata{}, err)
				return
			}
			if !yield(fileio.FileMetadata{Path: "gs://" + bucket + "/" + object.Name, Size: object.Size, LastModified: object.Updated}, nil) {
				return
			}
		}
	}
}

func listS3(ctx context.Context, bucket, prefix string) iter.Seq2[fileio.FileMetadata, error] {
	return func(yield func(fileio.FileMetadata, error) bool) {
		c, err := config.LoadDefaultConfig(ctx)
		if err != nil {
			yield(fileio.FileMetadata{}, err)
			return
		}
		pages := s3.NewListObjectsV2Paginator(s3.NewFromConfig(c), &s3.ListObjectsV2Input{Bucket: aws.String(bucket), Prefix: aws.String(prefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(fileio.FileMetadata{}, err)
				return
			}
			for i := range page.Contents {
				object := &page.Contents[i]
				file := fileio.FileMetadata{Path: "s3://" + bucket + "/" + aws.ToString(object.Key), Size: aws.ToInt64(object.Size), LastModified: aws.ToTime(object.LastModified)}
				if !yield(file, nil) {
					return
				}
			}
		}
	}
}

// listOther lists files in any other Beam file system, such as memfs in tests.
func listOther(ctx context.Context, stores *stores, folder string) iter.Seq2[fileio.FileMetadata, error] {
	return func(yield func(fileio.FileMetadata, error) bool) {
		fsys, err := stores.get(folder)
		if err != nil {
			yield(fileio.FileMetadata{}, err)
			return
		}
		const maxDepth = 16 // here, a * matches one folder
		for depth := range maxDepth {
			names, err := fsys.List(ctx, folder+strings.Repeat("/*", depth+1))
			if err != nil {
				yield(fileio.FileMetadata{}, err)
				return
			}
			for _, name := range names {
				m, err := measureOf(ctx, fsys, name)
				if !yield(fileio.FileMetadata{Path: name, Size: m.size, LastModified: time.Unix(0, m.mtime)}, err) || err != nil {
					return
				}
			}
		}
	}
}

// listState returns the names of the files with records in an output folder.
func listState(ctx context.Context, fsys filesystem.Interface, place string) (names []string, err error) {
	all, err := fsys.List(ctx, stateName(place, "*"))
	for _, name := range all {
		if migrate.IsStateFile(path.Base(name)) {
			names = append(names, name)
		}
	}
	return names, placeError(place, err)
}

// writeObject writes an object; on failure, no object remains.
func writeObject(ctx context.Context, fsys filesystem.Interface, name string, content []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := fsys.OpenWrite(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if _, err := w.Write(content); err != nil {
		cancel()
		w.Close()
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// copyObject copies an object to dst.
func copyObject(ctx context.Context, fsys filesystem.Interface, name string, dst io.Writer) error {
	r, err := fsys.OpenRead(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer r.Close()
	_, err = io.Copy(dst, r)
	return err
}
