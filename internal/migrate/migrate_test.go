package migrate

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/inputs"
)

const small = `[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":1,"name":"a"}]`

// files writes files below a folder; contents are by name.
func files(t *testing.T, dir string, contents map[string]string) {
	t.Helper()
	for name, content := range contents {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// testArchive is an input folder and an output folder.
type testArchive struct {
	t       *testing.T
	in, out string
}

func newTestArchive(t *testing.T, contents map[string]string) *testArchive {
	a := &testArchive{t, filepath.Join(t.TempDir(), "in"), filepath.Join(t.TempDir(), "out")}
	files(t, a.in, contents)
	return a
}

// run migrates the folder. change may modify the run.
func (a *testArchive) run(change func(*run)) (*Summary, error) {
	a.t.Helper()
	r := newRun(&Config{Out: a.out, Inputs: []string{a.in}, Jobs: 2})
	r.pauses = []time.Duration{time.Millisecond, time.Millisecond}
	if change != nil {
		change(r)
	}
	if r.RetryFailed {
		r.Inputs = nil
	}
	return r.do(a.t.Context())
}

// records returns the records by input and member.
func (a *testArchive) records() map[string]*Record {
	a.t.Helper()
	all, err := stateOf(a.out).openRecords()
	if err != nil {
		a.t.Fatal(err)
	}
	defer all.close()
	found := map[string]*Record{}
	if err := all.each(func(r *Record) error { found[strings.TrimSuffix(r.Input+"|"+r.Member, "|")] = r; return nil }); err != nil {
		a.t.Fatal(err)
	}
	return found
}

// want checks the states and kinds of all records.
func (a *testArchive) want(want map[string]string) {
	a.t.Helper()
	records := a.records()
	for name, state := range want {
		r := records[name]
		if r == nil {
			a.t.Errorf("%s has no record", name)
			continue
		}
		if got := strings.TrimSpace(string(r.State) + " " + string(r.Kind)); got != state {
			a.t.Errorf("%s: %s (%s), want %s", name, got, r.Reason, state)
		}
		if r.State != Done && r.Reason == "" {
			a.t.Errorf("%s has no reason", name)
		}
	}
	for name := range records {
		if _, ok := want[name]; !ok {
			a.t.Errorf("%s has a record", name)
		}
	}
	if names, _ := filepath.Glob(filepath.Join(a.out, stateFolder, tempFolder, "*")); len(names) > 0 {
		a.t.Errorf("temporary files are left: %q", names)
	}
}

// misbehave replaces the conversion of traces whose text contains a word.
func misbehave(word string, do func(ctx context.Context) error) func(*run) {
	return func(r *run) {
		r.convertWith = func(ctx context.Context, c *convert.Converter, dst io.Writer, src io.Reader, opts convert.Options) (*convert.Report, error) {
			text, err := io.ReadAll(src)
			if err != nil {
				return nil, err
			}
			if strings.Contains(string(text), word) {
				if err := do(ctx); err != nil {
					return nil, err
				}
			}
			return c.Convert(ctx, dst, bytes.NewReader(text), opts)
		}
	}
}

func TestPanicStaysWithItsFile(t *testing.T) {
	a := newTestArchive(t, map[string]string{"a.json": small, "b.json": strings.Replace(small, `"a"`, `"bad"`, 1), "c.json": small})
	summary, err := a.run(misbehave("bad", func(context.Context) error { panic("boom") }))
	if err != nil || summary.Total(Failed).Files != 1 || summary.Total(Done).Files != 2 {
		t.Fatalf("%+v, %v", summary, err)
	}
	a.want(map[string]string{"a.json": "done", "b.json": "failed panic", "c.json": "done"})
	journal, err := os.ReadFile(filepath.Join(a.out, stateFolder, "journal-all.jsonl"))
	if err != nil || !bytes.Contains(journal, []byte("boom")) || !bytes.Contains(journal, []byte(`"stack":"goroutine`)) || !bytes.Contains(journal, []byte(`"seconds":`)) {
		t.Errorf("the journal lacks stack or seconds: %v", err)
	}
	// It is tried again.
	if summary, err := a.run(nil); err != nil || summary.Total(Done).Files != 3 || summary.Run.Converted != 1 {
		t.Errorf("%+v, %v", summary, err)
	}
}

func TestTimeout(t *testing.T) {
	a := newTestArchive(t, map[string]string{"a.json": small, "slow.json": strings.Replace(small, `"a"`, `"slow"`, 1)})
	slow := misbehave("slow", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
	if _, err := a.run(func(r *run) { slow(r); r.FileTimeout = 30 * time.Millisecond }); err != nil {
		t.Fatal(err)
	}
	a.want(map[string]string{"a.json": "done", "slow.json": "failed timeout"})
}

func TestChangedWhileRead(t *testing.T) {
	a := newTestArchive(t, map[string]string{"a.json": small})
	tries := 0
	touch := misbehave("a", func(context.Context) error {
		tries++
		at := time.Unix(int64(tries), 0)
		return os.Chtimes(filepath.Join(a.in, "a.json"), at, at)
	})
	if _, err := a.run(touch); err != nil {
		t.Fatal(err)
	}
	a.want(map[string]string{"a.json": "failed changed"})
	if r := a.records()["a.json"]; tries != 3 || r.Attempts != 3 {
		t.Errorf("tried %d times, recorded are %d", tries, r.Attempts)
	}
}

// A full disk stops the run, whichever operation reports it, and the next run continues.
func TestNoSpaceStops(t *testing.T) {
	contents := map[string]string{}
	for i := range 50 {
		contents[fmt.Sprintf("%02d.json", i)] = strings.Replace(small, `"a"`, fmt.Sprintf(`"n%d."`, i), 1)
	}
	a := newTestArchive(t, contents)
	full := misbehave("n7.", func(context.Context) error {
		return &os.PathError{Op: "write", Path: "weft-1.tmp", Err: syscall.ENOSPC}
	})
	stop := (*Stopped)(nil)
	if summary, err := a.run(full); !errors.As(err, &stop) || !errors.Is(err, syscall.ENOSPC) || summary.Run.Left == 0 {
		t.Fatalf("%+v, %v", summary, err)
	}
	if names, _ := filepath.Glob(filepath.Join(a.out, stateFolder, tempFolder, "*")); len(names) > 0 {
		t.Errorf("temporary files are left: %q", names)
	}
	if summary, err := a.run(nil); err != nil || summary.Total(Done).Files != 50 || summary.Run.Unchanged == 0 {
		t.Errorf("%+v, %v", summary, err)
	}
}

func TestLockNamesTheOther(t *testing.T) {
	if runtime.GOOS == "js" || runtime.GOOS == "wasip1" {
		t.Skip("there are no locks here")
	}
	a := newTestArchive(t, map[string]string{"a.json": small})
	if _, err := a.run(nil); err != nil {
		t.Fatal(err)
	}
	state := stateOf(a.out)
	unlock, err := state.lock(Shard{1, 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range []Shard{{}, {1, 3}} {
		_, err := state.lock(shard)
		if stop := (*Stopped)(nil); !errors.As(err, &stop) || !strings.Contains(err.Error(), fmt.Sprintf("in use: process %d on ", os.Getpid())) {
			t.Errorf("shard %v: %v", shard, err)
		}
	}
	other, err := state.lock(Shard{2, 3})
	if err != nil {
		t.Fatal(err)
	}
	other()
	unlock()
	if unlock, err = state.lock(Shard{}); err != nil {
		t.Fatal(err)
	}
	if _, err := state.lock(Shard{1, 3}); err == nil {
		t.Error("a shard runs beside a run of everything")
	}
	unlock()
}

func TestUnreadableFolder(t *testing.T) {
	a := newTestArchive(t, map[string]string{"a.json": small, "closed/b.json": small})
	closed := filepath.Join(a.in, "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o777)
	if _, err := os.ReadDir(closed); err == nil {
		t.Skip("this user may read everything")
	}
	for range 2 {
		if _, err := a.run(nil); err != nil {
			t.Fatal(err)
		}
		a.want(map[string]string{"a.json": "done", "closed/": "failed io"})
	}
	if err := os.Chmod(closed, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := a.run(func(r *run) { r.RetryFailed = true }); err != nil {
		t.Fatal(err)
	}
	if _, err := a.run(nil); err != nil {
		t.Fatal(err)
	}
	a.want(map[string]string{"a.json": "done", "closed/b.json": "done"})
}

// tarOf makes a tar archive; names and contents alternate.
func tarOf(t *testing.T, members ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		h := &tar.Header{Name: members[i], Size: int64(len(members[i+1])), Mode: 0o644, ModTime: time.Unix(1, 0)}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, members[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.WriteHeader(&tar.Header{Name: "link", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestMembersStayInTheirArchive(t *testing.T) {
	whole := tarOf(t, "a.json", small, "../up.json", small, "/abs.json", small, `c:\x.json`, small, `..\up.json`, small, "d/../../up.json", small,
		"./b.json", small, "a.json", small, "A.JSON", small, "README", "no trace", "d/", "")
	a := newTestArchive(t, map[string]string{"a.tar": whole, "cut.tar": whole[:1800]})
	summary, err := a.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(summary.Look, func(l Look) bool { return l.Input == "a.tar/d/../../up.json" }) {
		t.Errorf("%+v does not show a member as it is named", summary.Look)
	}
	a.want(map[string]string{
		"a.tar": "done", "a.tar|a.json": "done", "a.tar|../up.json": "failed name", "a.tar|/abs.json": "failed name",
		`a.tar|c:\x5cx.json`: "failed name", `a.tar|..\up.json`: "failed name", "a.tar|d/../../up.json": "failed name",
		"a.tar|b.json": "done", "a.tar|A.JSON": "failed collision", "a.tar|README": "skipped no-trace", "a.tar|link": "skipped link",
		"cut.tar": "failed unreadable", "cut.tar|a.json": "done", "cut.tar|../up.json": "failed name",
	})
	if n := a.records()["a.tar"].Problems["member_twice"]; n != 1 {
		t.Errorf("members that are there twice: %d", n)
	}
	var outputs []string
	err = filepath.WalkDir(filepath.Dir(a.out), func(path string, entry os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, outputSuffix) {
			rel, _ := filepath.Rel(a.out, path)
			outputs = append(outputs, filepath.ToSlash(rel))
		}
		return err
	})
	if want := []string{"a.tar/a.json.pftrace", "a.tar/b.json.pftrace", "cut.tar/a.json.pftrace"}; err != nil || !slices.Equal(outputs, want) {
		t.Errorf("outputs %q, want %q, %v", outputs, want, err)
	}
}

func TestParseShard(t *testing.T) {
	for text, want := range map[string]Shard{"0/1": {0, 1}, "3/16": {3, 16}} {
		if got, err := ParseShard(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "1", "1/1", "-1/4", "a/b", "auto", "1/99999999999"} {
		if got, err := ParseShard(text); err == nil {
			t.Errorf("%s: %v", text, got)
		}
	}
	n := 0
	for i := range 16 {
		if (Shard{i, 16}).Has("some/file.json") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("a file is in %d of 16 shards", n)
	}
}

// Records sorted on disk are returned in order, the latest of each input.
func TestSorterOnDisk(t *testing.T) {
	var s sorter
	defer s.close()
	line := make([]byte, 4000)
	const n = 20_000
	for i := range n {
		if err := s.add(item{input: fmt.Sprintf("%05d", i*7919%(n/2)), at: fmt.Sprintf("%05d", i), line: line}); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.runs) < 2 {
		t.Fatalf("%d runs", len(s.runs))
	}
	all := &records{}
	sequences, err := s.sequences()
	if err != nil {
		t.Fatal(err)
	}
	if all.merger, err = newMerger(sequences); err != nil {
		t.Fatal(err)
	}
	for i := range n / 2 {
		it, err := all.readItem()
		if err != nil || it == nil || it.input != fmt.Sprintf("%05d", i) || len(it.line) != len(line) {
			t.Fatalf("%d: %v, %v", i, it, err)
		}
		if at := it.at; at < fmt.Sprintf("%05d", n/2) {
			t.Fatalf("%s: the latest is of %s", it.input, at)
		}
	}
	if it, err := all.readItem(); it != nil || err != nil {
		t.Errorf("%v, %v", it, err)
	}
}

func TestComparePaths(t *testing.T) {
	sorted := []string{"a", "a/", "a/b", "a/b/c", "a/b-c", "a-", "a.json", "ab", "b"}
	for i, a := range sorted {
		for k, b := range sorted {
			if got, want := comparePaths(a, b), min(max(i-k, -1), 1); got != want {
				t.Errorf("%q, %q: %d, want %d", a, b, got, want)
			}
		}
	}
}

func FuzzParseLine(f *testing.F) {
	f.Add([]byte(`{"weft_migrate":1,"options":{},"options_id":"44136fa355b3678a"}`))
	f.Add([]byte(`{"input":"a","size":1,"mtime_ns":1,"state":"done","options_id":"","weft":"","problems":{"x":1}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		h, r, err := parseLine(line)
		if err == nil && (h == nil) == (r == nil) {
			t.Errorf("%+v, %+v", h, r)
		}
		if r == nil {
			return
		}
		text, err := appendLine(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if _, again, err := parseLine(bytes.TrimSpace(text)); err != nil || again.Input != strings.ToValidUTF8(r.Input, "\ufffd") {
			t.Errorf("%q comes back as %+v, %v", text, again, err)
		}
	})
}

func FuzzEscapeName(f *testing.F) {
	f.Add("a\xffb\\x41")
	f.Fuzz(func(t *testing.T, name string) {
		if got := inputs.UnescapeName(inputs.EscapeName(name)); got != name {
			t.Errorf("%q comes back as %q", name, got)
		}
	})
}

// Parts in any order, including replaced records, yield the same manifest as a run.
func TestMergeParts(t *testing.T) {
	contents := map[string]string{"bad.cpuprofile": `{"nodes":[{"id":1,`, "README": "no trace"}
	for i := range 40 {
		contents[fmt.Sprintf("%d/%d.json", i%3, i)] = small
	}
	a := newTestArchive(t, contents)
	if _, err := a.run(nil); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(a.out, stateFolder, manifestName))
	if err != nil {
		t.Fatal(err)
	}
	var parts [3]bytes.Buffer
	n := 0
	for record, err := range Records(a.out) {
		if err != nil {
			t.Fatal(err)
		}
		old := *record
		old.At, old.State, old.Kind, old.Reason = "2026-01-01T00:00:00.000000000Z", Failed, KindIO, "later it went well"
		record.At = "2026-01-02T00:00:00.000000000Z"
		for k, r := range []*Record{record, &old} {
			line, err := appendLine(nil, r)
			if err != nil {
				t.Fatal(err)
			}
			parts[(n+k)%3].Write(line)
		}
		n++
	}
	if n != len(contents) {
		t.Errorf("%d records of %d inputs", n, len(contents))
	}
	parts[1].WriteString(`{"input":"cut off`)
	var got bytes.Buffer
	err = Merge(&got, nil, bytes.NewReader(parts[0].Bytes()), bytes.NewReader(parts[1].Bytes()), bytes.NewReader(parts[2].Bytes()))
	if err != nil || !bytes.Equal(got.Bytes(), want) {
		t.Errorf("%v\n%s\nwant\n%s", err, got.Bytes(), want)
	}
	if err := Merge(io.Discard, nil, strings.NewReader("nonsense\n")); err == nil {
		t.Error("nonsense is a record")
	}
}

// The rate covers the last minute, and the time left assumes this rate.
func TestTimeLeft(t *testing.T) {
	var history rates
	start := time.Now()
	history.add(start, 0)
	for second := 1; second <= 100; second++ { // slow, then fast
		bytes := int64(second) * 1000
		if second > 30 {
			bytes = 30_000 + int64(second-30)*10_000
		}
		rate := history.add(start.Add(time.Duration(second)*time.Second), bytes)
		if second == 10 && rate != 1000 || second == 100 && rate != 10_000 {
			t.Errorf("after %d s the rate is %f", second, rate)
		}
	}
	r := newRun(&Config{})
	r.counts.todoBytes.Store(1 << 20)
	if p := r.progress(&history); p.Left != -1 || p.Complete {
		t.Errorf("the end of the walk is not known, and the time left is %v", p.Left)
	}
	r.counts.walked.Store(true)
	history = rates{times: []time.Time{time.Now().Add(-10 * time.Second)}, bytes: []int64{0}}
	r.counts.bytesRead.Store(100 << 10)
	if p := r.progress(&history); !p.Complete || p.Left < 85*time.Second || p.Left > 95*time.Second {
		t.Errorf("924 KiB are left at 10 KiB/s: %v", p.Left)
	}
}
