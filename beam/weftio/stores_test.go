package weftio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"cloud.google.com/go/storage"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/google/go-cmp/cmp"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/weft-trace/weft/internal/migrate"
)

// A fakeStore is a store in this process, which Beam's file system finds through environment variables.
type fakeStore struct {
	scheme   string
	requests atomic.Int64
	// Writes of objects whose names contain refuse fail; "": none.
	refuse string
	put    func(t *testing.T, name, text string)
	list   func(t *testing.T) map[string]string
}

// count counts the requests to a handler, and rejects writes that match refuse.
func (f *fakeStore) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		if f.refuse != "" && (r.Method == http.MethodPost || r.Method == http.MethodPut) {
			body, err := io.ReadAll(r.Body)
			if err != nil || strings.Contains(r.URL.String(), f.refuse) || bytes.Contains(body[:min(len(body), 1<<10)], []byte(f.refuse)) {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		next.ServeHTTP(w, r)
	})
}

const bucket = "bucket"

func newFakeGoogle(t *testing.T) *fakeStore {
	t.Helper()
	f := &fakeStore{scheme: "gs"}
	var server *fakestorage.Server
	listener := httptest.NewServer(f.count(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { server.HTTPHandler().ServeHTTP(w, r) })))
	t.Cleanup(listener.Close)
	host := strings.TrimPrefix(listener.URL, "http://")
	var err error
	server, err = fakestorage.NewServerWithOptions(fakestorage.Options{NoListener: true, PublicHost: host})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	server.CreateBucketWithOpts(fakestorage.CreateBucketOpts{Name: bucket})
	t.Setenv("STORAGE_EMULATOR_HOST", host)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	f.put = func(t *testing.T, name, text string) {
		server.CreateObject(fakestorage.Object{ObjectAttrs: fakestorage.ObjectAttrs{BucketName: bucket, Name: name}, Content: []byte(text)})
	}
	f.list = func(t *testing.T) map[string]string {
		all := map[string]string{}
		objects, err := server.ListObjectsWithOptionsPaginated(bucket, fakestorage.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range objects.Objects {
			object, err := server.GetObject(bucket, o.Name)
			if err != nil {
				t.Fatal(err)
			}
			all[o.Name] = string(object.Content)
		}
		return all
	}
	return f
}

func newFakeS3(t *testing.T) *fakeStore {
	t.Helper()
	f := &fakeStore{scheme: "s3"}
	listener := httptest.NewServer(f.count(gofakes3.New(s3mem.New()).Server()))
	t.Cleanup(listener.Close)
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": listener.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"} {
		t.Setenv(name, value)
	}
	c, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client := s3.NewFromConfig(c)
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String(bucket)}); err != nil {
		t.Fatal(err)
	}
	f.put = func(t *testing.T, name, text string) {
		if _, err := client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: aws.String(bucket), Key: aws.String(name), Body: strings.NewReader(text)}); err != nil {
			t.Fatal(err)
		}
	}
	f.list = func(t *testing.T) map[string]string {
		all := map[string]string{}
		page, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: aws.String(bucket)})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range page.Contents {
			object, err := client.GetObject(t.Context(), &s3.GetObjectInput{Bucket: aws.String(bucket), Key: o.Key})
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(object.Body)
			object.Body.Close()
			if err != nil {
				t.Fatal(err)
			}
			all[aws.ToString(o.Key)] = string(text)
		}
		return all
	}
	return f
}

func eachStore(t *testing.T, test func(t *testing.T, f *fakeStore)) {
	t.Run("gs", func(t *testing.T) { test(t, newFakeGoogle(t)) })
	t.Run("s3", func(t *testing.T) { test(t, newFakeS3(t)) })
}

func (f *fakeStore) name(path string) string { return f.scheme + "://" + bucket + "/" + path }

// outputs returns the outputs of a job, without its state folder.
func (f *fakeStore) outputs(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, text := range f.list(t) {
		rel, ok := strings.CutPrefix(name, "out/")
		if ok && !strings.HasPrefix(rel, migrate.StateFolder+"/") {
			all[rel] = text
		}
	}
	return all
}

// B9: a store gets the same tree as from weft migrate, with at most three requests per file; the next job does nothing.
func TestStores(t *testing.T) {
	in := tree(t)
	for i := range 40 {
		in[fmt.Sprintf("many/%02d.json", i)] = trace(i + 1)
	}
	want := wantContent(t, migrate.Config{Inputs: []string{makeFiles(t, in)}})
	maps.DeleteFunc(want, func(name, _ string) bool { return strings.HasPrefix(name, migrate.StateFolder) })
	eachStore(t, func(t *testing.T, f *fakeStore) {
		for name, text := range in {
			f.put(t, "in/"+name, text)
		}
		f.put(t, "inside", "not in the folder")
		o := Options{Root: f.name("in"), Out: f.name("out")}
		before := f.requests.Load()
		migrateIn(t, o)
		if n := f.requests.Load() - before; n > int64(3*len(in)) {
			t.Errorf("%d requests for %d files", n, len(in))
		} else {
			t.Logf("%.1f requests a file", float64(n)/float64(len(in)))
		}
		if diff := cmp.Diff(want, f.outputs(t)); diff != "" {
			t.Errorf("weft migrate (-), the store (+):\n%s", diff)
		}
		s, err := Read(t.Context(), o.Out)
		if err != nil || s.Total(migrate.Done).Files != int64(len(want)) || s.Total(migrate.Failed).Files != 3 {
			t.Errorf("%+v, %v", s, err)
		}
		if did := migrateIn(t, o); did != 2 { // the collision, and the member with a bad name
			t.Errorf("%d files are done again", did)
		}
		// From a store to a local folder.
		local := Options{Root: f.name("in"), Out: filepath.Join(t.TempDir(), "out")}
		migrateIn(t, local)
		got := contentOf(t, local.Out)
		delete(got, migrate.StateFolder+"/"+migrate.ManifestName)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("weft migrate (-), from the store (+):\n%s", diff)
		}
	})
}

// Names that would lead to other objects are rejected; all others work.
func TestNamesInStores(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fakeStore) {
		names := []string{"a#b.json", "c?d.json", "e%41.json", "f g.json", "ä.json"}
		for i, name := range names {
			f.put(t, "in/"+name, trace(i+1))
		}
		f.put(t, "in/a", "somebody else")
		o := Options{Root: f.name("in"), Out: f.name("out")}
		migrateIn(t, o)
		got := slices.Sorted(maps.Keys(f.outputs(t)))
		if want := []string{"f g.json.pftrace", "ä.json.pftrace"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		s, err := Read(t.Context(), o.Out)
		if err != nil || len(s.Kinds) == 0 || s.Kinds[0].Kind != migrate.KindName || s.Kinds[0].Files != 3 {
			t.Errorf("%+v, %v", s, err)
		}
		if f.list(t)["in/a"] != "somebody else" {
			t.Error("another object was written")
		}
	})
}

// A failed write leaves nothing and does not affect other files.
func TestWritesThatFail(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fakeStore) {
		for _, name := range []string{"a.json", "refused.json", "z.json"} {
			f.put(t, "in/"+name, trace(10))
		}
		f.refuse = "refused.json.pftrace"
		o := Options{Root: f.name("in"), Out: f.name("out")}
		migrateIn(t, o)
		f.refuse = ""
		if got := slices.Sorted(maps.Keys(f.outputs(t))); !slices.Equal(got, []string{"a.json.pftrace", "z.json.pftrace"}) {
			t.Errorf("%q", got)
		}
		s, err := Read(t.Context(), o.Out)
		if err != nil || s.Total(migrate.Failed).Files != 1 || s.Kinds[0].Kind != migrate.KindOutput {
			t.Fatalf("%+v, %v", s, err)
		}
		if did := migrateIn(t, o); did != 1 || len(f.outputs(t)) != 3 {
			t.Errorf("%d are done again; %q", did, slices.Sorted(maps.Keys(f.outputs(t))))
		}
	})
}

// Discarding an output leaves no object, because cancellation precedes closing.
func TestNothingOfWhatIsDiscarded(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fakeStore) {
		fsys, err := filesystem.New(t.Context(), f.name("out"))
		if err != nil {
			t.Fatal(err)
		}
		defer fsys.Close()
		s := remoteStorage{out: fsys, place: f.name("out")}
		out, err := s.Create(t.Context(), &migrate.Record{Output: "x.pftrace"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write([]byte("half of it")); err != nil {
			t.Fatal(err)
		}
		out.Discard()
		if got := f.outputs(t); len(got) > 0 {
			t.Errorf("%q are left", got)
		}
	})
}

// A missing bucket is a storage error, which fails the job.
func TestNoBucket(t *testing.T) {
	eachStore(t, func(t *testing.T, f *fakeStore) {
		f.put(t, "in/a.json", trace(1))
		o := Options{Root: f.name("in"), Out: f.scheme + "://nothing/out"}
		err := run(t, func(s beam.Scope) { Migrate(s, o, false, o.Root) })
		if err == nil || !strings.Contains(err.Error(), PlaceMark) {
			t.Errorf("%v", err)
		}
		o = Options{Root: f.scheme + "://nothing/in", Out: f.name("out")}
		if n, err := Count(t.Context(), o, 10, o.Root); err == nil {
			t.Errorf("%d inputs in no bucket", n)
		}
	})
}

// A remote input can be read as a stream, at any offset, and again from the start.
func TestRemoteInput(t *testing.T) {
	for _, size := range []int{0, 10, peekSize - 1, peekSize, peekSize + 1, 3 * peekSize} {
		content := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		opened := 0
		in := &remoteInput{measure: measure{int64(size), 1}}
		in.reopen = func() (io.ReadCloser, error) {
			opened++
			return io.NopCloser(bytes.NewReader(content)), nil
		}
		in.src, _ = in.reopen()
		head := make([]byte, 512)
		n, err := in.ReadAt(head, 0)
		if err != nil && err != io.EOF || !bytes.Equal(head[:n], content[:min(size, 512)]) {
			t.Fatalf("%d: %v", size, err)
		}
		for range 2 {
			got, err := io.ReadAll(in)
			if err != nil || !bytes.Equal(got, content) {
				t.Fatalf("%d: %d bytes, %v", size, len(got), err)
			}
			if err := in.Unchanged(); err != nil {
				t.Error(err)
			}
			if _, err := in.Seek(0, io.SeekStart); err != nil {
				t.Fatal(err)
			}
		}
		if size > 20 {
			tail := make([]byte, 10)
			if _, err := in.ReadAt(tail, int64(size-10)); err != nil || !bytes.Equal(tail, content[size-10:]) {
				t.Errorf("%d: the end: %q, %v", size, tail, err)
			}
			if got, err := io.ReadAll(in); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d: from disk: %d bytes, %v", size, len(got), err)
			}
		}
		in.measure.size++
		if in.Unchanged() == nil {
			t.Error("it is as long as it was listed")
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if opened > 3 {
			t.Errorf("%d: opened %d times", size, opened)
		}
	}
}

func TestErrorsOfPlaces(t *testing.T) {
	stop := (*migrate.Stopped)(nil)
	for text, isStop := range map[string]bool{"x: StatusCode: 403, y": true, "api error NoSuchBucket: z": true, "StatusCode: 500": false} {
		if errors.As(placeError("n", errors.New(text)), &stop) != isStop {
			t.Errorf("%s", text)
		}
	}
	if !errors.As(placeError("n", fmt.Errorf("x: %w", storage.ErrBucketNotExist)), &stop) || placeError("n", nil) != nil {
		t.Error("errors of storage")
	}
}
