package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// consumers returns the command lines of the programs in docs/consumers that read a stream from standard input, by name. For
// a program whose interpreter or packages are missing, it returns the reason instead.
func consumers(t *testing.T, descriptors string) (commands map[string][]string, missing map[string]string) {
	t.Helper()
	folder, err := filepath.Abs(filepath.Join("..", "..", "docs", "consumers"))
	if err != nil {
		t.Fatal(err)
	}
	commands, missing = map[string][]string{}, map[string]string{}
	missing["events.py"] = "no python3 with the package google.protobuf (Debian: python3-protobuf)"
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import google.protobuf").Run() == nil {
			commands["events.py"] = []string{python, filepath.Join(folder, "events.py"), descriptors}
		}
	}
	if node := nodeFolder(t, folder); node != "" {
		for _, name := range []string{"events.mjs", "events-protobufjs.mjs"} {
			commands[name] = []string{"node", filepath.Join(node, name), descriptors}
		}
	} else {
		missing["events.mjs"], missing["events-protobufjs.mjs"] = missingNode, missingNode
	}
	program := filepath.Join(t.TempDir(), "events")
	if out, err := exec.Command("go", "build", "-o", program, filepath.Join(folder, "events.go")).CombinedOutput(); err != nil {
		t.Errorf("events.go: %v\n%s", err, out)
	}
	commands["events.go"] = []string{program}
	return commands, missing
}

const missingNode = "no node, or none of the packages of docs/consumers/package.json: run npm install there, or name their folder in WEFT_NODE_MODULES"

// consumerFiles are the files that nodeFolder copies.
var consumerFiles = []string{"package.json", "events.mjs", "events-protobufjs.mjs", "duckdb.mjs",
	"events.sql", "find.sql", "gaps.sql", "operations.sql", "requests.sql", "tasks.sql"}

// nodeFolder returns a folder with the Node.js programs and the packages that they need; "" if something is missing.
func nodeFolder(t *testing.T, folder string) string {
	t.Helper()
	packages := os.Getenv("WEFT_NODE_MODULES")
	if packages == "" {
		packages = filepath.Join(folder, "node_modules")
	}
	if _, err := exec.LookPath("node"); err != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(packages, "@bufbuild", "protobuf")); err != nil {
		return ""
	}
	dir := t.TempDir()
	for _, name := range consumerFiles {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(packages, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tiny returns the path of the recording that the programs read.
func tiny(t *testing.T) string {
	t.Helper()
	path := recording.Path(t, "traces/chrome/chrome-devtools-tiny.json")
	return path
}

// sums returns the number of events and the sum of durations, computed from JSON lines, which the consumers do not read.
func sums(t *testing.T, path string) string {
	t.Helper()
	events, durations := 0, int64(0)
	for line := range bytes.Lines(runWeft(t, "export", "--as", "jsonl", "-q", "-o", "-", path)) {
		var ev struct {
			Dur int64 `json:"dur_ns"`
		}
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatal(err)
		}
		events++
		durations += ev.Dur
	}
	if events < 1000 || durations == 0 {
		t.Fatalf("%d events, %d ns", events, durations)
	}
	return fmt.Sprintf("%d %d\n", events, durations)
}

// The programs in docs/consumers count all events, and report an incomplete stream, wherever it is cut.
func TestConsumers(t *testing.T) {
	recording.NeedAll(t, "builds and runs programs of other languages")
	path := tiny(t)
	want := sums(t, path)
	if page := pipelinesPage(t); !strings.Contains(page, "prints `"+strings.TrimSpace(want)+"`") {
		t.Errorf("docs/pipelines.md does not have %s", want)
	}
	stream := runWeft(t, "export", "--as", "proto", "-q", "-o", "-", path)
	descriptors := filepath.Join(t.TempDir(), "weft.binpb")
	if err := os.WriteFile(descriptors, runWeft(t, "schema", "--descriptors"), 0o666); err != nil {
		t.Fatal(err)
	}
	ends := recordEnds(stream)
	cuts := map[string]int{
		"empty": 0, "in the header": ends[0] / 2, "behind the header": ends[0], "in an event": ends[len(ends)/2] + 5, "in a length": ends[len(ends)/2] + 1,
		"behind an event": ends[len(ends)/2], "without the footer": ends[len(ends)-2], "in the footer": len(stream) - 1,
	}
	commands, missing := consumers(t, descriptors)
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			if out, err := runConsumer(command, stream); err != nil || out != want {
				t.Errorf("%q, want %q: %v", out, want, err)
			}
			for where, n := range cuts {
				out, err := runConsumer(command, stream[:n])
				if err == nil || !strings.Contains(out, "the stream is ") {
					t.Errorf("cut %s: %q, error %v", where, out, err)
				}
			}
		})
	}
	for name, reason := range missing {
		if commands[name] == nil {
			t.Run(name, func(t *testing.T) { t.Skip(reason) })
		}
	}
}

// pipelinesPage returns the page that shows what the programs print.
func pipelinesPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "pipelines.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// recordEnds returns the end offsets of a stream's records.
func recordEnds(stream []byte) (ends []int) {
	for at := 0; at < len(stream); {
		size, n := binary.Uvarint(stream[at:])
		at += n + int(size)
		ends = append(ends, at)
	}
	return ends
}

// runConsumer returns what a program prints when it reads a stream.
func runConsumer(command []string, stream []byte) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(stream)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// DuckDB finds the same events in a Parquet file, and prints the results in testdata for the queries in docs/consumers.
func TestDuckDB(t *testing.T) {
	folder, err := filepath.Abs(filepath.Join("..", "..", "docs", "consumers"))
	if err != nil {
		t.Fatal(err)
	}
	node := nodeFolder(t, folder)
	if _, err := os.Stat(filepath.Join(node, "node_modules", "@duckdb", "node-api")); node == "" || err != nil {
		t.Skip(missingNode)
	}
	ask := func(file string) string {
		cmd := exec.Command("node", "duckdb.mjs", file)
		cmd.Dir = node
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", file, err, out)
		}
		return string(out)
	}
	path, page := tiny(t), pipelinesPage(t)
	runWeft(t, "export", "--as", "parquet", "-q", "-o", filepath.Join(node, "trace.parquet"), path)
	if lines := strings.SplitAfter(ask("events.sql"), "\n"); len(lines) < 2 || lines[1] != strings.Replace(sums(t, path), " ", "\t", 1) {
		t.Errorf("DuckDB counts %q, want %s", lines, sums(t, path))
	}
	for _, m := range regexp.MustCompile(`(?m)^weft export --as parquet -o (\S+) (\S+)\.gz$`).FindAllStringSubmatch(page, -1) {
		some, err := filepath.Glob(filepath.Join(recording.Testdata(t), "traces", "*", m[2]+"*"))
		if err != nil || len(some) != 1 {
			t.Fatalf("%s: %v, %v", m[2], some, err)
		}
		runWeft(t, "export", "--as", "parquet", "-q", "-o", filepath.Join(node, m[1]), some[0])
	}
	tables, err := filepath.Glob(filepath.Join("testdata", "sql", "*.tsv"))
	if err != nil || len(tables) != 6 {
		t.Fatalf("%d tables: %v", len(tables), err)
	}
	for _, table := range tables {
		want, err := os.ReadFile(table)
		name := strings.TrimSuffix(filepath.Base(table), ".tsv") + ".sql"
		if got := ask(name); err != nil || got != string(want) {
			t.Errorf("%s printed\n%swant\n%s%v", name, got, want, err)
		}
	}
}
