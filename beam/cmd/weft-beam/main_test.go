package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/migrate"
)

// asCommand makes the test binary run as weft-beam if it is set.
const asCommand = "WEFT_BEAM_TEST_COMMAND"

// slow enables tests that take minutes, or need programs built from Beam's module.
const slow = "WEFT_BEAM_SLOW"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command returns a weft-beam command.
func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// weftBeam runs weft-beam and requires an exit code.
func weftBeam(t *testing.T, code int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := command(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("weft-beam %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

// makeTraces writes n traces of up to max slices, ten per folder.
func makeTraces(t *testing.T, n, max int) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "in")
	for i := range n {
		var b strings.Builder
		b.WriteString("[")
		for k := range 1 + i*7919%max {
			fmt.Fprintf(&b, `{"ph":"X","pid":%d,"tid":1,"ts":%d,"dur":%d,"name":"work %d","args":{"n":%d}},`, i%3+1, k*10, k%9, k%7, i*k)
		}
		path := filepath.Join(dir, fmt.Sprint(i/10), fmt.Sprintf("%d.json", i))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(strings.TrimSuffix(b.String(), ",")+"]"), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// contentOf reads the outputs and the manifest. Leftover parts and temporary files fail the test.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	content := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		state, inState := strings.CutPrefix(filepath.ToSlash(rel), migrate.StateFolder+"/")
		switch {
		case inState && (state == "lock" || state == "merged.json" || strings.HasPrefix(state, "journal-")):
			return nil
		case inState && state != migrate.ManifestName:
			t.Errorf("%s is left", rel)
		}
		text, err := os.ReadFile(path)
		content[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return content
}

// wantContent returns the files that weft migrate writes for a folder.
func wantContent(t *testing.T, in string) map[string]string {
	t.Helper()
	c := migrate.Config{Inputs: []string{in}, Out: filepath.Join(t.TempDir(), "want")}
	c.Convert.Compression, c.Convert.Packets, c.Convert.Memory = "zstd", "compact", 128<<20
	if _, err := migrate.Run(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return contentOf(t, c.Out)
}

func TestMistakes(t *testing.T) {
	in := makeTraces(t, 1, 2)
	out := filepath.Join(t.TempDir(), "out")
	for text, args := range map[string][]string{
		"--out is missing":                   {"--in", in},
		"no input":                           {"--out", out},
		"is a glob not in quotes":            {"--out", out, "--in", in, "x.json"},
		"matches no file":                    {"--out", out, "--in", in + "/*.none"},
		"no such file":                       {"--out", out, "--in", in + "/none"},
		"there is no migration":              {"--out", out, "--status"},
		"path of this machine":               {"--out", out, "--in", in, "--runner", "universal", "--endpoint", "localhost:1", "--environment_type", "EXTERNAL"},
		"--root is missing":                  {"--out", out, "--in", "gs://a/b", "--in", "gs://a/c"},
		"must be greater":                    {"--out", out, "--in", in, "--file-memory", "0"},
		"compress":                           {"--out", out, "--in", in, "--compress", "lzma"},
		`"maybe" is not on or off`:           {"--out", out, "--in", in, "--screenshots", "maybe"},
		`flag provided but not defined`:      {"--nonsense"},
		`"12 potatoes" is not a size`:        {"--file-memory", "12 potatoes"},
		"only local outputs can be verified": {"--out", "gs://b/o", "--in", in, "--verify"},
	} {
		stdout, stderr := weftBeam(t, exitMistake, args...)
		if !strings.Contains(stderr, text) || strings.Contains(stderr, "goroutine") || stdout != "" {
			t.Errorf("%q: %s%s", args, stdout, stderr)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("mistakes leave something")
	}
}

// Consecutive calls, as in docs/batch.md: exit codes, printed text, and no leftover temporary files.
func TestJobs(t *testing.T) {
	in := makeTraces(t, 30, 50)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	out := filepath.Join(t.TempDir(), "out")
	want := wantContent(t, in)
	stdout, stderr := weftBeam(t, exitDone, "--in", in, "--out", out)
	if !strings.Contains(stdout, "30 traces converted") || stderr != "" {
		t.Errorf("%s%s", stdout, stderr)
	}
	if diff := cmp.Diff(want, contentOf(t, out)); diff != "" {
		t.Error(diff)
	}
	if stdout, _ := weftBeam(t, exitDone, "--in", in, "--out", out); !strings.Contains(stdout, "this job: 0 files done, 30 unchanged") {
		t.Error(stdout)
	}
	if err := os.WriteFile(filepath.Join(in, "bad.json"), []byte(`{"nodes":[{"id":1,"callFrame":{"functionName":"x"`), 0o666); err != nil {
		t.Fatal(err)
	}
	if stdout, _ := weftBeam(t, exitFailed, "--in", in, "--out", out); !strings.Contains(stdout, "bad.json: unreadable: ") {
		t.Error(stdout)
	}
	weftBeam(t, exitFailed, "--in", in, "--out", out, "--quiet")
	stdout, _ = weftBeam(t, exitFailed, "--out", out, "--status", "--json")
	var s struct{ States []struct{ Files int64 } }
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || len(s.States) != 2 || s.States[0].Files != 30 {
		t.Errorf("%s: %v", stdout, err)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("%v is left in the folder for temporary files", left)
	}
}

// B5: a storage error stops the job.
func TestStops(t *testing.T) {
	in := makeTraces(t, 3, 5)
	out := filepath.Join(t.TempDir(), "out")
	if err := errors.Join(os.MkdirAll(filepath.Join(out, migrate.StateFolder), 0o777), os.WriteFile(filepath.Join(out, migrate.StateFolder, "tmp"), nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if _, stderr := weftBeam(t, exitStopped, "--in", in, "--out", out); !strings.Contains(stderr, "stopped: ") || !strings.Contains(stderr, "not a directory") {
		t.Error(stderr)
	}
}

// disturb starts the job repeatedly, sends it the next signal as soon as it has written a new trace, and calls check with its
// result. Jobs that converted all files before the signal do not count; disturb returns when each signal has hit a job.
func disturb(t *testing.T, in, out string, files int, signals []os.Signal, check func(state *os.ProcessState, stderr string)) {
	t.Helper()
	for attempt, hit := 0, 0; hit < len(signals); attempt++ {
		if attempt == 10*len(signals) {
			t.Fatalf("%d jobs were disturbed while they converted, of %d", hit, len(signals))
		}
		before := countTraces(out)
		var stderr bytes.Buffer
		cmd := command(t, "--in", in, "--out", out, "--quiet")
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			cmd.Wait()
			close(ended)
		}()
		for done := false; !done && countTraces(out) <= before; {
			select {
			case <-ended:
				done = true
			case <-time.After(time.Millisecond):
			}
		}
		cmd.Process.Signal(signals[hit]) // an error means that the job has ended, which the next lines handle
		<-ended
		if countTraces(out) >= files { // it finished before the signal
			if err := os.RemoveAll(out); err != nil {
				t.Fatal(err)
			}
			continue
		}
		hit++
		check(cmd.ProcessState, stderr.String())
	}
}

// countTraces counts the finished traces in the output folder.
func countTraces(out string) int {
	n := 0
	filepath.WalkDir(out, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // the job moves files during the walk
		}
		if e.IsDir() && e.Name() == migrate.StateFolder {
			return filepath.SkipDir
		}
		if !e.IsDir() {
			n++
		}
		return nil
	})
	return n
}

// The commands in docs/batch.md do what the page describes.
func TestPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "batch.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```sh beam\n")
	commands, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatal("no commands")
	}
	defineFlags(flag.CommandLine)
	_, section, _ := strings.Cut(string(page), "\n## Apache Beam\n")
	for _, match := range regexp.MustCompile("(?:^|[\\s`(])--([a-z][a-z_-]*)").FindAllStringSubmatch(section, -1) {
		onlyMigrate := []string{"name", "checksum", "shard", "fsync"}
		if flag.Lookup(match[1]) == nil != slices.Contains(onlyMigrate, match[1]) {
			t.Errorf("--%s: is it a flag of weft-beam?", match[1])
		}
	}
	dir := t.TempDir()
	if err := os.Rename(makeTraces(t, 12, 5), filepath.Join(dir, "traces")); err != nil {
		t.Fatal(err)
	}
	var all []string
	for call := range strings.Lines(commands) {
		words := strings.Fields(strings.ReplaceAll(call, "'", ""))
		cmd := command(t, words[1:]...)
		cmd.Dir = dir
		text, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(text), "12 traces converted") {
			t.Errorf("%s%s%v", call, text, err)
		}
		all = append(all, string(text))
	}
	if len(all) != 3 || !strings.Contains(all[0], "12 files done") || !strings.Contains(all[1], "0 files done, 12 unchanged") {
		t.Errorf("%q", all)
	}
}

// B6: the next job continues where a killed one stopped, and the result is the same as without interruption.
func TestKilled(t *testing.T) {
	files, kills := 1500, 3
	if os.Getenv(slow) != "" {
		files, kills = 4000, 20
	}
	in := makeTraces(t, files, 400)
	out := filepath.Join(t.TempDir(), "out")
	disturb(t, in, out, files, slices.Repeat([]os.Signal{os.Kill}, kills), func(*os.ProcessState, string) {})
	weftBeam(t, exitDone, "--in", in, "--out", out, "--quiet")
	if diff := cmp.Diff(wantContent(t, in), contentOf(t, out)); diff != "" {
		t.Errorf("undisturbed (-), killed (+):\n%.2000s", diff)
	}
}

// B7: a signal stops the job before all files are converted, with its own exit code and no leftover temporary files, and the next
// job continues.
func TestInterrupted(t *testing.T) {
	files, pairs := 1500, 2
	if os.Getenv(slow) != "" {
		files, pairs = 4000, 10
	}
	in := makeTraces(t, files, 400)
	out := filepath.Join(t.TempDir(), "out")
	disturb(t, in, out, files, slices.Repeat([]os.Signal{os.Interrupt, syscall.SIGTERM}, pairs), func(state *os.ProcessState, stderr string) {
		if state.ExitCode() != exitInterrupted || !strings.Contains(stderr, "interrupted") || strings.Contains(stderr, "goroutine") {
			t.Fatalf("exit code %d\n%s", state.ExitCode(), stderr)
		}
		if left, _ := filepath.Glob(filepath.Join(out, migrate.StateFolder, "tmp", "*")); len(left) > 0 {
			t.Fatalf("%q are left", left)
		}
	})
	weftBeam(t, exitDone, "--in", in, "--out", out, "--quiet")
	if diff := cmp.Diff(wantContent(t, in), contentOf(t, out)); diff != "" {
		t.Errorf("undisturbed (-), interrupted (+):\n%.2000s", diff)
	}
}

// Two concurrent jobs with the same output folder write the same tree.
func TestTwoAtOnce(t *testing.T) {
	in := makeTraces(t, 200, 200)
	out := filepath.Join(t.TempDir(), "out")
	var jobs []*bytes.Buffer
	var commands []interface{ Wait() error }
	for range 2 {
		cmd := command(t, "--in", in, "--out", out, "--quiet")
		b := new(bytes.Buffer)
		cmd.Stderr = b
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		jobs, commands = append(jobs, b), append(commands, cmd)
	}
	for i := range commands {
		if err := commands[i].Wait(); err != nil {
			t.Errorf("%v\n%s", err, jobs[i])
		}
	}
	if diff := cmp.Diff(wantContent(t, in), contentOf(t, out)); diff != "" {
		t.Errorf("one (-), two at once (+):\n%.2000s", diff)
	}
}

// A Dataflow job can be prepared from the command line alone.
func TestDataflowDryRun(t *testing.T) {
	if _, stderr := weftBeam(t, exitDone, "--runner", "dataflow", "--dry_run", "--project", "p", "--region", "r", "--staging_location", "gs://b/st",
		"--in", makeTraces(t, 1, 2), "--out", filepath.Join(t.TempDir(), "out")); !strings.Contains(stderr, "not run") {
		t.Error(stderr)
	}
}
