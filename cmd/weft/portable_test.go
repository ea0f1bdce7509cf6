package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// weft writes the same bytes on every system and machine, including those with 32-bit ints, and in WebAssembly. The first
// call keeps everything in memory; the second one sorts on disk.
func TestSameBytesEverywhere(t *testing.T) {
	recording.NeedAll(t, "weft is built three times")
	traces, err := filepath.Abs("../../testdata/traces")
	if err != nil {
		t.Fatal(err)
	}
	inputs := []string{
		filepath.Join(traces, "chrome", "chrome-devtools-tiny.json.gz"),
		filepath.Join(traces, "firefox", "processed", "ff-processed-tiny.json.gz"),
		filepath.Join(traces, "cpuprofile", "cdp-page-small.cpuprofile.gz"),
	}
	// Names that are too long for a table are identified by a hash, which may be a negative int.
	long := filepath.Join(t.TempDir(), "long.json")
	var events strings.Builder
	for i := range 8 {
		fmt.Fprintf(&events, `,{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":1,"name":"%s"}`, i, strings.Repeat(string(rune('a'+i)), 1<<17))
	}
	if err := os.WriteFile(long, []byte("["+events.String()[1:]+"]"), 0o666); err != nil {
		t.Fatal(err)
	}
	inputs = append(inputs, long)
	many := filepath.Join(t.TempDir(), "many.json") // more than fit into memory
	if err := os.WriteFile(many, []byte("["+strings.Repeat(`{"ph":"i","pid":1,"tid":1,"ts":1,"name":"a"},`, 300_000)+"]"), 0o666); err != nil {
		t.Fatal(err)
	}
	inputs = append(inputs, many)
	calls := [][]string{{"--attribute"}, {"--memory", "32MiB"}}
	var want []map[string][]byte
	for _, flags := range calls {
		want = append(want, convertedBy(t, nil, flags, inputs))
	}
	for _, machine := range []struct {
		goos, goarch string
		run          func(t *testing.T) []string // the command that runs a program
	}{
		{"linux", "386", runs386},
		{"js", "wasm", runsJS},
		{"wasip1", "wasm", runsWASI},
	} {
		t.Run(machine.goos+"/"+machine.goarch, func(t *testing.T) {
			command := append(machine.run(t), buildFor(t, machine.goos, machine.goarch))
			for i, flags := range calls {
				for name, got := range convertedBy(t, command, flags, inputs) {
					if !bytes.Equal(got, want[i][name]) {
						t.Errorf("%s %s: other bytes than here", name, flags)
					}
				}
			}
		})
	}
}

// convertedBy converts inputs with a program or, without one, in this process, and returns the outputs by name.
func convertedBy(t *testing.T, command, flags, inputs []string) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	args := append([]string{"convert", "--quiet", "--out-dir", dir}, append(flags, inputs...)...)
	if command == nil {
		var out bytes.Buffer
		if code := run(t.Context(), append([]string{"weft"}, args...), testEnvironment(&out)); code != exitOK {
			t.Fatalf("weft %s: exit code %d\n%s", strings.Join(args, " "), code, &out)
		}
	} else {
		cmd := exec.Command(command[0], append(command[1:], args...)...)
		cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", cmd, err, out)
		}
	}
	outputs := map[string][]byte{}
	for _, input := range inputs {
		name := filepath.Base(input) + outputSuffix
		trace, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		outputs[name] = trace
	}
	return outputs
}

// testEnvironment returns an environment without input, whose output goes to w.
func testEnvironment(w *bytes.Buffer) *environment {
	return &environment{
		stdin: strings.NewReader(""), stdout: w, stderr: w,
		isTerminal: func(io.Writer) bool { return false },
		width:      func(io.Writer) int { return 0 },
	}
}

// buildFor builds weft for a machine.
func buildFor(t *testing.T, goos, goarch string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "weft")
	cmd := exec.Command("go", "build", "-o", program, ".")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return program
}

func runs386(t *testing.T) []string {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "386" {
		t.Skipf("%s/%s runs no programs for linux/386", runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

func runsJS(t *testing.T) []string {
	node := findNode(t)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	glue := filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec_node.js")
	if _, err := os.Stat(glue); err != nil {
		t.Skipf("this Go has no glue for WebAssembly: %v", err)
	}
	return []string{node, "--stack-size=8192", glue}
}

// runsWASI returns the command that runs a WASI program. Node.js 20 crashes if it marks garbage in other threads while a
// program's memory grows, or if it discards the bytecode of a function that waits for a long-running program.
func runsWASI(t *testing.T) []string {
	node := findNode(t)
	script, err := filepath.Abs(filepath.Join("testdata", "wasi.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	return []string{node, "--no-warnings", "--single-threaded-gc", "--no-flush-bytecode", script}
}

// findNode returns the path of Node.js 20 or later, which runs WebAssembly.
func findNode(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: Node.js 20 or later runs WebAssembly")
	}
	version, err := exec.Command(node, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	if n, err := strconv.Atoi(major); err != nil || n < 20 {
		t.Skipf("node is %s, and 20 or later is needed", strings.TrimSpace(string(version)))
	}
	return node
}
