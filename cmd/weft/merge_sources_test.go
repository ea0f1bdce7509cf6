package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// shop returns the recordings of a browser and its server.
func shop(t *testing.T) (browser, server string) {
	t.Helper()
	dir := filepath.Join(recording.Testdata(t), "traces", "merge")
	return filepath.Join(dir, "shop-browser.json"), filepath.Join(dir, "shop-server.json")
}

// Pipes are read once and kept: weft merge <(zcat a.gz) <(zcat b.gz).
func TestMergePipes(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("pipes have no names here")
	}
	browser, server := shop(t)
	temp := tempFolder(t)
	var args []string
	for name, file := range map[string]string{"browser": browser, "server": server} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		go func() {
			defer w.Close()
			w.Write(recording.Read(t, file))
		}()
		args = append(args, fmt.Sprintf("%s=/dev/fd/%d", name, r.Fd()))
	}
	report, _ := merged(t, append(args, "--reference", "browser")...)
	if got := report.Events.Flows; got != 6 {
		t.Errorf("%d flows, want 6", got)
	}
	if left, _ := os.ReadDir(temp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Inputs that can be read only once are rejected before anything is read, if they would be read twice.
func TestMergeReadsOnce(t *testing.T) {
	browser, _ := shop(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"x=-", "y=-"}, "standard input can be only one of the inputs"},
		{[]string{"--inputs-from", "-", "-", browser}, "--inputs-from reads its list from standard input"},
		{[]string{"x=" + os.DevNull, "y=" + os.DevNull}, os.DevNull + " is named twice"},
	} {
		if got := refused(t, exitUsage, c.args...); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q", c.args, got, c.want)
		}
	}
}

// The copy of standard input is removed if the flags are wrong, and if the user ends the job while it waits for more input.
func TestMergeLeavesNoCopies(t *testing.T) {
	browser, _ := shop(t)
	dir := tempFolder(t)
	job := func(ctx context.Context, stdin io.Reader, offset string) int {
		c := newConsole(stdin, false)
		args := []string{"weft", "merge", "-o", filepath.Join(dir, "out"), "--offset", offset, browser, "-"}
		return run(ctx, args, &c.environment)
	}
	if code := job(t.Context(), strings.NewReader("[]"), "zzz=1s"); code != exitUsage {
		t.Errorf("an offset of an unknown input: exit code %d", code)
	}
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer stop()
	never, w := io.Pipe()
	defer w.Close()
	if code := job(ctx, never, "stdin=1s"); code != exitInterrupted {
		t.Errorf("standard input that never ends: exit code %d", code)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// Standard input that contains the same recording as a file is rejected, as a second file would be.
func TestMergeStandardInputTwice(t *testing.T) {
	browser, _ := shop(t)
	c := newConsole(bytes.NewReader(recording.Read(t, browser)), false)
	args := []string{"weft", "merge", "-o", filepath.Join(t.TempDir(), "out"), browser, "-"}
	if code := run(t.Context(), args, &c.environment); code != exitUsage || !strings.Contains(c.err.String(), "the same recording") {
		t.Errorf("exit code %d: %s", code, c.err.String())
	}
}

// An input that another program is still writing is rejected when it is opened again.
func TestMergeChangedInput(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	c := newConsole(strings.NewReader(""), false)
	open := reopener(t.Context(), &c.environment, path)
	for i, text := range []string{"[]", "[]", "[{}]"} {
		if i != 1 {
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		in, err := open()
		if err == nil {
			in.Close()
		}
		if changed := i == 2; (err == errChanged) != changed {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// Arguments that --args leaves out still connect inputs, and are not in the output.
func TestMergeWithoutArgs(t *testing.T) {
	browser, server := shop(t)
	all, _ := merged(t, "browser="+browser, "server="+server)
	for _, flags := range [][]string{{"--args", "none"}, {"--args", "frame"}} {
		report, out := merged(t, append(flags, "browser="+browser, "server="+server)...)
		if report.Events != all.Events || report.Events.Flows != 6 {
			t.Errorf("%s: %+v, want %+v", flags, report.Events, all.Events)
		}
		tl := timelineOf(t, out)
		err := tl.Walk(t.Context(), func(it *timeline.Item) error {
			for arg := range tl.ArgList(it.Args) {
				if key := string(arg.Key); key == "data" || key == "traceparent" {
					t.Errorf("%s: %s has %s", flags, it.Name, key)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// weft merge rejects flags that would have no effect.
func TestMergeIdleFlags(t *testing.T) {
	browser, server := shop(t)
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--offset", "server=1s", "--offset", "server=2s"}, "server has two offsets"},
		{[]string{"--offset", "browser=1s", "--reference", "browser"}, "browser is the reference"},
		{[]string{"--same", "server"}, "is one input"},
		{[]string{"--same", "server,server"}, "is one input"},
	} {
		if got := refused(t, exitUsage, append(c.flags, "browser="+browser, "server="+server)...); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.flags, got)
		}
	}
}

// A key that no event has connects nothing, and causes a note. If there are two keys and events have one of them, the note is
// only about the other key.
func TestMergeUnknownLink(t *testing.T) {
	browser, server := shop(t)
	report, _ := merged(t, "--link", "url.path", "--link", "seq", "browser="+browser, "server="+server)
	var about []string
	for _, note := range report.Notes {
		if strings.HasPrefix(note, "--link") {
			about = append(about, note)
		}
	}
	if diff := cmp.Diff([]string{"--link seq: no event has an argument seq with a text or a whole number"}, about); diff != "" {
		t.Error(diff)
	}
}

// The report names losses and their inputs; problems that are usual for an input's format are not counted, whatever the
// format of the first input.
func TestMergeSaysWhatIsLost(t *testing.T) {
	chrome, firefox := recordingNamed(t, "chrome/chrome-paired-tiny.json"), recordingNamed(t, "firefox/gecko/ff-gecko-tiny.json")
	var counts []string
	for _, inputs := range [][]string{{"a=" + chrome, "b=" + firefox}, {"b=" + firefox, "a=" + chrome}} {
		c := newConsole(strings.NewReader(""), false)
		args := append([]string{"weft", "merge", "--samples", "none", "-o", filepath.Join(t.TempDir(), "out.pftrace")}, inputs...)
		if code := run(t.Context(), args, &c.environment); code != exitOK {
			t.Fatalf("exit code %d: %s", code, c.err.String())
		}
		report := c.err.String()
		if !strings.Contains(report, "  lost of a: profile_sample_unknown_node ×") {
			t.Error(report)
		}
		_, after, _ := strings.Cut(report, "  problems: ")
		line, _, _ := strings.Cut(after, "\n")
		counts = append(counts, line)
	}
	if counts[0] != counts[1] {
		t.Errorf("in another order other problems are counted: %q", counts)
	}
}
