package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// splitExport returns the arguments for exporting six events into three files and a manifest.
func splitExport(dir string) []string {
	return []string{
		"weft", "export", "--as", "proto", "--force", "--quiet", "--split", "2", "--manifest", filepath.Join(dir, "list.json"),
		"-o", filepath.Join(dir, "t.events.binpb"), filepath.Join(dir, "in", "trace.json"),
	}
}

// splitFolder creates a folder for splitExport with the trace and, if earlier is set, with the manifest and files of an
// earlier export of another trace.
func splitFolder(t *testing.T, earlier bool) string {
	t.Helper()
	dir := t.TempDir()
	trace := filepath.Join(dir, "in", "trace.json")
	if err := os.Mkdir(filepath.Dir(trace), 0o777); err != nil {
		t.Fatal(err)
	}
	write := func(name string) {
		var events []string
		for i := range 6 {
			events = append(events, fmt.Sprintf(`{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":1,"name":%q}`, 10*i, name))
		}
		if err := os.WriteFile(trace, []byte("["+strings.Join(events, ",")+"]"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if earlier {
		write("earlier")
		c := newConsole(strings.NewReader(""), false)
		if code := run(t.Context(), splitExport(dir), &c.environment); code != exitOK {
			t.Fatalf("exit code %d: %s", code, c.err.String())
		}
	}
	write("a")
	return dir
}

// checkManifest checks that a folder has no manifest, or one whose files all exist as listed. It returns the manifest's id;
// "" without one.
func checkManifest(t *testing.T, dir string) (id string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "list.json"))
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	var m manifest
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	if err != nil || len(m.Files) != 3 || m.Events != 6 {
		t.Fatalf("manifest %s, error %v", text, err)
	}
	for i := range m.Files {
		data, err := os.ReadFile(filepath.Join(dir, m.Files[i].File))
		if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != m.Files[i].SHA256 || uint64(len(data)) != m.Files[i].Bytes {
			t.Errorf("%s is not what the manifest lists; error %v", m.Files[i].File, err)
		}
	}
	return m.StreamID
}

// leftovers returns the temporary files in a folder.
func leftovers(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".tmp") || strings.HasPrefix(entry.Name(), "weft-") {
			names = append(names, entry.Name())
		}
	}
	return names
}

// maxSteps is more steps than an export of six events needs.
const maxSteps = 100

// Whichever step of writing the files and the manifest fails, there is no manifest, or one whose files all exist, and no
// temporary file.
func TestExportFailsAtEveryStep(t *testing.T) {
	for _, earlier := range []bool{false, true} {
		for fails := 1; ; fails++ {
			dir, steps := splitFolder(t, earlier), 0
			before := checkManifest(t, dir)
			c := newConsole(strings.NewReader(""), false)
			c.beforeStep = func() error {
				if steps++; steps == fails {
					return errDiskFull
				}
				return nil
			}
			code := run(t.Context(), splitExport(dir), &c.environment)
			id := checkManifest(t, dir)
			if left := leftovers(t, dir); left != nil {
				t.Errorf("step %d: left behind: %q", fails, left)
			}
			if steps < fails { // no step failed
				if code != exitOK || id == "" || id == before {
					t.Errorf("exit code %d, manifest %q: %s", code, id, c.err.String())
				}
				if fails < 15 {
					t.Errorf("only %d steps", steps)
				}
				break
			}
			if code != exitFailed || !strings.Contains(c.err.String(), errDiskFull.Error()) || id != "" && id != before {
				t.Errorf("step %d: exit code %d, manifest %q: %s", fails, code, id, c.err.String())
			}
			if fails > maxSteps {
				t.Fatal("the export does not end")
			}
		}
	}
}

func init() { programs["killed"] = killed }

// killed runs weft, which is killed before step $KILL_AT.
func killed() {
	at, err := strconv.Atoi(os.Getenv("KILL_AT"))
	if err != nil {
		os.Exit(exitUsage)
	}
	c := newConsole(strings.NewReader(""), false)
	c.beforeStep = func() error {
		if at--; at > 0 {
			return nil
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Kill()
		}
		select {} // until the signal arrives
	}
	os.Exit(run(context.Background(), os.Args, &c.environment))
}

// Whenever the program is killed, there is no manifest, or one whose files all exist, and the next export succeeds.
func TestExportKilledAtEveryStep(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for at := 1; ; at++ {
		if !recording.All() && at%4 != 0 && at < 12 {
			continue // the last steps rename the files
		}
		dir := splitFolder(t, true)
		before := checkManifest(t, dir)
		cmd := exec.Command(program, splitExport(dir)[1:]...)
		cmd.Args[0] = "killed"
		cmd.Env = append(os.Environ(), "KILL_AT="+strconv.Itoa(at))
		err := cmd.Run()
		id := checkManifest(t, dir)
		if err == nil {
			if id == "" || id == before || at < 15 {
				t.Errorf("step %d: manifest %q", at, id)
			}
			return
		}
		if cmd.ProcessState.ExitCode() > 0 {
			t.Fatalf("step %d: %v", at, err)
		}
		if id != "" && id != before {
			t.Errorf("step %d: a manifest before all files have their names", at)
		}
		c := newConsole(strings.NewReader(""), false)
		if code := run(t.Context(), splitExport(dir), &c.environment); code != exitOK || checkManifest(t, dir) == "" {
			t.Errorf("step %d: the next export: exit code %d: %s", at, code, c.err.String())
		}
		if at > maxSteps {
			t.Fatal("the export does not end")
		}
	}
}
