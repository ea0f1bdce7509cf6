package main

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
)

// TestMain makes the test binary run as "weft" inside the scripts, with real files, signals and exit codes.
func TestMain(m *testing.M) {
	testscript.Main(m, programs)
}

// programs are the programs that scripts can run in addition to system programs.
var programs = map[string]func(){"weft": main, "viewer": viewer}

// TestScripts runs the scripts in testdata, each named after its subject. In addition to the usual commands, they can
// use:
//
//	pack FORMAT OUT FILE…      packs files with gzip, zstd or zip
//	bytes OUT TEXT             writes a file from a Go string literal, for bytes that no text file can contain
//	files DIR NAME…            checks that the folder contains exactly these files
//	exits CODE PROGRAM ARG…    runs a program and checks its exit code
//	await FILE                 waits until a file exists
//
// The recordings of the repository are in $TRACES.
//
// Every file NAME.pftrace that a script leaves must be a valid trace, unless it contains only the word precious.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"pack":  scriptPack,
			"bytes": scriptBytes,
			"files": scriptFiles,
			"exits": scriptExits,
			"await": scriptAwait,
		},
		// [all]: all tests run.
		Condition: func(cond string) (bool, error) {
			if cond != "all" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return recording.All(), nil
		},
		Setup: func(env *testscript.Env) error {
			tmp := filepath.Join(env.WorkDir, ".tmp") // for weft's temporary files, so that scripts can look for them
			env.Setenv("TMPDIR", tmp)
			traces, err := filepath.Abs(filepath.Join("..", "..", "testdata", "traces"))
			if err != nil {
				return err
			}
			env.Setenv("TRACES", traces)
			env.Defer(func() {
				if err := verifyOutputs(env.WorkDir); err != nil {
					env.T().Fatal(err)
				}
			})
			env.Setenv("GORACE", "atexit_sleep_ms=0") // with -race every run would wait a second at its end
			return os.MkdirAll(tmp, 0o777)
		},
		UpdateScripts: os.Getenv("UPDATE") != "",
	})
}

// tempFolder creates a folder and makes weft put temporary files there.
func tempFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, dir)
	}
	return dir
}

// verifyOutputs checks the traces in a folder and below.
func verifyOutputs(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Ext(path) != outputSuffix {
			return err
		}
		trace, err := os.ReadFile(path)
		if err != nil || string(trace) == "precious\n" {
			return err
		}
		report, err := pftrace.Verify(context.Background(), bytes.NewReader(trace), pftrace.VerifyOptions{Strict: true})
		if err == nil && !report.OK() {
			err = fmt.Errorf("%s: %+v", path, report.Findings)
		}
		return err
	})
}

func scriptPack(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 3 {
		ts.Fatalf("usage: pack gzip|zstd|zip OUT FILE…")
	}
	var buf bytes.Buffer
	var w io.WriteCloser
	next := func(string) (io.Writer, error) { return w, nil }
	switch args[0] {
	case "gzip":
		w = gzip.NewWriter(&buf)
	case "zstd":
		enc, err := zstd.NewWriter(&buf)
		ts.Check(err)
		w = enc
	case "zip":
		archive := zip.NewWriter(&buf)
		w, next = nopWriter{archive}, archive.Create
	default:
		ts.Fatalf("unknown format %s", args[0])
	}
	for _, name := range args[2:] {
		member, err := next(name)
		ts.Check(err)
		_, err = io.WriteString(member, ts.ReadFile(name))
		ts.Check(err)
	}
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), buf.Bytes(), 0o666))
}

// nopWriter makes an archive writer an io.WriteCloser, like the packers of the other formats. Its Write does nothing, because the
// members of the archive are written instead.
type nopWriter struct{ io.Closer }

func (nopWriter) Write(p []byte) (int, error) { return len(p), nil }

func scriptBytes(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: bytes OUT TEXT")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o666))
}

func scriptFiles(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: files DIR NAME…")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	want := slices.Sorted(slices.Values(args[1:]))
	if !slices.Equal(names, want) {
		ts.Fatalf("%s holds %q; want %q", args[0], names, want)
	}
}

// patience is how long a script waits for a file.
const patience = 20 * time.Second

func scriptAwait(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no file %s", args[0])
		}
	}
}

func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d; want %d", got, want)
	}
}
