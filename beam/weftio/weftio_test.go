package weftio

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/testing/passert"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/beam/internal/process"
	"github.com/weft-trace/weft/internal/migrate"
)

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetupLogging("error", "text")
	beam.Init()
	os.Exit(m.Run())
}

// trace returns a small trace with n slices.
func trace(n int) string {
	var b strings.Builder
	b.WriteString("[")
	for i := range n {
		fmt.Fprintf(&b, `{"ph":"X","pid":1,"tid":%d,"ts":%d,"dur":%d,"name":"work %d"},`, i%3+1, i*10, i%9, i%7)
	}
	return strings.TrimSuffix(b.String(), ",") + "]"
}

// tree returns files like those in real folders: traces, one damaged, other files, an archive, names that differ only in case.
func tree(t *testing.T) map[string]string {
	t.Helper()
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, name := range []string{"in/x.json", "readme", "../up.json"} {
		text := trace(3)
		if name == "readme" {
			text = "hello"
		}
		if err := errors.Join(w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}), func() error { _, err := w.Write([]byte(text)); return err }()); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"a.json": trace(1), "b/ä ö.json": trace(20), "b/A.json": trace(2), "b/a.json": trace(3), "c/d/e/deep.json": trace(300),
		"damaged.json": `{"nodes":[{"id":1,"callFrame":{"functionName":"x"`, "readme.txt": "hello", "empty": "", "old.tar": packed.String(), "p.pftrace": "\x0a\x02\x10\x01",
		".hidden/x.json": trace(1),
	}
}

// makeFiles writes files into a new folder.
func makeFiles(t *testing.T, contents map[string]string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "in")
	for name, text := range contents {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// contentOf reads the outputs and the manifest in a folder, which may contain nothing else except state files.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	content := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		rel = filepath.ToSlash(rel)
		state, inState := strings.CutPrefix(rel, migrate.StateFolder+"/")
		switch {
		case inState && (state == "lock" || state == "merged.json" || strings.HasPrefix(state, "journal-")):
			return nil
		case inState && state != migrate.ManifestName:
			t.Errorf("%s is left", rel)
		}
		text, err := os.ReadFile(path)
		content[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// wantContent returns the files that weft migrate writes for the same inputs.
func wantContent(t *testing.T, c migrate.Config) map[string]string {
	t.Helper()
	c.Out = filepath.Join(t.TempDir(), "want")
	if c.Convert.Compression == "" {
		c.Convert.Compression, c.Convert.Packets = "zstd", "compact"
	}
	c.Convert.Memory = defaultFileMemory
	if _, err := migrate.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return contentOf(t, c.Out)
}

// run runs a pipeline on the embedded Prism runner.
func run(t *testing.T, make func(s beam.Scope)) error {
	t.Helper()
	p, s := beam.NewPipelineWithRoot()
	make(s)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err := beam.Run(ctx, "prism", p)
	return err
}

// migrateIn runs Migrate and returns how many files it processed.
func migrateIn(t *testing.T, o Options) (did int64) {
	t.Helper()
	again, err := HasRecords(t.Context(), o.Out)
	if err != nil {
		t.Fatal(err)
	}
	before := process.Files.Load()
	if err := run(t, func(s beam.Scope) { Migrate(s, o, again, o.Root) }); err != nil {
		t.Fatal(err)
	}
	return process.Files.Load() - before
}

// B2: the pipeline writes the same tree and manifest as weft migrate, and does nothing the second time.
func TestMigrateIsWeftMigrate(t *testing.T) {
	in := makeFiles(t, tree(t))
	want := wantContent(t, migrate.Config{Inputs: []string{in}})
	o := Options{Root: in, Out: filepath.Join(t.TempDir(), "out")}
	if did := migrateIn(t, o); did != 10 {
		t.Errorf("%d files are done", did)
	}
	if diff := cmp.Diff(want, contentOf(t, o.Out)); diff != "" {
		t.Errorf("weft migrate (-) and the pipeline (+):\n%s", diff)
	}
	if did := migrateIn(t, o); did != 2 { // the collision, and the member with a bad name
		t.Errorf("%d files are done again", did)
	}
	now := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(in, "a.json"), now, now); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "c", "d", "e", "deep.json"), []byte(trace(301)), 0o666); err != nil {
		t.Fatal(err)
	}
	if did := migrateIn(t, o); did != 4 { // those two, the touched file (hashed) and the changed one (converted)
		t.Errorf("%d files are done after changes", did)
	}
	if diff := cmp.Diff(wantContent(t, migrate.Config{Inputs: []string{in}}), contentOf(t, o.Out)); diff != "" {
		t.Errorf("after changes:\n%s", diff)
	}
	s, err := Read(t.Context(), o.Out)
	if err != nil || s.Total(migrate.Done).Files != 5 || s.Total(migrate.Failed).Files != 3 || s.Total(migrate.Skipped).Files != 4 {
		t.Errorf("%+v, %v", s, err)
	}
}

// Options that affect the output are recorded as in weft migrate.
func TestSettingsAreRecorded(t *testing.T) {
	in := makeFiles(t, map[string]string{"a.json": trace(5)})
	c := migrate.Config{Inputs: []string{in}, Settings: map[string]string{"args": "none", "compress": "zlib"}}
	c.Convert.NoArgs, c.Convert.Compression, c.Convert.Packets = true, "zlib", "compact"
	o := Options{Root: in, Out: filepath.Join(t.TempDir(), "out"), Settings: map[string]string{"args": "none", "compress": "zlib", "samples": "stack-sample"}}
	migrateIn(t, o)
	if diff := cmp.Diff(wantContent(t, c), contentOf(t, o.Out)); diff != "" {
		t.Error(diff)
	}
	o.Settings = nil
	if did := migrateIn(t, o); did != 1 {
		t.Errorf("with other options, %d files are done", did)
	}
}

// Match, Remaining, Convert and WriteManifest work in any pipeline, without Reshuffle or Migrate.
func TestPipelineOfSomebodyElse(t *testing.T) {
	in := makeFiles(t, map[string]string{"a.json": trace(1), "b/c.json": trace(2), "b/no.json": `{"nodes":[{"id":1,"callFrame":{"functionName":"x"`, "x.txt": "no trace"})
	o := Options{Root: in, Out: filepath.Join(t.TempDir(), "out")}
	for round, want := range []struct{ done, converted, failed int }{{0, 2, 1}, {2, 0, 0}} {
		err := run(t, func(s beam.Scope) {
			todo, done := Remaining(s, Match(s, in+"/**"), o)
			converted, failed := Convert(s, todo, o)
			summary := WriteManifest(s, converted, failed, o.Out)
			passert.Count(s, done, "done", want.done)
			passert.Count(s, converted, "converted", want.converted)
			passert.Count(s, failed, "failed", want.failed)
			passert.Count(s, summary, "summary", 1)
		})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	contentOf(t, o.Out)
	if err := run(t, func(s beam.Scope) { Match(s, in+"/*.none") }); err == nil || !strings.Contains(err.Error(), "matches no file") {
		t.Errorf("a pattern that names nothing: %v", err)
	}
}

// A listed file that does not exist is a failure, and so is one that is not a trace.
func TestLists(t *testing.T) {
	in := makeFiles(t, map[string]string{"a.json": trace(1), "x.txt": "no trace"})
	list := filepath.Join(t.TempDir(), "list")
	names := []string{filepath.Join(in, "a.json"), filepath.Join(in, "missing.json"), filepath.Join(in, "x.txt"), filepath.Join(in, "a.json")}
	if err := os.WriteFile(list, []byte(strings.Join(names, "\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	o := Options{Root: in, Out: filepath.Join(t.TempDir(), "out")}
	if err := run(t, func(s beam.Scope) { Migrate(s, o, false, "@"+list) }); err != nil {
		t.Fatal(err)
	}
	s, err := Read(t.Context(), o.Out)
	if err != nil || s.Total(migrate.Done).Files != 1 || len(s.Kinds) != 2 || s.Kinds[0].Kind != migrate.KindMissing || s.Kinds[1].Kind != migrate.KindUnrecognised {
		t.Errorf("%+v, %v", s, err)
	}
}

// boomFS panics when a name contains boom.json. Conversions recover from panics; otherwise the pipeline would fail.
type boomFS struct{ filesystem.Interface }

func (f boomFS) OpenRead(ctx context.Context, name string) (io.ReadCloser, error) {
	if strings.Contains(name, "boom.json") {
		panic("boom")
	}
	return f.Interface.OpenRead(ctx, strings.Replace(name, "boom://", "memfs://", 1))
}

func (f boomFS) List(ctx context.Context, glob string) ([]string, error) {
	names, err := f.Interface.List(ctx, strings.Replace(glob, "boom://", "memfs://", 1))
	for i := range names {
		names[i] = strings.Replace(names[i], "memfs://", "boom://", 1)
	}
	return names, err
}

func (f boomFS) Size(ctx context.Context, name string) (int64, error) {
	return f.Interface.Size(ctx, strings.Replace(name, "boom://", "memfs://", 1))
}

func init() {
	filesystem.Register("boom", func(ctx context.Context) filesystem.Interface { return boomFS{memfs.New(ctx)} })
}

// B5: failures and panics become elements and do not fail the job; errors of the output folder do, but finished work is
// still recorded.
func TestFailuresAreElements(t *testing.T) {
	for name, text := range map[string]string{"a.json": trace(1), "boom.json": trace(1), "z/bad.json": `{"nodes":[{"id":1,"callFrame":{"functionName":"x"`} {
		memfs.Write("memfs://b5/"+name, []byte(text))
	}
	o := Options{Root: "boom://b5", Out: filepath.Join(t.TempDir(), "out")}
	err := run(t, func(s beam.Scope) {
		converted, failed, _ := Migrate(s, o, false, o.Root)
		passert.Count(s, converted, "converted", 1)
		passert.Count(s, failed, "failed", 2)
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Read(t.Context(), o.Out)
	if err != nil || len(s.Kinds) != 2 || s.Kinds[0].Kind != migrate.KindPanic || s.Kinds[1].Kind != migrate.KindUnreadable {
		t.Fatalf("%+v, %v", s, err)
	}
	if !strings.Contains(s.Look[0].Reason+s.Look[1].Reason, "byte") {
		t.Errorf("no position: %+v", s.Look)
	}
	contentOf(t, o.Out)
}

func TestUnwritableOut(t *testing.T) {
	in := makeFiles(t, map[string]string{"a.json": trace(1)})
	out := filepath.Join(t.TempDir(), "out")
	if err := os.MkdirAll(filepath.Join(out, migrate.StateFolder), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(out, migrate.StateFolder, "tmp"), nil, 0o666); err != nil { // a file where a folder belongs
		t.Fatal(err)
	}
	o := Options{Root: in, Out: out}
	if err := run(t, func(s beam.Scope) { Migrate(s, o, false, in) }); err == nil || !strings.Contains(err.Error(), PlaceMark) {
		t.Errorf("%v", err)
	}
}

// If the output folder fails in the middle of a batch, a part still records what was done before.
func TestPartsStayWhenThePlaceFails(t *testing.T) {
	in := makeFiles(t, map[string]string{"a.json": trace(100), "b.json": trace(1)})
	o := Options{Root: in, Out: filepath.Join(t.TempDir(), "out")}
	fn := &convertFn{Options: o}
	if err := fn.Setup(); err != nil {
		t.Fatal(err)
	}
	// No folder can be created where the second output belongs.
	if err := errors.Join(os.MkdirAll(o.Out, 0o777), os.Symlink("/dev/full/x", filepath.Join(o.Out, "sub"))); err != nil {
		t.Skip(err)
	}
	works := []work{{migrate.Task{Found: migrate.Found{Path: "a.json", Size: 2}}}, {migrate.Task{Found: migrate.Found{Path: "sub/b.json", Size: 1}}}}
	ctx, cancel := context.WithCancel(t.Context())
	var converted, failed int
	if err := fn.ProcessElement(ctx, batch{works[:1]}, func(Converted) { converted++ }, func(Failure) { failed++ }); err != nil || converted != 1 {
		t.Fatal(err, converted)
	}
	cancel()
	err := fn.ProcessElement(ctx, batch{works}, func(Converted) { converted++ }, func(Failure) { failed++ })
	if err == nil || converted != 1 {
		t.Errorf("%v, %d converted", err, converted)
	}
	parts, _ := filepath.Glob(filepath.Join(o.Out, migrate.StateFolder, "part-*"))
	if len(parts) != 1 {
		t.Errorf("parts: %q", parts)
	}
}

// B8: runners may process each element twice, one after the other or concurrently.
func TestEveryElementTwice(t *testing.T) {
	in := makeFiles(t, tree(t))
	want := wantContent(t, migrate.Config{Inputs: []string{in}})
	o := Options{Root: in, Out: filepath.Join(t.TempDir(), "out")}
	var all batch
	for w, err := range find(t.Context(), &o, []string{in}) {
		if err != nil {
			t.Fatal(err)
		}
		all.Works = append(all.Works, *w)
	}
	results := make(chan map[string]int)
	for range 4 {
		go func() {
			seen := map[string]int{}
			fn := &convertFn{Options: o}
			if err := fn.Setup(); err != nil {
				t.Error(err)
			}
			for range 2 {
				var copied batch // runners decode the elements again
				text, err := encodeBatch(all)
				if err == nil {
					copied, err = decodeBatch(text)
				}
				if err != nil {
					t.Error(err)
				}
				if err := fn.ProcessElement(context.Background(), copied, func(r Converted) { seen[r.OutSHA256]++ }, func(r Failure) { seen[r.Input+r.Member]++ }); err != nil {
					t.Error(err)
				}
			}
			fn.Teardown()
			results <- seen
		}()
	}
	first := <-results
	for range 3 {
		if diff := cmp.Diff(first, <-results); diff != "" {
			t.Errorf("two workers differ:\n%s", diff)
		}
	}
	for range 2 {
		if err := (&mergeFn{Place: o.Out}).ProcessElement(t.Context(), 1, func(Summary) {}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, contentOf(t, o.Out)); diff != "" {
		t.Errorf("weft migrate (-) and everything eight times (+):\n%s", diff)
	}
}

// Limits on files and bytes keep batches small enough for a retry.
func TestBatches(t *testing.T) {
	fn := new(batchFn)
	var sizes []int
	emit := func(b batch) { sizes = append(sizes, len(b.Works)) }
	fn.StartBundle(emit)
	for range 300 {
		fn.ProcessElement(work{}, emit)
	}
	for _, size := range []int64{20 << 20, 20 << 20, 1 << 40, 1} {
		fn.ProcessElement(work{migrate.Task{Found: migrate.Found{Size: size}}}, emit)
	}
	fn.FinishBundle(emit)
	if want := []int{256, 45, 1, 1, 1}; !slices.Equal(sizes, want) {
		t.Errorf("%v, want %v", sizes, want)
	}
}

// Beam sends options as JSON: unexported fields, and types other than those below, would be silently lost.
func TestOptionsTravel(t *testing.T) {
	o := Options{}
	v := reflect.ValueOf(&o).Elem()
	for i := range v.NumField() {
		if !v.Type().Field(i).IsExported() {
			t.Errorf("%s does not travel", v.Type().Field(i).Name)
			continue
		}
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("x")
		case reflect.Int, reflect.Int64:
			f.SetInt(7)
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"y"}))
		case reflect.Map:
			f.Set(reflect.ValueOf(map[string]string{"a": "b"}))
		default:
			t.Errorf("%s is a %v", v.Type().Field(i).Name, f.Kind())
		}
	}
	text, err := json.Marshal(&o)
	var back Options
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if diff := cmp.Diff(o, back); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func TestWrongOptionsPanic(t *testing.T) {
	for text, o := range map[string]Options{
		"folder of outputs is missing": {},
		"no setting":                   {Out: "x", Settings: map[string]string{"argh": "1"}},
		"screenshots":                  {Out: "x", Settings: map[string]string{"screenshots": "maybe"}},
		"compress":                     {Out: "x", Settings: map[string]string{"compress": "lzma"}},
		"skip, copy or convert":        {Out: "x", Settings: map[string]string{"perfetto": "eat"}},
		"verified":                     {Out: "gs://b/x", Verify: true},
		"redo":                         {Out: "x", Redo: "some"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, text) {
					t.Errorf("%+v: %q does not hold %q", o, got, text)
				}
			}()
			_, s := beam.NewPipelineWithRoot()
			Convert(s, Match(s, "x"), o)
		}()
	}
}

// Pipelines in one process keep their options separate.
func TestOptionsOfTwoPipelines(t *testing.T) {
	in := makeFiles(t, map[string]string{"a.json": `[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"a","args":{"secret":"0123456789abcdef"}}]`})
	sizes := map[string]int64{}
	for _, args := range []string{"all", "none", "all"} {
		o := Options{Root: in, Out: filepath.Join(t.TempDir(), "out"), Settings: map[string]string{"args": args}}
		migrateIn(t, o)
		s, err := Read(t.Context(), o.Out)
		if err != nil {
			t.Fatal(err)
		}
		size := s.Total(migrate.Done).BytesOut
		if before, ok := sizes[args]; ok && before != size {
			t.Errorf("--args %s: %d bytes, and %d before", args, size, before)
		}
		sizes[args] = size
	}
	if sizes["all"] <= sizes["none"] {
		t.Errorf("%v", sizes)
	}
}

// Names that Beam's file systems would take for other objects are rejected. A name that is not below the root is outside.
func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{"gs://b/a.json": true, "gs://b/a b ä.json": true, "gs://b/a#b.json": false, "s3://b/a?b": false,
		"s3://b/%41.json": false, "/tmp/a#b.json": true, "gs://b/" + strings.Repeat("x", 1025): false} {
		if err := checkObjectName(name); (err == nil) != ok {
			t.Errorf("%.40s: %v", name, err)
		}
	}
	for _, c := range []struct {
		root, name, want string
		outside          bool
	}{
		{"/a", "/a/b/c.json", "b/c.json", false}, {"/a", "/ab/c.json", "", true}, {"gs://b/in", "gs://b/in/x/y", "x/y", false},
		{"gs://b/in", "gs://b/inn/x", "", true}, {"gs://b/in", "s3://b/in/x", "", true},
	} {
		got, outside := belowRoot(c.root, c.name)
		if outside != c.outside || !outside && got != c.want {
			t.Errorf("%s below %s: %q, %v", c.name, c.root, got, outside)
		}
	}
	for pattern, want := range map[string][2]string{"gs://b/in/**/*.json": {"gs://b/in", "**/*.json"}, "gs://b/in": {"gs://b/in", ""},
		"gs://b/x?y/*": {"gs://b", "x?y/*"}, "*.json": {".", "*.json"}, "/a/b/": {"/a/b", ""}} {
		if base, glob := splitPattern(pattern); base != want[0] || glob != want[1] {
			t.Errorf("%s: %q, %q", pattern, base, glob)
		}
	}
}

// No setting has the name of one of Beam's flags, which are in the same flag set.
func TestSettingNames(t *testing.T) {
	for _, name := range SettingNames() {
		if flag.Lookup(name) != nil {
			t.Errorf("--%s is Beam's", name)
		}
		if SettingDefault(name) == "" {
			t.Errorf("%s has no default", name)
		}
	}
	if !slices.Equal(SettingNames(), slices.Sorted(maps.Keys(settings))) {
		t.Error("not sorted")
	}
}
