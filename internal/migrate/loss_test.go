package migrate

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
)

// A process that dies between writing the journal line and renaming the output leaves no old output that could be taken for
// the new one.
func TestReplacedOutputOfSameSize(t *testing.T) {
	a := newTestArchive(t, map[string]string{"a.json": small})
	noCompression := func(r *run) { r.Config.Convert.Compression = "none" }
	if _, err := a.run(noCompression); err != nil {
		t.Fatal(err)
	}
	output := filepath.Join(a.out, "a.json.pftrace")
	old, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	change := func(name string, age time.Duration) {
		files(t, a.in, map[string]string{"a.json": strings.Replace(small, `"a"`, `"`+name+`"`, 1)})
		later := time.Now().Add(age)
		if err := os.Chtimes(filepath.Join(a.in, "a.json"), later, later); err != nil {
			t.Fatal(err)
		}
	}
	change("b", time.Hour)
	if _, err := a.run(noCompression); err != nil {
		t.Fatal(err)
	}
	now, err := os.ReadFile(output)
	if err != nil || len(now) != len(old) || string(now) == string(old) {
		t.Fatalf("%d and %d bytes, %v; want other content of the same size", len(old), len(now), err)
	}
	change("c", 2*time.Hour)
	_, err = a.run(func(r *run) { // the journal line is written, but the output is not renamed
		noCompression(r)
		convertWith := r.convertWith
		r.convertWith = func(ctx context.Context, c *convert.Converter, dst io.Writer, src io.Reader, opts convert.Options) (*convert.Report, error) {
			temps, err := filepath.Glob(filepath.Join(a.out, stateFolder, tempFolder, "*"))
			if err != nil || len(temps) != 1 {
				t.Errorf("temporary files: %q, %v", temps, err)
			}
			for _, temp := range temps {
				if err := os.Remove(temp); err != nil {
					t.Skip(err) // the file is open
				}
			}
			return convertWith(ctx, c, dst, src, opts)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	a.want(map[string]string{"a.json": "failed output"})
	if fileExists(output) {
		t.Error("the old output has the name and the size of the new one")
	}
	if summary, err := a.run(noCompression); err != nil || summary.Run.Converted != 1 {
		t.Errorf("%+v, %v", summary, err)
	}
}

// An input that was deleted after its conversion keeps its record when the same list is given again.
func TestDeletedInputOfAList(t *testing.T) {
	a := newTestArchive(t, map[string]string{"a.json": small, "b.json": small})
	list := filepath.Join(t.TempDir(), "list")
	names := filepath.Join(a.in, "a.json") + "\n" + filepath.Join(a.in, "b.json") + "\n" + filepath.Join(a.in, "c.json") + "\n"
	if err := os.WriteFile(list, []byte(names), 0o666); err != nil {
		t.Fatal(err)
	}
	for round, want := range []RunTotals{{Converted: 2, Failed: 1}, {Unchanged: 2, FailedBefore: 1}} {
		summary, err := a.run(func(r *run) {
			r.Inputs, r.Lists, r.Root = nil, []string{list}, a.in
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a.json", "b.json"} {
			if err := os.Remove(filepath.Join(a.in, name)); err != nil && round == 0 {
				t.Fatal(err)
			}
		}
		if got := summary.Run; got.Converted != want.Converted || got.Failed != want.Failed || got.Unchanged != want.Unchanged || got.FailedBefore != want.FailedBefore {
			t.Errorf("run %d: %+v, want %+v", round, got, want)
		}
		a.want(map[string]string{"a.json": "done", "b.json": "done", "c.json": "failed missing"})
	}
	if err := os.Remove(filepath.Join(a.out, "a.json.pftrace")); err != nil {
		t.Fatal(err)
	}
	if _, err := a.run(func(r *run) { r.Inputs, r.Lists, r.Root = nil, []string{list}, a.in }); err != nil {
		t.Fatal(err)
	}
	a.want(map[string]string{"a.json": "failed missing", "b.json": "done", "c.json": "failed missing"})
}

// Another archive does not replace the outputs of the first one. A moved archive is accepted.
func TestAnotherRoot(t *testing.T) {
	a := newTestArchive(t, map[string]string{"a.json": small})
	if _, err := a.run(nil); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	files(t, other, map[string]string{"a.json": strings.Replace(small, `"a"`, `"other"`, 1)})
	before, err := os.ReadFile(filepath.Join(a.out, "a.json.pftrace"))
	if err != nil {
		t.Fatal(err)
	}
	mistake := (*Mistake)(nil)
	if _, err := a.run(func(r *run) { r.Inputs = []string{other} }); !errors.As(err, &mistake) || !strings.Contains(err.Error(), a.in) {
		t.Errorf("%v, want a mistake that names the root", err)
	}
	if now, err := os.ReadFile(filepath.Join(a.out, "a.json.pftrace")); err != nil || string(now) != string(before) {
		t.Errorf("the output is another one: %v", err)
	}
	moved := filepath.Join(t.TempDir(), "moved")
	if err := os.Rename(a.in, moved); err != nil {
		t.Fatal(err)
	}
	if summary, err := a.run(func(r *run) { r.Inputs = []string{moved} }); err != nil || summary.Run.Unchanged != 1 {
		t.Errorf("%+v, %v", summary, err)
	}
	if summary, err := a.run(func(r *run) { r.Inputs, r.Force = []string{other}, true }); err != nil || summary.Run.Converted != 1 {
		t.Errorf("with force: %+v, %v", summary, err)
	}
}

// Outputs are never inputs, however they are named.
func TestOutputsAreNoInputs(t *testing.T) {
	a := newTestArchive(t, map[string]string{"sub/a.json": small})
	a.out = filepath.Join(a.in, "out")
	if _, err := a.run(nil); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(a.in, "link")
	if err := os.Symlink(a.out, link); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{a.out, filepath.Join(a.out, "sub"), filepath.Join(a.out, "**/*.pftrace"), filepath.Join(link, "sub")} {
		mistake := (*Mistake)(nil)
		_, err := a.run(func(r *run) { r.Inputs, r.Root, r.Perfetto = []string{name}, a.in, "copy" })
		if !errors.As(err, &mistake) || !strings.Contains(err.Error(), "folder of outputs") {
			t.Errorf("%s: %v", name, err)
		}
	}
	summary, err := a.run(func(r *run) {
		r.Inputs, r.Root, r.Perfetto = []string{filepath.Join(link, "sub/a.json.pftrace")}, a.in, "copy"
	})
	if err != nil || summary.Run.Failed != 1 || summary.Run.Converted != 0 {
		t.Errorf("an output behind a link: %+v, %v", summary, err)
	}
}

// A panic while unpacking an archive affects only that archive.
func TestPanicOfAnArchive(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a.zip")
	if err := os.WriteFile(name, []byte("PK\x05\x06"+strings.Repeat("\x00", 18)), 0o666); err != nil { // without members
		t.Fatal(err)
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	broken := &archive{Worker: &Worker{run: newRun(&Config{})}, record: &Record{Format: zipArchive}} // it has no counter
	fail := (*failure)(nil)
	if err := broken.read(t.Context(), &localInput{File: f}, 22); !errors.As(err, &fail) || fail.kind != KindPanic || fail.stack == "" {
		t.Errorf("%v", err)
	}
}

// An input that cannot be read for lack of permission is not tried again in the same run.
func TestNoPermissionIsNotRetried(t *testing.T) {
	if fail := readingFailure(&os.PathError{Op: "open", Path: "x", Err: os.ErrPermission}); fail.again() || fail.kind != KindIO {
		t.Errorf("%+v", fail)
	}
	if fail := readingFailure(&os.PathError{Op: "read", Path: "x", Err: os.ErrClosed}); !fail.again() {
		t.Errorf("%+v", fail)
	}
}

// Unreadable state stops a run; that is neither a mistake nor the result "some files failed".
func TestDamagedStateStops(t *testing.T) {
	a := newTestArchive(t, map[string]string{"a.json": small})
	if _, err := a.run(nil); err != nil {
		t.Fatal(err)
	}
	manifest := stateOf(a.out).path(manifestName)
	if err := os.WriteFile(manifest, []byte(`{"weft_migrate":2}`+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	calls := map[string]func() error{
		"run": func() error {
			_, err := Run(context.Background(), Config{Out: a.out, Inputs: []string{a.in}})
			return err
		},
		"status":   func() error { _, err := Status(a.out); return err },
		"finish":   func() error { _, err := Finish(a.out); return err },
		"settings": func() error { _, _, err := Settings(a.out); return err },
	}
	for name, call := range calls {
		if stop := (*Stopped)(nil); !errors.As(call(), &stop) || !strings.Contains(stop.Reason, "newer version") {
			t.Errorf("%s: %v", name, call())
		}
	}
}

// Converts recordings in all formats, four times each, damaged ones and one on which weft panics, in one run. The converted
// traces are the same as convert's, and the other inputs have a failure with a position or a stack.
func TestAllFormatsWithFailures(t *testing.T) {
	const recordings = "../../../shared/traces"
	recording.NeedAll(t, "converts hundreds of files")
	if !fileExists(recordings) {
		t.Skip("skipped: the folder shared is not beside the checkout")
	}
	a := newTestArchive(t, map[string]string{"panic.json": strings.Replace(small, `"a"`, `"bad word"`, 1)})
	const copies, longest = 4, 1 << 20
	want := map[string]string{} // hashes of outputs; "" for unreadable inputs
	err := filepath.WalkDir(recordings, func(name string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil || len(content) > longest {
			return err
		}
		rel, err := filepath.Rel(recordings, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		for i := range copies {
			files(t, a.in, map[string]string{strconv.Itoa(i) + "/" + rel: string(content)})
		}
		var out bytes.Buffer
		_, err = convert.Convert(t.Context(), &out, bytes.NewReader(content), convert.Options{})
		switch {
		case err == nil && !strings.HasPrefix(rel, "perfetto/"):
			want[rel] = hashBytes(out.Bytes())
		case err != nil && !errors.Is(err, convert.ErrUnknownFormat):
			want[rel] = ""
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	summary, err := a.run(misbehave("bad word", func(context.Context) error { panic("injected") }))
	if err != nil {
		t.Fatal(err)
	}
	records := a.records()
	done, failed := int64(0), int64(1)
	for rel, hash := range want {
		for i := range copies {
			r := records[strconv.Itoa(i)+"/"+rel]
			switch {
			case r == nil:
				t.Errorf("%s has no record", rel)
			case hash != "":
				done++
				if r.State != Done || r.OutSHA256 != hash {
					t.Errorf("%s: %s, or not as convert makes it (%s)", r.Input, r.State, r.Reason)
				}
			default:
				failed++
				if r.Kind != KindUnreadable || !strings.Contains(r.Reason, "byte ") {
					t.Errorf("%s: %s %q, want unreadable with the position", r.Input, r.Kind, r.Reason)
				}
			}
		}
	}
	if summary.Total(Done).Files != done || summary.Total(Failed).Files != failed || done < 300 || failed < 5 {
		t.Errorf("%d done and %d failed, want %d and %d", summary.Total(Done).Files, summary.Total(Failed).Files, done, failed)
	}
	if r := records["panic.json"]; r.Kind != KindPanic {
		t.Errorf("%+v", r)
	}
	journal, err := os.ReadFile(filepath.Join(a.out, stateFolder, "journal-all.jsonl"))
	if err != nil || !bytes.Contains(journal, []byte(`"stack":"goroutine`)) {
		t.Errorf("the journal has no stack: %v", err)
	}
	t.Logf("%d outputs, %d failures", done, failed)
}

// Text that starts with an empty line is not taken for a Perfetto trace although its first probe line comes late.
func TestProbeLinesBehindText(t *testing.T) {
	text := "\n" + strings.Repeat("@count[1, 2]: 3\n", 200) + "#probelines 1\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	a := newTestArchive(t, map[string]string{"a.txt": text, "b.txt.gz": packed.String(), "c.tar": tarOf(t, "a.txt", text)})
	if _, err := a.run(nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.txt", "b.txt.gz", "c.tar|a.txt"} {
		if r := a.records()[name]; r == nil || r.State != Done || r.Format != convert.FormatProbes {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// Tasks wait in memory with the records of archive members, but only up to a limit.
func TestQueueIsBounded(t *testing.T) {
	q := newQueue()
	members := map[string]*Record{}
	for i := range maxQueued {
		members[strconv.Itoa(i)] = nil
	}
	q.add(&Task{Found: Found{Path: "a"}, Members: members})
	added := make(chan bool)
	go func() {
		q.add(&Task{Found: Found{Path: "b"}})
		close(added)
	}()
	select {
	case <-added:
		t.Fatal("it does not wait")
	case <-time.After(20 * time.Millisecond):
	}
	for _, want := range []string{"a", "b"} {
		if task, left, err := q.next(); err != nil || task.Found.Path != want || left != -1 {
			t.Errorf("%+v, %d left, %v, want %s", task, left, err, want)
		}
	}
	<-added
	q.close(nil)
	if task, _, err := q.next(); task != nil || err != nil {
		t.Errorf("%+v, %v", task, err)
	}
}
