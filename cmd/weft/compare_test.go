package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/recording"
)

// sliceOfJSON matches the name and the duration of a slice in the PyTorch recording.
var sliceOfJSON = regexp.MustCompile(`"name": "([^"]*)"([^{}]*)"dur": ([0-9.]+)`)

// TestCompareFindsSlower derives recordings from a real recording. In the derived recordings, every slice takes up to 5 % longer,
// at random. Whatever the seed, the new recordings have the same times as the base, except that kernels with one name take half
// as long again: only these kernels are reported as slower and exceed --fail-over.
func TestCompareFindsSlower(t *testing.T) {
	source := unpacked(t, filepath.Join(recording.Testdata(t), "traces", "pytorch", "pytorch-small.json.gz"))
	const kernel = "gemm_kernel"
	if n := len(sliceOfJSON.FindAll(source, -1)); n < 500 {
		t.Fatalf("the recording has %d slices", n)
	}
	const recordings = 8 // on each side: enough for one row among a hundred
	dir := t.TempDir()
	for side, factor := range map[string]float64{"base": 1, "new": 1.5} {
		if err := os.Mkdir(filepath.Join(dir, side), 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range recordings {
			copied := slowed(t, source, rand.New(rand.NewPCG(1, uint64(i))), kernel, factor)
			if err := os.WriteFile(filepath.Join(dir, side, fmt.Sprint(i, ".json")), copied, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := newConsole(strings.NewReader(""), false)
	args := []string{"weft", "compare", "--json", "--fail-over", "10%", "--min", "0s", "--base", filepath.Join(dir, "base"), "--new", filepath.Join(dir, "new")}
	if code := run(t.Context(), args, &c.environment); code != exitSlower {
		t.Fatalf("exit code %d: %s", code, c.err.String())
	}
	lines := strings.Split(c.out.String(), "\n")
	var summary compareSummary
	var first struct {
		Name, Kind, Verdict string
		Ratio, P, Q         float64
	}
	if err := json.Unmarshal([]byte(lines[1]), &first); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(first.Name, kernel) || first.Kind != "kernels" || first.Verdict != compare.Slower.String() || first.Ratio < 0.4 || first.Ratio > 0.6 ||
		first.Q < first.P || first.Q >= compare.Alpha {
		t.Errorf("found first: %+v", first)
	}
	if err := json.Unmarshal([]byte(strings.Replace(lines[0], `"by":"slice"`, `"by":0`, 1)), &summary); err != nil {
		t.Fatal(err)
	}
	if *summary.Failed != 1 || !summary.Testable || summary.Slower != 1 || summary.Faster+summary.Undecided != 0 || summary.Tested < 10 {
		t.Errorf("%s", lines[0])
	}
}

// slowed returns a recording in which every slice takes up to 5 % longer, and kernels with the given name are slower by a
// further factor.
func slowed(t *testing.T, source []byte, random *rand.Rand, kernel string, factor float64) []byte {
	return sliceOfJSON.ReplaceAllFunc(source, func(slice []byte) []byte {
		m := sliceOfJSON.FindSubmatch(slice)
		dur, err := strconv.ParseFloat(string(m[3]), 64)
		if err != nil {
			t.Fatal(err)
		}
		dur *= 1 + random.Float64()/20
		if bytes.Contains(m[1], []byte(kernel)) {
			dur *= factor
		}
		return fmt.Appendf(nil, `"name": "%s"%s"dur": %.3f`, m[1], m[2], dur)
	})
}

// unpacked returns the contents of a gzip file.
func unpacked(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(packed)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestParsePercent(t *testing.T) {
	for text, want := range map[string]int64{
		"10%": 100_000, "10": 100_000, "0": 0, "0.5%": 5_000, "12.3456 %": 123_456, "1000000%": 1e10, ".5": 5_000,
	} {
		if got, err := parsePercent(text); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "%", "-1%", "+1%", "1e3", "ten", "1.23456%", "1000001%", "99999999999999999999%", "1.2.3", "0x10", "10%%"} {
		if got, err := parsePercent(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// A faulty input ends a comparison, but damaged recordings are compared as far as they can be read.
func TestCompareDamagedInputs(t *testing.T) {
	recording.NeedAll(t, "compares every damaged recording")
	damaged, err := filepath.Glob(filepath.Join(recording.Testdata(t), "traces", "damaged", "*.gz"))
	if err != nil || len(damaged) < 15 {
		t.Fatal(len(damaged), err)
	}
	for _, by := range compare.ByNames() {
		c := newConsole(strings.NewReader(""), false)
		args := append([]string{"weft", "compare", "--by", by, "--fail-over", "0", "--base"}, damaged...)
		args = append(append(args, "--new"), damaged...)
		if code := run(t.Context(), args, &c.environment); code != exitOK || !strings.HasPrefix(c.out.String(), "base  ") {
			t.Errorf("by %s: exit code %d: %s", by, code, c.err.String())
		}
	}
}
