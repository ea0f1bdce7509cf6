package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/recording"
)

// migrateCorpus writes n small traces into folders, some compressed, and other files. One in fifty is damaged. The modification
// times are old, so that no file counts as recent.
func migrateCorpus(t *testing.T, dir string, n int) {
	t.Helper()
	old := time.Unix(1_700_000_000, 123_456_789)
	write := func(name string, content []byte) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, content, 0o666), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	write("README", []byte("no trace\n"))
	for i := range n {
		var b bytes.Buffer
		b.WriteString("[")
		for k := range 20 + i%80 {
			fmt.Fprintf(&b, `{"ph":"X","pid":%d,"tid":1,"ts":%d,"dur":%d,"name":"work %d","args":{"n":%d}},`, i%3+1, k*10, k%9, k%7, i*k)
		}
		switch {
		case i%50 == 7:
			write(fmt.Sprintf("%02d/damaged%d.cpuprofile", i%17, i), []byte(`{"nodes":[{"id":1,"callFrame":{"functionName":"a"`))
		case i%5 == 0:
			var packed bytes.Buffer
			w := gzip.NewWriter(&packed)
			if _, err := w.Write(b.Bytes()); err != nil || w.Close() != nil {
				t.Fatal(err)
			}
			write(fmt.Sprintf("%02d/deep/er/trace%d.json.gz", i%17, i), packed.Bytes())
		default:
			write(fmt.Sprintf("%02d/trace%d.json", i%17, i), b.Bytes())
		}
	}
}

// corpusSize returns how many files a migration test uses.
func corpusSize() int {
	if recording.All() {
		return 2000
	}
	return 150
}

// rounds returns the number of rounds in tests that kill or interrupt processes.
func rounds() int {
	if recording.All() {
		return 10
	}
	return 3
}

// weftProcess returns a command that runs weft as a separate process.
func weftProcess(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary)
	cmd.Args = append([]string{"weft"}, args...)
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	return cmd
}

// weftExits runs weft as a process, checks its exit code, and returns its output.
func weftExits(t *testing.T, code int, args ...string) string {
	t.Helper()
	out, err := weftProcess(t, args...).CombinedOutput()
	got := 0
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if got != code {
		t.Fatalf("weft %s: exit code %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
	return string(out)
}

// tree returns the hashes of the manifest and of all files below a folder, except the files of the migration state.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return files // after a run that ended early
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil || strings.HasPrefix(rel, ".weft-migrate") && rel != filepath.Join(".weft-migrate", "manifest.jsonl") {
			return err
		}
		content, err := os.ReadFile(path)
		files[filepath.ToSlash(rel)] = fmt.Sprintf("%x", sha256.Sum256(content))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, sum := range want {
		if got[name] != sum {
			t.Errorf("%s: %q, want %q", name, got[name], sum)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is too many", name)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

// temps returns the temporary files of a migration.
func temps(t *testing.T, out string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(out, ".weft-migrate", "tmp", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// manifestLine is a line of a manifest, as a program would read it.
type manifestLine struct {
	Input, Member, State, Kind, Reason, Output string
	Size, Members                              int64
	Lost                                       uint64
	Problems                                   map[string]uint64
	OutSHA256                                  string `json:"out_sha256"`
}

// readManifest returns the lines of a manifest or journal after its header.
func readManifest(t *testing.T, path string) (lines []manifestLine) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `{"weft_migrate":`) || !strings.HasSuffix(line, "\n") {
			continue
		}
		var m manifestLine
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		lines = append(lines, m)
	}
	return lines
}

// readJournal reads the journal of the previous run; a run that ended early has none.
func readJournal(t *testing.T, out string) []manifestLine {
	t.Helper()
	name := filepath.Join(out, ".weft-migrate", "journal-all.jsonl")
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return readManifest(t, name)
}

// noneWithoutRecord checks that every output has a record in the journal that marks it done.
func noneWithoutRecord(t *testing.T, out string) {
	t.Helper()
	recorded := map[string]bool{}
	for _, line := range readJournal(t, out) {
		recorded[line.Output] = recorded[line.Output] || line.State == "done"
	}
	for name := range tree(t, out) {
		if !strings.HasPrefix(name, ".weft-migrate") && !recorded[name] {
			t.Fatalf("%s has no record", name)
		}
	}
}

// stopAfter starts a migration and signals it once it has added some records to its journal. It returns whether the signal came
// before the migration ended by itself, and how the process ended.
func stopAfter(t *testing.T, cmd *exec.Cmd, out string, records int, signal os.Signal) (stopped bool, err error) {
	t.Helper()
	count := func() int {
		text, _ := os.ReadFile(filepath.Join(out, ".weft-migrate", "journal-all.jsonl"))
		return bytes.Count(text, []byte{'\n'})
	}
	records += count()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case err := <-ended:
			return false, err
		case <-time.After(time.Millisecond):
		}
		if count() >= records {
			return cmd.Process.Signal(signal) == nil, <-ended
		}
	}
}

// A migration that is killed at any moment continues with the next run, and ends with the same bytes as an undisturbed one.
func TestMigrateKilled(t *testing.T) {
	dir := t.TempDir()
	in, want, out := filepath.Join(dir, "in"), filepath.Join(dir, "want"), filepath.Join(dir, "out")
	migrateCorpus(t, in, corpusSize())
	weftExits(t, exitFailed, "migrate", "-q", "--jobs", "2", "--out", want, in)
	killed := 0
	for range rounds() {
		cmd := weftProcess(t, "migrate", "-q", "--jobs", "2", "--out", out, in)
		if stopped, _ := stopAfter(t, cmd, out, corpusSize()/8, os.Kill); stopped {
			killed++
		}
		if left := temps(t, out); len(left) > 2 {
			t.Fatalf("%d temporary files of 2 jobs: %q", len(left), left)
		}
		noneWithoutRecord(t, out)
	}
	if killed == 0 {
		t.Error("no run was killed")
	}
	weftExits(t, exitFailed, "migrate", "-q", "--out", out, in)
	sameTree(t, tree(t, out), tree(t, want))
	if left := temps(t, out); len(left) > 0 {
		t.Errorf("temporary files are left: %q", left)
	}
}

// An interrupted migration ends and leaves no temporary file.
func TestMigrateInterrupted(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals here")
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	migrateCorpus(t, in, corpusSize())
	interrupted := 0
	for range rounds() {
		cmd := weftProcess(t, "migrate", "--jobs", "2", "--json", "--out", out, in)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		stopped, err := stopAfter(t, cmd, out, corpusSize()/8, os.Interrupt)
		if !stopped {
			break // it had finished before
		}
		exit := (*exec.ExitError)(nil)
		if !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if exit.ExitCode() == exitFailed {
			break // finished, including the damaged files
		}
		if exit.ExitCode() != exitInterrupted {
			t.Fatalf("exit code %d\n%s", exit.ExitCode(), stderr.String())
		}
		var summary struct{ Run struct{ Unfinished bool } }
		if err := json.Unmarshal(stdout.Bytes(), &summary); err != nil {
			t.Errorf("the summary as JSON: %q, %v", stdout.String(), err)
		}
		if !summary.Run.Unfinished {
			break // the signal came after the last file
		}
		interrupted++
		if !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("it says %q", stderr.String())
		}
		if left := temps(t, out); len(left) > 0 {
			t.Fatalf("temporary files are left: %q", left)
		}
		noneWithoutRecord(t, out)
	}
	if interrupted == 0 {
		t.Error("no run was interrupted")
	}
	weftExits(t, exitFailed, "migrate", "-q", "--out", out, in)
}

// The same command does nothing the second time and reports that. If only the modification time of a file changes, nothing is
// converted; if a byte of a file changes, that file is converted.
func TestMigrateAgain(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	migrateCorpus(t, in, 100)
	weftExits(t, exitFailed, "migrate", "-q", "--out", out, in)
	before := tree(t, out)
	again := func(args ...string) string {
		t.Helper()
		return weftExits(t, exitFailed, append([]string{"migrate", "--out", out, in}, args...)...)
	}
	if text := again(); !strings.Contains(text, "nothing to do: 99 files are unchanged; 2 failed before and not tried again") {
		t.Errorf("the second run says\n%s", text)
	}
	now := time.Unix(1_700_000_100, 0)
	err := filepath.WalkDir(in, func(path string, entry fs.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(path, now, now))
	})
	if err != nil {
		t.Fatal(err)
	}
	if text := again(); strings.Contains(text, " 1 converted") || !strings.Contains(text, "0 converted") && !strings.Contains(text, "nothing to do") {
		t.Errorf("after touching the run says\n%s", text)
	}
	if text := again(); !strings.Contains(text, "nothing to do") {
		t.Errorf("the run after it says\n%s", text)
	}
	name := filepath.Join(in, "01", "trace1.json")
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	content = bytes.Replace(content, []byte("work 1"), []byte("work X"), 1)
	if err := errors.Join(os.WriteFile(name, content, 0o666), os.Chtimes(name, now, now)); err != nil {
		t.Fatal(err)
	}
	if text := again(); !strings.Contains(text, "nothing to do") {
		t.Errorf("a change without a trace of it: the run says\n%s", text)
	}
	if err := os.WriteFile(name, bytes.Replace(content, []byte("work X"), []byte("work Y"), 1), 0o666); err != nil {
		t.Fatal(err)
	}
	if text := again(); !strings.Contains(text, "1 converted") {
		t.Errorf("after a change the run says\n%s", text)
	}
	after := tree(t, out)
	for name := range before {
		if changed := before[name] != after[name]; changed != (strings.HasSuffix(name, "/trace1.json.pftrace") || strings.HasSuffix(name, "manifest.jsonl")) {
			t.Errorf("%s: changed %v", name, changed)
		}
	}
	if err := os.Remove(filepath.Join(out, "01", "trace1.json.pftrace")); err != nil {
		t.Fatal(err)
	}
	if text := weftExits(t, exitOK, "migrate", "--dry-run", "--out", out, in); !strings.Contains(text, "output-missing") {
		t.Errorf("a dry run says\n%s", text)
	}
	again()
	sameTree(t, tree(t, out), after)
	if text := weftExits(t, exitOK, "migrate", "--args", "none", "--dry-run", "--out", out, in); !strings.Contains(text, "options") {
		t.Errorf("a dry run with other options says\n%s", text)
	}
}

// The tree and the manifest do not depend on the number of jobs and shards.
func TestMigrateJobsAndShards(t *testing.T) {
	recording.NeedAll(t, "migrates one archive in many ways")
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	migrateCorpus(t, in, corpusSize())
	first := filepath.Join(dir, "jobs1")
	weftExits(t, exitFailed, "migrate", "-q", "--jobs", "1", "--out", first, in)
	want := tree(t, first)
	for _, jobs := range []int{2, 8} {
		out := filepath.Join(dir, fmt.Sprint("jobs", jobs))
		weftExits(t, exitFailed, "migrate", "-q", "--jobs", strconv.Itoa(jobs), "--out", out, in)
		sameTree(t, tree(t, out), want)
	}
	out := filepath.Join(dir, "shards")
	var shards sync.WaitGroup
	for i := range 16 {
		cmd := weftProcess(t, "migrate", "-q", "--out", out, "--shard", fmt.Sprintf("%d/16", i), in)
		shards.Go(func() {
			if text, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != exitFailed {
				t.Errorf("shard %d: %v\n%s", i, err, text)
			}
		})
	}
	shards.Wait()
	weftExits(t, exitFailed, "migrate", "-q", "--out", out, "--finish")
	sameTree(t, tree(t, out), want)
	// Runs with a different number of shards, or without shards, find everything done.
	for _, args := range [][]string{{"--shard", "1/3"}, nil} {
		if text := weftExits(t, exitFailed, append([]string{"migrate", "--out", out, in}, args...)...); !strings.Contains(text, "nothing to do") {
			t.Errorf("%q: the run says\n%s", args, text)
		}
	}
	sameTree(t, tree(t, out), want)
}

// archiveOf packs a folder into an archive; the file extension determines its kind.
func archiveOf(t *testing.T, dir, archive string) {
	t.Helper()
	var buf bytes.Buffer
	var add func(name string, content []byte, at time.Time) error
	var closeAll func() error
	var tw *tar.Writer
	switch {
	case strings.HasSuffix(archive, ".zip"):
		w := zip.NewWriter(&buf)
		closeAll = w.Close
		add = func(name string, content []byte, at time.Time) error {
			f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at})
			if err == nil {
				_, err = f.Write(content)
			}
			return err
		}
	case strings.HasSuffix(archive, ".gz"):
		w := gzip.NewWriter(&buf)
		tw = tar.NewWriter(w)
		closeAll = func() error { return errors.Join(tw.Close(), w.Close()) }
	case strings.HasSuffix(archive, ".zst"):
		w, err := zstd.NewWriter(&buf)
		if err != nil {
			t.Fatal(err)
		}
		tw = tar.NewWriter(w)
		closeAll = func() error { return errors.Join(tw.Close(), w.Close()) }
	default:
		tw = tar.NewWriter(&buf)
		closeAll = tw.Close
	}
	if add == nil {
		add = func(name string, content []byte, at time.Time) error {
			err := tw.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644, ModTime: at})
			if err == nil {
				_, err = tw.Write(content)
			}
			return err
		}
	}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		content, readErr := os.ReadFile(path)
		return errors.Join(err, readErr, add(filepath.ToSlash(rel), content, time.Unix(1_700_000_000, 0)))
	})
	if err := errors.Join(err, closeAll(), os.WriteFile(archive, buf.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
}

// Members of archives yield the same bytes as the files themselves.
func TestMigrateArchives(t *testing.T) {
	dir := t.TempDir()
	in, archives, plain, out := filepath.Join(dir, "in"), filepath.Join(dir, "archives"), filepath.Join(dir, "plain"), filepath.Join(dir, "out")
	migrateCorpus(t, in, 120)
	weftExits(t, exitFailed, "migrate", "-q", "--out", plain, in)
	if err := os.Mkdir(archives, 0o777); err != nil {
		t.Fatal(err)
	}
	names := []string{"a.tar", "a.tar.gz", "a.tar.zst", "a.zip"}
	for _, name := range names {
		archiveOf(t, in, filepath.Join(archives, name))
	}
	tempFolder(t)
	weftExits(t, exitFailed, "migrate", "-q", "--out", out, archives)
	want, got := tree(t, plain), tree(t, out)
	manifest := ".weft-migrate/manifest.jsonl"
	delete(want, manifest)
	delete(got, manifest)
	for _, name := range names {
		below := map[string]string{}
		for path, sum := range got {
			if rest, ok := strings.CutPrefix(path, name+"/"); ok {
				below[rest] = sum
			}
		}
		sameTree(t, below, want)
	}
	var members, records int
	for _, line := range readManifest(t, filepath.Join(out, filepath.FromSlash(manifest))) {
		if line.Member == "" {
			records++
			members += int(line.Members)
			continue
		}
		members--
	}
	if records != len(names) || members != 0 {
		t.Errorf("%d archives have records, and %d members more than those say", records, -members)
	}
	before := tree(t, out)
	if text := weftExits(t, exitFailed, "migrate", "--out", out, archives); !strings.Contains(text, "nothing to do") {
		t.Errorf("the second run says\n%s", text)
	}
	// Only a member whose output is gone is converted again.
	if err := os.Remove(filepath.Join(out, "a.tar.gz", "01", "trace1.json.pftrace")); err != nil {
		t.Fatal(err)
	}
	if text := weftExits(t, exitFailed, "migrate", "--out", out, archives); !strings.Contains(text, "this run: 1 converted") {
		t.Errorf("the run says\n%s", text)
	}
	sameTree(t, tree(t, out), before)
}

// Each name in a list is processed once, and the name of a missing file fails.
func TestMigrateList(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	n := corpusSize()
	migrateCorpus(t, in, n)
	var names []string
	for name := range tree(t, in) {
		if name != "README" && !strings.Contains(name, "damaged") {
			names = append(names, name)
		}
	}
	all := slices.Clone(names)
	for i := range 10 {
		all = append(all, fmt.Sprintf("missing %d.json", i), names[i*7])
	}
	rand.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	list, listNUL := filepath.Join(dir, "list"), filepath.Join(dir, "list0")
	for path, end := range map[string]string{list: "\n", listNUL: "\x00"} {
		var b strings.Builder
		for _, name := range all {
			b.WriteString(filepath.Join(in, filepath.FromSlash(name)) + end)
		}
		if err := os.WriteFile(path, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	weftExits(t, exitFailed, "migrate", "-q", "--out", first, "--root", in, "--files-from", list)
	cmd := weftProcess(t, "migrate", "-q", "--out", second, "--root", in, "-0", "--files-from", "-")
	stdin, err := os.Open(listNUL)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	cmd.Stdin = stdin
	if text, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitFailed {
		t.Fatalf("%v\n%s", err, text)
	}
	sameTree(t, tree(t, second), tree(t, first))
	states := map[string]int{}
	for _, line := range readManifest(t, filepath.Join(first, ".weft-migrate", "manifest.jsonl")) {
		states[line.State+" "+line.Kind]++
	}
	if states["failed missing"] != 10 || states["done "] != len(names) || len(states) != 2 {
		t.Errorf("%v of %d names", states, len(names))
	}
}

// A disk that fills up stops the run with an intact journal. With more room the next run ends as if nothing had happened.
func TestMigrateFullDisk(t *testing.T) {
	recording.NeedAll(t, "needs Linux and root")
	dir := t.TempDir()
	in, want, small := filepath.Join(dir, "in"), filepath.Join(dir, "want"), filepath.Join(dir, "small")
	migrateCorpus(t, in, 400)
	if err := os.Mkdir(small, 0o777); err != nil {
		t.Fatal(err)
	}
	mount := func(args ...string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return exec.CommandContext(ctx, "mount", append(args, "tmpfs", small)...).Run()
	}
	if runtime.GOOS != "linux" || mount("-t", "tmpfs", "-o", "size=1M") != nil {
		t.Skip("a small file system cannot be made here; that needs Linux and root")
	}
	defer func() { _ = exec.Command("umount", small).Run() }()
	weftExits(t, exitFailed, "migrate", "-q", "--compress", "none", "--out", want, in)
	out := filepath.Join(small, "out")
	text := weftExits(t, exitStopped, "migrate", "--compress", "none", "--out", out, in)
	if !strings.Contains(text, "no space left on device") || !strings.Contains(text, "The same command goes on.") {
		t.Errorf("it says %q", text)
	}
	if left := temps(t, out); len(left) > 0 {
		t.Errorf("temporary files are left: %q", left)
	}
	noneWithoutRecord(t, out)
	if err := mount("-o", "remount,size=64M"); err != nil {
		t.Fatal(err)
	}
	weftExits(t, exitFailed, "migrate", "-q", "--compress", "none", "--out", out, in)
	sameTree(t, tree(t, out), tree(t, want))

	if err := mount("-o", "remount,ro"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(in, "new.json"), []byte("[]"), 0o666); err != nil {
		t.Fatal(err)
	}
	if text := weftExits(t, exitStopped, "migrate", "--out", out, in); !strings.Contains(text, "read-only file system") {
		t.Errorf("it says %q", text)
	}
}

// The summary and the manifest agree with the reports of weft convert, file by file and in total.
func TestMigrateSums(t *testing.T) {
	recording.NeedAll(t, "migrates and converts all recordings")
	dir := t.TempDir()
	in, out, one := filepath.Join(dir, "in"), filepath.Join(dir, "out"), filepath.Join(dir, "one")
	if err := os.CopyFS(in, os.DirFS(filepath.Join("..", "..", "testdata", "traces"))); err != nil {
		t.Fatal(err)
	}
	args := []string{"convert", "--json", "--out-dir", one}
	var names []string
	text, err := weftProcess(t, "migrate", "--perfetto", "convert", "--json", "--out", out, in).Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != exitFailed) {
		t.Fatal(err)
	}
	type sums struct {
		Files, In, Out, Slices int64
	}
	var summary struct {
		States []struct {
			State string
			Files int64
		}
		Formats []struct {
			Format       string
			Files, Bytes int64
			BytesOut     int64 `json:"bytes_out"`
			Events       struct{ Slices int64 }
		}
		Problems []struct {
			Name  string
			Count uint64
		}
	}
	if err := json.Unmarshal(text, &summary); err != nil {
		t.Fatal(err)
	}
	got, want := map[string]sums{}, map[string]sums{}
	gotProblems, wantProblems := map[string]uint64{}, map[string]uint64{}
	for _, f := range summary.Formats {
		got[f.Format] = sums{Files: f.Files, In: f.Bytes, Out: f.BytesOut, Slices: f.Events.Slices}
	}
	for _, p := range summary.Problems {
		gotProblems[p.Name] = p.Count
	}
	for _, line := range readManifest(t, filepath.Join(out, ".weft-migrate", "manifest.jsonl")) {
		if line.State == "done" {
			names = append(names, filepath.Join(in, filepath.FromSlash(line.Input)))
		}
	}
	for _, name := range names { // names alone may be the same in several folders
		reports, err := weftProcess(t, append(slices.Clone(args), "-f", "--workers", "1", name)...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var r struct {
			Format   string
			BytesIn  int64 `json:"bytes_in"`
			BytesOut int64 `json:"bytes_out"`
			Events   struct{ Slices int64 }
			Problems []struct {
				Name  string
				Count uint64
			}
		}
		if err := json.Unmarshal(reports, &r); err != nil {
			t.Fatal(err)
		}
		sum := want[r.Format]
		sum.Files, sum.In, sum.Out, sum.Slices = sum.Files+1, sum.In+r.BytesIn, sum.Out+r.BytesOut, sum.Slices+r.Events.Slices
		want[r.Format] = sum
		for _, p := range r.Problems {
			wantProblems[p.Name] += p.Count
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(wantProblems, gotProblems); diff != "" {
		t.Error(diff)
	}
}

// The Dockerfile runs the same commands as CI, with the Go version in go.mod, and the image runs as an unprivileged user.
func TestDockerfile(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	dockerfile, ci := read("Dockerfile"), read(filepath.Join(".ci", "run"))
	place := regexp.MustCompile(`-o \S+`)
	ci = place.ReplaceAllString(ci, "-o PLACE")
	commands := regexp.MustCompile(`(?m)^RUN (.*\bgo .*)$`).FindAllStringSubmatch(dockerfile, -1)
	if len(commands) != 2 {
		t.Errorf("%d commands of go", len(commands))
	}
	for _, command := range commands {
		if line := place.ReplaceAllString(command[1], "-o PLACE"); !strings.Contains(ci, "\n"+line+"\n") {
			t.Errorf("CI does not run %q", line)
		}
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read("go.mod"))
	if version == nil || !strings.Contains(dockerfile, "FROM golang:"+version[1]+" ") {
		t.Errorf("the image is not built with Go %v", version)
	}
	if user := regexp.MustCompile(`(?m)^USER ([1-9]\d*):`).FindString(dockerfile); user == "" || !strings.Contains(dockerfile, "FROM scratch") {
		t.Error("the image runs as root, or holds more than weft")
	}
}
