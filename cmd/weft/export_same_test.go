package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"runtime"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// The bytes of an export depend neither on the number of workers nor on the memory budget, even if records, contexts and costs
// are sorted on disk. But a budget below a certain size makes Parquet row groups smaller, so both budgets for Parquet are
// on the same side of that size.
func TestExportSameBytes(t *testing.T) {
	path := recording.Large(t, "traces/chrome/chrome-devtools-medium.json", "traces/chrome/chrome-devtools-tiny.json")
	data := recording.Read(t, path)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	export := func(workers int, args ...string) string {
		runtime.GOMAXPROCS(workers)
		c := newConsole(bytes.NewReader(data), false)
		hash := sha256.New()
		c.stdout = hash
		if code := run(t.Context(), append([]string{"weft", "export", "-q", "-o", "-", "-"}, args...), &c.environment); code != exitOK {
			t.Fatalf("%q: exit code %d: %s", args, code, c.err.String())
		}
		return hex.EncodeToString(hash.Sum(nil))
	}
	small, large := []string{"--memory", "32MiB"}, []string{"--memory", "1GiB"}
	for name, test := range map[string]struct{ args, small []string }{
		"proto":            {[]string{"--as", "proto"}, small},
		"proto attributed": {[]string{"--as", "proto", "--attribute"}, small},
		"jsonl attributed": {[]string{"--as", "jsonl", "--attribute"}, small},
		"parquet":          {[]string{"--as", "parquet"}, []string{"--memory", "128MiB"}},
	} {
		a, b := export(1, append(test.small, test.args...)...), export(2, append(large, test.args...)...)
		if a != b {
			t.Errorf("%s: other bytes with %q than with %q", name, test.small, large)
		}
	}
}
