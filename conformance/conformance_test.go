package conformance

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
)

// Expected numbers of cases and recordings.
const (
	numCases      = 126
	numRecordings = 11
)

// eventsOnly omits weft's additions to the events of a trace.
var eventsOnly = convert.Options{JSCalls: convert.JSCallsOff, Samples: pftrace.NoSamples, NoLongTasks: true}

// outputForms are the forms of output that must be equivalent.
var outputForms = []convert.Options{
	{Compression: pftrace.Uncompressed},
	{Compression: pftrace.Zlib},
	{Compression: pftrace.Zstd},
	{Packets: pftrace.Compact},
}

// TestCases compares the results of all small cases with their tables, in all forms of output.
func TestCases(t *testing.T) {
	root := filepath.Join(recording.Testdata(t), "conformance", "chrome-json", "cases")
	for _, name := range folders(t, root, numCases) {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(root, name)
			input, err := os.ReadFile(filepath.Join(dir, "input.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, opts := range outputForms {
				p, _ := mustProject(t, input, opts)
				for _, table := range tableNames {
					compare(t, name, readTable(t, table, filepath.Join(dir, "expected_"+table+".tsv")), p.table(table))
				}
			}
		})
	}
}

// TestRecordings compares the results of recorded traces with their tables.
func TestRecordings(t *testing.T) {
	root := filepath.Join(recording.Testdata(t), "conformance", "chrome-json", "real")
	for _, name := range folders(t, root, numRecordings) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(root, name)
			source, err := os.ReadFile(filepath.Join(dir, "source.txt"))
			if err != nil {
				t.Fatal(err)
			}
			path := recording.Path(t, strings.TrimSpace(string(source)))
			for _, opts := range []convert.Options{eventsOnly, {
				JSCalls: convert.JSCallsOff, Samples: pftrace.NoSamples, Packets: pftrace.Compact, Compression: pftrace.Zlib,
			}} {
				p, _ := mustProject(t, recording.Read(t, path), opts)
				for _, table := range tableNames {
					compare(t, name, readTable(t, table, filepath.Join(dir, table+".tsv.gz")), p.table(table))
				}
			}
		})
	}
}

// folders returns the names of the folders in dir and checks their number.
func folders(t *testing.T, dir string, count int) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	if len(names) != count {
		t.Fatalf("%s: %d folders, want %d", dir, len(names), count)
	}
	return names
}

// readTable reads a stored table. A missing file is a table without rows.
func readTable(t *testing.T, name, path string) *table {
	t.Helper()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return &table{name: name, columns: columnsOf[name]}
	}
	return parseTable(t, name, bytes.TrimSuffix(recording.Read(t, path), []byte("\n")))
}
